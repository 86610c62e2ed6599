# SPDX-License-Identifier: Apache-2.0
"""Finds and loads libversola, refuses one that does not fit, and carries values and references across the C ABI."""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from datetime import timedelta
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._errors import NetworkReason, RecoverableError, StepUpError, VersolaError, error_for, invalid
from ._native import ABI_VERSION, FUNCTIONS

SONAME = "libversola.so.1"


@functools.lru_cache(maxsize=None)
def load() -> Any:
    """The library, with the signature of every function set.

    It is looked for in ``$VERSOLA_LIBRARY``, inside this package, then where the system keeps its libraries; the first
    of these that exists is the one that counts. Raises :class:`ImportError`, in one sentence, when it cannot be loaded
    or is not the version that this package was written for.
    """
    packaged = Path(__file__).parent / "lib" / SONAME
    path = os.environ.get("VERSOLA_LIBRARY") or (str(packaged) if packaged.exists() else SONAME)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"versola needs {SONAME} (and the system's libcurl and OpenSSL 3), which could not be loaded: {error}"
        ) from error
    try:
        for name in ("versola_abi_version", "versola_version"):
            _declare(library, name)
        abi, version = library.versola_abi_version(), text(library.versola_version())
        if abi != ABI_VERSION:
            raise ImportError(f"{path} is libversola {version} with ABI {abi}; this package needs ABI {ABI_VERSION}")
        for name in FUNCTIONS:
            _declare(library, name)
    except AttributeError as error:
        raise ImportError(f"{path} is too old for this package, or not libversola: {error}") from error
    return library


def _declare(library: Any, name: str) -> None:
    function = getattr(library, name)
    function.restype, function.argtypes = FUNCTIONS[name]


# --- Handles -------------------------------------------------------------------------------------------------------

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


def is_forked_child() -> bool:
    """Whether this process was forked from one that had imported this package."""
    return _forks > 0


class Handle:
    """One reference to a native object that lives as long as this one: a client, a queue.

    Passes as an argument to the library's functions: as NULL when it was released before, which happens to what a
    generator or coroutine still uses while both are collected as garbage. In a forked child it is inert: the native
    object belongs to the parent, and its locks and threads did not come along.
    """

    __slots__ = ("_as_parameter_", "_forks", "__weakref__")

    def __init__(self, pointer: Optional[int], release: Callable[[ctypes.c_void_p], None]) -> None:
        self._as_parameter_ = ctypes.c_void_p(pointer)
        self._forks = _forks
        if pointer is not None:
            finalizer = weakref.finalize(self, _release, release, self._as_parameter_, _forks)
            # At exit a daemon thread may still be inside the library with this pointer. The process ends it all.
            finalizer.atexit = False  # type: ignore[misc, unused-ignore]

    @property
    def inert(self) -> bool:
        """Whether it is of no use: released, or this process is a forked child of the one that made it."""
        return self._forks != _forks or not self._as_parameter_


def _release(release: Callable[[ctypes.c_void_p], None], pointer: ctypes.c_void_p, forks: int) -> None:
    released = ctypes.c_void_p(pointer.value)
    pointer.value = None
    if forks == _forks:
        release(released)


# --- Values in -----------------------------------------------------------------------------------------------------


def encoded(name: str, value: Optional[str]) -> Optional[bytes]:
    """UTF-8 for C, which would silently cut a string at its first NUL."""
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, not {type(value).__name__}")
    if "\0" in value:
        raise invalid(f"{name} contains a NUL character")
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise invalid(f"{name} cannot be written as UTF-8") from None


Duration = Union[float, timedelta]
"""In seconds, or as the errors carry it."""


def seconds(value: Duration) -> float:
    return value.total_seconds() if isinstance(value, timedelta) else value


def scaled(name: str, value: float, factor: int) -> int:
    """``value`` times ``factor`` as an int64; ctypes would silently wrap what does not fit."""
    try:
        number = round(value * factor)
    except (OverflowError, ValueError):
        number = 1 << 63
    if not -(1 << 63) <= number < 1 << 63:
        raise invalid(f"{name} is out of range")
    return number


# --- Values out ----------------------------------------------------------------------------------------------------


def text(value: Optional[bytes]) -> Optional[str]:
    return None if value is None else value.decode("utf-8", "replace")


def milliseconds(value: int) -> timedelta:
    try:
        return timedelta(milliseconds=value)
    except OverflowError:
        return timedelta.max


def lent_error(library: Any, status: int, error: Optional[int]) -> VersolaError:
    """The exception for a status that is not OK and its native error, which stays the owner's."""
    result = error_for(
        status,
        text(library.versola_error_detail(error)) or f"libversola answered {status}",
        text(library.versola_error_oauth_error(error)),
        text(library.versola_error_description(error)),
    )
    if isinstance(result, RecoverableError):
        server = library.versola_error_server_failure(error)
        if server:
            view = server.contents
            result.status = view.status or None
            result.retry_after = milliseconds(view.retry_after_ms) if view.retry_after_ms >= 0 else None
            result.attempts = view.attempts
            result.elapsed = milliseconds(view.elapsed_ms)
        network = library.versola_error_network_failure(error)
        if network:
            try:
                result.reason = NetworkReason(network.contents.reason)
            except ValueError:
                result.reason = None
    elif isinstance(result, StepUpError):
        challenge = library.versola_error_step_up_challenge(error)
        if challenge:
            view = challenge.contents
            result.acr_values = text(view.acr_values)
            result.max_age = milliseconds(view.max_age_s * 1000) if view.max_age_s >= 0 else None
            result.scope = text(view.scope)
    return result


class ErrorOut:
    """The last argument of a fallible function: ``error = ErrorOut(library); error.check(library.f(…, error))``."""

    __slots__ = ("_library", "_pointer", "_as_parameter_")

    def __init__(self, library: Any) -> None:
        self._library = library
        self._pointer = ctypes.c_void_p()
        self._as_parameter_ = ctypes.byref(self._pointer)

    def check(self, status: int) -> None:
        """Raises the error of a status that is not OK."""
        if status:
            try:
                raise lent_error(self._library, status, self._pointer.value)
            finally:
                self._library.versola_error_release(self._pointer)

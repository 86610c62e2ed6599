# SPDX-License-Identifier: Apache-2.0
"""What the clients of threads and of an event loop have in common: how they are made, and what they do at once."""

from __future__ import annotations

import ctypes
import itertools
import logging
from typing import TYPE_CHECKING, Any, Callable, Generic, Iterable, Optional, Type, TypeVar, Union, overload

from ._configuration import OAuthConfiguration, native_config
from ._events import Events
from ._library import ErrorOut, Handle, load, text
from ._native import Cancel
from ._values import Identity, SessionState, identity_text

if TYPE_CHECKING:
    import os

    from typing_extensions import Literal

    from ._configuration import KeyFile, ProviderEndpoints
    from ._retry_policy import RetryPolicy

_log = logging.getLogger("versola")

SomeEvents = TypeVar("SomeEvents", bound=Events)


class ClientBase(Generic[SomeEvents]):
    """A native client and its events. Its methods answer at once, from any thread."""

    _events: Type[SomeEvents]

    @overload
    def __init__(self, issuer: OAuthConfiguration) -> None: ...

    @overload
    def __init__(
        self,
        issuer: Optional[str] = None,
        *,
        client_id: str,
        redirect_uri: str,
        scopes: Union[str, Iterable[str]] = ...,
        session: str = ...,
        post_logout_redirect_uri: Optional[str] = ...,
        store: Union[Literal["auto", "memory"], KeyFile] = ...,
        access_token_cache: Literal["memory", "sealed"] = ...,
        endpoints: Optional[ProviderEndpoints] = ...,
        ca_file: Optional[Union[str, os.PathLike[str]]] = ...,
        proxy: Optional[str] = ...,
        request_timeout: Optional[float] = ...,
        clock_skew: Optional[float] = ...,
        retry_policy: RetryPolicy = ...,
        browser: Union[Literal["system"], None, Callable[[str], object]] = ...,
    ) -> None: ...

    def __init__(self, issuer: Union[OAuthConfiguration, str, None] = None, **settings: Any) -> None:
        if not isinstance(issuer, OAuthConfiguration):
            configuration = OAuthConfiguration(issuer, **settings)
        elif settings:
            raise TypeError("an OAuthConfiguration has all the settings; use dataclasses.replace() to change some")
        else:
            configuration = issuer
        self._library = library = load()
        browser = configuration.browser
        self._delivery = self._events(library, browser if callable(browser) else lambda url: False, _log)
        client, error = ctypes.c_void_p(), ErrorOut(library)
        with native_config(library, configuration, self._delivery.queue, _log) as config:
            error.check(library.versola_client_create(config, ctypes.byref(client), error))
        self._handle = Handle(client.value, library.versola_client_release)
        self._operation_ids = itertools.count(1)

    def identity(self) -> Identity:
        """Who is signed in: at once, offline too. Raises :class:`ReauthenticateError` when nobody is."""
        identity, error = ctypes.c_void_p(), ErrorOut(self._library)
        error.check(self._library.versola_client_identity(self._handle, ctypes.byref(identity), error))
        try:
            return identity_text(self._library, identity.value or 0).parsed()
        finally:
            self._library.versola_identity_release(identity)

    @property
    def state(self) -> SessionState:
        """The state of the session, at once."""
        state, error = ctypes.c_int32(), ErrorOut(self._library)
        error.check(self._library.versola_client_state(self._handle, ctypes.byref(state), error))
        return SessionState(state.value)

    @property
    def authorization_url(self) -> Optional[str]:
        """The URL the person has to open while a login waits here, else ``None``. It is theirs: do not log it."""
        url, error = ctypes.c_void_p(), ErrorOut(self._library)
        error.check(self._library.versola_client_authorization_url(self._handle, ctypes.byref(url), error))
        try:
            return text(self._library.versola_string_value(url, None))
        finally:
            self._library.versola_string_release(url)

    def cancel_login(self) -> None:
        """Ends the login that waits, or is about to, with ``USER_CANCELLED``, also one of another run. At once."""
        error = ErrorOut(self._library)
        error.check(self._library.versola_client_cancel_login(self._handle, error))

    def reopen_browser(self) -> None:
        """Opens the browser again for the login that waits; nothing when none does. At once."""
        error = ErrorOut(self._library)
        error.check(self._library.versola_client_reopen_browser(self._handle, error))

    def _cancel(self, operation_id: int, reason: Cancel) -> None:
        self._library.versola_client_cancel(self._handle, operation_id, reason, None)

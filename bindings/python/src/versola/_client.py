# SPDX-License-Identifier: Apache-2.0
"""The client: every call of it that waits, and those that answer at once."""

from __future__ import annotations

import ctypes
import itertools
import json
import logging
import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, Optional, Tuple, Type, Union, overload

from ._configuration import OAuthConfiguration, native_config, native_login_options, native_token_options
from ._delivery import Closed, Completion, Delivery, Told
from ._errors import ReauthenticateError, RecoverableCause, RecoverableError
from ._library import ErrorOut, Handle, encoded, load, text
from ._native import Cancel
from ._values import Identity, LogoutResult, SessionState, SessionStateChange, Token, identity_text

if TYPE_CHECKING:
    import os

    from typing_extensions import Literal, Unpack

    from ._configuration import KeyFile, LoginOptions, ProviderEndpoints
    from ._retry_policy import RetryPolicy

_log = logging.getLogger("versola")

# How long an interrupted call waits for the library to confirm, so that what it erases is erased before an exit.
_CONFIRMATION_S = 2.0
# How long C may hold the main thread before Python looks for signals.
_SLICE_MS = 100


class OAuthClient:
    """A native OAuth 2.0 / OpenID Connect client: one session of one person at one provider.

    Takes an :class:`OAuthConfiguration`, or its fields as keywords (see there for each). Reads the stored session and
    uses no network. Raises :class:`ConfigurationError` for a wrong setting or an unusable store.

    Any number of threads may use one client at once. Calls that wait take ``timeout`` in seconds (``None``: no limit)
    and end with :class:`RecoverableError` (``SYSTEM_CANCELLED``) after it. Ctrl-C ends them as the person's wish, then
    raises :class:`KeyboardInterrupt`. It is the waiting calls that deliver session states, log lines and the URL for
    the browser function; between calls nothing of the program runs. After ``fork()`` every call in the child raises
    :class:`ConfigurationError`; the parent goes on.
    """

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
        self._delivery = Delivery(library, browser if callable(browser) else lambda url: False, _log)
        client, error = ctypes.c_void_p(), ErrorOut(library)
        with native_config(library, configuration, self._delivery.queue, _log) as config:
            error.check(library.versola_client_create(config, ctypes.byref(client), error))
        self._handle = Handle(client.value, library.versola_client_release)
        self._operation_ids = itertools.count(1)

    # --- Signing in and out -----------------------------------------------------------------------------------------

    def login(self, *, timeout: Optional[float] = None, **options: Unpack[LoginOptions]) -> Identity:
        """Signs a person in through the browser; a session that was there is replaced on success.

        Options: ``scopes``, ``prompt``, ``login_hint``, ``ui_locales``, ``acr_values``, ``max_age`` (seconds),
        ``claims``, ``resource``, ``authorization_details``, ``parameters``. After ``timeout`` seconds the call ends,
        but the login can still be finished from its redirect. Raises any :class:`VersolaError`.
        """
        with native_login_options(self._library, options) as native:
            identity = self._run(self._library.versola_client_login, native, timeout=timeout).identity
        assert identity is not None
        return identity.parsed()

    def sign_in(self, *, timeout: Optional[float] = None, **options: Unpack[LoginOptions]) -> Identity:
        """Who is signed in, at once when there is a session, else by ``login()`` with the same arguments."""
        try:
            return self.identity()
        except ReauthenticateError:
            pass
        return self.login(timeout=timeout, **options)

    def handle_redirect(self, url: str, *, timeout: Optional[float] = None) -> bool:
        """Passes on a URL that the program received.

        ``True``: it was a redirect that a login awaited, and the login succeeded; its failure is raised. ``False``: it
        is not our redirect URI, or its login is over.
        """
        return self._run(self._library.versola_client_handle_redirect, encoded("url", url), timeout=timeout).handled

    def cancel_login(self) -> None:
        """Ends the login that waits with ``USER_CANCELLED``, also one restored from another run. At once."""
        error = ErrorOut(self._library)
        error.check(self._library.versola_client_cancel_login(self._handle, error))

    def reopen_browser(self) -> None:
        """Opens the browser again for the login that waits; nothing when none does. At once."""
        error = ErrorOut(self._library)
        error.check(self._library.versola_client_reopen_browser(self._handle, error))

    @property
    def authorization_url(self) -> Optional[str]:
        """The URL the person has to open while a login waits here, else ``None``. It is theirs: do not log it."""
        url, error = ctypes.c_void_p(), ErrorOut(self._library)
        error.check(self._library.versola_client_authorization_url(self._handle, ctypes.byref(url), error))
        try:
            return text(self._library.versola_string_value(url, None))
        finally:
            self._library.versola_string_release(url)

    def logout(self, *, timeout: Optional[float] = None) -> LogoutResult:
        """Erases the session here, whatever the provider says, then revokes it at the provider.

        With a ``post_logout_redirect_uri`` the provider's own session is then ended in the browser.
        """
        completion = self._run(self._library.versola_client_logout, timeout=timeout)
        return LogoutResult(completion.token_revoked, completion.session_ended)

    # --- The session ------------------------------------------------------------------------------------------------

    def access_token(
        self, *, min_valid: Optional[float] = None, force: bool = False, timeout: Optional[float] = None
    ) -> Token:
        """An access token that can be used now, refreshed first if it lives shorter than ``min_valid`` seconds.

        ``min_valid``: ``None`` = 30, or a tenth of the token's life if that is less. ``force``: refresh in any case.
        Raises :class:`ReauthenticateError` when nobody is signed in or the session has ended.
        """
        with native_token_options(self._library, min_valid, force) as native:
            token = self._run(self._library.versola_client_access_token, native, timeout=timeout).token
        assert token is not None
        return token

    def refresh(self, *, timeout: Optional[float] = None) -> Token:
        """A new access token, whatever the old one's age; raises what stood in its way even if the old one lives."""
        token = self._run(self._library.versola_client_refresh, timeout=timeout).token
        assert token is not None
        return token

    def user_info(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """What the provider's UserInfo endpoint says now of the person who is signed in."""
        claims = self._run(self._library.versola_client_user_info, timeout=timeout).user_info
        assert claims is not None
        parsed: Dict[str, Any] = json.loads(claims)
        return parsed

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

    def session_states(self) -> Iterator[SessionStateChange]:
        """The present session state, then each that follows, in order, none left out; ends when the client is closed.

        ``next()`` waits as long as it takes. Every call gives an iterator of its own.
        """
        self.state  # noqa: B018 - raises for a closed client
        return _SessionStates(self._delivery)

    # --- Its end ----------------------------------------------------------------------------------------------------

    def close(self, *, timeout: Optional[float] = None) -> None:
        """Ends every waiting call with ``SYSTEM_CANCELLED``; the session stays in the store. Twice is as good as once.

        Returns when a token request that is already on the wire has been finished and its answer stored; raises
        :class:`RecoverableError` (``SYSTEM_CANCELLED``) when that takes longer than ``timeout`` seconds.
        """
        if self._handle.inert:
            return
        self._library.versola_client_close(self._handle)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        while True:
            left_ms = (deadline - time.monotonic()) * 1000
            error = ErrorOut(self._library)
            try:
                slice_ms = int(max(0, min(left_ms, _SLICE_MS)))
                error.check(self._library.versola_client_close_wait(self._handle, slice_ms, error))
                break
            except RecoverableError as failure:
                if failure.cause is not RecoverableCause.SYSTEM_CANCELLED or left_ms <= _SLICE_MS:
                    raise
        self._delivery.drain()

    def __enter__(self) -> OAuthClient:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    # --- Operations -------------------------------------------------------------------------------------------------

    def _run(self, start: Callable[..., int], *arguments: Any, timeout: Optional[float]) -> Completion:
        """Starts an operation and waits for its completion."""
        operation_id = next(self._operation_ids)
        inbox = self._delivery.expect(operation_id)
        error = ErrorOut(self._library)
        message = None
        try:
            status = start(self._handle, *arguments, operation_id, error)
            if status == 0:
                message = self._delivery.receive(inbox, timeout)
                if message is None:
                    self._cancel(operation_id, Cancel.SYSTEM)
                    message = self._delivery.receive(inbox, None)
        except BaseException as interruption:
            by_person = isinstance(interruption, KeyboardInterrupt)
            self._cancel(operation_id, Cancel.USER if by_person else Cancel.SYSTEM)
            if message is None:
                self._delivery.receive(inbox, _CONFIRMATION_S)
            raise
        finally:
            self._delivery.forget(operation_id)
        error.check(status)
        assert isinstance(message, Completion)
        if message.error is not None:
            raise message.error
        return message

    def _cancel(self, operation_id: int, reason: Cancel) -> None:
        self._library.versola_client_cancel(self._handle, operation_id, reason, None)


class _SessionStates(Iterator[SessionStateChange]):
    """Holds the queue, not the client: a client that nobody holds ends, and so does the iteration."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._inbox, self._first = delivery.observe()
        self._last: Optional[Told] = None
        self._ended = False

    def __next__(self) -> SessionStateChange:
        if self._first is not None and self._last is None:
            self._last = self._first
            return self._first.change
        while not self._ended:
            message = self._delivery.receive(self._inbox, None)
            if isinstance(message, Closed):
                self._ended = True
            elif isinstance(message, Told) and self._follows(message):
                self._last = message
                return message.change
        raise StopIteration

    def _follows(self, told: Told) -> bool:
        """Whether it is news: a state handed out twice after an interruption is not, nor one older than the first."""
        if self._last is None:
            return True
        return told.number > self._last.number and _key(told.change) != _key(self._last.change)


def _key(change: SessionStateChange) -> Tuple[object, ...]:
    code = change.reason.code if change.reason is not None else 0
    return (change.state, change.generation, change.authorization_url, code)

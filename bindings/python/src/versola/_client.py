# SPDX-License-Identifier: Apache-2.0
"""The client of threads: every call that waits blocks the thread that makes it."""

from __future__ import annotations

import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterator, Optional, Type

from ._base import ClientBase
from ._configuration import native_login_options, native_token_options
from ._delivery import Delivery
from ._errors import ReauthenticateError, RecoverableCause, RecoverableError
from ._events import Closed, Completion, Following, Told
from ._library import ErrorOut, encoded
from ._native import Cancel
from ._values import Identity, LogoutResult, SessionStateChange, Token

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._configuration import LoginOptions

# How long an interrupted call waits for the library to confirm, so that what it erases is erased before an exit.
_CONFIRMATION_S = 2.0
# How long C may hold the main thread before Python looks for signals.
_SLICE_MS = 100


class OAuthClient(ClientBase[Delivery]):
    """A native OAuth 2.0 / OpenID Connect client: one session of one person at one provider.

    Takes an :class:`OAuthConfiguration`, or its fields as keywords (see there for each). Reads the stored session and
    uses no network. Raises :class:`ConfigurationError` for a wrong setting or an unusable store; :class:`OSError` or
    :class:`RecoverableError` (``NETWORK``) when the process has no descriptor left.

    Any number of threads may use one client at once. Calls that wait take ``timeout`` in seconds (``None``: no limit)
    and end with :class:`RecoverableError` (``SYSTEM_CANCELLED``) after it. Ctrl-C ends them as the person's wish, then
    raises :class:`KeyboardInterrupt`. It is the waiting calls that deliver session states, log lines and the URL for
    the browser function; between calls nothing of the program runs. After ``fork()`` every call in the child raises
    :class:`ConfigurationError`; the parent goes on.
    """

    _events = Delivery

    # --- Signing in and out -----------------------------------------------------------------------------------------

    def login(self, *, timeout: Optional[float] = None, **options: Unpack[LoginOptions]) -> Identity:
        """Signs a person in through the browser; a session that was there is replaced on success.

        Options: ``scopes``, ``prompt``, ``login_hint``, ``ui_locales``, ``acr_values``, ``max_age`` (seconds or a
        ``timedelta``), ``claims``, ``resource``, ``authorization_details``, ``parameters``. After ``timeout`` seconds
        the call ends, but the login can still be finished from its redirect. Raises any :class:`VersolaError`.
        """
        with native_login_options(self._library, options) as native:
            return self._run(self._library.versola_client_login, native, timeout=timeout).identity_given()

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

    def logout(self, *, timeout: Optional[float] = None) -> LogoutResult:
        """Erases the session here, whatever the provider says, then revokes it at the provider.

        With a ``post_logout_redirect_uri`` the provider's own session is then ended in the browser.
        """
        return self._run(self._library.versola_client_logout, timeout=timeout).logout_result()

    # --- The session ------------------------------------------------------------------------------------------------

    def access_token(
        self, *, min_valid: Optional[float] = None, force: bool = False, timeout: Optional[float] = None
    ) -> Token:
        """An access token that can be used now, refreshed first if it lives shorter than ``min_valid`` seconds.

        ``min_valid``: ``None`` = 30, or a tenth of the token's life if that is less. ``force``: refresh in any case.
        Raises :class:`ReauthenticateError` when nobody is signed in or the session has ended.
        """
        with native_token_options(self._library, min_valid, force) as native:
            return self._run(self._library.versola_client_access_token, native, timeout=timeout).token_given()

    def refresh(self, *, timeout: Optional[float] = None) -> Token:
        """A new access token, whatever the old one's age; raises what stood in its way even if the old one lives."""
        return self._run(self._library.versola_client_refresh, timeout=timeout).token_given()

    def user_info(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """What the provider's UserInfo endpoint says now of the person who is signed in."""
        return self._run(self._library.versola_client_user_info, timeout=timeout).claims()

    def session_states(self) -> Iterator[SessionStateChange]:
        """The present session state, then each that follows, in order, none left out; ends when the client is closed.

        ``next()`` waits as long as it takes. Every call gives an iterator of its own.
        """
        self.state  # noqa: B018 - raises for a closed client
        return _SessionStates(self._delivery)

    # --- Its end ----------------------------------------------------------------------------------------------------

    def close(self, *, timeout: Optional[float] = None) -> None:
        """Ends every waiting call with ``SYSTEM_CANCELLED``; the session stays in the store. Twice is as good as once.

        Returns when a token request that is already on the wire has been finished and its answer stored, and a logout
        has revoked, while a request for metadata or UserInfo is given up; raises :class:`RecoverableError`
        (``SYSTEM_CANCELLED``) when that takes longer than ``timeout`` seconds.
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
        inbox = self._delivery.inbox_for(operation_id)
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
        return message.checked()


class _SessionStates(Iterator[SessionStateChange]):
    """Holds the queue, not the client: a client that nobody holds ends, and so does the iteration."""

    def __init__(self, delivery: Delivery) -> None:
        self._delivery = delivery
        self._inbox, first = delivery.inbox_for_states()
        self._following = Following(first)
        self._ended = False

    def __next__(self) -> SessionStateChange:
        first = self._following.first()
        if first is not None:
            return first
        while not self._ended:
            message = self._delivery.receive(self._inbox, None)
            if isinstance(message, Closed):
                self._ended = True
            elif isinstance(message, Told) and self._following.follows(message):
                return message.change
        raise StopIteration

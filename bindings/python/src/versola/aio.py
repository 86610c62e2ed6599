# SPDX-License-Identifier: Apache-2.0
"""The client for asyncio: what waits is a coroutine, and the event loop watches the library's descriptor.

>>> import asyncio
>>> import versola.aio
>>> async def hello() -> None:
...     async with versola.aio.OAuthClient(
...         "https://id.example.com", client_id="my-app", redirect_uri="http://127.0.0.1/callback"
...     ) as client:
...         print("Hello,", (await client.sign_in()).subject)
>>> asyncio.run(hello())  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING, Any, AsyncIterator, Awaitable, Callable, Deque, Dict, Optional, Type

from ._base import ClientBase
from ._configuration import native_login_options, native_token_options
from ._errors import ReauthenticateError
from ._events import Closed, Completion, Events, Following, Message, Receiver, Told, discard
from ._library import ErrorOut, encoded
from ._native import Cancel
from ._values import Identity, LogoutResult, SessionStateChange, Token

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._configuration import LoginOptions

__all__ = ["OAuthClient"]


class _LoopEvents(Events):
    """The loop watches the queue from the first call that waits until the client is closed."""

    _loop: Optional[asyncio.AbstractEventLoop] = None

    def attach(self) -> asyncio.AbstractEventLoop:
        """The running loop, which is the client's from now on; a new one only after the old was closed."""
        self.refuse_forked_child()
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop is not None and not self._loop.is_closed():
                raise RuntimeError("this client belongs to another event loop, which is not closed")
            self._loop = loop
            if not self.closed:
                loop.add_reader(self.descriptor, self.deliver)
        return loop

    def deliver(self) -> None:
        """Hands out everything that has come. The program's logging handlers run here, and may raise."""
        self.take()
        try:
            self.hand_out()
        finally:
            if self._loop is not None and not self._loop.is_closed():
                if self.taken:
                    self._loop.call_soon(self.deliver)
                elif self.closed:
                    self._loop.remove_reader(self.descriptor)

    def awaiter(self) -> Callable[[Awaitable[object]], object]:
        assert self._loop is not None  # it is the loop that hands out the question
        return functools.partial(_await_on, self._loop)


def _await_on(loop: asyncio.AbstractEventLoop, awaitable: Awaitable[object]) -> object:
    """From another thread. ``False`` when the loop ends first."""

    async def wait() -> object:
        return await awaitable

    waiting = wait()
    try:
        future = asyncio.run_coroutine_threadsafe(waiting, loop)
    except RuntimeError:  # it is closed already
        discard(waiting)
        discard(awaitable)
        return False
    try:
        return future.result()
    except concurrent.futures.CancelledError:
        discard(awaitable)
        return False


class _Answer(Receiver):
    """The completion of one operation."""

    __slots__ = ("future",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.future: "asyncio.Future[Message]" = loop.create_future()

    def put(self, message: Message) -> None:
        if not self.future.done():
            self.future.set_result(message)


class _Inbox(Receiver):
    """The session states for one observer."""

    __slots__ = ("_messages", "_arrived")

    def __init__(self) -> None:
        # Not asyncio.Queue: one that is waited for when its loop is gone complains.
        self._messages: Deque[Message] = deque()
        self._arrived = asyncio.Event()

    def put(self, message: Message) -> None:
        self._messages.append(message)
        self._arrived.set()

    async def get(self) -> Message:
        while not self._messages:
            self._arrived.clear()
            await self._arrived.wait()
        return self._messages.popleft()

    async def closed(self) -> None:
        while not isinstance(await self.get(), Closed):
            pass


class OAuthClient(ClientBase[_LoopEvents]):
    """A native OAuth 2.0 / OpenID Connect client for asyncio: one session of one person at one provider.

    Made like :class:`versola.OAuthClient`, with or without a running loop, and with the same calls. Those that wait are
    coroutines; they belong to the first loop that runs one, or to the next after that was closed. Cancelling the task
    of a call cancels it as the program's wish: a login that waits can still be finished from its redirect. Those that
    answer at once (``identity()``, ``state``, ``authorization_url``, ``reopen_browser()``, ``cancel_login()``) are
    plain, and may be called from any thread. A browser function is called in a thread of its own; it may be a coroutine
    function, or return another awaitable, which the loop then awaits.

    The loop delivers session states and log lines while it runs. Closed with ``async with`` or ``close()``; a client
    that nobody holds is closed, too.
    """

    _events = _LoopEvents

    # --- Signing in and out -----------------------------------------------------------------------------------------

    async def login(self, *, timeout: Optional[float] = None, **options: Unpack[LoginOptions]) -> Identity:
        """Signs a person in through the browser; see :meth:`versola.OAuthClient.login`."""
        with native_login_options(self._library, options) as native:
            return (await self._run(self._library.versola_client_login, native, timeout=timeout)).identity_given()

    async def sign_in(self, *, timeout: Optional[float] = None, **options: Unpack[LoginOptions]) -> Identity:
        """Who is signed in, at once when there is a session, else by ``login()`` with the same arguments."""
        try:
            return self.identity()
        except ReauthenticateError:
            pass
        return await self.login(timeout=timeout, **options)

    async def handle_redirect(self, url: str, *, timeout: Optional[float] = None) -> bool:
        """Passes on a URL that the program received; see :meth:`versola.OAuthClient.handle_redirect`."""
        start = self._library.versola_client_handle_redirect
        return (await self._run(start, encoded("url", url), timeout=timeout)).handled

    async def logout(self, *, timeout: Optional[float] = None) -> LogoutResult:
        """Erases the session here, whatever the provider says, then revokes it at the provider."""
        return (await self._run(self._library.versola_client_logout, timeout=timeout)).logout_result()

    # --- The session ------------------------------------------------------------------------------------------------

    async def access_token(
        self, *, min_valid: Optional[float] = None, force: bool = False, timeout: Optional[float] = None
    ) -> Token:
        """An access token that can be used now; see :meth:`versola.OAuthClient.access_token`."""
        with native_token_options(self._library, min_valid, force) as native:
            return (await self._run(self._library.versola_client_access_token, native, timeout=timeout)).token_given()

    async def refresh(self, *, timeout: Optional[float] = None) -> Token:
        """A new access token, whatever the old one's age; raises what stood in its way even if the old one lives."""
        return (await self._run(self._library.versola_client_refresh, timeout=timeout)).token_given()

    async def user_info(self, *, timeout: Optional[float] = None) -> Dict[str, Any]:
        """What the provider's UserInfo endpoint says now of the person who is signed in."""
        return (await self._run(self._library.versola_client_user_info, timeout=timeout)).claims()

    def session_states(self) -> AsyncIterator[SessionStateChange]:
        """The present session state, then each that follows, in order, none left out; ends when the client is closed.

        Every call gives an iterator of its own. Only where the loop runs.
        """
        self.state  # noqa: B018 - raises for a closed client
        self._delivery.attach()
        return _SessionStates(self._delivery)

    # --- Its end ----------------------------------------------------------------------------------------------------

    async def close(self, *, timeout: Optional[float] = None) -> None:
        """Ends every waiting call with ``SYSTEM_CANCELLED``; the session stays in the store. Twice is as good as once.

        Returns when a token request that is already on the wire has been finished and its answer stored, and a logout
        has revoked, while a request for metadata or UserInfo is given up; raises :class:`RecoverableError`
        (``SYSTEM_CANCELLED``) when that takes longer than ``timeout`` seconds.
        """
        if self._handle.inert:
            return
        self._delivery.attach()
        self._library.versola_client_close(self._handle)
        inbox = _Inbox()
        self._delivery.observe(inbox)
        try:
            await asyncio.wait_for(inbox.closed(), timeout)
        except asyncio.TimeoutError:
            error = ErrorOut(self._library)
            error.check(self._library.versola_client_close_wait(self._handle, 0, error))

    async def __aenter__(self) -> OAuthClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        if kind is GeneratorExit or not _is_running():
            # Nobody will resume this coroutine, as a rule because its loop is gone: it can await nothing more.
            self._library.versola_client_close(self._handle)
        else:
            await self.close()

    # --- Operations -------------------------------------------------------------------------------------------------

    async def _run(self, start: Callable[..., int], *arguments: Any, timeout: Optional[float]) -> Completion:
        """Starts an operation and waits for its completion."""
        loop = self._delivery.attach()
        operation_id = next(self._operation_ids)
        answer, error, timer = _Answer(loop), ErrorOut(self._library), None
        self._delivery.expect(operation_id, answer)
        try:
            error.check(start(self._handle, *arguments, operation_id, error))
            if timeout is not None:
                timer = loop.call_later(timeout, self._cancel, operation_id, Cancel.SYSTEM)
            message = await answer.future
        except BaseException:
            self._cancel(operation_id, Cancel.SYSTEM)
            raise
        finally:
            self._delivery.forget(operation_id)
            if timer is not None:
                timer.cancel()
        assert isinstance(message, Completion)
        return message.checked()


def _is_running() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _SessionStates(AsyncIterator[SessionStateChange]):
    """Holds the queue, not the client: a client that nobody holds ends, and so does the iteration."""

    def __init__(self, events: _LoopEvents) -> None:
        events.deliver()
        self._inbox = _Inbox()
        self._following = Following(events.observe(self._inbox))

    async def __anext__(self) -> SessionStateChange:
        first = self._following.first()
        if first is not None:
            return first
        while True:
            message = await self._inbox.get()
            if isinstance(message, Closed):
                self._inbox.put(message)  # for the next who asks
                raise StopAsyncIteration
            if isinstance(message, Told) and self._following.follows(message):
                return message.change

# SPDX-License-Identifier: Apache-2.0
"""Threads that wait for the events of one client.

There is no thread of our own. Of the threads that wait, the one that has waited longest polls the queue's descriptor
and hands out what comes to the others' inboxes; when it leaves, it wakes the next.
"""

from __future__ import annotations

import inspect
import logging
import queue
import select
import threading
import time
from collections import deque
from typing import Any, Callable, Deque, Optional, Set, Tuple, Union

from ._errors import invalid
from ._events import Events, Message, Receiver, Told

# poll() and Lock.acquire() refuse times beyond some limit; a longer wait is made of several.
_LONGEST_SLICE_S = 3600.0


class _Turn:
    """Tells a waiting thread that it is the one to poll now."""


class Inbox(Receiver):
    __slots__ = ("messages",)

    def __init__(self) -> None:
        self.messages: "queue.SimpleQueue[Union[Message, _Turn]]" = queue.SimpleQueue()

    def put(self, message: Message) -> None:
        self.messages.put(message)


class Delivery(Events):
    """The threads that wait for the queue of one client."""

    def __init__(self, library: Any, browser: Callable[[str], object], log: logging.Logger) -> None:
        if inspect.iscoroutinefunction(browser) or inspect.iscoroutinefunction(type(browser).__call__):
            raise invalid("browser must be a plain function: a coroutine function is for versola.aio.OAuthClient")
        super().__init__(library, browser, log)
        # The waiting threads' inboxes in order of arrival; the first one polls.
        self._waiting: Deque[Inbox] = deque()
        self._waiting_threads: Set[int] = set()

    def inbox_for(self, operation_id: int) -> Inbox:
        """An inbox for the completion of an operation, until ``forget``."""
        self._refuse_reentry()
        inbox = Inbox()
        self.expect(operation_id, inbox)
        return inbox

    def inbox_for_states(self) -> Tuple[Inbox, Optional[Told]]:
        """An inbox for every session state from now on, as long as somebody holds it; and the state told last."""
        self.drain()
        inbox = Inbox()
        return inbox, self.observe(inbox)

    # --- Waiting ----------------------------------------------------------------------------------------------------

    def receive(self, inbox: Inbox, timeout: Optional[float]) -> Optional[Message]:
        """The next message of the inbox, or ``None`` after ``timeout`` seconds. What a signal handler raises passes."""
        self._refuse_reentry()
        try:
            return self._receive(inbox, None if timeout is None else time.monotonic() + timeout)
        except BaseException:
            # The signal may have come just as `_receive` was about to do this itself.
            self._leave(inbox)
            raise

    def drain(self) -> None:
        """Hands out what has come, unless somebody is at it: another thread, or the call that a handler interrupted."""
        if threading.get_ident() not in self._waiting_threads:
            self.receive(Inbox(), timeout=0)

    def _receive(self, inbox: Inbox, deadline: Optional[float]) -> Optional[Message]:
        try:
            self._waiting_threads.add(threading.get_ident())
            self._waiting.append(inbox)
            expired = False
            while True:
                message = _next(inbox)
                if message is not None:
                    return message
                if expired:
                    return None
                remaining = _LONGEST_SLICE_S
                if deadline is not None:
                    left = deadline - time.monotonic()
                    expired = left <= 0
                    remaining = min(max(left, 0.0), _LONGEST_SLICE_S)
                if self._waiting[0] is inbox:
                    self._await_events(remaining)
                    self.hand_out()
                else:
                    message = _next(inbox, remaining)
                    if message is not None:
                        return message
        finally:
            self._leave(inbox)

    def _leave(self, inbox: Inbox) -> None:
        """Ends a turn, and makes sure that somebody who still waits polls. Harmless when done twice."""
        try:
            self._waiting.remove(inbox)
        except ValueError:
            pass
        self._waiting_threads.discard(threading.get_ident())
        try:
            self._waiting[0].messages.put(_Turn())
        except IndexError:
            pass

    def _refuse_reentry(self) -> None:
        self.refuse_forked_child()
        if threading.get_ident() in self._waiting_threads:
            raise RuntimeError(
                "a call of this client is waiting in this thread; a signal or logging handler cannot make another one"
            )

    def _await_events(self, timeout: float) -> None:
        if not self.take():
            poller = select.poll()
            poller.register(self.descriptor, select.POLLIN)
            poller.poll(timeout * 1000)
            self.take()


def _next(inbox: Inbox, timeout: float = 0) -> Optional[Message]:
    """The first message that comes in time; ``None`` also when only a turn came: the caller looks whose turn it is."""
    try:
        message = inbox.messages.get(timeout=timeout)
        while isinstance(message, _Turn):
            message = inbox.messages.get(timeout=0)
    except queue.Empty:
        return None
    return message

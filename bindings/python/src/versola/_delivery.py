# SPDX-License-Identifier: Apache-2.0
"""Takes the events of one client from its queue and hands them to the threads that wait for them.

There is no thread of our own. Of the threads that wait, the one that has waited longest polls the queue's descriptor
and hands out what comes to the others' inboxes; when it leaves, it wakes the next. Nothing here is guarded by a lock:
every shared change is a single C call on a deque, a dict or a queue, because a signal handler (Ctrl-C) may raise
between any two bytecodes of the main thread, and a lock taken there could stay locked for ever.
"""

from __future__ import annotations

import errno
import functools
import logging
import queue
import select
import threading
import time
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Deque, Dict, Optional, Set, Tuple, Union

from ._errors import VersolaError, invalid
from ._library import Handle, is_forked_child, lent_error, text
from ._native import EventKind, LogLevel, OpenURLAnswer
from ._values import IdentityText, SessionState, SessionStateChange, Token, identity_text, token_from

_PYTHON_LEVELS = {
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
}

# poll() and Lock.acquire() refuse times beyond some limit; a longer wait is made of several.
_LONGEST_SLICE_S = 3600.0


@dataclass(frozen=True)
class Completion:
    """How an operation ended."""

    error: Optional[VersolaError]
    token: Optional[Token]
    identity: Optional[IdentityText]
    user_info: Optional[bytes]
    """JSON."""
    handled: bool
    token_revoked: bool
    session_ended: bool


@dataclass(frozen=True)
class Told:
    """A session state with its place in the order of all of the client's."""

    number: int
    change: SessionStateChange


class Closed:
    """The last message of an observer."""


class _Turn:
    """Tells a waiting thread that it is the one to poll now."""


Message = Union[Completion, Told, Closed]


class Inbox:
    """Where one operation or one observer receives its messages, in order."""

    __slots__ = ("messages", "__weakref__")

    def __init__(self) -> None:
        self.messages: "queue.SimpleQueue[Union[Message, _Turn]]" = queue.SimpleQueue()


class Delivery:
    """The queue of one client, and the threads that wait for it."""

    def __init__(self, library: Any, browser: Callable[[str], object], log: logging.Logger) -> None:
        self._library = library
        self._browser = browser
        self._log = log
        self.queue = Handle(library.versola_queue_new(), library.versola_queue_release)
        self._descriptor: int = library.versola_queue_fd(self.queue)
        if self._descriptor < 0:
            if is_forked_child():
                raise invalid("this process was forked from one that used libversola; exec() or spawn it instead")
            raise OSError(errno.EMFILE, "versola could not open an event queue")
        self._pop = functools.partial(library.versola_queue_pop, self.queue)
        # Taken from the queue and not yet handed out, oldest first.
        self._taken: Deque[int] = deque()
        # The waiting threads' inboxes in order of arrival; the first one polls.
        self._waiting: Deque[Inbox] = deque()
        self._waiting_threads: Set[int] = set()
        self._operations: Dict[int, Inbox] = {}
        self._observers: "weakref.WeakValueDictionary[int, Inbox]" = weakref.WeakValueDictionary()
        self._told: Optional[Told] = None
        self._closed = False

    # --- Who receives -----------------------------------------------------------------------------------------------

    def expect(self, operation_id: int) -> Inbox:
        """An inbox for the completion of an operation, until ``forget``."""
        self._refuse_reentry()
        inbox = self._operations[operation_id] = Inbox()
        return inbox

    def forget(self, operation_id: int) -> None:
        """A completion that still comes is dropped."""
        self._operations.pop(operation_id, None)

    def observe(self) -> Tuple[Inbox, Optional[Told]]:
        """An inbox for every session state from now on, as long as somebody holds it; and the state told last.

        That one may be in the inbox too, and others before it: compare the numbers.
        """
        self.drain()
        inbox = Inbox()
        self._observers[id(inbox)] = inbox
        if self._closed:
            inbox.messages.put(Closed())
        return inbox, self._told

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
                    self._take(remaining)
                    self._hand_out()
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
        if self.queue.inert:
            raise invalid("the client was made before fork() and cannot be used in the child")
        if threading.get_ident() in self._waiting_threads:
            raise RuntimeError(
                "a call of this client is waiting in this thread; a signal or logging handler cannot make another one"
            )

    # --- Handing out: only by the thread whose turn it is -----------------------------------------------------------

    def _take(self, timeout: float) -> None:
        # One C call takes an event and keeps it: a signal handler cannot raise in between and lose it.
        self._taken.extend(iter(self._pop, None))
        if not self._taken:
            poller = select.poll()
            poller.register(self._descriptor, select.POLLIN)
            poller.poll(timeout * 1000)
            self._taken.extend(iter(self._pop, None))

    def _hand_out(self) -> None:
        while self._taken:
            event = self._taken[0]
            kind = self._library.versola_event_kind(event)
            if kind == EventKind.LOG or kind == EventKind.OPEN_URL:
                # These run the program's code, so they go first: what it raises must not bring them again.
                self._taken.popleft()
                self._tell_program(kind, event)
                continue
            # If a signal handler raises before popleft(), the next thread hands the event out once more, which nobody
            # notices: an operation reads one message, an observer skips a value equal to its last.
            if kind == EventKind.COMPLETION:
                inbox = self._operations.get(self._library.versola_event_operation_id(event))
                if inbox is not None:
                    inbox.messages.put(self._completion(event))
            elif kind == EventKind.STATE:
                number = self._told.number + 1 if self._told is not None else 0
                self._told = told = Told(number, self._state_change(event))
                self._publish(told)
            elif kind == EventKind.CLOSED:
                self._closed = True
                self._publish(Closed())
            self._taken.popleft()
            self._library.versola_event_release(event)

    def _publish(self, message: Union[Told, Closed]) -> None:
        for reference in self._observers.valuerefs():
            inbox = reference()
            if inbox is not None:
                inbox.messages.put(message)

    def _completion(self, event: int) -> Completion:
        library = self._library
        status = library.versola_event_status(event)
        token = library.versola_event_token(event)
        identity = library.versola_event_identity(event)
        return Completion(
            error=lent_error(library, status, library.versola_event_error(event)) if status else None,
            token=token_from(library, token) if token else None,
            identity=identity_text(library, identity) if identity else None,
            user_info=library.versola_event_user_info(event),
            handled=library.versola_event_handled(event),
            token_revoked=library.versola_event_token_revoked(event),
            session_ended=library.versola_event_session_ended(event),
        )

    def _state_change(self, event: int) -> SessionStateChange:
        library = self._library
        reason = library.versola_event_error(event)
        return SessionStateChange(
            state=SessionState(library.versola_event_state(event)),
            reason=lent_error(library, library.versola_error_cause(reason), reason) if reason else None,
            generation=library.versola_event_generation(event),
            authorization_url=text(library.versola_event_url(event)),
        )

    def _tell_program(self, kind: int, event: int) -> None:
        if kind == EventKind.OPEN_URL:
            # In a thread of its own, so that a slow browser holds up nobody. The thread owns the event.
            arguments = (self._library, event, self._browser, self._log)
            try:
                threading.Thread(target=_open_url, args=arguments, name="versola-browser", daemon=True).start()
            except RuntimeError:  # no more threads, or the interpreter is on its way out
                _answer(self._library, event, OpenURLAnswer.FAILED)
            return
        try:
            dropped = self._library.versola_event_dropped(event)
            level = self._library.versola_event_log_level(event)
            message = text(self._library.versola_event_message(event))
        finally:
            self._library.versola_event_release(event)
        if dropped:
            self._log.warning("%d log lines were lost before the next one", dropped)
        self._log.log(_PYTHON_LEVELS.get(level, logging.DEBUG), "%s", message)


def _next(inbox: Inbox, timeout: float = 0) -> Optional[Message]:
    """The first message that comes in time; ``None`` also when only a turn came: the caller looks whose turn it is."""
    try:
        message = inbox.messages.get(timeout=timeout)
        while isinstance(message, _Turn):
            message = inbox.messages.get(timeout=0)
    except queue.Empty:
        return None
    return message


def _open_url(library: Any, event: int, browser: Callable[[str], object], log: logging.Logger) -> None:
    answer = OpenURLAnswer.FAILED
    try:
        if browser(text(library.versola_event_url(event)) or "") is not False:
            answer = OpenURLAnswer.OPENED
    except Exception as error:
        # Only its type: the text of the error may hold the URL.
        log.warning("the browser function raised %s", type(error).__name__)
    finally:
        _answer(library, event, answer)


def _answer(library: Any, event: int, answer: OpenURLAnswer) -> None:
    library.versola_event_answer_open_url(event, answer, None)
    library.versola_event_release(event)

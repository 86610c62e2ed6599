# SPDX-License-Identifier: Apache-2.0
"""Takes the events of one client from its queue, turns them into results, and hands these to whoever waits for them."""

from __future__ import annotations

import atexit
import errno
import functools
import inspect
import logging
import threading
import weakref
from collections import deque
from dataclasses import dataclass
from typing import Any, Awaitable, Callable, Deque, Dict, Optional, Tuple, Union

from ._errors import VersolaError, invalid
from ._library import Handle, is_forked_child, lent_error, text
from ._native import EventKind, LogLevel, OpenURLAnswer
from ._values import (
    Identity,
    IdentityText,
    LogoutResult,
    SessionState,
    SessionStateChange,
    Token,
    identity_text,
    parsed_claims,
    token_from,
)

_PYTHON_LEVELS = {
    LogLevel.ERROR: logging.ERROR,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.INFO: logging.INFO,
    LogLevel.DEBUG: logging.DEBUG,
}


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

    def checked(self) -> Completion:
        """Itself; raises the error of an operation that failed."""
        if self.error is not None:
            raise self.error
        return self

    def token_given(self) -> Token:
        assert self.token is not None
        return self.token

    def identity_given(self) -> Identity:
        assert self.identity is not None
        return self.identity.parsed()

    def claims(self) -> Dict[str, Any]:
        assert self.user_info is not None
        return parsed_claims(self.user_info)

    def logout_result(self) -> LogoutResult:
        return LogoutResult(self.token_revoked, self.session_ended)


@dataclass(frozen=True)
class Told:
    """A session state with its place in the order of all of the client's."""

    number: int
    change: SessionStateChange


class Closed:
    """The last message of an observer."""


Message = Union[Completion, Told, Closed]


class Receiver:
    """Where one operation or one observer receives its messages, in order."""

    __slots__ = ("__weakref__",)

    def put(self, message: Message) -> None:
        """Never waits."""
        raise NotImplementedError


class Events:
    """The queue of one client, and who receives what comes out of it.

    Common to all ways of waiting: threads in ``_delivery``, an event loop in ``aio``. Nothing here is guarded by
    a lock: every shared change is a single C call on a deque or a dict, because a signal handler (Ctrl-C) may raise
    between any two bytecodes of the main thread, and a lock taken there could stay locked for ever.
    """

    def __init__(self, library: Any, browser: Callable[[str], object], log: logging.Logger) -> None:
        self._library = library
        self._browser = browser
        self._log = log
        self.queue = Handle(library.versola_queue_new(), library.versola_queue_release)
        self.descriptor: int = library.versola_queue_fd(self.queue)
        if self.descriptor < 0:
            if is_forked_child():
                raise invalid("this process was forked from one that used libversola; exec() or spawn it instead")
            raise OSError(errno.EMFILE, "versola could not open an event queue")
        self._pop = functools.partial(library.versola_queue_pop, self.queue)
        # Taken from the queue and not yet handed out, oldest first.
        self.taken: Deque[int] = deque()
        self._operations: Dict[int, Receiver] = {}
        self._observers: "weakref.WeakValueDictionary[int, Receiver]" = weakref.WeakValueDictionary()
        self.told: Optional[Told] = None
        self.closed = False

    def expect(self, operation_id: int, receiver: Receiver) -> None:
        """Who gets the completion of an operation, until ``forget``."""
        self._operations[operation_id] = receiver

    def forget(self, operation_id: int) -> None:
        """A completion that still comes is dropped."""
        self._operations.pop(operation_id, None)

    def observe(self, receiver: Receiver) -> Optional[Told]:
        """Every session state from now on goes to the receiver too, as long as somebody holds it. The state told last.

        That one may be among what the receiver gets, and others before it: compare the numbers.
        """
        self._observers[id(receiver)] = receiver
        if self.closed:
            receiver.put(Closed())
        return self.told

    def awaiter(self) -> Callable[[Awaitable[object]], object]:
        """Takes the awaitable that a browser function returned, in that function's thread, and gives its result."""
        return functools.partial(_refuse, self._log)

    def refuse_forked_child(self) -> None:
        if self.queue.inert:
            raise invalid("the client was made before fork() and cannot be used in the child")

    def take(self) -> bool:
        """Takes what lies in the queue, to be handed out next. Whether there is something to hand out."""
        # One C call takes an event and keeps it: a signal handler cannot raise in between and lose it.
        self.taken.extend(iter(self._pop, None))
        return bool(self.taken)

    def hand_out(self) -> None:
        """Only by the one whose turn it is."""
        while self.taken:
            event = self.taken[0]
            kind = self._library.versola_event_kind(event)
            if kind == EventKind.LOG or kind == EventKind.OPEN_URL:
                # These run the program's code, so they go first: what it raises must not bring them again.
                self.taken.popleft()
                self._tell_program(kind, event)
                continue
            # If a signal handler raises before popleft(), the next thread hands the event out once more, which nobody
            # notices: an operation reads one message, an observer skips a value equal to its last.
            if kind == EventKind.COMPLETION:
                receiver = self._operations.get(self._library.versola_event_operation_id(event))
                if receiver is not None:
                    receiver.put(self._completion(event))
            elif kind == EventKind.STATE:
                number = self.told.number + 1 if self.told is not None else 0
                self.told = told = Told(number, self._state_change(event))
                self._publish(told)
            elif kind == EventKind.CLOSED:
                self.closed = True
                self._publish(Closed())
            self.taken.popleft()
            self._library.versola_event_release(event)

    def _publish(self, message: Union[Told, Closed]) -> None:
        for reference in self._observers.valuerefs():
            receiver = reference()
            if receiver is not None:
                receiver.put(message)

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
            arguments = (self._library, event, self._browser, self.awaiter(), self._log)
            if not start_thread("versola-browser", _open_url, *arguments):
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


_starting = threading.RLock()
_is_leaving = False


def start_thread(name: str, target: Callable[..., None], *arguments: object) -> bool:
    """Whether a daemon thread was started: not while the interpreter is on its way out, nor when there are too many."""
    with _starting:
        if _is_leaving:
            return False
        try:
            threading.Thread(target=target, args=arguments, name=name, daemon=True).start()
        except RuntimeError:
            return False
        return True


@atexit.register
def _leave() -> None:
    # Python 3.9 and 3.10 end by SIGSEGV when a daemon thread starts another while the interpreter is taken down.
    # So that waits for those that are starting now, and no other begins.
    global _is_leaving
    _is_leaving = True
    if not is_forked_child():
        with _starting:
            pass


class Following:
    """Which of the messages to an observer are news: the present state first, then each change once."""

    def __init__(self, first: Optional[Told]) -> None:
        self._first = first
        self._last: Optional[Told] = None

    def first(self) -> Optional[SessionStateChange]:
        """The present state, once, if one was told before the observer came."""
        if self._first is None or self._last is not None:
            return None
        self._last = self._first
        return self._first.change

    def follows(self, told: Told) -> bool:
        """A state handed out twice after an interruption is no news, nor one older than the first."""
        last, self._last = self._last, told
        if last is None or (told.number > last.number and _key(told.change) != _key(last.change)):
            return True
        self._last = last
        return False


def _key(change: SessionStateChange) -> Tuple[object, ...]:
    code = change.reason.code if change.reason is not None else 0
    return (change.state, change.generation, change.authorization_url, code)


def _open_url(
    library: Any,
    event: int,
    browser: Callable[[str], object],
    awaiter: Callable[[Awaitable[object]], object],
    log: logging.Logger,
) -> None:
    answer = OpenURLAnswer.FAILED
    try:
        shown = browser(text(library.versola_event_url(event)) or "")
        if inspect.isawaitable(shown):
            shown = awaiter(shown)
        if shown is not False:
            answer = OpenURLAnswer.OPENED
    except Exception as error:
        # Only its type: the text of the error may hold the URL.
        log.warning("the browser function raised %s", type(error).__name__)
    finally:
        _answer(library, event, answer)


def _refuse(log: logging.Logger, awaitable: Awaitable[object]) -> object:
    discard(awaitable)
    log.warning("the browser function returned an awaitable, which only a client of versola.aio awaits")
    return False


def discard(awaitable: Awaitable[object]) -> None:
    """Lets go of what nobody will await; a coroutine would complain of it."""
    if inspect.iscoroutine(awaitable):
        awaitable.close()


def _answer(library: Any, event: int, answer: OpenURLAnswer) -> None:
    library.versola_event_answer_open_url(event, answer, None)
    library.versola_event_release(event)

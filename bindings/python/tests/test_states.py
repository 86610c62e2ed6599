# SPDX-License-Identifier: Apache-2.0
"""An iterator tells each state once, in order, however the threads that hand them out are interleaved."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import versola
from versola import SessionState, SessionStateChange, _client, _events


class FakeDelivery:
    """The inbox holds these messages; `first` was the state told last when the inbox was made."""

    def __init__(self, first: Optional[_events.Told], messages: List[Any]) -> None:
        self._first = first
        self._messages = [*messages, _events.Closed()]

    def inbox_for_states(self) -> Tuple[None, Optional[_events.Told]]:
        return None, self._first

    def receive(self, inbox: None, timeout: Optional[float]) -> Any:
        return self._messages.pop(0)


def told(number: int, state: SessionState, **changes: Any) -> _events.Told:
    return _events.Told(number, SessionStateChange(**{"state": state, "reason": None, "generation": 0, **changes}))


ONE = told(1, SessionState.UNAUTHENTICATED)
TWO = told(2, SessionState.AUTHORIZING, authorization_url="https://id.example/authorize")
THREE = told(3, SessionState.AUTHENTICATED, generation=1)


def seen(first: Optional[_events.Told], messages: List[Any]) -> List[SessionStateChange]:
    states = _client._SessionStates(FakeDelivery(first, messages))  # type: ignore[arg-type]
    changes = list(states)
    assert list(states) == []
    return changes


def test_the_present_state_comes_first() -> None:
    assert seen(ONE, [TWO]) == [ONE.change, TWO.change]


def test_without_a_present_state_the_first_message_is_it() -> None:
    assert seen(None, [ONE, TWO]) == [ONE.change, TWO.change]


def test_what_was_told_before_the_present_state_is_past() -> None:
    assert seen(TWO, [ONE, TWO, THREE]) == [TWO.change, THREE.change]


def test_a_state_handed_out_again_after_an_interruption_is_no_news() -> None:
    again = told(3, SessionState.AUTHORIZING, authorization_url="https://id.example/authorize")
    last = told(4, SessionState.AUTHENTICATED, generation=1)
    assert seen(ONE, [TWO, again, last]) == [ONE.change, TWO.change, last.change]


def test_the_same_state_for_another_reason_is_news() -> None:
    reason = versola.RecoverableError("gone", cause=versola.RecoverableCause.USER_CANCELLED)
    other = told(2, SessionState.UNAUTHENTICATED, reason=reason)
    assert seen(ONE, [other]) == [ONE.change, other.change]

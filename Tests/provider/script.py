# SPDX-License-Identifier: Apache-2.0
"""Who answers what next: a queue of scripted answers per endpoint, and one of connection faults."""

from __future__ import annotations

import enum
import threading
from collections import defaultdict
from dataclasses import replace

from .answer import OWN, Answer, Scripted


class Accept(enum.Enum):
    """What happens to a connection before anything is read from it."""

    CLOSE = "close"
    RESET = "reset"
    STALL = "stall"
    """It stays open, and nobody ever reads it."""


class Script:
    """Answers are used up in the order they were given; one given for always stays until `clear`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._answers: dict[str, list[Scripted]] = defaultdict(list)
        self._connections: list[Accept] = []

    def add(self, endpoint: str, answers: tuple[Answer, ...], times: int | None) -> None:
        with self._lock:
            self._answers[endpoint].extend(Scripted(answer, times) for answer in answers)

    def add_connection(self, fault: Accept, times: int) -> None:
        with self._lock:
            self._connections.extend([fault] * times)

    def clear(self, endpoint: str | None = None) -> None:
        with self._lock:
            if endpoint is None:
                self._answers.clear()
                self._connections.clear()
            else:
                self._answers.pop(endpoint, None)

    def next(self, endpoint: str) -> Answer:
        with self._lock:
            waiting = self._answers[endpoint]
            if not waiting:
                return OWN
            first = waiting[0]
            if first.times is None:
                return first.answer
            if first.times <= 1:
                waiting.pop(0)
            else:
                waiting[0] = replace(first, times=first.times - 1)
            return first.answer

    def next_connection(self) -> Accept | None:
        with self._lock:
            return self._connections.pop(0) if self._connections else None

    def unused(self) -> dict[str, int]:
        """Answers still waiting to be given, per endpoint: a test that scripted more than was asked has a hole."""
        with self._lock:
            counts = {
                name: sum(1 for one in waiting if one.times is not None) for name, waiting in self._answers.items()
            }
            return {name: count for name, count in counts.items() if count}

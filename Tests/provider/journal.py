# SPDX-License-Identifier: Apache-2.0
"""Every request as it came over the wire, in order."""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Request:
    """One request. `headers` keep order, spelling and repetitions; `body` is what was read before a cut."""

    sequence: int
    """Rises by one over all endpoints."""
    connection: int
    """Number of the TCP connection it came on."""
    place: int
    """0 for the first request of its connection: more means that the connection was reused."""
    time: float
    endpoint: str
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def path(self) -> str:
        return urlsplit(self.target).path

    @property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    @property
    def form(self) -> dict[str, str]:
        return dict(self.form_pairs)

    @property
    def form_pairs(self) -> list[tuple[str, str]]:
        return parse_qsl(self.body.decode("utf-8", "replace"), keep_blank_values=True)

    def header(self, name: str) -> str | None:
        return next(iter(self.header_values(name)), None)

    def header_values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def to_json(self) -> dict[str, Any]:
        return {
            "sequence": self.sequence,
            "connection": self.connection,
            "place": self.place,
            "time": self.time,
            "endpoint": self.endpoint,
            "method": self.method,
            "target": self.target,
            "headers": [list(pair) for pair in self.headers],
            "body": self.body.decode("latin-1"),
            "form": self.form,
        }


@dataclass(frozen=True)
class Resent:
    """A one-time credential that arrived at the token endpoint more than once."""

    kind: str
    value: str
    sequences: tuple[int, ...]


class Journal:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._requests: list[Request] = []

    def record(self, **members: Any) -> Request:
        with self._changed:
            request = Request(sequence=len(self._requests), time=time.time(), **members)
            self._requests.append(request)
            self._changed.notify_all()
            return request

    def requests(self, endpoint: str | None = None) -> list[Request]:
        with self._changed:
            return [one for one in self._requests if endpoint is None or one.endpoint == endpoint]

    def clear(self) -> None:
        with self._changed:
            self._requests.clear()

    def wait_for(self, endpoint: str, count: int, timeout: float) -> list[Request]:
        """Returns once `count` requests came to the endpoint. Raises TimeoutError."""

        def arrived() -> list[Request]:
            return [one for one in self._requests if one.endpoint == endpoint]

        with self._changed:
            if not self._changed.wait_for(lambda: len(arrived()) >= count, timeout):
                raise TimeoutError(f"{len(arrived())} of {count} requests came to {endpoint}")
            return arrived()

    def resent(self) -> list[Resent]:
        """Codes and refresh tokens seen twice on the wire, whatever was answered the first time."""
        seen: dict[tuple[str, str], list[int]] = defaultdict(list)
        for request in self.requests("token"):
            for kind in ("code", "refresh_token"):
                if kind in request.form:
                    seen[kind, request.form[kind]].append(request.sequence)
        return [Resent(kind, value, tuple(at)) for (kind, value), at in seen.items() if len(at) > 1]

    def dump(self) -> str:
        return json.dumps([request.to_json() for request in self.requests()])

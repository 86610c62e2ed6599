# SPDX-License-Identifier: Apache-2.0
"""What an endpoint is told to answer: a value, described here, put on the wire by delivery.py."""

from __future__ import annotations

import enum
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from .gate import Gate

Headers = Mapping[str, str] | Sequence[tuple[str, str]]


class Cut(enum.Enum):
    """Where the connection ends. Nothing of the answer has been sent unless the name says so."""

    BEFORE_READING = "before_reading"
    """The request's head was read, its body was not."""
    AFTER_READING = "after_reading"
    """The whole request was read; an orderly FIN in place of an answer."""
    RESET = "reset"
    """The whole request was read; a RST in place of an answer (SO_LINGER 0)."""
    HALF_CLOSE = "half_close"
    """A FIN in place of an answer, and our side goes on reading until the client goes."""
    HALF_BODY = "half_body"
    """The head and half of the promised body, then FIN."""
    HALF_BODY_RESET = "half_body_reset"
    """The head and half of the promised body, then RST."""


@dataclass(frozen=True)
class Response:
    """A whole answer. Headers are sent in this order and spelling; framing headers are added when missing."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @classmethod
    def json(cls, members: Any, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Response:
        return cls(status, (("Content-Type", "application/json"), *headers), json.dumps(members).encode())

    @classmethod
    def html(cls, title: str, status: int = 200) -> Response:
        page = f"<!doctype html><meta charset=utf-8><title>{title}</title><h1>{title}</h1>"
        return cls(status, (("Content-Type", "text/html; charset=utf-8"),), page.encode())

    @classmethod
    def redirect(cls, location: str, status: int = 302) -> Response:
        return cls(status, (("Location", location),))

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key.lower() == name.lower()), None)

    def with_headers(self, headers: Headers) -> Response:
        """Every header named here takes the place of all headers of that name; a name given twice is sent twice."""
        pairs = tuple(headers.items() if isinstance(headers, Mapping) else headers)
        named = {name.lower() for name, _ in pairs}
        return replace(self, headers=tuple(pair for pair in self.headers if pair[0].lower() not in named) + pairs)

    def without_headers(self, names: Sequence[str]) -> Response:
        gone = {name.lower() for name in names}
        return replace(self, headers=tuple(pair for pair in self.headers if pair[0].lower() not in gone))


@dataclass(frozen=True)
class Answer:
    """One scripted answer. What is left out is the endpoint's own.

    An answer with a status, a body, raw bytes or a redirect stands in for the endpoint, which then does not run: no
    code is spent, no token rotated. Everything else (a delay, a cut, more headers) happens to what the endpoint said,
    after it did its work. `process` decides it by hand: `Answer(status=503, process=True)` is the server that rotated
    the refresh token and then failed.
    """

    status: int | None = None
    headers: Headers = ()
    remove_headers: Sequence[str] = ()
    body: bytes | str | None = None
    json: Any = None
    """A JSON body with its Content-Type; for a JSON null use `body`."""
    raw: bytes | None = None
    """These bytes and nothing else, then the end of the connection."""
    redirect: str | None = None
    edit: Callable[[Response], Response] | None = None
    """Changes the answer last of all."""
    process: bool | None = None

    delay: float = 0.0
    """Seconds before the first byte; math.inf never answers."""
    gate: Gate | None = None
    """Holds the answer until the gate is opened."""
    cut: Cut | None = None
    drip: float | None = None
    """Seconds between two bytes of the body (of everything, when `raw`)."""
    pad: int | None = None
    """Blanks appended to the body, sent piece by piece."""
    gzip: bool = False
    """Content-Encoding: gzip; with `pad` a bomb."""
    endless: bool = False
    """Blanks after the body until the client goes."""

    def runs_endpoint(self) -> bool:
        if self.process is not None:
            return self.process
        replaced = (self.status, self.body, self.json, self.raw, self.redirect)
        return all(member is None for member in replaced) and self.cut is not Cut.BEFORE_READING

    def over(self, own: Response | None) -> Response:
        """This answer laid over what the endpoint said (None: it did not run)."""
        base = own if own is not None else Response(headers=(("Content-Type", "application/json"),))
        if self.redirect is not None:
            base = Response.redirect(self.redirect)
        if self.status is not None:
            base = replace(base, status=self.status)
        if self.json is not None:
            base = Response.json(self.json, base.status, base.without_headers(["Content-Type"]).headers)
        elif self.body is not None:
            base = replace(base, body=self.body.encode() if isinstance(self.body, str) else self.body)
        elif self.status is not None and own is not None:
            # A status laid over an endpoint that ran hides what it said: a 503 does not carry the tokens.
            base = replace(base, body=b"")
        response = base.with_headers(self.headers).without_headers(self.remove_headers)
        return self.edit(response) if self.edit else response


OWN = Answer()
"""The endpoint's own answer, untouched."""


@dataclass(frozen=True)
class Scripted:
    """An answer and how often it is still to be given (None: always)."""

    answer: Answer
    times: int | None = field(default=1)

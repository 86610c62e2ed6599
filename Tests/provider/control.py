# SPDX-License-Identifier: Apache-2.0
"""The control API: the Python API in JSON over HTTP, on a port of its own, for programs that are not in Python."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable
from dataclasses import asdict, fields
from typing import Any
from urllib.parse import parse_qs, urlsplit

from .answer import Answer, Cut, Response
from .gate import Gate
from .overrides import Overrides
from .provider import Provider
from .script import Accept
from .server import Handler, Incoming

_SETTINGS = (
    "subject",
    "access_token_lifetime",
    "refresh_tokens",
    "id_token",
    "metadata",
    "token_response",
    "userinfo",
    "redirect",
    "logout_redirect",
)


class Control(Handler):
    """Every call answers 200 with JSON, or 400 with an `error` that says what is wrong with it."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._gates: dict[str, Gate] = {}
        self._calls: dict[tuple[str, str], Callable[[dict[str, Any]], Any]] = {
            ("GET", "/"): self._status,
            ("GET", "/requests"): self._requests,
            ("GET", "/reuses"): self._reuses,
            ("POST", "/script"): self._script,
            ("POST", "/connections"): self._connections,
            ("POST", "/gates"): self._open_gate,
            ("POST", "/settings"): self._settings,
            ("POST", "/keys"): self._rotate,
            ("POST", "/access-tokens/expire"): self._expire,
            ("POST", "/reset"): self._reset,
        }

    async def respond(self, incoming: Incoming, body: bytes, answer: Answer) -> Response:
        target = urlsplit(incoming.target)
        call = self._calls.get((incoming.method, target.path))
        if call is None:
            return Response.json({"error": f"no such call: {incoming.method} {target.path}"}, 400)
        try:
            query = {name: values[-1] for name, values in parse_qs(target.query).items()}
            told = call(json.loads(body) if body else query)
            return Response.json({} if told is None else told)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            return Response.json({"error": repr(error)}, 400)

    def _status(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"issuer": self._provider.issuer, "unused_answers": self._provider.unused_answers()}

    def _requests(self, query: dict[str, Any]) -> list[dict[str, Any]]:
        return [request.to_json() for request in self._provider.requests(query.get("endpoint"))]

    def _reuses(self, _: dict[str, Any]) -> dict[str, Any]:
        provider = self._provider
        return {
            "reuses": [asdict(one) for one in provider.reuses],
            "resent": [asdict(one) for one in provider.resent()],
        }

    def _script(self, members: dict[str, Any]) -> None:
        self._provider.script(members["endpoint"], self._answer(members["answer"]), times=members.get("times", 1))

    def _connections(self, members: dict[str, Any]) -> None:
        self._provider.script_connections(Accept(members["fault"]), members.get("times", 1))

    def _open_gate(self, members: dict[str, Any]) -> None:
        self._gates.pop(members["open"]).open()

    def _settings(self, members: dict[str, Any]) -> None:
        for name, value in members.items():
            if name not in _SETTINGS:
                raise ValueError(f"no setting {name!r}")
            _set(self._provider, name, value)

    def _rotate(self, members: dict[str, Any]) -> None:
        self._provider.keys.rotate(members.get("alg", "RS256"), keep_old=members.get("keep_old", False))

    def _expire(self, _: dict[str, Any]) -> None:
        self._provider.grants.expire_access_tokens()

    def _reset(self, _: dict[str, Any]) -> None:
        self._provider.reset()

    def _answer(self, members: dict[str, Any]) -> Answer:
        known = {one.name for one in fields(Answer)} - {"edit"}
        if unknown := set(members) - known:
            raise ValueError(f"no such members of an answer: {sorted(unknown)}")
        values = dict(members)
        if "raw" in values:
            values["raw"] = base64.b64decode(values["raw"], validate=True)
        if "cut" in values:
            values["cut"] = Cut(values["cut"])
        if "gate" in values:
            values["gate"] = self._gates.setdefault(values["gate"], Gate())
        if values.get("delay") == "forever":
            values["delay"] = math.inf
        if isinstance(values.get("headers"), list):
            values["headers"] = [(name, value) for name, value in values["headers"]]
        return Answer(**values)


def _set(target: object, name: str, value: Any) -> None:
    """Objects are descended into; overrides take {"set": {…}, "remove": […]}."""
    present = getattr(target, name)
    if isinstance(present, Overrides):
        present.update(value.get("set", {}))
        present.remove(*value.get("remove", []))
    elif isinstance(value, dict) and not isinstance(present, dict):
        for inner, inner_value in value.items():
            _set(present, inner, inner_value)
    else:
        setattr(target, name, value)

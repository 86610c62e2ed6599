# SPDX-License-Identifier: Apache-2.0
"""What every endpoint's handler gets, and the one error it may raise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .answer import Response
from .journal import Request

if TYPE_CHECKING:
    from .provider import Provider


@dataclass(frozen=True)
class Exchange:
    provider: Provider
    request: Request


class OAuthProblem(Exception):
    """An OAuth error answered as JSON (RFC 6749 §5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.response = Response.json(
            {"error": error, "error_description": description}, status, [("Cache-Control", "no-store")]
        )


EndpointHandler = Callable[[Exchange], Response]
"""Runs on the server's loop, one at a time: what it does to the provider's memory is atomic."""


@dataclass(frozen=True)
class Endpoint:
    """A path below the issuer and what answers there. `metadata` is the member that announces it, if one does."""

    name: str
    path: str
    methods: tuple[str, ...]
    handler: EndpointHandler
    metadata: str | None = None

# SPDX-License-Identifier: Apache-2.0
"""Where a browser may be sent to, and what a test adds to that redirect."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass
class RedirectShape:
    """The next redirects: an error in place of a code, and parameters by hand."""

    error: str | None = None
    error_description: str | None = None
    parameters: dict[str, list[str]] = field(default_factory=dict)
    """Values in place of the provider's own: none leaves the parameter out, two send it twice."""


def matches_registered(uri: str, registered: Iterable[str]) -> bool:
    """Byte for byte, except for the port of a loopback redirect (RFC 8252 §7.3)."""
    return any(uri == one or _same_but_for_the_port(uri, one) for one in registered)


def _same_but_for_the_port(uri: str, registered: str) -> bool:
    try:
        left, right = urlsplit(uri), urlsplit(registered)
        left.port, right.port  # noqa: B018 - asking is what judges them
    except ValueError:
        return False
    if left.scheme != "http" or left.hostname not in LOOPBACK or left.username is not None:
        return False
    return (left.scheme, left.hostname, left.path, left.query, left.fragment) == (
        right.scheme,
        right.hostname,
        right.path,
        right.query,
        right.fragment,
    )

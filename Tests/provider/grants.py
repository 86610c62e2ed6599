# SPDX-License-Identifier: Apache-2.0
"""What the provider remembers: codes, refresh-token families and access tokens."""

from __future__ import annotations

import secrets
import threading
import time
from dataclasses import dataclass, field


@dataclass
class Authorization:
    """What a person agreed to: one per login, shared by every token that follows from it."""

    client_id: str
    redirect_uri: str
    scope: str
    subject: str
    code_challenge: str
    nonce: str | None
    auth_time: int
    parameters: dict[str, str]
    """The whole authorization request, for what a later endpoint wants to know of it."""
    revoked: bool = False


@dataclass
class _Code:
    grant: Authorization
    expires: float
    spent: bool = False


@dataclass
class _RefreshToken:
    grant: Authorization
    spent: bool = False


@dataclass
class _AccessToken:
    grant: Authorization
    expires: float
    revoked: bool = False


@dataclass(frozen=True)
class Reuse:
    """A credential that had been spent and was presented again: what reuse detection is there for."""

    kind: str
    value: str


class Refused(Exception):
    """A credential that is unknown, spent, expired, revoked or somebody else's."""


@dataclass
class GrantStore:
    """Thread-safe. Single use, rotation and reuse detection as RFC 6749 §4.1.2 and RFC 9700 §4.14.2 want them."""

    rotate: bool = True
    code_lifetime: float = 60.0
    token_bytes: int = 24
    """Of randomness in each token: how long it is."""
    reuses: list[Reuse] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._codes: dict[str, _Code] = {}
        self._refresh_tokens: dict[str, _RefreshToken] = {}
        self._access_tokens: dict[str, _AccessToken] = {}

    def issue_code(self, grant: Authorization) -> str:
        with self._lock:
            code = secrets.token_urlsafe(24)
            self._codes[code] = _Code(grant, time.monotonic() + self.code_lifetime)
            return code

    def spend_code(self, code: str) -> Authorization:
        """Spent before anything else is judged: a code that came with a wrong verifier is gone, too."""
        with self._lock:
            found = self._codes.get(code)
            if found is None or time.monotonic() > found.expires:
                raise Refused("unknown or expired code")
            if found.spent:
                self._reused("code", code, found.grant)
            found.spent = True
            return found.grant

    def issue_refresh_token(self, grant: Authorization) -> str:
        with self._lock:
            token = secrets.token_urlsafe(self.token_bytes)
            self._refresh_tokens[token] = _RefreshToken(grant)
            return token

    def spend_refresh_token(self, token: str, client_id: str | None) -> Authorization:
        with self._lock:
            found = self._refresh_tokens.get(token)
            if found is None or found.grant.client_id != client_id:
                raise Refused("unknown refresh token")
            if found.spent:
                self._reused("refresh_token", token, found.grant)
            if found.grant.revoked:
                raise Refused("the grant was revoked")
            found.spent = self.rotate
            return found.grant

    def issue_access_token(self, grant: Authorization, lifetime: float) -> str:
        with self._lock:
            token = secrets.token_urlsafe(self.token_bytes)
            self._access_tokens[token] = _AccessToken(grant, time.monotonic() + lifetime)
            return token

    def judge_access_token(self, token: str) -> Authorization:
        with self._lock:
            found = self._access_tokens.get(token)
            if found is None or found.revoked or found.grant.revoked or time.monotonic() > found.expires:
                raise Refused("the access token is unknown, expired or revoked")
            return found.grant

    def revoke(self, token: str) -> bool:
        """RFC 7009 §2.1: a refresh token takes its whole grant along. False when the token is unknown."""
        with self._lock:
            if token in self._refresh_tokens:
                self._refresh_tokens[token].grant.revoked = True
                return True
            if token in self._access_tokens:
                self._access_tokens[token].revoked = True
                return True
            return False

    def expire_access_tokens(self) -> None:
        """Every access token handed out so far is refused from now on."""
        with self._lock:
            for token in self._access_tokens.values():
                token.revoked = True

    def refresh_tokens(self) -> list[str]:
        """Those that can be spent, the oldest first."""
        with self._lock:
            return [token for token, one in self._refresh_tokens.items() if not one.spent and not one.grant.revoked]

    def issued(self) -> set[str]:
        """Every credential ever handed out: what no log and no error may show."""
        with self._lock:
            return {*self._codes, *self._refresh_tokens, *self._access_tokens}

    def _reused(self, kind: str, value: str, grant: Authorization) -> None:
        self.reuses.append(Reuse(kind, value))
        grant.revoked = True
        raise Refused(f"the {kind.replace('_', ' ')} was used before")

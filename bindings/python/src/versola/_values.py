# SPDX-License-Identifier: Apache-2.0
"""What calls give back: plain immutable values, whose ``repr`` never shows a secret or a claim."""

from __future__ import annotations

import datetime
import enum
import json
from dataclasses import dataclass, field
from typing import Any, Dict, Optional, Union

from ._errors import VersolaError
from ._library import text

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


class SessionState(enum.Enum):
    """The state of a session; the numbers are those of ``versola.h``."""

    UNAUTHENTICATED = 1
    """Nobody is signed in."""
    AUTHORIZING = 2
    """A login waits for the browser."""
    AUTHENTICATED = 3
    """Signed in."""
    REFRESHING = 4
    """Signed in; a new access token is being fetched."""
    STEP_UP_REQUIRED = 5
    """Signed in; a resource asked for a stronger or fresher sign-in."""
    LOCKED = 6
    """Signed in; the store's key needs the user."""
    LOGGING_OUT = 7
    """Logout has begun."""


@dataclass(frozen=True)
class SessionStateChange:
    """One value of :meth:`versola.OAuthClient.session_states`."""

    state: SessionState
    reason: Optional[VersolaError]
    """Why the state is what it is (for instance why the user is suddenly signed out), or ``None``."""
    generation: int
    """Rises with every login stored, not with a refresh; 0 = nobody is signed in."""
    authorization_url: Optional[str] = field(default=None, repr=False)
    """The URL the person has to open while the state is ``AUTHORIZING``. It is theirs: do not log it."""


@dataclass(frozen=True)
class Token:
    """An access token that can be sent now."""

    value: str = field(repr=False)
    type: str
    """``"Bearer"``."""
    expires_at: Optional[datetime.datetime]
    """Wall-clock time (UTC) of expiry, ``None`` when the provider did not say."""
    scope: str
    """The granted scope, space-separated."""


@dataclass(frozen=True)
class Identity:
    """Who is signed in: the claims of the verified ID token."""

    subject: str
    claims: Dict[str, Any] = field(repr=False, hash=False)


@dataclass(frozen=True)
class LogoutResult:
    """What a logout reached at the provider; the session is erased here in any case."""

    token_revoked: bool
    """The provider confirmed that the token is revoked."""
    session_ended: bool
    """The provider's own session in the browser was ended too."""


def token_from(library: Any, pointer: int) -> Token:
    expires_at_ms = library.versola_token_expires_at_unix_ms(pointer)
    return Token(
        value=text(library.versola_token_value(pointer, None)) or "",
        type=text(library.versola_token_type(pointer)) or "",
        expires_at=_time(expires_at_ms) if expires_at_ms >= 0 else None,
        scope=text(library.versola_token_scope(pointer)) or "",
    )


@dataclass(frozen=True)
class IdentityText:
    """An identity whose claims are still JSON: to be parsed by the thread that asked, since parsing may raise."""

    subject: str
    claims: bytes = field(repr=False)

    def parsed(self) -> Identity:
        return Identity(self.subject, parsed_claims(self.claims))


def identity_text(library: Any, pointer: int) -> IdentityText:
    return IdentityText(
        subject=text(library.versola_identity_subject(pointer)) or "",
        claims=library.versola_identity_claims(pointer) or b"{}",
    )


def parsed_claims(text: bytes) -> Dict[str, Any]:
    """The JSON object. A whole number too long for ``int`` is a float, as one with an exponent always is."""
    claims: Dict[str, Any] = json.loads(text, parse_int=_whole_number)
    return claims


def _whole_number(digits: str) -> Union[int, float]:
    try:
        return int(digits)
    except ValueError:  # sys.get_int_max_str_digits()
        return float(digits)


def _time(unix_ms: int) -> datetime.datetime:
    try:
        return _EPOCH + datetime.timedelta(milliseconds=unix_ms)
    except OverflowError:
        return datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)

# SPDX-License-Identifier: Apache-2.0
"""The four categories of failure, closed: branch on the class, then on ``cause``, never on text."""

from __future__ import annotations

import datetime
import enum
from typing import Dict, Optional, Tuple, Type, Union


class RecoverableCause(enum.Enum):
    """Causes of :class:`RecoverableError`."""

    USER_CANCELLED = 101
    """The person, or another login, ended it. Never repeated by the library."""
    SYSTEM_CANCELLED = 102
    """Torn down by the program: a ``timeout``, ``close()``. A quiet retry is fine."""
    PENDING_REQUEST_EXPIRED = 103
    """Nobody came back from the browser within 10 minutes."""
    NETWORK = 104
    """Nobody answered; ``reason`` tells at which step."""
    SERVER = 105
    """The provider failed; see ``status``, ``retry_after``, ``attempts``, ``elapsed``."""
    UNLOCK_REQUIRED = 106
    """The store's key is not to be had now; the session is intact."""
    NONCE_LOOP = 107
    """The server demanded a DPoP nonce again and again."""


class ReauthenticateCause(enum.Enum):
    """Causes of :class:`ReauthenticateError`."""

    AUTHORIZATION_DENIED = 201
    """The person or the provider said no."""
    INTERACTION_REQUIRED = 202
    """``prompt="none"`` was not possible."""
    CREDENTIALS_INVALIDATED = 203
    """A stored record failed its tag and was erased."""
    GRANT_REJECTED = 204
    """The token endpoint answered ``invalid_grant``."""
    SESSION_REJECTED = 205
    """A server refused a session that still looks whole."""
    SESSION_EXPIRED = 206
    """Nobody is signed in, or the access token ended without a successor."""


class StepUpCause(enum.Enum):
    """Causes of :class:`StepUpError`."""

    INSUFFICIENT_USER_AUTHENTICATION = 301
    """A resource asked for a stronger or fresher sign-in (RFC 9470)."""


class ConfigurationCause(enum.Enum):
    """Causes of :class:`ConfigurationError`."""

    STATE_MISMATCH = 401
    """The redirect does not belong to this login."""
    ISSUER_MISMATCH = 402
    """The redirect comes from another issuer (RFC 9207)."""
    ID_TOKEN_REJECTED = 403
    """The ID token breaks a rule of OpenID Connect Core 3.1.3.7."""
    PROVIDER_UNSUPPORTED = 404
    """The provider lacks something that is needed."""
    INVALID_CONFIGURATION = 405
    """An argument or a setting is wrong; ``detail`` names it."""
    AUTHORIZATION_REJECTED = 406
    """Any other OAuth error code; see ``oauth_error``."""
    DISCOVERY_ISSUER_MISMATCH = 407
    """The provider's metadata names another issuer."""
    ENDPOINT_REDIRECTED = 408
    """An endpoint answered 3xx, which is never followed."""
    USER_INFO_REJECTED = 409
    """UserInfo names another subject, or fails its checks."""
    STORE_UNAVAILABLE = 410
    """The store cannot be read or written."""


class NetworkReason(enum.Enum):
    """Why nobody answered: ``RecoverableError.reason`` when the cause is ``NETWORK``."""

    DNS = 1
    CONNECT = 2
    PROXY = 3
    TLS = 4
    """``detail`` names the certificate's fault."""
    TIMEOUT = 5
    RESET = 6
    LOCK = 7
    """The store's lock was not had in time."""


Cause = Union[RecoverableCause, ReauthenticateCause, StepUpCause, ConfigurationCause]


class VersolaError(Exception):
    """Base of everything that this library reports. ``str(error)`` is ``detail``.

    ``code`` is the number of the cause in ``versola.h``; ``cause`` is ``None`` only when a newer library reports a
    cause that this package does not know. ``detail``, ``oauth_error`` and ``error_description`` are for logs: they
    never hold a secret, and they are never to branch on.
    """

    cause: Optional[Cause]

    def __init__(
        self,
        detail: str,
        *,
        cause: Optional[Cause] = None,
        code: int = 0,
        oauth_error: Optional[str] = None,
        error_description: Optional[str] = None,
    ) -> None:
        super().__init__(detail)
        self.detail = detail
        self.cause = cause
        self.code = code if cause is None else cause.value
        self.oauth_error = oauth_error
        self.error_description = error_description


class RecoverableError(VersolaError):
    """Offer "try again", or wait for ``retry_after``. The session is as it was."""

    cause: Optional[RecoverableCause]
    status: Optional[int] = None
    """SERVER: the HTTP status of the answer, ``None`` when there was none."""
    retry_after: Optional[datetime.timedelta] = None
    """SERVER: how long to wait before the next try, ``None`` when the provider named no time."""
    attempts: Optional[int] = None
    """SERVER: failed requests of the request that raised the error; 0 = nothing was sent, a pause runs."""
    elapsed: Optional[datetime.timedelta] = None
    """SERVER: duration of the operation, without the time spent in the browser."""
    reason: Optional[NetworkReason] = None
    """NETWORK: at which step the connection failed."""


class ReauthenticateError(VersolaError):
    """Lead the user to ``login()``; the library never opens a browser by itself."""

    cause: Optional[ReauthenticateCause]


class StepUpError(VersolaError):
    """Ask for a stronger or fresher sign-in, then send the request again."""

    cause: Optional[StepUpCause]
    acr_values: Optional[str] = None
    """The levels of sign-in that would do, space-separated, ``None`` when the resource named none."""
    max_age: Optional[datetime.timedelta] = None
    """How long ago the person may have signed in, ``None`` when the resource named no limit."""
    scope: Optional[str] = None
    """The scope that the request needs, space-separated, ``None`` when the resource named none."""


class ConfigurationError(VersolaError):
    """A mistake to be fixed before release: do not catch it in production."""

    cause: Optional[ConfigurationCause]


_CATEGORIES: Dict[int, Tuple[Type[VersolaError], Type[enum.Enum]]] = {
    1: (RecoverableError, RecoverableCause),
    2: (ReauthenticateError, ReauthenticateCause),
    3: (StepUpError, StepUpCause),
    4: (ConfigurationError, ConfigurationCause),
}


def error_for(
    code: int, detail: str, oauth_error: Optional[str] = None, error_description: Optional[str] = None
) -> VersolaError:
    """The exception of a cause's number; by its hundreds digit, the category, an unknown one gets its class too."""
    kind, causes = _CATEGORIES.get(code // 100, (VersolaError, None))
    try:
        cause = causes(code) if causes is not None else None
    except ValueError:
        cause = None
    texts = {"oauth_error": oauth_error, "error_description": error_description}
    return kind(detail, cause=cause, code=code, **texts)  # type: ignore[arg-type]


def invalid(detail: str) -> ConfigurationError:
    """What the library itself would say, for values that C cannot even be given."""
    return ConfigurationError(detail, cause=ConfigurationCause.INVALID_CONFIGURATION)

# SPDX-License-Identifier: Apache-2.0
"""The real providers, and per provider what it should answer and what it does.

A deviation is a row here, with the reason; no assertion is ever loosened for a provider's sake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from glewlwyd_walker import GlewlwydWalker
from walker import ALICE, Person, Walker


@dataclass(frozen=True)
class Row:
    """One thing that a provider answers otherwise than it should."""

    does: object
    why: str


SHOULD: Mapping[str, object] = {
    # RFC 9207 §2 and §3
    "iss_in_redirect": True,
    "iss_announced": True,
    # RFC 9207 §2: error responses too
    "iss_in_error_redirect": True,
    # RFC 6749 §4.1.2, RFC 9207 §2: nothing else
    "redirect_parameters": frozenset({"code", "state", "iss"}),
    # OpenID Connect Discovery §3 with RFC 8414 §2
    "revocation_announced": True,
    # RFC 7009 §2.1: a public client revokes with its client_id
    "token_revoked": True,
    # RFC 6750 §3.1
    "userinfo_error": "invalid_token",
    # RFC 8252 §7.3
    "any_loopback_port": True,
    # The person's No reaches the app as access_denied (RFC 6749 §4.1.2.1)
    "denial": "access_denied",
    # What the app is then told: exception and cause
    "denial_told_as": ("ReauthenticateError", "AUTHORIZATION_DENIED"),
    # A client without a secret says which method it uses (OpenID Connect Discovery §3)
    "auth_method_none_announced": True,
}


@dataclass(frozen=True)
class Peer:
    name: str
    folder: str
    """Folder of its install.sh and run.sh below VERSOLA_PEERS_DIR."""
    client_id: str = "native-app"
    consenting_client_id: str = "native-app"
    """A client for which the provider asks the person."""
    scopes: tuple[str, ...] = ("openid", "profile", "email", "offline_access")
    consecutive_ports: int = 1
    exact_redirect_port: bool = False
    walker: Callable[..., Walker] = Walker
    issuer_variable: str | None = None
    """Environment variable with the issuer of one that runs already."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """Environment of its run.sh."""
    deviations: Mapping[str, Row] = field(default_factory=dict)

    def answers(self, what: str) -> object:
        """What this provider is expected to answer. Raises KeyError for a row that is in no table."""
        should = SHOULD[what]
        return self.deviations[what].does if what in self.deviations else should

    def browser(self, person: Person = ALICE) -> Walker:
        return self.walker(person)


NO_ISS = {
    "iss_in_redirect": Row(False, "does not know RFC 9207"),
    "iss_in_error_redirect": Row(False, "does not know RFC 9207"),
    "iss_announced": Row(False, "does not know RFC 9207"),
}

HYDRA = Peer(
    name="hydra",
    folder="hydra",
    consenting_client_id="native-consent",
    consecutive_ports=3,
    issuer_variable="VERSOLA_TEST_HYDRA",
    deviations={
        **NO_ISS,
        "redirect_parameters": Row(frozenset({"code", "state", "scope"}), "adds the granted scope"),
        "userinfo_error": Row("request_unauthorized", "a code of its own in place of invalid_token"),
    },
)

KEYCLOAK = Peer(
    name="keycloak",
    folder="keycloak",
    consenting_client_id="native-consent",
    issuer_variable="VERSOLA_TEST_KEYCLOAK",
    deviations={
        "redirect_parameters": Row(
            frozenset({"code", "state", "iss", "session_state"}), "OpenID Connect Session Management, a draft"
        ),
        "auth_method_none_announced": Row(False, "lists only methods with a secret, and serves public clients"),
    },
)

DJANGO_OAUTH_TOOLKIT = Peer(
    name="django-oauth-toolkit",
    folder="django-oauth-toolkit",
    deviations={
        "auth_method_none_announced": Row(False, "lists only methods with a secret, and serves public clients"),
        "iss_in_error_redirect": Row(False, "promises iss and leaves it out of error redirects"),
        "denial_told_as": Row(
            ("ConfigurationError", "ISSUER_MISMATCH"), "follows: a redirect without the promised iss is not believed"
        ),
        "revocation_announced": Row(False, "only in its RFC 8414 document, which is not OpenID discovery"),
        "token_revoked": Row(False, "follows: no endpoint is known"),
    },
)

GLEWLWYD = Peer(
    name="glewlwyd",
    folder="glewlwyd",
    exact_redirect_port=True,
    walker=GlewlwydWalker,
    deviations={
        "iss_announced": Row(False, "sends iss without saying so"),
        "auth_method_none_announced": Row(False, "lists only methods with a secret, and serves public clients"),
        "redirect_parameters": Row(
            frozenset({"code", "state", "iss", "session_state"}), "OpenID Connect Session Management, a draft"
        ),
        "userinfo_error": Row(None, "401 without any challenge"),
        "denial": Row(None, "its page has no No: scopes other than openid can be left out, and the login succeeds"),
        "token_revoked": Row(False, "revocation answers a public client with an empty 401"),
        "any_loopback_port": Row(False, "redirect URIs are compared byte for byte"),
    },
)

PEERS = (HYDRA, KEYCLOAK, DJANGO_OAUTH_TOOLKIT, GLEWLWYD)

# Only for what its rate limit shows; it is no peer of the other tests.
NANOIDP_LIMITED = Peer(name="nanoidp", folder="nanoidp", settings={"RATE": "3/minute"})

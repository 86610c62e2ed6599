# SPDX-License-Identifier: Apache-2.0
"""The endpoints: one file each, listed once here. A new one is a new file and a line below."""

from __future__ import annotations

from ..exchange import Endpoint
from .api import api
from .authorize import authorize
from .discovery import discovery
from .end_session import end_session
from .jwks import jwks
from .revocation import revocation
from .token import token
from .userinfo import userinfo

ENDPOINTS: tuple[Endpoint, ...] = (
    Endpoint("discovery", "/.well-known/openid-configuration", ("GET",), discovery),
    Endpoint("jwks", "/jwks", ("GET",), jwks, "jwks_uri"),
    Endpoint("authorize", "/authorize", ("GET", "POST"), authorize, "authorization_endpoint"),
    Endpoint("token", "/token", ("POST",), token, "token_endpoint"),
    Endpoint("userinfo", "/userinfo", ("GET", "POST"), userinfo, "userinfo_endpoint"),
    Endpoint("revocation", "/revoke", ("POST",), revocation, "revocation_endpoint"),
    Endpoint("end_session", "/end-session", ("GET", "POST"), end_session, "end_session_endpoint"),
    Endpoint("api", "/api", ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"), api),
)

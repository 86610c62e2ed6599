# SPDX-License-Identifier: Apache-2.0
"""RFC 6749 §5.1 and OpenID Connect Core §3.1.3.3: what a successful grant brings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .answer import Response
from .grants import Authorization
from .id_token import make_id_token

if TYPE_CHECKING:
    from .provider import Provider


def token_response(provider: Provider, grant: Authorization, code: str | None) -> Response:
    """`code` is None on a refresh."""
    access_token = provider.grants.issue_access_token(grant, provider.access_token_lifetime)
    members: dict[str, Any] = {
        "access_token": access_token,
        "token_type": "Bearer",
        "expires_in": int(provider.access_token_lifetime),
        "scope": grant.scope,
        "id_token": make_id_token(
            provider.published_issuer, grant, access_token, code, provider.id_token, provider.keys
        ),
    }
    if provider.refresh_tokens and (code is not None or provider.grants.rotate):
        members["refresh_token"] = provider.grants.issue_refresh_token(grant)
    return Response.json(
        provider.token_response.apply(members), headers=[("Cache-Control", "no-store"), ("Pragma", "no-cache")]
    )

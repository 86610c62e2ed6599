# SPDX-License-Identifier: Apache-2.0
"""The token endpoint: who asks, and for which grant type."""

from __future__ import annotations

from ..answer import Response
from ..exchange import EndpointHandler, Exchange, OAuthProblem
from .code_grant import code_grant
from .refresh_grant import refresh_grant

GRANT_TYPES: dict[str, EndpointHandler] = {
    "authorization_code": code_grant,
    "refresh_token": refresh_grant,
}


def token(exchange: Exchange) -> Response:
    form = exchange.request.form
    if len(form) != len(exchange.request.form_pairs):
        raise OAuthProblem("invalid_request", "a parameter is given twice")
    if form.get("client_id") not in exchange.provider.clients:
        raise OAuthProblem("invalid_client", "unknown client", 401)
    grant_type = GRANT_TYPES.get(form.get("grant_type", ""))
    if grant_type is None:
        raise OAuthProblem("unsupported_grant_type", "authorization_code or refresh_token")
    return grant_type(exchange)

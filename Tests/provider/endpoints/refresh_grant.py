# SPDX-License-Identifier: Apache-2.0
"""RFC 6749 §6, the refresh token rotated each time."""

from __future__ import annotations

from ..answer import Response
from ..exchange import Exchange, OAuthProblem
from ..grants import Refused
from ..token_response import token_response


def refresh_grant(exchange: Exchange) -> Response:
    form = exchange.request.form
    try:
        grant = exchange.provider.grants.spend_refresh_token(form.get("refresh_token", ""), form.get("client_id"))
    except Refused as refused:
        raise OAuthProblem("invalid_grant", str(refused)) from refused
    return token_response(exchange.provider, grant, code=None)

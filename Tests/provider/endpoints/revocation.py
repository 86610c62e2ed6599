# SPDX-License-Identifier: Apache-2.0
"""RFC 7009: 200 also for a token that nobody knows."""

from __future__ import annotations

from ..answer import Response
from ..exchange import Exchange, OAuthProblem


def revocation(exchange: Exchange) -> Response:
    form = exchange.request.form
    if form.get("client_id") not in exchange.provider.clients:
        raise OAuthProblem("invalid_client", "unknown client", 401)
    if "token" not in form:
        raise OAuthProblem("invalid_request", "no token")
    exchange.provider.grants.revoke(form["token"])
    return Response(200)

# SPDX-License-Identifier: Apache-2.0
"""A protected resource of an app's own: tells what reached it."""

from __future__ import annotations

from ..answer import Response
from ..bearer import bearer_grant, challenge
from ..exchange import Exchange
from ..grants import Refused


def api(exchange: Exchange) -> Response:
    try:
        grant = bearer_grant(exchange)
    except Refused as refused:
        return challenge(refused)
    request = exchange.request
    return Response.json({"hello": grant.subject, "method": request.method, "bytes": len(request.body)})

# SPDX-License-Identifier: Apache-2.0
"""OpenID Connect Core §5.3."""

from __future__ import annotations

from ..answer import Response
from ..bearer import bearer_grant, challenge
from ..exchange import Exchange
from ..grants import Refused


def userinfo(exchange: Exchange) -> Response:
    try:
        grant = bearer_grant(exchange)
    except Refused as refused:
        return challenge(refused)
    claims: dict[str, object] = {"sub": grant.subject}
    scopes = grant.scope.split()
    if "profile" in scopes:
        claims |= {"name": f"{grant.subject.title()} Example", "preferred_username": grant.subject}
    if "email" in scopes:
        claims |= {"email": f"{grant.subject}@example.test", "email_verified": True}
    return Response.json(exchange.provider.userinfo.apply(claims))

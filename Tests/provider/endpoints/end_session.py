# SPDX-License-Identifier: Apache-2.0
"""OpenID Connect RP-Initiated Logout §2 and §3, without a question to the person."""

from __future__ import annotations

from urllib.parse import urlencode, urlsplit, urlunsplit

from ..answer import Response
from ..exchange import Exchange
from ..redirect import matches_registered


def end_session(exchange: Exchange) -> Response:
    request = exchange.request
    parameters = request.form if request.method == "POST" else request.query
    target = parameters.get("post_logout_redirect_uri")
    if target is None:
        return Response.html("You are signed out")
    client = exchange.provider.clients.get(parameters.get("client_id", ""))
    if client is None or not matches_registered(target, client.post_logout_redirect_uris):
        return Response.html("This post-logout redirect URI is not registered", 400)
    answer = {"state": [parameters["state"]]} if "state" in parameters else {}
    answer.update(exchange.provider.logout_redirect.parameters)
    added = urlencode([(name, value) for name, values in answer.items() for value in values])
    parts = urlsplit(target)
    return Response.redirect(
        urlunsplit(parts._replace(query="&".join(piece for piece in (parts.query, added) if piece)))
    )

# SPDX-License-Identifier: Apache-2.0
"""The authorization endpoint: the person has signed in long ago and always agrees, unless told otherwise."""

from __future__ import annotations

import time
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from ..answer import Response
from ..exchange import Exchange
from ..grants import Authorization
from ..redirect import matches_registered


def authorize(exchange: Exchange) -> Response:
    provider, request = exchange.provider, exchange.request
    pairs = request.form_pairs if request.method == "POST" else _query_pairs(request.target)
    parameters = dict(pairs)
    client = provider.clients.get(parameters.get("client_id", ""))
    redirect_uri = parameters.get("redirect_uri", "")
    # Until client and redirect URI are known to fit, the person gets a page and nobody a redirect (RFC 6749 §4.1.2.1).
    if client is None:
        return Response.html("Unknown client", 400)
    if not matches_registered(redirect_uri, client.redirect_uris):
        return Response.html("This redirect URI is not registered", 400)

    problem = _problem(pairs, parameters)
    if problem is None and provider.redirect.error is not None:
        problem = provider.redirect.error
    if problem is not None:
        answer = {"error": [problem]}
        if provider.redirect.error_description is not None:
            answer["error_description"] = [provider.redirect.error_description]
    else:
        grant = Authorization(
            client_id=client.client_id,
            redirect_uri=redirect_uri,
            scope=parameters["scope"],
            subject=provider.subject,
            code_challenge=parameters["code_challenge"],
            nonce=parameters.get("nonce"),
            auth_time=int(time.time()),
            parameters=parameters,
        )
        answer = {"code": [provider.grants.issue_code(grant)]}
    if "state" in parameters:
        answer["state"] = [parameters["state"]]
    answer["iss"] = [provider.published_issuer]
    answer.update(provider.redirect.parameters)
    added = [(name, value) for name, values in answer.items() for value in values]
    return Response.redirect(_with_query(redirect_uri, added))


def _query_pairs(target: str) -> list[tuple[str, str]]:
    return parse_qsl(urlsplit(target).query, keep_blank_values=True)


def _problem(pairs: list[tuple[str, str]], parameters: dict[str, str]) -> str | None:
    if len(parameters) != len(pairs) and any(
        name != "resource" and sum(1 for other, _ in pairs if other == name) > 1 for name in parameters
    ):
        return "invalid_request"  # RFC 6749 §3.1: parameters MUST NOT be included more than once
    if parameters.get("response_type") != "code":
        return "unsupported_response_type"
    if "openid" not in parameters.get("scope", "").split():
        return "invalid_scope"
    if parameters.get("code_challenge_method") != "S256" or len(parameters.get("code_challenge", "")) != 43:
        return "invalid_request"  # RFC 7636 §4.4.1
    return None


def _with_query(uri: str, added: list[tuple[str, str]]) -> str:
    parts = urlsplit(uri)
    query = "&".join(piece for piece in (parts.query, urlencode(added)) if piece)
    return urlunsplit(parts._replace(query=query))

# SPDX-License-Identifier: Apache-2.0
"""RFC 6749 §4.1.3 with the code verifier of RFC 7636 §4.6."""

from __future__ import annotations

import hashlib
import hmac

from ..answer import Response
from ..exchange import Exchange, OAuthProblem
from ..grants import Refused
from ..id_token import base64url
from ..token_response import token_response


def code_grant(exchange: Exchange) -> Response:
    form = exchange.request.form
    code = form.get("code", "")
    try:
        grant = exchange.provider.grants.spend_code(code)
    except Refused as refused:
        raise OAuthProblem("invalid_grant", str(refused)) from refused
    if grant.client_id != form.get("client_id"):
        raise OAuthProblem("invalid_grant", "the code was given to another client")
    if grant.redirect_uri != form.get("redirect_uri"):
        raise OAuthProblem("invalid_grant", "another redirect_uri than in the authorization request")
    challenge = base64url(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
    if not hmac.compare_digest(challenge, grant.code_challenge):
        raise OAuthProblem("invalid_grant", "the code verifier does not fit")
    return token_response(exchange.provider, grant, code)

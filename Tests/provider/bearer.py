# SPDX-License-Identifier: Apache-2.0
"""Bearer tokens at a protected resource: RFC 6750 §2.1 and §3."""

from __future__ import annotations

from .answer import Response
from .exchange import Exchange
from .grants import Authorization, Refused


class NoCredentials(Refused):
    """The request carried no token at all: the challenge then names no error (RFC 6750 §3.1)."""


def bearer_grant(exchange: Exchange) -> Authorization:
    """The grant behind the request's token. Raises Refused."""
    scheme, _, credentials = (exchange.request.header("Authorization") or "").partition(" ")
    if scheme.lower() != "bearer" or not credentials:
        raise NoCredentials("no bearer token")
    return exchange.provider.grants.judge_access_token(credentials.strip())


def challenge(refused: Refused) -> Response:
    value = 'Bearer realm="provider"'
    if not isinstance(refused, NoCredentials):
        value += f', error="invalid_token", error_description="{refused}"'
    return Response(401, (("WWW-Authenticate", value),))

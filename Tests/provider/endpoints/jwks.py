# SPDX-License-Identifier: Apache-2.0
"""RFC 7517 §5."""

from __future__ import annotations

from ..answer import Response
from ..exchange import Exchange


def jwks(exchange: Exchange) -> Response:
    keys = exchange.provider.keys
    # The key that the next ID token will be signed with is published before it is used.
    if exchange.provider.id_token.alg in exchange.provider.signing_algorithms:
        keys.use(exchange.provider.id_token.alg)
    return Response.json(keys.jwks())

# SPDX-License-Identifier: Apache-2.0
"""OpenID Connect Discovery §3."""

from __future__ import annotations

from ..answer import Response
from ..exchange import Exchange


def discovery(exchange: Exchange) -> Response:
    return Response.json(exchange.provider.published_metadata())

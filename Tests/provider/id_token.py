# SPDX-License-Identifier: Apache-2.0
"""The ID token: right by default, wrong in any one way a test asks for."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from dataclasses import dataclass, field
from typing import Any

from joserfc.jws import JWSRegistry

from .grants import Authorization
from .keys import SigningKeys
from .overrides import Overrides


@dataclass
class IDTokenShape:
    """How the next ID tokens look."""

    alg: str = "RS256"
    """A JWS algorithm; `none`; or HS256, keyed with the public RS256 key, as an attacker would."""
    claims: Overrides = field(default_factory=Overrides)
    header: Overrides = field(default_factory=Overrides)
    at_hash: bool = True
    c_hash: bool = False
    wrong_key: bool = False
    """Signed by a key that JWKS does not have, under the `kid` of the one it has."""
    broken_signature: bool = False
    raw: str | None = None
    """This string in place of a token."""


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def half_hash(alg: str, value: str) -> str:
    """OpenID Connect Core §3.1.3.6: the left half of the hash that the algorithm names."""
    name = {"256": "sha256", "384": "sha384", "512": "sha512"}.get(alg[-3:], "sha512" if alg == "EdDSA" else "sha256")
    digest = hashlib.new(name, value.encode()).digest()
    return base64url(digest[: len(digest) // 2])


def _signature(alg: str, message: bytes, keys: SigningKeys, wrong_key: bool) -> bytes:
    if alg == "none":
        return b""
    if alg.startswith("HS"):
        # By hand: the JOSE library rightly refuses a PEM as a secret.
        return hmac.digest(keys.use("RS256")[1].as_pem(private=False), message, "sha" + alg[2:])
    key = keys.stranger(alg) if wrong_key else keys.use(alg)[1]
    return JWSRegistry.algorithms[alg].sign(message, key)


def sign(claims: dict[str, Any], shape: IDTokenShape, keys: SigningKeys) -> str:
    """A compact JWS of these claims under the shape's algorithm, header changes and faults."""
    alg = shape.alg
    kid = keys.use("RS256" if alg == "none" or alg.startswith("HS") else alg)[0]
    header = shape.header.apply({"alg": alg, "kid": kid, "typ": "JWT"})
    signed = base64url(json.dumps(header).encode()) + "." + base64url(json.dumps(claims).encode())
    signature = _signature(alg, signed.encode(), keys, shape.wrong_key)
    if shape.broken_signature and signature:
        signature = bytes([signature[0] ^ 0x01]) + signature[1:]
    return signed + "." + base64url(signature)


def make_id_token(
    issuer: str, grant: Authorization, access_token: str, code: str | None, shape: IDTokenShape, keys: SigningKeys
) -> str:
    """`code` is None on a refresh, which also leaves the nonce out (OpenID Connect Core §12.2)."""
    if shape.raw is not None:
        return shape.raw
    now = int(time.time())
    claims: dict[str, Any] = {
        "iss": issuer,
        "sub": grant.subject,
        "aud": grant.client_id,
        "iat": now,
        "exp": now + 3600,
        "auth_time": grant.auth_time,
    }
    if grant.nonce is not None and code is not None:
        claims["nonce"] = grant.nonce
    if shape.at_hash:
        claims["at_hash"] = half_hash(shape.alg, access_token)
    if shape.c_hash and code is not None:
        claims["c_hash"] = half_hash(shape.alg, code)
    return sign(shape.claims.apply(claims), shape, keys)

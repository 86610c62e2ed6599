# SPDX-License-Identifier: Apache-2.0
"""Stands between a provider and the library and changes one thing at a time in what the provider says."""

from __future__ import annotations

import base64
import datetime
import hmac
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from joserfc.jwk import RSAKey
from joserfc.jws import JWSRegistry

from provider.id_token import base64url
from provider.keys import Key, SigningKeys
from token_proxy import Passed, Passing, TokenProxy

ALG = "RS256"

Members = dict[str, Any]
Sign = Callable[[bytes], bytes]


# --- What a forger does to a signed token -----------------------------------------------------------------------------


def by(key: Key) -> Sign:
    return lambda message: JWSRegistry.algorithms[ALG].sign(message, key)


def by_secret(secret: bytes) -> Sign:
    """HS256, by hand: the JOSE library rightly refuses a public key as a secret."""
    return lambda message: hmac.digest(secret, message, "sha256")


def decoded(part: str) -> bytes:
    return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))


def claims_of(token: str) -> Members:
    claims: Members = json.loads(decoded(token.split(".")[1]))
    return claims


def reassembled(
    token: str,
    sign: Sign,
    *,
    header: Callable[[Members], object] | None = None,
    claims: Callable[[Members], object] | None = None,
) -> str:
    """The token with these changes, and the signature that `sign` makes over them."""
    parts = token.split(".")[:2]
    for place, change in enumerate((header, claims)):
        if change is not None:
            members = json.loads(decoded(parts[place]))
            change(members)
            parts[place] = base64url(json.dumps(members).encode())
    return ".".join([*parts, base64url(sign(".".join(parts).encode()))])


def certificate(key: RSAKey) -> x509.Certificate:
    """Nobody's but the key's own."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "stranger")])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key)
    builder = builder.serial_number(x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    return builder.not_valid_after(now + datetime.timedelta(hours=1)).sign(key.private_key, hashes.SHA256())


# --- The proxy --------------------------------------------------------------------------------------------------------

Change = Callable[["ForgingProxy", str], str]
"""What becomes of a signed token; of the one that the app would get otherwise."""


@dataclass(frozen=True)
class Forgery:
    """The one thing that is not as it should be."""

    id_token: Change | None = None
    tokens: Callable[[ForgingProxy, Members], object] | None = None
    """Changes the members of the token endpoint's answer."""
    signed_user_info: Change | None = None
    user_info: Callable[[ForgingProxy, Members], object] | None = None
    keys: Callable[[SigningKeys], object] | None = None
    """What becomes of the forger's own keys and of the set with them."""
    metadata: Callable[[Members], object] | None = None


HONEST = Forgery()


class ForgingProxy(TokenProxy):
    """Only what goes to the app (sender `app`) is forged; any other sender gets what the provider says."""

    stands_before = ("token_endpoint", "jwks_uri", "userinfo_endpoint")

    def __init__(self, metadata: Members, *, iss_in_redirect: bool) -> None:
        discovery = metadata["issuer"] + "/.well-known/openid-configuration"
        super().__init__({**metadata, "discovery": discovery}, iss_in_redirect=iss_in_redirect)
        self.issuer = self.url("discovery")
        """In place of the provider's, for an app that uses discovery."""
        self.keys = SigningKeys()
        self.resigns = False
        """Whether every signed token is signed anew by a key of the proxy's own, and a key set of its own served: then
        the signature is right, whatever the claims are."""
        self.issues = metadata["issuer"]
        """The `iss` of what is signed anew."""
        self.forgery = HONEST
        self.given: dict[str, list[Members]] = {}
        """What the provider's token endpoint gave each sender."""
        self.asked: list[str] = []
        """The endpoints that were asked, in order."""

    @contextmanager
    def forging(self, forgery: Forgery) -> Iterator[None]:
        if forgery.keys is not None:
            forgery.keys(self.keys)
        self.forgery = forgery
        try:
            yield
        finally:
            self.forgery = HONEST
            if forgery.keys is not None:
                self.keys.published = None
                self.keys.rotate()

    # --- What a forger has ---

    @property
    def sign(self) -> Sign:
        return by(self.keys.use(ALG)[1])

    @property
    def stranger(self) -> RSAKey:
        """A key that is in no set."""
        key = self.keys.stranger(ALG)
        assert isinstance(key, RSAKey)
        return key

    def user_info_of(self, sender: str) -> bytes:
        """What the provider says of whoever is signed in there."""
        headers = {"Authorization": f"Bearer {self.given[sender][-1]['access_token']}"}
        return super().answer(Passing("userinfo_endpoint", sender, "GET", headers, b"")).body

    def provider_key(self, token: str) -> Members:
        """The public key that the provider signed this token with."""
        kid = json.loads(decoded(token.split(".")[0]))["kid"]
        keys = json.loads(super().answer(Passing("jwks_uri", "forger", "GET", {}, b"")).body)["keys"]
        key: Members = next(one for one in keys if one["kid"] == kid)
        return key

    # --- What passes ---

    def answer(self, passing: Passing) -> Passed:
        with self._lock:
            self.asked.append(passing.member)
        match passing.member:
            case "jku" | "x5u" as what:
                return self._stranger(what)
            case "jwks_uri" if self.resigns and passing.sender == "app":
                return _with(super().answer(passing), self.keys.jwks())
        passed = super().answer(passing)
        if passed.status != 200:
            return passed
        if passing.member == "token_endpoint":
            self.given.setdefault(passing.sender, []).append(json.loads(passed.body))
        if passing.sender == "app":
            match passing.member:
                case "token_endpoint":
                    return _with(passed, self._tokens(json.loads(passed.body)))
                case "userinfo_endpoint":
                    return self._user_info(passed)
                case "discovery":
                    return _with(passed, self._metadata_document(json.loads(passed.body)))
        return passed

    def _tokens(self, members: Members) -> Members:
        members["id_token"] = self._signed(members["id_token"], self.forgery.id_token)
        if self.forgery.tokens is not None:
            self.forgery.tokens(self, members)
        return members

    def _user_info(self, passed: Passed) -> Passed:
        if "application/jwt" in (passed.header("Content-Type") or ""):
            token = self._signed(passed.body.decode(), self.forgery.signed_user_info)
            return Passed(passed.status, passed.headers, token.encode())
        members = json.loads(passed.body)
        if self.forgery.user_info is not None:
            self.forgery.user_info(self, members)
        return _with(passed, members)

    def _signed(self, token: str, change: Change | None) -> str:
        if self.resigns:
            kid, key = self.keys.use(ALG)
            token = reassembled(
                token,
                by(key),
                header=lambda header: header.update(alg=ALG, kid=kid),
                claims=lambda claims: claims.update(iss=self.issues) if "iss" in claims else None,
            )
        return token if change is None else change(self, token)

    def _metadata_document(self, members: Members) -> Members:
        members.update({member: self.url(member) for member in self.stands_before}, issuer=self.issuer)
        if self.forgery.metadata is not None:
            self.forgery.metadata(members)
        return members

    def _stranger(self, what: str) -> Passed:
        """What `jku` and `x5u` of a forged header point to."""
        if what == "x5u":
            return Passed(200, [], certificate(self.stranger).public_bytes(Encoding.PEM))
        return _with(Passed(200, [], b""), {"keys": [self.stranger.as_dict(private=False)]})


def _with(passed: Passed, members: Members) -> Passed:
    """With other members, and all else as the provider said it."""
    return Passed(passed.status, passed.headers, json.dumps(members).encode())

# SPDX-License-Identifier: Apache-2.0
"""What a forger tries, one thing at a time, and which rule has to catch it (behaviour §6 and §7).

A row's `says` is the part of the error's detail that names the rule: so a row fails when another rule catches it.
"""

from __future__ import annotations

import base64
import json
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.serialization import Encoding
from joserfc.jwk import RSAKey

from forging_proxy import (
    ALG,
    Change,
    Forgery,
    ForgingProxy,
    Members,
    base64url,
    by,
    by_secret,
    certificate,
    claims_of,
    decoded,
    reassembled,
)
from provider.id_token import half_hash
from provider.keys import SigningKeys, make_key

UNVERIFIED = "signature does not verify"
NO_KEY = "No key of the provider's set fits"
ALGORITHM = "signature algorithm is not one of those accepted"
ANOTHER_KIND = "another kind of token"


@dataclass(frozen=True)
class Row:
    forgery: Forgery
    says: str
    own_keys: bool = True
    """Whether everything is signed by the forger's keys and his set is served, so that only the claims can be wrong;
    else the provider's signatures and keys pass as they are."""
    cause: str = "ID_TOKEN_REJECTED"
    login_options: Mapping[str, Any] = field(default_factory=dict)
    needs_bob: bool = False
    """Whether somebody else has to be signed in, too."""


Rows = dict[str, Row]


# --- Changes of a signed token ----------------------------------------------------------------------------------------


def header(**changes: object) -> Callable[[Members], None]:
    """Members set to another value; `None` takes one out."""

    def change(members: Members) -> None:
        members.update(changes)
        for name in [name for name, value in members.items() if value is None]:
            del members[name]

    return change


def by_a_stranger(**changes: object) -> Change:
    return lambda proxy, token: reassembled(token, by(proxy.stranger), header=header(**changes))


def with_embedded(member: str, value: Callable[[ForgingProxy], object], **changes: object) -> Change:
    """Signed by the key that the header brings along or points to."""
    return lambda proxy, token: by_a_stranger(**{member: value(proxy)}, **changes)(proxy, token)


def hs256(secret: Callable[[Members], bytes]) -> Change:
    """Signed with what everybody knows of the provider's key, for a library that believes the header's `alg`."""
    return lambda proxy, token: reassembled(
        token, by_secret(secret(proxy.provider_key(token))), header=header(alg="HS256")
    )


def flipped(proxy: ForgingProxy, token: str) -> str:
    signed, _, signature = token.rpartition(".")
    first, *rest = decoded(signature)
    return f"{signed}.{base64url(bytes([first ^ 1, *rest]))}"


def old_signature(token: str) -> Callable[[bytes], bytes]:
    return lambda _: decoded(token.rpartition(".")[2])


def in_der(proxy: ForgingProxy) -> list[str]:
    return [base64.b64encode(certificate(proxy.stranger).public_bytes(Encoding.DER)).decode()]


SIGNATURE: dict[str, tuple[Change, str]] = {
    "signature flipped": (flipped, UNVERIFIED),
    "signature left out": (lambda _, token: token.rpartition(".")[0] + ".", UNVERIFIED),
    "claims changed under the signature": (
        lambda _, token: reassembled(token, old_signature(token), claims=lambda claims: claims.update(name="Mallory")),
        UNVERIFIED,
    ),
    "another key under the right kid": (by_a_stranger(), UNVERIFIED),
    "another key under no kid": (by_a_stranger(kid=None), UNVERIFIED),
    "another key under an unknown kid": (by_a_stranger(kid="unknown"), NO_KEY),
    "alg none": (
        lambda _, token: reassembled(token, lambda _: b"", header=header(alg="none")),
        ALGORITHM,
    ),
    "alg none and a signature": (
        lambda _, token: reassembled(token, old_signature(token), header=header(alg="none")),
        ALGORITHM,
    ),
    "HS256 with the public key's PEM": (
        hs256(lambda jwk: RSAKey.import_key(jwk).as_pem(private=False)),
        ALGORITHM,
    ),
    "HS256 with the public JWK": (hs256(lambda jwk: json.dumps(jwk, separators=(",", ":")).encode()), ALGORITHM),
    "HS256 with the modulus": (hs256(lambda jwk: decoded(jwk["n"])), ALGORITHM),
    "alg of another kind of key": (
        lambda _, token: reassembled(token, old_signature(token), header=header(alg="ES256")),
        NO_KEY,
    ),
    "jwk in the header": (with_embedded("jwk", lambda proxy: proxy.stranger.as_dict(private=False)), UNVERIFIED),
    "jwk in the header, no kid": (
        with_embedded("jwk", lambda proxy: proxy.stranger.as_dict(private=False), kid=None),
        UNVERIFIED,
    ),
    "jku in the header": (with_embedded("jku", lambda proxy: proxy.url("jku"), kid=None), UNVERIFIED),
    "x5u in the header": (
        with_embedded("x5u", lambda proxy: proxy.url("x5u"), kid=None),
        UNVERIFIED,
    ),
    "x5c in the header": (with_embedded("x5c", in_der, kid=None), UNVERIFIED),
}
"""The provider's own tokens and keys; what is wrong is the signature."""


def resigned(**changes: object) -> Change:
    """Another header under a right signature."""
    return lambda proxy, token: reassembled(token, proxy.sign, header=header(**changes))


HEADER: dict[str, tuple[Change, str]] = {
    "typ at+jwt": (resigned(typ="at+jwt"), ANOTHER_KIND),
    "typ application/at+jwt": (resigned(typ="application/AT+JWT"), ANOTHER_KIND),
    "typ at+jwt with a parameter": (resigned(typ="application/at+jwt; v=1"), ANOTHER_KIND),
    "typ logout+jwt": (resigned(typ="logout+jwt"), ANOTHER_KIND),
    "typ dpop+jwt": (resigned(typ="dpop+jwt"), ANOTHER_KIND),
    "typ secevent+jwt": (resigned(typ="secevent+jwt"), ANOTHER_KIND),
    "crit with an unknown name": (resigned(crit=["x"], x=1), "demands an extension that is not understood"),
}


# --- Key sets ---------------------------------------------------------------------------------------------------------


def publishing(published: Callable[[SigningKeys], list[Members]]) -> Callable[[SigningKeys], None]:
    """The keys turn over, so that the app looks for the new one, and this is what it finds."""

    def change(keys: SigningKeys) -> None:
        keys.rotate(ALG)
        keys.published = published(keys)

    return change


def turn_over_to_1024_bits(keys: SigningKeys) -> None:
    with warnings.catch_warnings():
        # The JOSE library says that nobody should use such a key.
        warnings.simplefilter("ignore")
        keys.rotate(ALG, to=make_key(ALG, 1024))


KEYS: dict[str, Callable[[SigningKeys], None]] = {
    "no key in the set": publishing(lambda keys: []),
    "a key of another type under the kid": publishing(
        lambda keys: [{**keys.public("ES256"), "kid": keys.public(ALG)["kid"]}]
    ),
    "the key for another algorithm": publishing(lambda keys: [{**keys.public(ALG), "alg": "PS256"}]),
    "the key for encryption": publishing(lambda keys: [{**keys.public(ALG), "use": "enc"}]),
    "the key for other operations": publishing(lambda keys: [{**keys.public(ALG), "key_ops": ["wrapKey"]}]),
    "a key of 1024 bits": turn_over_to_1024_bits,
}


# --- Claims -----------------------------------------------------------------------------------------------------------


def claims(change: Callable[[Members], object], says: str, **more: Any) -> Row:
    return Row(Forgery(id_token=lambda proxy, token: reassembled(token, proxy.sign, claims=change)), says=says, **more)


def claim(name: str, value: object, says: str, **more: Any) -> Row:
    return claims(lambda claims: claims.update({name: value}), says, **more)


def from_now(name: str, seconds: int, says: str, **more: Any) -> Row:
    return claims(lambda claims: claims.update({name: int(time.time()) + seconds}), says, **more)


def lacks(name: str, says: str, **more: Any) -> Row:
    return claims(lambda claims: claims.pop(name), says, **more)


AUD = "aud does not contain the client_id"
AZP = "azp is not the client_id"
ISS = "iss is not the discovered issuer"
HASH = "{} is not the hash of what came with it"
WRONG_HASH = "AAAAAAAAAAAAAAAAAAAAAA"

CLAIMS: Rows = {
    "iss another": claim("iss", "https://evil.example", ISS),
    "iss with a slash at its end": claims(lambda claims: claims.update(iss=claims["iss"] + "/"), ISS),
    "iss missing": lacks("iss", "iss is missing"),
    "aud another": claim("aud", "another-app", AUD),
    "aud an array without us": claim("aud", ["another-app", "account"], AUD),
    "aud empty": claim("aud", [], AUD),
    "several aud and no azp": claims(
        lambda claims: (claims.update(aud=[claims["aud"], "another-app"]), claims.pop("azp")), "no azp"
    ),
    "azp another": claim("azp", "another-app", AZP),
    "exp past": from_now("exp", -600, "exp is past"),
    "exp missing": lacks("exp", "exp is missing"),
    "iat in the future": from_now("iat", 600, "iat is in the future"),
    "iat missing": lacks("iat", "iat is missing"),
    "sub missing": lacks("sub", "sub is missing"),
    "sub empty": claim("sub", "", "sub is empty"),
    "at_hash wrong": claim("at_hash", WRONG_HASH, HASH.format("at_hash")),
}
"""Wrong in a login as in a refresh."""

ACCESS_TOKEN_IN_PLACE = Row(
    Forgery(tokens=lambda _, members: members.update(id_token=members["access_token"])), AUD, own_keys=False
)
"""Signed by the same provider, with the same key, about the same person."""


def everything_of_bob(proxy: ForgingProxy, members: Members) -> None:
    """Real, unchanged, and with a right at_hash; the refresh token alone stays ours."""
    members.update({name: proxy.given["bob"][-1][name] for name in ("access_token", "id_token")})


def as_bob(proxy: ForgingProxy, token: str) -> str:
    """All that bob's own token says, in one for us."""
    bob = claims_of(proxy.given["bob"][-1]["id_token"])
    ours = {"nonce": claims_of(proxy.given["app"][0]["id_token"])["nonce"], "at_hash": claims_of(token)["at_hash"]}
    return reassembled(token, proxy.sign, claims=lambda claims: claims.update({**bob, **ours}))


def common() -> Rows:
    return {
        **{name: Row(Forgery(id_token=change), says, own_keys=False) for name, (change, says) in SIGNATURE.items()},
        **{name: Row(Forgery(id_token=change), says) for name, (change, says) in HEADER.items()},
        **{name: Row(Forgery(keys=change), NO_KEY) for name, change in KEYS.items()},
        **CLAIMS,
        "the access token in its place": ACCESS_TOKEN_IN_PLACE,
    }


NONCE = "nonce is missing or not the login's"
OLD = {"max_age": 3600}

AT_LOGIN: Rows = {
    **common(),
    "nonce another": claim("nonce", "another", NONCE),
    "nonce missing": lacks("nonce", NONCE),
    "c_hash wrong": claim("c_hash", WRONG_HASH, HASH.format("c_hash")),
    "auth_time before max_age": from_now("auth_time", -7200, "longer ago than max_age", login_options=OLD),
    "auth_time missing with max_age": lacks("auth_time", "no auth_time", login_options=OLD),
    "bob's own tokens": Row(Forgery(tokens=everything_of_bob), NONCE, own_keys=False, needs_bob=True),
    "ID token missing": Row(
        Forgery(tokens=lambda _, members: members.pop("id_token")), "without an ID token", own_keys=False
    ),
    "ID token null": Row(
        Forgery(tokens=lambda _, members: members.update(id_token=None)), "without an ID token", own_keys=False
    ),
}

AT_REFRESH: Rows = {
    **common(),
    "nonce another": claim("nonce", "another", "nonce is not the login's"),
    "another aud beside us": claims(
        lambda claims: claims.update(aud=[claims["aud"], "another-app"]), "aud is not the login's"
    ),
    "azp missing": lacks("azp", "azp is not the login's"),
    "auth_time before the login's": claims(
        lambda claims: claims.update(auth_time=claims["auth_time"] - 1), "auth_time is before the login's"
    ),
    "bob's own tokens": Row(
        Forgery(tokens=everything_of_bob), "sub is not the login's", own_keys=False, needs_bob=True
    ),
    "bob's claims with our nonce": Row(Forgery(id_token=as_bob), "sub is not the login's", needs_bob=True),
    "sub in another case": claims(lambda claims: claims.update(sub=claims["sub"].upper()), "sub is not the login's"),
}


# --- What is right, though it may look odd ----------------------------------------------------------------------------


def right_c_hash(proxy: ForgingProxy, token: str) -> str:
    hashed = half_hash(ALG, proxy.sent("authorization_code")[-1].form["code"])
    return reassembled(token, proxy.sign, claims=lambda claims: claims.update(c_hash=hashed))


def nonce_again(proxy: ForgingProxy, token: str) -> str:
    nonce = claims_of(proxy.given["app"][0]["id_token"])["nonce"]
    return reassembled(token, proxy.sign, claims=lambda claims: claims.update(nonce=nonce))


RIGHT: Rows = {
    "unchanged": Row(Forgery(), "", own_keys=False),
    "signed anew": Row(Forgery(), ""),
    "signed by a new key": Row(Forgery(keys=lambda keys: keys.rotate(ALG)), ""),
    "kid missing": Row(Forgery(id_token=resigned(kid=None)), ""),
    "typ missing": Row(Forgery(id_token=resigned(typ=None)), ""),
    "aud an array": claims(lambda claims: claims.update(aud=[claims["aud"]]), ""),
    "c_hash right": Row(Forgery(id_token=right_c_hash), ""),
    "nonce as in the login": Row(Forgery(id_token=nonce_again), ""),
    "at_hash missing": lacks("at_hash", ""),
}


# --- UserInfo ---------------------------------------------------------------------------------------------------------

SUB = "sub is missing or not the ID token's"
REFUSED = "USER_INFO_REJECTED"


def members(change: Callable[[Members], object]) -> Row:
    return Row(Forgery(user_info=lambda _, members: change(members)), SUB, own_keys=False, cause=REFUSED)


def about_bob(proxy: ForgingProxy, members: Members) -> None:
    """The provider's real answer about somebody else."""
    members.clear()
    members.update(json.loads(proxy.user_info_of("bob")))


PLAIN_USER_INFO: Rows = {
    "sub another": members(lambda members: members.update(sub="another")),
    "sub missing": members(lambda members: members.pop("sub")),
    "sub null": members(lambda members: members.update(sub=None)),
    "sub with a space at its end": members(lambda members: members.update(sub=members["sub"] + " ")),
    "sub an array": members(lambda members: members.update(sub=[members["sub"]])),
    "bob's own": Row(Forgery(user_info=about_bob), SUB, own_keys=False, cause=REFUSED, needs_bob=True),
}


def signed(change: Change, says: str, *, own_keys: bool = True, needs_bob: bool = False) -> Row:
    return Row(Forgery(signed_user_info=change), says, own_keys=own_keys, cause=REFUSED, needs_bob=needs_bob)


def signed_claims(change: Callable[[Members], object], says: str) -> Row:
    return signed(lambda proxy, token: reassembled(token, proxy.sign, claims=change), says)


SIGNED_USER_INFO: Rows = {
    **{name: signed(change, says, own_keys=False) for name, (change, says) in SIGNATURE.items()},
    **{name: signed(change, says) for name, (change, says) in HEADER.items()},
    **{name: Row(Forgery(keys=change), NO_KEY, cause=REFUSED) for name, change in KEYS.items()},
    "iss another": signed_claims(lambda claims: claims.update(iss="https://evil.example"), "iss is not the provider"),
    "iss with a slash at its end": signed_claims(
        lambda claims: claims.update(iss=claims["iss"] + "/"), "iss is not the provider"
    ),
    "aud another": signed_claims(lambda claims: claims.update(aud="another-app"), "aud does not name this client"),
    "aud an array without us": signed_claims(
        lambda claims: claims.update(aud=["another-app", "account"]), "aud does not name this client"
    ),
    "exp past": signed_claims(lambda claims: claims.update(exp=int(time.time()) - 600), "it has expired"),
    "nbf in the future": signed_claims(lambda claims: claims.update(nbf=int(time.time()) + 600), "not valid yet"),
    "sub another": signed_claims(lambda claims: claims.update(sub="another"), SUB),
    "sub missing": signed_claims(lambda claims: claims.pop("sub"), SUB),
    "bob's own": signed(lambda proxy, _: proxy.user_info_of("bob").decode(), SUB, own_keys=False, needs_bob=True),
}

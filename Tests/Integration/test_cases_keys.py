# SPDX-License-Identifier: Apache-2.0
"""Which key a token is checked with, and when the key set is fetched (behaviour §6), at the scripted provider."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from joserfc.jwk import ECKey, OctKey
from versola import ConfigurationCause, NetworkReason, OAuthClient, RecoverableCause, RecoverableError, SessionState

from cases import Bench, Person, bench_fixture  # noqa: F401
from provider import Answer, Cut, IDTokenShape, Provider, Response, sign
from provider.keys import make_key

REJECTED = ConfigurationCause.ID_TOKEN_REJECTED
ALGORITHMS = Provider.signing_algorithms


def loads(bench: Bench) -> int:
    return len(bench.provider.requests("jwks"))


def refused(bench: Bench, client: OAuthClient) -> None:
    with bench.refused(REJECTED):
        client.login()


# --- Algorithms -------------------------------------------------------------------------------------------------------

HASHES = {"256": hashlib.sha256, "384": hashlib.sha384, "512": hashlib.sha512, "DSA": hashlib.sha512}


def half(digest: bytes) -> str:
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


@pytest.mark.parametrize("alg", ALGORITHMS)
def test_B13_at_hash_and_c_hash_are_the_left_half_of_the_hash_that_the_alg_names(bench: Bench, alg: str) -> None:
    bench.provider.id_token.alg = alg
    bench.provider.id_token.c_hash = True
    client = bench.client(browser=Person())
    assert client.login().subject == bench.provider.subject
    claims = client.identity().claims
    [exchange] = bench.provider.requests("token")
    hashed = {"at_hash": client.access_token().value, "c_hash": exchange.form["code"]}
    for name, value in hashed.items():
        right = half(HASHES[alg[-3:]](value.encode()).digest())
        assert claims[name] == right
        for wrong in (right, right + "=", right[:-1], ""):
            bench.provider.id_token.claims[name] = wrong  # first that of the login before
            refused(bench, client)
        bench.provider.id_token.claims.clear()


@pytest.mark.parametrize("alg", ["RS384", "ES512", "EdDSA"])
def test_B13_a_hash_by_another_function_is_refused(bench: Bench, alg: str) -> None:
    """SHA-256, which some providers take whatever the alg."""
    bench.provider.id_token.alg = alg
    token = "the-access-token-of-B13"
    bench.provider.token_response["access_token"] = token
    bench.provider.id_token.claims["at_hash"] = half(hashlib.sha256(token.encode()).digest())
    client = bench.client(browser=Person())
    refused(bench, client)
    bench.provider.id_token.claims["at_hash"] = half(HASHES[alg[-3:]](token.encode()).digest())
    assert client.login()


# --- Which key --------------------------------------------------------------------------------------------------------


def short_coordinate(name: str) -> ECKey:
    """A key one of whose coordinates begins with a zero byte: one in 256 does."""
    while True:
        key = ECKey.generate_key("P-256")
        if base64.urlsafe_b64decode(str(key.as_dict(private=False)[name]) + "=")[0] == 0:
            return key


@pytest.mark.parametrize("name", ["x", "y"])
def test_B04_an_EC_coordinate_one_byte_short_is_padded(bench: Bench, name: str) -> None:
    keys = bench.provider.keys
    bench.provider.id_token.alg = "ES256"
    keys.put("ES256", short_coordinate(name))
    jwk = keys.public("ES256")
    stripped = base64.urlsafe_b64decode(jwk[name] + "=")[1:]
    keys.published = [{**jwk, name: base64.urlsafe_b64encode(stripped).rstrip(b"=").decode()}]
    assert bench.signed_in().identity().subject == bench.provider.subject


def test_B04_a_key_that_is_broken_does_not_take_the_others_with_it(bench: Bench) -> None:
    keys = bench.provider.keys
    good = keys.public("RS256")
    point = make_key("ES256").as_dict(private=False)
    keys.published = [
        {**point, "x": point["x"][:40]},
        {**point, "y": point["x"]},
        {**point, "x": "", "y": ""},
        {**point, "crv": "secp256k1"},
        {"kty": "OKP", "crv": "Ed448", "x": "AA"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AA"},
        {"kty": "RSA", "n": "AQAB"},
        {"kty": "RSA", "n": "=", "e": 5},
        {"kty": None},
        {},
        good,
    ]
    assert bench.signed_in().identity().subject == bench.provider.subject


Change = Callable[[Provider], list[dict[str, Any]]]


def mine(**changes: object) -> Change:
    """The signing key as published, with members changed; None removes one."""

    def change(provider: Provider) -> list[dict[str, Any]]:
        jwk = {**provider.keys.public("RS256"), **changes}
        return [{name: value for name, value in jwk.items() if value is not None}]

    return change


def beside(*others: Change) -> Change:
    """The signing key as it is, after others that go by its kid."""
    return lambda provider: [jwk for other in others for jwk in other(provider)] + mine()(provider)


def stranger(alg: str, /, **changes: object) -> Change:
    return lambda provider: [
        {**provider.keys.stranger(alg).as_dict(private=False), "kid": provider.keys.public("RS256")["kid"], **changes}
    ]


def weak(provider: Provider) -> list[dict[str, Any]]:
    with pytest.warns(match="2048"):
        key = make_key("RS256", bits=2040)
    provider.keys.put("RS256", key)
    return mine()(provider)


FITTING: dict[str, Change] = {
    "without use, alg and kid": mine(use=None, alg=None),
    "key_ops verify": mine(use=None, key_ops=["verify"]),
    "more that nobody knows": mine(x5c=["AA"], x5t="AA", exp=5, d=5),
    "after a key of another type with its kid": beside(stranger("ES256"), stranger("EdDSA")),
    "after a key of its type with its kid": beside(stranger("RS256")),
    "after a key for encryption with its kid": beside(stranger("RS256", use="enc")),
}
UNFITTING: dict[str, Change] = {
    "for encryption": mine(use="enc"),
    "use is not for signatures": mine(use="SIG"),
    "key_ops sign": mine(key_ops=["sign"]),
    "key_ops empty": mine(key_ops=[]),
    "for another alg": mine(alg="RS512"),
    "for RSA-OAEP": mine(alg="RSA-OAEP"),
    "another type": mine(kty="EC"),
    "another kid": mine(kid="another"),
    "no kid": mine(kid=None),
    "kid in other letters": lambda provider: mine(kid=provider.keys.public("RS256")["kid"].upper())(provider),
    "kid a number": mine(kid=5),
    "under 2048 bits": weak,
    "symmetric": lambda provider: [{**OctKey.generate_key(256).as_dict(), "kid": provider.keys.public("RS256")["kid"]}],
    "of a stranger": stranger("RS256"),
    "nothing": lambda provider: [],
}


@pytest.mark.parametrize("change", FITTING.values(), ids=FITTING.keys())
def test_a_key_that_fits_is_used(bench: Bench, change: Change) -> None:
    bench.provider.keys.published = change(bench.provider)
    assert bench.signed_in().identity().subject == bench.provider.subject
    assert loads(bench) == 1


@pytest.mark.parametrize("change", UNFITTING.values(), ids=UNFITTING.keys())
def test_a_key_that_does_not_fit_is_not_used(bench: Bench, change: Change) -> None:
    bench.provider.keys.published = change(bench.provider)
    refused(bench, bench.client(browser=Person()))


@pytest.mark.parametrize("last", [0x00, 0x80], ids=["neutral", "neutral, written with a sign"])
def test_an_Ed25519_key_of_small_order_verifies_nothing(bench: Bench, last: int) -> None:
    """One signature would be good for every token: the sum of neutral points is neutral."""

    def forged(response: Response) -> Response:
        members = json.loads(response.body)
        header = base64.urlsafe_b64encode(b'{"alg":"EdDSA"}').rstrip(b"=").decode()
        signature = base64.urlsafe_b64encode(b"\x01" + bytes(63)).rstrip(b"=").decode()
        members["id_token"] = ".".join([header, members["id_token"].split(".")[1], signature])
        return Response.json(members)

    bench.provider.id_token.at_hash = False
    bench.provider.script("token", Answer(edit=forged))
    point = base64.urlsafe_b64encode(bytes([1, *bytes(30), last])).rstrip(b"=").decode()
    bench.provider.keys.published = [{"kty": "OKP", "crv": "Ed25519", "x": point}]
    refused(bench, bench.client(browser=Person()))


def test_without_kid_a_single_fitting_key_is_used_and_of_several_none(bench: Bench) -> None:
    keys = bench.provider.keys
    bench.provider.id_token.header.remove("kid")
    others = stranger("ES256")(bench.provider) + stranger("RS256", alg="RS512")(bench.provider)
    keys.published = others + mine()(bench.provider)
    client = bench.signed_in()
    assert loads(bench) == 1
    bench.provider.id_token.wrong_key = True
    refused(bench, client)
    assert loads(bench) == 2, "no kid was looked for and the signature failed: the key may be another by now"
    bench.provider.id_token.wrong_key = False
    keys.published += stranger("RS256")(bench.provider)
    refused(bench, bench.client(session="other", browser=Person()))
    assert loads(bench) == 4


def test_a_member_named_twice_makes_the_set_unreadable(bench: Bench) -> None:
    jwk = '{"kty":"EC","kty":"RSA"}'
    bench.provider.script("jwks", Answer(status=200, body=f'{{"keys":[{jwk}]}}'))
    client = bench.client(browser=Person())
    with bench.refused(RecoverableCause.SERVER):
        client.login()
    assert client.login(), "nothing of it was kept"


# --- When the set is fetched ------------------------------------------------------------------------------------------


def test_B06_a_signing_key_rotated_after_caching_costs_one_refetch_and_a_burst_of_random_kid_one_more(
    bench: Bench,
) -> None:
    client = bench.signed_in()
    for turn in range(3):  # one that helped does not count
        bench.provider.keys.rotate()
        assert client.login().subject == bench.provider.subject
        assert loads(bench) == 2 + turn
    for turn in range(5):
        bench.provider.id_token.header["kid"] = f"random-{turn}"
        refused(bench, client)
        with bench.refused(REJECTED):
            client.refresh()
    assert loads(bench) == 5
    bench.provider.id_token.header.clear()
    assert client.login() and client.refresh()
    assert loads(bench) == 5, "what is known needs no fetch"


def test_B06_a_random_kid_at_the_first_load_costs_one_refetch_too(bench: Bench) -> None:
    bench.provider.id_token.header["kid"] = "random"
    client = bench.client(browser=Person())
    for _ in range(2):
        refused(bench, client)
        assert loads(bench) == 2


def test_a_broken_rule_or_a_failing_signature_of_a_named_key_is_no_reason_for_a_refetch(bench: Bench) -> None:
    client = bench.client(browser=Person())
    bench.provider.id_token.wrong_key = True
    refused(bench, client)
    bench.provider.id_token.wrong_key = False
    bench.provider.id_token.claims["nonce"] = "another"
    refused(bench, client)
    assert loads(bench) == 1


@pytest.mark.parametrize(
    "answer, cause",
    [
        (Answer(status=503), RecoverableCause.SERVER),
        (Answer(status=404), RecoverableCause.SERVER),
        (Answer(status=200, body="<html>"), RecoverableCause.SERVER),
        (Answer(status=200, json={"keys": {}}), RecoverableCause.SERVER),
        (Answer(cut=Cut.RESET), RecoverableCause.NETWORK),
        (Answer(redirect="/x"), ConfigurationCause.ENDPOINT_REDIRECTED),
    ],
)
def test_B07_a_failed_refetch_has_its_own_error_and_the_last_good_set_is_kept(
    bench: Bench, answer: Answer, cause: RecoverableCause | ConfigurationCause
) -> None:
    provider = bench.provider
    provider.keys.use("ES256")
    client = bench.signed_in()
    provider.script("jwks", answer, times=None)
    provider.keys.rotate("ES256")
    for turn in range(2):
        provider.id_token.alg = "ES256"
        with bench.refused(cause) as caught:
            client.login()
        if isinstance(caught.value, RecoverableError):
            assert (caught.value.reason is NetworkReason.RESET) is (cause is RecoverableCause.NETWORK)
        with bench.refused(cause):
            client.refresh()
        assert client.state is SessionState.AUTHENTICATED
        assert loads(bench) == 3 + 2 * turn, "an error is not cached"
        provider.id_token.alg = "RS256"
        assert client.login() and client.refresh(), "the set from before still serves"
        assert loads(bench) == 3 + 2 * turn
    provider.unscript()
    provider.id_token.alg = "ES256"
    assert client.login() and client.refresh()


def test_user_info_shares_the_set_and_its_rules(bench: Bench) -> None:
    client = bench.signed_in()

    def signed(**header: object) -> Answer:
        shape = IDTokenShape()
        shape.header.update(header)
        token = sign({"sub": bench.provider.subject}, shape, bench.provider.keys)
        return Answer(status=200, body=token, headers={"Content-Type": "application/jwt"})

    bench.provider.script("userinfo", signed())
    assert client.user_info() and loads(bench) == 1
    bench.provider.keys.rotate()
    bench.provider.script("userinfo", signed())
    bench.provider.script("jwks", Answer(status=503))
    with bench.refused(RecoverableCause.SERVER):
        client.user_info()
    assert loads(bench) == 2
    bench.provider.script("userinfo", signed())
    assert client.user_info() and loads(bench) == 3
    for kid in ("random-1", "random-2"):
        bench.provider.script("userinfo", signed(kid=kid))
        with bench.refused(ConfigurationCause.USER_INFO_REJECTED):
            client.user_info()
        assert loads(bench) == 4
    bench.provider.script("userinfo", signed())
    assert client.user_info() and loads(bench) == 4

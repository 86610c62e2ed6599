# SPDX-License-Identifier: Apache-2.0
"""The ID token of a login, at the scripted provider (behaviour §6)."""

from __future__ import annotations

import base64
import datetime
import math
import time
from collections.abc import Callable

import pytest
from versola import ConfigurationCause, SessionState

from cases import Bench, Person, bench_fixture  # noqa: F401
from provider import Answer, Provider, sign

REJECTED = ConfigurationCause.ID_TOKEN_REJECTED


def claim(name: str, value: object) -> Callable[[Provider], None]:
    return lambda provider: provider.id_token.claims.update({name: value})


def from_now(name: str, seconds: int) -> Callable[[Provider], None]:
    return lambda provider: provider.id_token.claims.update({name: int(time.time()) + seconds})


def header(name: str, value: object) -> Callable[[Provider], None]:
    return lambda provider: provider.id_token.header.update({name: value})


def shape(name: str, value: object) -> Callable[[Provider], None]:
    return lambda provider: setattr(provider.id_token, name, value)


def lacks(name: str) -> Callable[[Provider], None]:
    return lambda provider: provider.id_token.claims.remove(name)


def refused_login(bench: Bench) -> None:
    client = bench.client(browser=Person())
    states = client.session_states()
    with bench.refused(REJECTED):
        client.login()
    assert bench.grant_types() == ["authorization_code"]
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "UNAUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


NOW = int(time.time())
BROKEN = {
    "iss is another": claim("iss", "https://evil.example"),
    "iss is missing": lacks("iss"),
    "iss is an array": claim("iss", ["https://evil.example"]),
    "aud is another": claim("aud", "another-app"),
    "aud is empty": claim("aud", []),
    "aud is missing": lacks("aud"),
    "aud is a number": claim("aud", 5),
    "azp is another": claim("azp", "another-app"),
    "several aud without azp": claim("aud", ["native-app", "another-app"]),
    "nonce is another": claim("nonce", "another"),
    "nonce is missing": lacks("nonce"),
    "nonce is a number": claim("nonce", 5),
    "exp is past": from_now("exp", -3600),
    "exp is missing": lacks("exp"),
    "iat is missing": lacks("iat"),
    "iat is in the future": from_now("iat", 3600),
    "sub is missing": lacks("sub"),
    "sub is empty": claim("sub", ""),
    "sub is longer than 255 bytes": claim("sub", "a" * 256),
    "sub is a number": claim("sub", 5),
    "sub contains a NUL, where a C string would end": claim("sub", "alice\0bob"),
    "at_hash is wrong": claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
    "at_hash is a number": claim("at_hash", 5),
    "c_hash is wrong": claim("c_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
    "crit with anything unknown": header("crit", ["x"]),
    "typ is at+jwt": header("typ", "at+jwt"),
    "typ is logout+jwt": header("typ", "application/logout+jwt"),
    "typ is dpop+jwt": header("typ", "DPoP+JWT"),
    "typ is secevent+jwt": header("typ", "secevent+jwt"),
    "kid is unknown": header("kid", "unknown"),
    "the key is a stranger": shape("wrong_key", True),
    "the signature is broken": shape("broken_signature", True),
    "alg none": shape("alg", "none"),
    "HS256 with the public key": shape("alg", "HS256"),
    "alg says another kind of key": header("alg", "ES256"),
    "alg says PS256 of an RS256 key": header("alg", "PS256"),
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN.keys())
def test_any_ID_token_rule_broken_is_ID_token_rejected(bench: Bench, broken: Callable[[Provider], None]) -> None:
    broken(bench.provider)
    refused_login(bench)


@pytest.mark.parametrize(
    "right",
    [
        claim("aud", ["native-app"]),
        claim("azp", "native-app"),
        lambda provider: provider.id_token.claims.update({"aud": ["native-app", "b"], "azp": "native-app"}),
        claim("sub", "a" * 255),
        shape("at_hash", False),
        shape("c_hash", True),
        header("typ", "jwt"),
        lambda provider: provider.id_token.header.remove("typ"),
        lambda provider: provider.id_token.header.remove("kid"),
        from_now("iat", 30),
        from_now("exp", -30),
    ],
)
def test_a_right_ID_token_of_another_shape_is_accepted(bench: Bench, right: Callable[[Provider], None]) -> None:
    right(bench.provider)
    assert bench.signed_in().state is SessionState.AUTHENTICATED


def test_an_embedded_key_is_never_used(bench: Bench) -> None:
    stranger = bench.provider.keys.stranger("RS256").as_dict(private=False)
    bench.provider.id_token.wrong_key = True
    bench.provider.id_token.header.update(
        {"jwk": stranger, "jku": bench.provider.url("jwks"), "x5u": "https://x.example"}
    )
    refused_login(bench)


def test_B08_a_provider_that_publishes_and_uses_ES256_only_works_without_settings(bench: Bench) -> None:
    bench.provider.id_token.alg = "ES256"
    bench.provider.metadata["id_token_signing_alg_values_supported"] = ["ES256"]
    with bench.signed_in() as client:
        assert client.identity().subject == bench.provider.subject


@pytest.mark.parametrize("alg", ["none", "HS256"])
def test_B08_none_and_HS256_with_the_public_key_are_refused(bench: Bench, alg: str) -> None:
    bench.provider.id_token.alg = alg
    bench.provider.metadata["id_token_signing_alg_values_supported"] = ["RS256", alg]
    refused_login(bench)


def test_B09_iat_five_minutes_in_the_past_is_accepted(bench: Bench) -> None:
    bench.provider.id_token.claims.update({"iat": int(time.time()) - 300, "exp": int(time.time()) + 60})
    assert bench.signed_in().state is SessionState.AUTHENTICATED


@pytest.mark.parametrize(
    "name, value",
    [
        *[("exp", value) for value in (None, "soon", str(NOW + 60), -1, -1e300, 0, True, [], {}, NOW * 1000)],
        *[("exp", value) for value in (1e300, 2**63 - 1, 2**63, 2**64, 1e18, 10**400, math.inf, math.nan)],
        *[("iat", value) for value in (None, NOW * 1000, str(NOW), -1, -0.5, -1e300, 1e300, 2**64, [NOW], math.nan)],
        *[("auth_time", value) for value in ("x", str(NOW), NOW * 1000, -1, 1e300, -1e300, True, [], math.inf)],
    ],
)
def test_B11_a_time_that_is_none_is_a_typed_error_never_a_trap(bench: Bench, name: str, value: object) -> None:
    bench.provider.id_token.claims[name] = value
    client = bench.client(browser=Person())
    with bench.refused(REJECTED):
        client.login()
    bench.provider.id_token.claims.clear()
    assert client.login().subject == bench.provider.subject, "the process goes on"


@pytest.mark.parametrize(
    "name, value",
    [
        ("exp", NOW + 3600.5),
        ("exp", (NOW + 3600) * 1.0),
        ("exp", 253_402_300_799),
        ("iat", 0),
        ("iat", NOW - 0.5),
        ("auth_time", 0),
        ("auth_time", NOW - 0.5),
        ("auth_time", None),
        ("nbf", "not judged"),
    ],
)
def test_B11_a_fraction_or_a_far_date_is_a_time(bench: Bench, name: str, value: object) -> None:
    bench.provider.id_token.claims[name] = value
    assert bench.signed_in().identity().subject == bench.provider.subject


HEADER = base64.urlsafe_b64encode(b'{"alg":"RS256"}').rstrip(b"=").decode()
MALFORMED = {
    "truncated": lambda token: token[: len(token) // 2],
    "one byte short": lambda token: token[:-1],
    "two parts": lambda token: token.rpartition(".")[0],
    "four parts": lambda token: token + ".AAAA",
    "five parts": lambda token: token + ".AAAA.AAAA",
    "empty": lambda token: "",
    "dots": lambda token: "..",
    "empty header": lambda token: token[token.index(".") :],
    "empty signature": lambda token: token.rpartition(".")[0] + ".",
    "padding": lambda token: token + "=",
    "padding inside": lambda token: token.replace(".", "=.", 1),
    "not base64url": lambda token: token.replace(".", "+/.", 1),
    "white space": lambda token: " " + token,
    "line feed": lambda token: token + "\n",
    "1 MiB of header": lambda token: "A" * (1 << 19) + token,
    "a header of numbers": lambda token: "NQ" + token[token.index(".") :],
    "NUL": lambda token: token + "\0",
    "not ASCII": lambda token: "й" + token,
    "a payload of another": lambda token: token.split(".")[0] + "." + HEADER + "." + token.split(".")[2],
}


@pytest.mark.parametrize("malform", MALFORMED.values(), ids=MALFORMED.keys())
def test_B64_a_malformed_JWT_is_a_typed_error(bench: Bench, malform: Callable[[str], str]) -> None:
    now = int(time.time())
    claims = {"iss": bench.provider.issuer, "sub": bench.provider.subject, "aud": "native-app", "iat": now}
    bench.provider.id_token.raw = malform(
        sign({**claims, "exp": now + 60}, bench.provider.id_token, bench.provider.keys)
    )
    refused_login(bench)


@pytest.mark.parametrize("value", [5, None, [], {}, True])
def test_B64_an_ID_token_that_is_no_string_is_a_typed_error(bench: Bench, value: object) -> None:
    bench.provider.token_response["id_token"] = value
    refused_login(bench)


def test_max_age_is_sent_and_an_old_auth_time_is_refused(bench: Bench) -> None:
    bench.provider.id_token.claims["auth_time"] = int(time.time()) - 3600
    client = bench.client(browser=Person())
    with bench.refused(REJECTED):
        client.login(max_age=datetime.timedelta(minutes=5))
    assert bench.provider.requests("authorize")[0].query["max_age"] == "300"
    bench.provider.id_token.claims.remove("auth_time")
    with bench.refused(REJECTED):
        client.login(max_age=300)
    bench.provider.id_token.claims["auth_time"] = int(time.time())
    assert client.login(max_age=300)


@pytest.mark.parametrize(
    "answer, cause_name",
    [
        (Answer(status=503), "SERVER"),
        (Answer(status=404), "SERVER"),
        (Answer(status=200, body="{}"), "SERVER"),
        (Answer(status=200, json={"keys": []}), "ID_TOKEN_REJECTED"),
        (Answer(redirect="/x"), "ENDPOINT_REDIRECTED"),
    ],
)
def test_keys_that_cannot_be_loaded_end_the_login_with_their_own_error(
    bench: Bench, answer: Answer, cause_name: str
) -> None:
    bench.provider.script("jwks", answer, times=None)
    client = bench.client(browser=Person())
    with pytest.raises(Exception) as caught:
        client.login()
    assert caught.value.cause.name == cause_name  # type: ignore[attr-defined]
    assert bench.grant_types() == ["authorization_code"]
    assert client.state is SessionState.UNAUTHENTICATED


def test_the_old_grant_stays_when_a_second_login_is_refused(bench: Bench) -> None:
    client = bench.signed_in()
    before = client.access_token().value
    bench.provider.id_token.claims["nonce"] = "another"
    with bench.refused(REJECTED):
        client.login()
    assert client.state is SessionState.AUTHENTICATED and client.access_token().value == before
    assert bench.state_of_a_new_client() is SessionState.AUTHENTICATED

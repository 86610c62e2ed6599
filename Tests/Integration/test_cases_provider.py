# SPDX-License-Identifier: Apache-2.0
"""What a provider says of itself: metadata, and the answers that end a login before or at the exchange (behaviour §2, §11)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from cases import OWN_SCHEME, Bench, Person, bench_fixture  # noqa: F401
from provider import Answer, Cut, Provider
from versola import (
    ConfigurationCause,
    NetworkReason,
    ReauthenticateCause,
    RecoverableCause,
    RecoverableError,
    SessionState,
    VersolaError,
)

SERVER, NETWORK = RecoverableCause.SERVER, RecoverableCause.NETWORK
UNSUPPORTED = ConfigurationCause.PROVIDER_UNSUPPORTED
REJECTED = ConfigurationCause.AUTHORIZATION_REJECTED
REDIRECTED = ConfigurationCause.ENDPOINT_REDIRECTED


def failing_login(bench: Bench, cause: object, **settings: Any) -> VersolaError:
    client = bench.client(**{"browser": Person(), **settings})
    with bench.refused(cause) as caught:  # type: ignore[arg-type]
        client.login()
    assert client.state is SessionState.UNAUTHENTICATED
    client.close()
    return caught.value


# --- Discovery --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["", "/tenant/one"])
@pytest.mark.parametrize("configured, published", [("", "/"), ("/", ""), ("/", "/"), ("", "")])
def test_B01_one_final_slash_is_ignored_in_discovery_and_kept_in_iss(
    bench: Bench, path: str, configured: str, published: str
) -> None:
    with Provider(path=path) as provider:
        provider.metadata["issuer"] = provider.base + published
        client = bench.client(issuer=provider.base + configured, browser=Person())
        assert client.login().claims["iss"] == provider.base + published
        [asked] = provider.requests("discovery")
        assert asked.target == path + "/.well-known/openid-configuration"
        provider.id_token.claims["iss"] = provider.base + ("" if published else "/")
        with bench.refused(ConfigurationCause.ID_TOKEN_REJECTED):
            client.login()
        client.close()


@pytest.mark.parametrize(
    "answer, cause",
    [
        (Answer(status=200, body="<html>hello</html>", headers={"Content-Type": "text/html"}), SERVER),
        (Answer(status=404), SERVER),
        (Answer(redirect="/elsewhere"), REDIRECTED),
        (Answer(redirect="/.well-known/openid-configuration"), REDIRECTED),
        (Answer(redirect="http://other.example/"), REDIRECTED),
        (Answer(status=304), REDIRECTED),
        (Answer(status=200, body=""), SERVER),
        (Answer(status=200, body="[]"), SERVER),
        (Answer(status=200, body="{"), SERVER),
        (Answer(status=200, body="null"), SERVER),
        (Answer(status=204), SERVER),
        (Answer(status=500), SERVER),
        (Answer(cut=Cut.RESET), NETWORK),
        (Answer(cut=Cut.HALF_BODY), NETWORK),
    ],
    ids=[
        "HTML",
        "404",
        "302",
        "loop",
        "other host",
        "304",
        "empty",
        "array",
        "half",
        "null",
        "204",
        "500",
        "reset",
        "cut",
    ],
)
def test_B02_a_wrong_answer_is_a_typed_error_and_the_next_call_can_succeed(
    bench: Bench, answer: Answer, cause: object
) -> None:
    client = bench.client(browser=Person())
    states = client.session_states()
    bench.provider.script("discovery", answer, times=8)
    with bench.refused(cause):  # type: ignore[arg-type]
        client.login()
    bench.provider.unscript("discovery")
    assert client.login().subject == bench.provider.subject
    # A login that fails before the browser publishes nothing.
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "AUTHENTICATED"]


@pytest.mark.parametrize("name", ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"])
def test_metadata_lacks_a_required_endpoint(bench: Bench, name: str) -> None:
    bench.provider.metadata.remove(name)
    failing_login(bench, UNSUPPORTED)


@pytest.mark.parametrize("name", ["authorization_endpoint", "token_endpoint", "jwks_uri"])
@pytest.mark.parametrize("url", ["http://id.example.com/x", "ftp://id.example.com/x", "", 5, None, "//x", "https://"])
def test_an_endpoint_is_not_https(bench: Bench, name: str, url: object) -> None:
    bench.provider.metadata[name] = url
    failing_login(bench, UNSUPPORTED)


@pytest.mark.parametrize(
    "issuer", ["https://evil.example", "https://id.example.com/{tenantid}/v2.0", "", "{issuer}//", "{issuer}/x"]
)
def test_discovery_issuer_differs(bench: Bench, issuer: str) -> None:
    bench.provider.metadata["issuer"] = issuer.replace("{issuer}", bench.provider.issuer)
    failing_login(bench, ConfigurationCause.DISCOVERY_ISSUER_MISMATCH)
    assert bench.provider.requests("authorize") == []


@pytest.mark.parametrize("methods, works", [(["plain"], False), ([], False), (["S256", "plain"], True), (None, True)])
def test_code_challenge_methods_present_without_S256(bench: Bench, methods: list[str] | None, works: bool) -> None:
    if methods is None:
        bench.provider.metadata.remove("code_challenge_methods_supported")
    else:
        bench.provider.metadata["code_challenge_methods_supported"] = methods
    if works:
        assert bench.signed_in().state is SessionState.AUTHENTICATED
    else:
        failing_login(bench, UNSUPPORTED)


@pytest.mark.parametrize("algorithms", [["none"], ["HS256"], ["none", "HS512"]])
def test_only_none_or_HMAC_ID_token_algorithms(bench: Bench, algorithms: list[str]) -> None:
    bench.provider.metadata["id_token_signing_alg_values_supported"] = algorithms
    failing_login(bench, UNSUPPORTED)


def test_nobody_answers(bench: Bench) -> None:
    bench.provider.stop()
    failure = failing_login(bench, NETWORK)
    assert isinstance(failure, RecoverableError) and failure.reason is NetworkReason.CONNECT


# --- The exchange -----------------------------------------------------------------------------------------------------


def body(**members: object) -> Answer:
    return Answer(status=200, json=members)


def oauth(error: object, status: int = 400) -> Answer:
    return Answer(status=status, json={"error": error, "error_description": "for logs"})


EXCHANGES: dict[str, tuple[Answer, object]] = {
    "429": (Answer(status=429), SERVER),
    "408": (Answer(status=408), SERVER),
    **{str(status): (Answer(status=status), SERVER) for status in (500, 501, 502, 503, 504, 505, 404, 405, 410, 413)},
    "400 without error": (Answer(status=400), SERVER),
    "400 with HTML": (Answer(status=400, body="<html>"), SERVER),
    "401 without error": (Answer(status=401), SERVER),
    "403 without error": (Answer(status=403), SERVER),
    "400 error is a number": (oauth(5), SERVER),
    "server_error": (oauth("server_error"), SERVER),
    "temporarily_unavailable": (oauth("temporarily_unavailable"), SERVER),
    "invalid_grant": (oauth("invalid_grant"), ReauthenticateCause.GRANT_REJECTED),
    "401 invalid_grant": (oauth("invalid_grant", 401), ReauthenticateCause.GRANT_REJECTED),
    "invalid_client": (oauth("invalid_client", 401), REJECTED),
    "unauthorized_client": (oauth("unauthorized_client"), REJECTED),
    "invalid_request": (oauth("invalid_request"), REJECTED),
    "invalid_scope": (oauth("invalid_scope"), REJECTED),
    "unsupported_grant_type": (oauth("unsupported_grant_type"), REJECTED),
    "invalid_target": (oauth("invalid_target"), REJECTED),
    "an unknown error": (oauth("something_new"), REJECTED),
    **{str(status): (Answer(redirect="/x", status=status), REDIRECTED) for status in (301, 302, 303, 307, 308)},
    "304": (Answer(status=304), REDIRECTED),
    "200 HTML": (Answer(status=200, body="<html>"), SERVER),
    "200 empty": (Answer(status=200, body=""), SERVER),
    "200 null": (Answer(status=200, body="null"), SERVER),
    "200 array": (Answer(status=200, json=[]), SERVER),
    "200 without access_token": (body(token_type="Bearer", id_token="a.b.c"), SERVER),
    "200 access_token is a number": (body(access_token=5, token_type="Bearer", id_token="a.b.c"), SERVER),
    "200 access_token empty": (body(access_token="", token_type="Bearer", id_token="a.b.c"), SERVER),
    "unknown token_type": (body(access_token="a" * 20, token_type="mac", id_token="a.b.c"), UNSUPPORTED),
    "no ID token": (body(access_token="a" * 20, token_type="Bearer"), ConfigurationCause.ID_TOKEN_REJECTED),
    "reset": (Answer(cut=Cut.RESET), NETWORK),
    "end": (Answer(cut=Cut.AFTER_READING), NETWORK),
    "before reading": (Answer(cut=Cut.BEFORE_READING), NETWORK),
    "half body": (Answer(cut=Cut.HALF_BODY), NETWORK),
    "no HTTP": (Answer(raw=b"\0\1\2\3\r\n\r\n"), NETWORK),
}


@pytest.mark.parametrize("answer, cause", EXCHANGES.values(), ids=EXCHANGES.keys())
def test_the_exchange_is_never_sent_again_and_ends_as_the_table_says(
    bench: Bench, answer: Answer, cause: object
) -> None:
    client = bench.client(browser=Person())
    states = client.session_states()
    bench.provider.script("token", answer, times=5)
    with bench.refused(cause) as caught:  # type: ignore[arg-type]
        client.login()
    assert len(bench.provider.requests("token")) == 1
    if answer.json and "error" in answer.json and isinstance(answer.json["error"], str) and cause is not SERVER:
        assert (caught.value.oauth_error, caught.value.error_description) == (answer.json["error"], "for logs")
    if isinstance(caught.value, RecoverableError) and cause is SERVER:
        assert (caught.value.status, caught.value.attempts) == (answer.status, 1)
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "UNAUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_an_exchange_that_is_not_answered_in_time_is_a_timeout(bench: Bench) -> None:
    bench.provider.script("token", Answer(delay=math.inf))
    failure = failing_login(bench, NETWORK, request_timeout=0.3)
    assert isinstance(failure, RecoverableError) and failure.reason is NetworkReason.TIMEOUT
    assert bench.grant_types() == ["authorization_code"]


def test_an_answer_without_an_end_is_a_typed_error(bench: Bench) -> None:
    bench.provider.script("token", Answer(endless=True))
    with pytest.raises(VersolaError) as caught:
        bench.signed_in(request_timeout=5)
    assert caught.value.cause in (SERVER, NETWORK)
    assert bench.grant_types() == ["authorization_code"]


@pytest.mark.parametrize(
    "content_type", ["text/javascript", "application/json; charset=UTF-8", "APPLICATION/JSON", "text/html", ""]
)
def test_B19_valid_JSON_of_any_content_type_is_accepted(bench: Bench, content_type: str) -> None:
    for endpoint in ("discovery", "jwks", "token", "userinfo"):
        bench.provider.script(endpoint, Answer(headers={"Content-Type": content_type}), times=None)
    with bench.signed_in() as client:
        assert client.user_info()["sub"] == bench.provider.subject


def test_only_client_id_and_no_secret_is_sent(bench: Bench) -> None:
    """The token request of a public client (behaviour §11)."""
    bench.signed_in()
    [request] = bench.provider.requests("token")
    assert set(request.form) == {"grant_type", "code", "redirect_uri", "client_id", "code_verifier"}
    assert request.header("Authorization") is None and request.header("Cookie") is None
    assert 43 <= len(request.form["code_verifier"]) <= 128


def test_no_cookie_is_kept(bench: Bench) -> None:
    for endpoint in ("discovery", "jwks", "token", "userinfo", "revocation"):
        bench.provider.script(endpoint, Answer(headers={"Set-Cookie": "a=b; Path=/"}), times=None)
    with bench.signed_in() as client:
        client.refresh()
        client.user_info()
        client.logout()
    asked = [one for one in bench.provider.requests() if one.endpoint != "authorize"]
    assert [one.endpoint for one in asked if one.header("Cookie")] == []


def test_what_comes_twice_in_metadata_or_deeply_nested_is_a_typed_error(bench: Bench) -> None:
    metadata = json.dumps(bench.provider.published_metadata())
    hostile: dict[str, str] = {
        "nested": metadata[:-1] + ', "x": ' + "[" * 200_000 + "]" * 200_000 + "}",
        "twice": metadata[:-1] + ', "token_endpoint": "https://evil.example/token"}',
        "surrogate": metadata[:-1] + ', "\\ud800": "\\udfff"}',
        "number": metadata[:-1] + ', "x": ' + "9" * 100_000 + "}",
        "NUL": metadata[:-1] + ', "x": "\\u0000"}',
    }
    for name, said in hostile.items():
        bench.provider.script("discovery", Answer(status=200, body=said), times=1)
        client = bench.client(redirect_uri=OWN_SCHEME, session=name)
        call: Callable[..., Any] = client.login
        try:
            call(timeout=0.2)
        except VersolaError as error:
            bench.heard(error)
        token_hosts = {request.header("Host") for request in bench.provider.requests("token")}
        assert token_hosts == set()
        bench.provider.unscript()
        client.close()

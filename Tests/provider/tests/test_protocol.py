# SPDX-License-Identifier: Apache-2.0
"""The provider as it is when nobody scripts it: what the specifications ask for."""

from __future__ import annotations

import base64
import hashlib

import pytest
import requests
from joserfc import jwt
from joserfc.jwk import KeySet

from provider import Client, Provider, walk

from .native_client import REDIRECT_URI, NativeClient


def claims_of(provider: Provider, id_token: str, alg: str = "RS256") -> dict[str, object]:
    keys = KeySet.import_key_set(requests.get(provider.url("jwks"), timeout=10).json())
    return dict(jwt.decode(id_token, keys, algorithms=[alg]).claims)


def test_a_whole_login(provider: Provider, client: NativeClient) -> None:
    tokens = client.sign_in()
    claims = claims_of(provider, tokens["id_token"])
    assert (claims["iss"], claims["sub"], claims["aud"], claims["nonce"]) == (
        provider.issuer,
        "alice",
        "native-app",
        "n",
    )
    half = hashlib.sha256(tokens["access_token"].encode()).digest()[:16]
    assert claims["at_hash"] == base64.urlsafe_b64encode(half).rstrip(b"=").decode()
    assert client.bearer("userinfo", tokens["access_token"]).json() == {
        "sub": "alice",
        "email": "alice@example.test",
        "email_verified": True,
    }
    assert client.bearer("api", tokens["access_token"]).json()["hello"] == "alice"


def test_metadata_names_endpoints_that_are_there(provider: Provider) -> None:
    metadata = requests.get(provider.url("discovery"), timeout=10).json()
    assert metadata["issuer"] == provider.issuer
    for name, url in metadata.items():
        if name.endswith(("_endpoint", "_uri")):
            assert requests.get(url, timeout=10).status_code != 404, name


@pytest.mark.parametrize("path", ["", "/tenant"])
def test_an_issuer_with_a_slash_has_no_double_slash_in_its_urls(path: str) -> None:
    with Provider(path=path, trailing_slash=True) as provider:
        metadata = requests.get(provider.issuer + ".well-known/openid-configuration", timeout=10).json()
        assert metadata["issuer"] == provider.issuer
        assert all("//" not in url.partition("://")[2] for url in metadata.values() if isinstance(url, str))
        assert claims_of(provider, NativeClient(provider).sign_in()["id_token"])["iss"] == provider.issuer


def test_the_redirect_carries_state_and_iss(provider: Provider, client: NativeClient) -> None:
    answer = client.authorize(state="a b&c")
    assert (answer["state"], answer["iss"]) == (["a b&c"], [provider.issuer])


@pytest.mark.parametrize(
    "uri, accepted",
    [
        ("http://127.0.0.1:5/callback", True),
        ("http://[::1]:5/callback", True),
        ("http://localhost:5/callback", True),
        ("com.example.app:/callback", True),
        ("http://127.0.0.1:5/other", False),
        ("http://127.0.0.1:5/callback?x=1", False),
        ("http://127.0.0.1.example:5/callback", False),
        ("http://u@127.0.0.1:5/callback", False),
        ("https://127.0.0.1:5/callback", False),
    ],
)
def test_redirect_uris_match_but_for_the_loopback_port(client: NativeClient, uri: str, accepted: bool) -> None:
    page = walk(client.authorization_url(redirect_uri=uri), stop_at=uri)
    assert (page.status is None) == accepted
    assert accepted or page.status == 400


def test_only_http_has_a_port_of_its_choice(provider: Provider, client: NativeClient) -> None:
    provider.clients["native-app"] = Client("native-app", ("https://127.0.0.1/callback",), ())
    uri = "https://127.0.0.1:5/callback"
    assert walk(client.authorization_url(redirect_uri=uri), stop_at=uri).status == 400


@pytest.mark.parametrize(
    "changes, error",
    [
        ({"code_challenge": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"scope": "email"}, "invalid_scope"),
    ],
)
def test_a_bad_authorization_request_is_told_by_redirect(
    client: NativeClient, changes: dict[str, str | None], error: str
) -> None:
    answer = client.authorize(**changes)
    assert answer["error"] == [error] and answer["state"] == ["s"] and "code" not in answer


@pytest.mark.parametrize(
    "changes, error",
    [
        ({"code_verifier": "x" * 43}, "invalid_grant"),
        ({"redirect_uri": "http://127.0.0.1:10/callback"}, "invalid_grant"),
        ({"client_id": "nobody"}, "invalid_client"),
        ({"client_id": "other"}, "invalid_grant"),
        ({"grant_type": "password"}, "unsupported_grant_type"),
    ],
)
def test_a_bad_exchange_is_refused(
    provider: Provider, client: NativeClient, changes: dict[str, str], error: str
) -> None:
    provider.clients["other"] = Client("other", (REDIRECT_URI,), ())
    response = client.exchange(**changes)
    assert (response.status_code, response.json()["error"]) == (401 if error == "invalid_client" else 400, error)


def test_a_code_works_once_and_its_replay_ends_the_grant(provider: Provider, client: NativeClient) -> None:
    code = client.authorize()["code"][0]
    tokens = client.exchange(code).json()
    assert client.exchange(code).json()["error"] == "invalid_grant"
    assert [reuse.kind for reuse in provider.reuses] == ["code"]
    assert client.bearer("userinfo", tokens["access_token"]).status_code == 401
    assert [(one.kind, one.value) for one in provider.resent()] == [("code", code)]


def test_refresh_tokens_rotate_and_reuse_ends_the_family(provider: Provider, client: NativeClient) -> None:
    first = client.sign_in()
    second = client.refresh(first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"] and provider.reuses == []
    assert "nonce" not in claims_of(provider, second["id_token"])
    assert client.refresh(first["refresh_token"]).json()["error"] == "invalid_grant"
    assert [(reuse.kind, reuse.value) for reuse in provider.reuses] == [("refresh_token", first["refresh_token"])]
    assert client.refresh(second["refresh_token"]).json()["error"] == "invalid_grant"


def test_without_rotation_a_refresh_token_serves_again(provider: Provider, client: NativeClient) -> None:
    provider.grants.rotate = False
    token = client.sign_in()["refresh_token"]
    assert all("refresh_token" not in client.refresh(token).json() for _ in range(2)) and provider.reuses == []


def test_revocation_ends_the_grant(provider: Provider, client: NativeClient) -> None:
    tokens = client.sign_in()
    form = {"token": tokens["refresh_token"], "client_id": "native-app"}
    assert requests.post(provider.url("revocation"), data=form, timeout=10).status_code == 200
    assert requests.post(provider.url("revocation"), data={**form, "token": "x"}, timeout=10).status_code == 200
    assert client.refresh(tokens["refresh_token"]).json()["error"] == "invalid_grant"
    assert client.bearer("userinfo", tokens["access_token"]).status_code == 401


def test_end_session_returns_with_the_state(provider: Provider) -> None:
    target = "http://127.0.0.1:9/callback"
    query = f"?client_id=native-app&post_logout_redirect_uri={target}&state=x"
    assert walk(provider.url("end_session") + query, stop_at=target).url == target + "?state=x"
    assert walk(provider.url("end_session") + query.replace("9/callback", "9/other")).status == 400


def test_challenges_of_a_protected_resource(provider: Provider, client: NativeClient) -> None:
    bare = requests.get(provider.url("userinfo"), timeout=10)
    assert (bare.status_code, bare.headers["WWW-Authenticate"]) == (401, 'Bearer realm="provider"')
    token = client.sign_in()["access_token"]
    provider.grants.expire_access_tokens()
    assert 'error="invalid_token"' in client.bearer("api", token).headers["WWW-Authenticate"]

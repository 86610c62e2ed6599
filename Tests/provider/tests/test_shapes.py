# SPDX-License-Identifier: Apache-2.0
"""What a test can make of metadata, redirects, token answers and ID tokens."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import pytest
import requests
from joserfc import jws
from joserfc.errors import BadSignatureError
from joserfc.jwk import KeySet

from provider import Provider
from provider.keys import make_key

from .native_client import NativeClient


def parts(token: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    head, body, signature = token.split(".")
    return (
        json.loads(base64.urlsafe_b64decode(head + "==")),
        json.loads(base64.urlsafe_b64decode(body + "==")),
        signature,
    )


def key_set(provider: Provider) -> KeySet:
    return KeySet.import_key_set(requests.get(provider.url("jwks"), timeout=10).json())


@pytest.mark.parametrize("alg", Provider.signing_algorithms)
def test_every_announced_algorithm_signs(provider: Provider, client: NativeClient, alg: str) -> None:
    provider.id_token.alg = alg
    jws.deserialize_compact(client.sign_in()["id_token"], key_set(provider), algorithms=[alg])


def test_none_and_hmac_with_the_public_key(provider: Provider, client: NativeClient) -> None:
    provider.id_token.alg = "none"
    header, _, signature = parts(client.sign_in()["id_token"])
    assert (header["alg"], signature) == ("none", "")
    provider.id_token.alg = "HS256"
    public = provider.keys.use("RS256")[1].as_pem(private=False)
    signed, _, signature = client.sign_in()["id_token"].rpartition(".")
    assert base64.urlsafe_b64decode(signature + "==") == hmac.digest(public, signed.encode(), "sha256")


@pytest.mark.parametrize("fault", ["wrong_key", "broken_signature"])
@pytest.mark.parametrize("alg", ["RS256", "ES256"])
def test_signatures_that_do_not_verify(provider: Provider, client: NativeClient, alg: str, fault: str) -> None:
    provider.id_token.alg = alg
    setattr(provider.id_token, fault, True)
    with pytest.raises(BadSignatureError):
        jws.deserialize_compact(client.sign_in()["id_token"], key_set(provider), algorithms=[alg])


def test_claims_and_header_members_are_set_and_removed(provider: Provider, client: NativeClient) -> None:
    provider.id_token.claims["exp"] = None
    provider.id_token.claims.remove("aud")
    provider.id_token.header["crit"] = ["x"]
    provider.id_token.header.remove("kid")
    provider.id_token.c_hash, provider.id_token.at_hash = True, False
    header, claims, _ = parts(client.sign_in()["id_token"])
    assert header == {"alg": "RS256", "typ": "JWT", "crit": ["x"]}
    assert claims["exp"] is None and "aud" not in claims and "c_hash" in claims and "at_hash" not in claims
    provider.id_token.raw = "a.b"
    assert client.sign_in()["id_token"] == "a.b"


def test_a_rotated_key_leaves_the_set_unless_kept(provider: Provider, client: NativeClient) -> None:
    old = client.sign_in()["id_token"]
    provider.keys.rotate(keep_old=True)
    jws.deserialize_compact(old, key_set(provider), algorithms=["RS256"])
    provider.keys.rotate()
    kids = {key.kid for key in key_set(provider).keys}
    new = client.sign_in()["id_token"]
    jws.deserialize_compact(new, key_set(provider), algorithms=["RS256"])
    assert parts(new)[0]["kid"] in kids and parts(new)[0]["kid"] != parts(old)[0]["kid"]
    mine = make_key("RS256")
    provider.keys.rotate(to=mine)
    jws.deserialize_compact(client.sign_in()["id_token"], mine, algorithms=["RS256"])


def test_token_answers(provider: Provider, client: NativeClient) -> None:
    provider.token_response.update({"expires_in": "600", "token_type": "bearer"})
    provider.token_response.remove("refresh_token", "id_token")
    answer = client.sign_in()
    assert (answer["expires_in"], answer["token_type"]) == ("600", "bearer")
    assert "refresh_token" not in answer and "id_token" not in answer


def test_metadata_members(provider: Provider, client: NativeClient) -> None:
    provider.metadata["issuer"] = "https://other.example"
    provider.metadata.remove("jwks_uri")
    metadata = requests.get(provider.url("discovery"), timeout=10).json()
    assert metadata["issuer"] == "https://other.example" and "jwks_uri" not in metadata
    assert parts(client.sign_in()["id_token"])[1]["iss"] == client.authorize()["iss"][0] == "https://other.example"


@pytest.mark.parametrize("values", [[], ["https://wrong.example"], ["a", "a"]])
@pytest.mark.parametrize("name", ["iss", "state", "code"])
def test_redirect_parameters_left_out_replaced_doubled(
    provider: Provider, client: NativeClient, name: str, values: list[str]
) -> None:
    provider.redirect.parameters[name] = values
    assert client.authorize().get(name, []) == values


def test_error_redirects(provider: Provider, client: NativeClient) -> None:
    provider.redirect.error, provider.redirect.error_description = "access_denied", "no"
    answer = client.authorize()
    assert answer["error"] == ["access_denied"] and answer["error_description"] == ["no"] and "code" not in answer


def test_another_person(provider: Provider, client: NativeClient) -> None:
    provider.subject = "bob"
    assert client.bearer("userinfo", client.sign_in()["access_token"]).json()["sub"] == "bob"


def test_reset_forgets_everything(provider: Provider, client: NativeClient) -> None:
    provider.id_token.alg = "none"
    provider.token_response.remove("id_token")
    provider.reset()
    assert parts(client.sign_in()["id_token"])[0]["alg"] == "RS256"
    assert [one.endpoint for one in provider.requests()] == ["authorize", "token"]

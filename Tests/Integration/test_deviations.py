# SPDX-License-Identifier: Apache-2.0
"""The table of deviations is held to the providers: a row that no longer holds fails here, not in an app."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
import requests

from peers import PEERS, SHOULD
from running_peer import RunningPeer, free_port
from test_scenarios import metadata_of
from walker import Decision, LostInPages, Person


def authorization_response(running: RunningPeer, person: Person, client_id: str, *, port: int) -> dict[str, list[str]]:
    """What the provider hands to the redirect URI; nobody listens there, the walk ends before it."""
    redirect_uri = f"http://127.0.0.1:{port}/callback"
    challenge = base64.urlsafe_b64encode(hashlib.sha256(secrets.token_bytes(32)).digest()).rstrip(b"=").decode()
    query = {
        "response_type": "code",
        "client_id": client_id,
        "redirect_uri": redirect_uri,
        "scope": " ".join(running.peer.scopes),
        "state": secrets.token_urlsafe(16),
        "nonce": secrets.token_urlsafe(16),
        "code_challenge": challenge,
        "code_challenge_method": "S256",
    }
    url = metadata_of(running)["authorization_endpoint"] + "?" + urlencode(query)
    page = running.peer.browser(person).walk(url, redirect_uri, fetch_redirect=False)
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


def redirect_port(running: RunningPeer) -> int:
    return urlsplit(running.redirect_uri).port or free_port()


def test_the_metadata(running: RunningPeer) -> None:
    metadata, peer = metadata_of(running), running.peer
    assert metadata.get("authorization_response_iss_parameter_supported", False) == peer.answers("iss_announced")
    assert ("revocation_endpoint" in metadata) == peer.answers("revocation_announced")
    methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
    assert ("none" in methods) == peer.answers("auth_method_none_announced")


def test_the_redirect(running: RunningPeer) -> None:
    answer = authorization_response(running, Person(), running.peer.client_id, port=redirect_port(running))
    assert frozenset(answer) == running.peer.answers("redirect_parameters")
    assert ("iss" in answer) == running.peer.answers("iss_in_redirect")
    assert answer.get("iss", [metadata_of(running)["issuer"]]) == [metadata_of(running)["issuer"]]


def test_any_loopback_port(running: RunningPeer) -> None:
    try:
        answer = authorization_response(running, Person(), running.peer.client_id, port=free_port())
    except LostInPages:
        answer = {}
    assert ("code" in answer) == running.peer.answers("any_loopback_port")


def test_denial(running: RunningPeer) -> None:
    refuses = Person("bob", decision=Decision.DENY)
    answer = authorization_response(running, refuses, running.peer.consenting_client_id, port=redirect_port(running))
    assert answer.get("error", [None])[0] == running.peer.answers("denial")
    assert ("iss" in answer) == running.peer.answers("iss_in_error_redirect")


def test_a_token_that_nobody_gave_out(running: RunningPeer) -> None:
    headers = {"Authorization": "Bearer nobody-gave-this-out"}
    answer = requests.get(metadata_of(running)["userinfo_endpoint"], headers=headers, timeout=10)
    named = re.search(r'error="([^"]*)"', answer.headers.get("WWW-Authenticate", ""))
    assert (answer.status_code, named and named[1]) == (401, running.peer.answers("userinfo_error"))


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_every_row_is_a_deviation_and_has_a_reason(peer) -> None:  # type: ignore[no-untyped-def]
    for what, row in peer.deviations.items():
        assert row.does != SHOULD[what] and row.why, what

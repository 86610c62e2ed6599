# SPDX-License-Identifier: Apache-2.0
"""The whole way of a person with a real provider, through the release library and its Python package."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import requests

import keycloak_admin
from conftest import unavailable
from peers import HYDRA, KEYCLOAK
from person_at_browser import PersonAtBrowser
from running_peer import RunningPeer, Unavailable
from token_proxy import TokenProxy
from walker import Decision, Person

if TYPE_CHECKING:
    from versola import OAuthClient

NewClient = Callable[..., "OAuthClient"]
SitDown = Callable[..., PersonAtBrowser]
PROGRAM = Path(__file__).with_name("program.py")
PATIENCE = 60.0


def metadata_of(running: RunningPeer) -> dict[str, Any]:
    url = running.issuer.rstrip("/") + "/.well-known/openid-configuration"
    answer = requests.get(url, timeout=10)
    answer.raise_for_status()
    members: dict[str, Any] = answer.json()
    return members


def proxy_before(running: RunningPeer) -> TokenProxy:
    return TokenProxy(metadata_of(running), iss_in_redirect=bool(running.peer.answers("iss_in_redirect")))


def user_info(running: RunningPeer, access_token: str) -> requests.Response:
    headers = {"Authorization": f"Bearer {access_token}"}
    return requests.get(metadata_of(running)["userinfo_endpoint"], headers=headers, timeout=10)


def test_a_session_from_login_to_logout(running: RunningPeer, new_client: NewClient, person: SitDown) -> None:
    """Login, API, UserInfo, refresh, restart of the program, refresh, revocation, end of the provider's session."""
    import versola

    alice = person()
    client = new_client(browser=alice, post_logout_redirect_uri=running.post_logout_redirect_uri)
    assert client.state is versola.SessionState.UNAUTHENTICATED

    identity = client.login(timeout=PATIENCE)
    assert client.state is versola.SessionState.AUTHENTICATED
    assert identity == client.identity() and identity.claims["iss"] == metadata_of(running)["issuer"]
    page = alice.page()
    assert page.status == 200 and "text/html" in page.headers["Content-Type"]
    assert alice.walker.asked_for_password == 1

    token = client.access_token()
    assert token.type.lower() == "bearer" and token.expires_at is not None
    answer = user_info(running, token.value)
    assert answer.status_code == 200 and answer.json()["sub"] == identity.subject
    assert client.user_info(timeout=PATIENCE)["sub"] == identity.subject

    refreshed = client.refresh(timeout=PATIENCE)
    assert refreshed.value not in ("", token.value)
    assert client.access_token().value == refreshed.value

    with _program(running, "refresh") as again:
        told = _line(again)
    assert told["subject"] == identity.subject
    assert told["token"] not in (token.value, refreshed.value)
    # The refresh token that the other process left is the one that works.
    last = client.refresh(timeout=PATIENCE).value

    result = client.logout(timeout=PATIENCE)
    assert result.token_revoked == running.peer.answers("token_revoked")
    assert result.session_ended == running.peer.answers("session_ended")
    assert (user_info(running, last).status_code == 401) == running.peer.answers("dead_after_logout")
    assert client.state is versola.SessionState.UNAUTHENTICATED
    with pytest.raises(versola.ReauthenticateError) as refused:
        client.access_token()
    assert refused.value.cause is versola.ReauthenticateCause.SESSION_EXPIRED


def test_a_revoked_session_is_dead_at_the_provider(
    running: RunningPeer, new_client: NewClient, person: SitDown
) -> None:
    client = new_client(browser=person())
    client.login(timeout=PATIENCE)
    token = client.access_token().value
    revoked = client.logout(timeout=PATIENCE).token_revoked
    assert (user_info(running, token).status_code == 401) == revoked


def test_every_state_is_told_once_and_in_order(running: RunningPeer, new_client: NewClient, person: SitDown) -> None:
    client = new_client(browser=person())
    states = client.session_states()
    client.login(timeout=PATIENCE)
    client.logout(timeout=PATIENCE)
    client.close()
    names = [change.state.name for change in states]
    assert names == ["UNAUTHENTICATED", "AUTHORIZING", "AUTHENTICATED", "LOGGING_OUT", "UNAUTHENTICATED"]


def test_the_person_says_no(running: RunningPeer, new_client: NewClient, person: SitDown) -> None:
    import versola

    # bob has never said yes to anything here: a provider that remembers consent would not ask alice.
    bob = person(Person("bob", decision=Decision.DENY))
    client = new_client(browser=bob, client_id=running.peer.consenting_client_id)
    if running.peer.answers("denial") != "access_denied":
        client.login(timeout=PATIENCE)
        return
    with pytest.raises(versola.VersolaError) as denied:
        client.login(timeout=PATIENCE)
    told_as = (type(denied.value).__name__, denied.value.cause.name)
    assert told_as == running.peer.answers("denial_told_as")
    assert client.state is versola.SessionState.UNAUTHENTICATED
    page = bob.page()
    assert page.status is not None and "text/html" in page.headers["Content-Type"]


@pytest.mark.parametrize("running", [HYDRA, KEYCLOAK], ids=lambda peer: peer.name, indirect=True)
def test_endpoints_given_by_hand_in_place_of_discovery(
    running: RunningPeer, new_client: NewClient, person: SitDown
) -> None:
    import versola

    metadata = metadata_of(running)
    endpoints = versola.ProviderEndpoints(
        issuer=metadata["issuer"],
        authorization_endpoint=metadata["authorization_endpoint"],
        token_endpoint=metadata["token_endpoint"],
        jwks_uri=metadata["jwks_uri"],
        revocation_endpoint=metadata.get("revocation_endpoint"),
        iss_in_redirect=bool(running.peer.answers("iss_in_redirect")),
    )
    client = new_client(issuer=None, endpoints=endpoints, browser=person())
    identity = client.login(timeout=PATIENCE)
    assert user_info(running, client.access_token().value).json()["sub"] == identity.subject
    assert client.logout(timeout=PATIENCE).token_revoked == running.peer.answers("token_revoked")


@pytest.mark.parametrize("running", [HYDRA, KEYCLOAK], ids=lambda peer: peer.name, indirect=True)
def test_a_session_without_a_refresh_token_ends_with_its_access_token(
    running: RunningPeer, new_client: NewClient, person: SitDown, caplog: pytest.LogCaptureFixture
) -> None:
    import versola

    caplog.set_level("INFO", logger="versola")
    if running.peer is KEYCLOAK:
        client_id = "native-no-refresh"
        # The one of compose.yaml has it from its realm.
        if running.process is not None:
            keycloak_admin.shorten_access_tokens(running, client_id, seconds=3)
    else:
        client_id = "native-short"
    with proxy_before(running) as proxy:
        client = new_client(
            issuer=None,
            endpoints=versola.ProviderEndpoints(**proxy.endpoints()),
            client_id=client_id,
            scopes=("openid", "profile"),
            browser=person(),
        )
        client.login(timeout=PATIENCE)
        states = client.session_states()
        assert next(states).state is versola.SessionState.AUTHENTICATED
        assert "this session will end with its access token" in caplog.text
        token = client.access_token()
        assert client.access_token().value == token.value
        with pytest.raises(versola.ReauthenticateError) as refused:
            client.refresh()
        assert refused.value.cause is versola.ReauthenticateCause.SESSION_EXPIRED
        assert client.state is versola.SessionState.AUTHENTICATED

        ended = next(states)
        assert ended.state is versola.SessionState.UNAUTHENTICATED
        assert ended.reason is not None and ended.reason.cause is versola.ReauthenticateCause.SESSION_EXPIRED
        assert token.expires_at is not None and datetime.now(UTC) >= token.expires_at - timedelta(seconds=1)
        with pytest.raises(versola.ReauthenticateError) as expired:
            client.access_token()
        assert expired.value.cause is versola.ReauthenticateCause.SESSION_EXPIRED
        assert [one.grant_type for one in proxy.sent()] == ["authorization_code"]


@pytest.mark.parametrize("running", [KEYCLOAK], ids=lambda peer: peer.name, indirect=True)
def test_the_session_goes_on_after_the_provider_was_restarted(
    running: RunningPeer, new_client: NewClient, person: SitDown
) -> None:
    client = new_client(browser=person())
    identity = client.login(timeout=PATIENCE)
    before = client.access_token()
    try:
        running.restart()
    except Unavailable as reason:
        unavailable(str(reason))
    assert client.access_token() == before
    assert client.user_info(timeout=PATIENCE)["sub"] == identity.subject
    assert client.refresh(timeout=PATIENCE).value != before.value
    with _program(running, "refresh") as again:
        assert _line(again)["subject"] == identity.subject
    assert client.logout(timeout=PATIENCE).token_revoked == running.peer.answers("token_revoked")


def test_the_session_is_there_after_a_restart(running: RunningPeer, new_client: NewClient, person: SitDown) -> None:
    first = new_client(browser=person())
    identity = first.login(timeout=PATIENCE)
    first.close()
    with _program(running, "whoami") as again:
        told = _line(again)
    assert (told["state"], told["subject"]) == ("AUTHENTICATED", identity.subject)


@pytest.mark.usefixtures("library")
def test_killed_between_browser_and_redirect_and_finished_by_a_new_process(
    running: RunningPeer, person: SitDown
) -> None:
    with _program(running, "login") as killed:
        shown = _line(killed)
        killed.send_signal(signal.SIGKILL)
        killed.wait(10)
    with _program(running, "resume") as resumed:
        assert _line(resumed)["state"] == "AUTHORIZING"
        alice = person()
        alice(shown["url"])
        assert alice.page().status == 200
        assert _line(resumed)["state"] == "AUTHENTICATED"
        told = _line(resumed)
    assert told["subject"]


@contextmanager
def _program(running: RunningPeer, what: str) -> Iterator[subprocess.Popen[str]]:
    configuration = {
        "issuer": running.issuer,
        "client_id": running.peer.client_id,
        "redirect_uri": running.redirect_uri,
        "scopes": list(running.peer.scopes),
    }
    environment = {**os.environ, "CONFIGURATION": json.dumps(configuration)}
    command = [sys.executable, str(PROGRAM), what]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as program:
        try:
            yield program
        finally:
            program.kill()


def _line(program: subprocess.Popen[str]) -> dict[str, str]:
    assert program.stdout is not None
    line = program.stdout.readline()
    assert line, f"the program ended with {program.wait(10)} and said no more"
    members: dict[str, str] = json.loads(line)
    return members

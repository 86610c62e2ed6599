# SPDX-License-Identifier: Apache-2.0
"""Logout: erased here first, whatever the provider says (behaviour §10), at the scripted provider."""

from __future__ import annotations

import asyncio
import math
from urllib.parse import parse_qs, urlsplit

import pytest
from versola import LogoutResult, OAuthConfiguration, ReauthenticateCause, RecoverableCause, SessionState, aio

from cases import CALLBACK, Bench, Person, Program, bench_fixture, refresh_tokens_sent  # noqa: F401
from provider import Answer, Cut, Gate, walk

EXPIRED = ReauthenticateCause.SESSION_EXPIRED
SIGNED_OUT = "http://127.0.0.1/callback"


REVOCATIONS = {
    "200": (Answer(), True),
    "200 with an error member": (Answer(status=200, json={"error": "x"}), False),
    "200 with an empty body": (Answer(status=200, body=""), True),
    "200 with HTML": (Answer(status=200, body="<html>"), True),
    "201": (Answer(status=201), False),
    "204": (Answer(status=204), False),
    "302": (Answer(redirect="/x"), False),
    "400": (Answer(status=400, json={"error": "unsupported_token_type"}), False),
    "401 to a public client": (Answer(status=401, json={"error": "invalid_client"}), False),
    "503": (Answer(status=503), False),
    "reset": (Answer(cut=Cut.RESET), False),
    "timeout": (Answer(delay=math.inf), False),
}


@pytest.mark.parametrize("answer, revoked", REVOCATIONS.values(), ids=REVOCATIONS.keys())
def test_B65_erased_here_always_and_token_revoked_only_on_200(bench: Bench, answer: Answer, revoked: bool) -> None:
    client = bench.signed_in(request_timeout=0.5)
    states = client.session_states()
    bench.provider.script("revocation", answer, times=8)
    result = client.logout()
    assert (result.token_revoked, result.session_ended) == (revoked, False)
    assert client.state is SessionState.UNAUTHENTICATED
    for call in (client.access_token, client.refresh, client.user_info, client.identity):
        with bench.refused(EXPIRED):
            call()
    asked = bench.provider.requests("revocation")[0]
    assert asked.form["client_id"] == "native-app" and asked.form["token_type_hint"] == "refresh_token"
    assert asked.header("Authorization") is None
    assert bench.history(client, states) == ["AUTHENTICATED", "LOGGING_OUT", "UNAUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_B65_no_endpoint_and_no_network(bench: Bench) -> None:
    bench.provider.metadata.remove("revocation_endpoint")
    with bench.signed_in() as client:
        assert not client.logout().token_revoked
    bench.provider.metadata.clear()
    bench.signed_in().close()
    bench.provider.stop()
    with bench.client() as client:
        assert client.state is SessionState.AUTHENTICATED
        assert not client.logout().token_revoked
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_the_disk_is_erased_before_the_provider_is_asked(bench: Bench) -> None:
    client = bench.signed_in()
    gate = Gate()
    bench.provider.script("revocation", Answer(gate=gate))
    call = bench.call(client.logout)
    gate.wait_arrived()
    assert client.state is SessionState.LOGGING_OUT
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED
    for ask in (client.access_token, client.refresh, client.user_info, client.identity):
        with bench.refused(EXPIRED):
            ask()
    gate.open()
    assert call.result().token_revoked


def test_a_logout_joins_the_one_that_runs(bench: Bench) -> None:
    bench.signed_in().close()
    gate = Gate()
    bench.provider.script("revocation", Answer(gate=gate))

    async def log_out_twice() -> list[LogoutResult]:
        async with aio.OAuthClient(OAuthConfiguration(**bench.settings(browser=None))) as client:
            first = asyncio.ensure_future(client.logout())
            await asyncio.sleep(0)  # lets it begin, which a thread would do when it gets to it
            gate.wait_arrived()
            second = asyncio.ensure_future(client.logout())
            await asyncio.sleep(0)
            gate.open()
            return list(await asyncio.gather(first, second))

    first, second = asyncio.run(log_out_twice())
    assert first == second and first.token_revoked
    assert len(bench.provider.requests("revocation")) == 1


def test_what_is_revoked_is_dead_at_the_provider(bench: Bench) -> None:
    with bench.signed_in() as client:
        client.refresh()
        client.logout()
    [revoked] = bench.provider.requests("revocation")
    assert revoked.form["token"] not in [one.form.get("refresh_token") for one in bench.provider.requests("token")]
    with pytest.raises(Exception, match="revoked"):
        bench.provider.grants.spend_refresh_token(revoked.form["token"], "native-app")


def test_its_access_token_is_revoked_when_there_is_no_refresh_token(bench: Bench) -> None:
    bench.provider.refresh_tokens = False
    with bench.signed_in() as client:
        token = client.access_token().value
        assert client.logout().token_revoked
    [revoked] = bench.provider.requests("revocation")
    assert (revoked.form["token"], revoked.form["token_type_hint"]) == (token, "access_token")


def test_logout_when_nobody_is_signed_in_changes_no_state_and_both_results_are_false(bench: Bench) -> None:
    client = bench.client()
    states = client.session_states()
    result = client.logout()
    assert (result.token_revoked, result.session_ended) == (False, False)
    assert bench.provider.requests() == []
    assert bench.history(client, states) == ["UNAUTHENTICATED"]


def test_logout_while_authorizing_ends_the_login_UserCancelled(bench: Bench) -> None:
    client = bench.client()
    states = client.session_states()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    result = client.logout()
    assert not result.token_revoked
    assert login.error().cause is RecoverableCause.USER_CANCELLED
    assert client.handle_redirect(redirect) is False
    assert bench.provider.requests("token") == []
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "UNAUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_logout_while_authorizing_over_a_grant_is_LoggingOut(bench: Bench) -> None:
    bench.signed_in().close()
    client = bench.client()
    states = client.session_states()
    login, _ = bench.begin_login(client)
    assert client.logout().token_revoked
    assert login.error().cause is RecoverableCause.USER_CANCELLED
    names = bench.history(client, states)
    assert names[:2] == ["AUTHENTICATED", "AUTHORIZING"] and names[-2:] == ["LOGGING_OUT", "UNAUTHENTICATED"]
    assert "UNAUTHENTICATED" not in names[:-1]


def test_a_refresh_in_flight_stores_nothing_and_the_token_it_brings_is_the_one_revoked(bench: Bench) -> None:
    bench.signed_in().close()
    client = bench.client()
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    refresh = bench.call(client.refresh)
    gate.wait_arrived()
    logout = bench.call(client.logout)
    with Program(bench, "state") as fresh:
        while fresh.line()["state"] != "UNAUTHENTICATED":
            fresh.kill()
            fresh.__init__(bench, "state")  # type: ignore[misc]
    gate.open()
    assert refresh.error().cause is EXPIRED
    assert logout.result().token_revoked
    [revoked] = bench.provider.requests("revocation")
    assert revoked.form["token"] not in [one.form.get("refresh_token") for one in bench.provider.requests("token")]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_a_logout_while_the_code_is_on_the_wire_discards_and_revokes_what_it_brings(bench: Bench) -> None:
    """Only logout() discards: what such an exchange brings is not stored but revoked."""
    client = bench.client()
    login, url = bench.begin_login(client)
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    page = bench.call(walk, url)
    gate.wait_arrived()
    client.logout()
    assert login.error().cause is RecoverableCause.USER_CANCELLED
    assert client.state is SessionState.UNAUTHENTICATED
    gate.open()
    page.result()
    [revoked] = bench.provider.wait_for("revocation")
    assert revoked.form["token"] in bench.provider.grants.issued()
    client.close()
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_cancel_of_a_logout_s_caller_does_not_bring_the_session_back(bench: Bench) -> None:
    client = bench.signed_in()
    gate = Gate()
    bench.provider.script("revocation", Answer(gate=gate))
    with bench.refused(RecoverableCause.SYSTEM_CANCELLED):
        client.logout(timeout=0.2)
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED
    with bench.refused(EXPIRED):
        client.access_token()
    gate.open()


def test_close_during_a_logout_leaves_nothing_behind(bench: Bench) -> None:
    client = bench.signed_in(request_timeout=1)
    gate = Gate()
    bench.provider.script("revocation", Answer(gate=gate))
    call = bench.call(client.logout)
    gate.wait_arrived()
    client.close()
    assert call.error().cause is RecoverableCause.SYSTEM_CANCELLED
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_a_close_while_a_logout_asks_for_the_metadata_does_not_spare_the_token(bench: Bench) -> None:
    bench.signed_in().close()
    client = bench.client()
    gate = Gate()
    bench.provider.script("discovery", Answer(gate=gate))
    call = bench.call(client.logout)
    gate.wait_arrived()
    closing = bench.call(client.close)
    assert call.error().cause is RecoverableCause.SYSTEM_CANCELLED
    gate.open()
    closing.result()
    [revoked] = bench.provider.requests("revocation")
    assert revoked.form["token_type_hint"] == "refresh_token"


def test_what_a_refresh_brings_to_a_closed_client_whose_session_is_over_is_revoked(bench: Bench) -> None:
    """Another process has signed out meanwhile, and the metadata have to be asked for again."""
    bench.provider.script("discovery", Answer(headers={"Cache-Control": "no-store"}), times=None)
    client = bench.signed_in()
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    refresh = bench.call(client.refresh)
    gate.wait_arrived()
    with bench.client() as other:
        assert other.logout().token_revoked
    closing = bench.call(client.close)
    refresh.error()
    gate.open()
    closing.result()
    revoked = [one.form["token"] for one in bench.provider.requests("revocation")]
    assert len(revoked) == 2 and revoked[1] not in refresh_tokens_sent(bench)


# --- The provider's own session in the browser ------------------------------------------------------------------------


def test_B65_the_browser_step_ends_the_provider_s_session(bench: Bench) -> None:
    person = Person()
    client = bench.signed_in(browser=person, post_logout_redirect_uri=SIGNED_OUT)
    result = client.logout()
    assert (result.token_revoked, result.session_ended) == (True, True)
    [asked] = bench.provider.requests("end_session")
    assert set(asked.query) == {"client_id", "id_token_hint", "post_logout_redirect_uri", "state"}
    assert asked.query["client_id"] == "native-app" and asked.query["id_token_hint"].count(".") == 2
    page = person.pages(2)[1]
    assert page.status == 200 and asked.query["id_token_hint"] not in page.text


@pytest.mark.parametrize("state", [[], ["another"], ["a", "b"]], ids=["missing", "another", "twice"])
def test_the_state_of_the_post_logout_redirect_is_checked(bench: Bench, state: list[str]) -> None:
    person = Person()
    client = bench.signed_in(browser=person, post_logout_redirect_uri=SIGNED_OUT)
    bench.provider.logout_redirect.parameters["state"] = state
    call = bench.call(client.logout)
    wrong = person.pages(2)[1]
    assert not call.is_over and client.state is SessionState.LOGGING_OUT
    query = bench.provider.requests("end_session")[0].query
    right = f"{wrong.url.partition('?')[0]}?state={query['state']}"
    assert walk(right).status == 200
    assert call.result().session_ended


def test_no_end_session_endpoint_and_no_browser_are_false_never_an_error(bench: Bench) -> None:
    client = bench.signed_in(post_logout_redirect_uri=SIGNED_OUT)
    bench.provider.metadata.remove("end_session_endpoint")
    client.close()
    client = bench.client(browser=Person(), post_logout_redirect_uri=SIGNED_OUT)
    assert client.logout().session_ended is False
    assert bench.provider.requests("end_session") == []


def test_a_login_ends_the_browser_step_of_a_logout(bench: Bench) -> None:
    """LoggingOut: login() ends the browser step (session_ended false), then Authorizing."""
    shown: list[str] = []
    client = bench.signed_in(post_logout_redirect_uri=SIGNED_OUT)
    client.close()
    client = bench.client(browser=shown.append, post_logout_redirect_uri=SIGNED_OUT)
    states = client.session_states()
    logout = bench.call(client.logout)
    bench.provider.wait_for("revocation")
    while not shown:
        next(states) if client.state is not SessionState.LOGGING_OUT else client.state
    login, url = bench.begin_login(client)
    assert logout.result().session_ended is False
    walk(url)
    assert login.result().subject == bench.provider.subject
    names = bench.history(client, client.session_states())
    assert names[-1] == "AUTHENTICATED"


def test_the_post_logout_redirect_may_be_handed_in(bench: Bench) -> None:
    shown: list[str] = []
    changes = {"post_logout_redirect_uri": "com.example.app:/callback", "browser": shown.append}
    bench.signed_in().close()
    client = bench.client(**changes)
    logout = bench.call(client.logout)
    while not shown:
        client.state  # noqa: B018
    [target] = parse_qs(urlsplit(shown[0]).query)["post_logout_redirect_uri"]
    assert target == "com.example.app:/callback"
    assert client.handle_redirect(target + "?state=another") is False
    assert client.handle_redirect(walk(shown[0]).url) is True
    assert logout.result().session_ended


def test_accounts_after_a_logout_are_separate(bench: Bench) -> None:
    client = bench.signed_in(redirect_uri=CALLBACK)
    first = client.identity().subject
    client.logout()
    bench.provider.subject = "bob-canary-5f21"
    assert client.login().subject != first

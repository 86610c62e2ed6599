# SPDX-License-Identifier: Apache-2.0
"""Cancel in every phase of a login, replacement, restoration, redirects that others receive (behaviour §1, §4)."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from versola import ConfigurationCause, OAuthClient, RecoverableCause, SessionState

from cases import OWN_SCHEME, Bench, Call, Person, Program, bench_fixture  # noqa: F401
from provider import Answer, Gate, walk

USER, SYSTEM = RecoverableCause.USER_CANCELLED, RecoverableCause.SYSTEM_CANCELLED
EXCHANGE = "authorization_code"
Ending = Callable[[Bench, OAuthClient], None]


def by_cancel(bench: Bench, client: OAuthClient) -> None:
    client.cancel_login()


def by_close(bench: Bench, client: OAuthClient) -> None:
    bench.call(client.close)


ENDINGS: list[tuple[Ending, RecoverableCause]] = [(by_cancel, USER), (by_close, SYSTEM)]
ENDING_NAMES = ["cancel_login", "close"]


# --- While it waits for the browser -----------------------------------------------------------------------------------


def test_user_cancel_erases_the_pending_request(bench: Bench) -> None:
    client = bench.client()
    states = client.session_states()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    client.cancel_login()
    assert login.error().cause is USER
    assert client.handle_redirect(redirect) is False
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "UNAUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED
    assert bench.provider.requests("token") == []


def test_system_cancel_keeps_the_pending_request_and_its_listener_while_the_client_lives(bench: Bench) -> None:
    client = bench.client()
    states = client.session_states()
    login, url = bench.call(client.login, timeout=0.5), ""
    for change in states:
        if change.state is SessionState.AUTHORIZING:
            url = str(change.authorization_url)
            break
    assert login.error().cause is SYSTEM
    assert client.state is SessionState.UNAUTHENTICATED and client.authorization_url is None
    assert walk(url).status == 200
    assert client.state is SessionState.AUTHENTICATED
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "AUTHENTICATED"]
    assert bench.grant_types() == [EXCHANGE]


def test_a_system_cancelled_login_is_finished_by_a_redirect_handed_in(bench: Bench) -> None:
    client = bench.client(redirect_uri=OWN_SCHEME)
    states = client.session_states()
    login = bench.call(client.login, timeout=0.4)
    url = next(str(change.authorization_url) for change in states if change.state is SessionState.AUTHORIZING)
    assert login.error().cause is SYSTEM
    assert client.handle_redirect(bench.redirect_of(url)) is True
    assert client.state is SessionState.AUTHENTICATED


@pytest.mark.parametrize("call", ["login", "logout", "cancel_login"])
def test_the_next_login_or_logout_or_cancel_login_ends_a_system_cancelled_login(bench: Bench, call: str) -> None:
    client = bench.client(redirect_uri=OWN_SCHEME)
    states = client.session_states()
    login = bench.call(client.login, timeout=0.4)
    url = next(str(change.authorization_url) for change in states if change.state is SessionState.AUTHORIZING)
    assert login.error().cause is SYSTEM
    redirect = bench.redirect_of(url)
    if call == "login":
        second, _ = bench.begin_login(client)
        assert client.handle_redirect(redirect) is False
        client.cancel_login()
        assert second.error().cause is USER
    else:
        getattr(client, call)()
        with contextlib.suppress(Exception):
            client.access_token()  # cancel_login answers at once; this comes after it in line
        assert client.handle_redirect(redirect) is False
    client.close()
    assert bench.state_of_a_new_client(redirect_uri=OWN_SCHEME) is SessionState.UNAUTHENTICATED
    assert bench.provider.requests("token") == []


def test_close_keeps_the_pending_request_and_a_new_client_takes_it_over(bench: Bench) -> None:
    first = bench.client()
    login, url = bench.begin_login(first)
    first.close()
    assert login.error().cause is SYSTEM
    second = bench.client()
    states = second.session_states()
    assert second.state is SessionState.AUTHORIZING and second.authorization_url == url
    page = walk(url)
    assert page.status == 200 and second.state is SessionState.AUTHENTICATED
    assert second.identity().subject == bench.provider.subject
    assert bench.history(second, states) == ["AUTHORIZING", "AUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.AUTHENTICATED


def test_a_restored_login_whose_port_is_taken_waits_for_handle_redirect(bench: Bench) -> None:
    import socket

    first = bench.client()
    login, url = bench.begin_login(first)
    redirect = bench.redirect_of(url)
    first.close()
    assert login.error().cause is SYSTEM
    with socket.create_server(("127.0.0.1", urlsplit(redirect).port or 0)):
        second = bench.client()
        assert second.state is SessionState.AUTHORIZING
        assert second.handle_redirect(redirect) is True
        assert second.state is SessionState.AUTHENTICATED


def test_a_restored_login_ends_by_cancel_login(bench: Bench) -> None:
    first = bench.client()
    login, _ = bench.begin_login(first)
    first.close()
    assert login.error().cause is SYSTEM
    second = bench.client()
    states = second.session_states()
    assert next(states).state is SessionState.AUTHORIZING
    second.cancel_login()
    ended = next(states)
    assert ended.state is SessionState.UNAUTHENTICATED and ended.reason is not None and ended.reason.cause is USER
    second.close()
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_the_app_s_browser_fails_and_the_login_goes_on(bench: Bench) -> None:
    def fails(url: str) -> bool:
        return False

    client = bench.client(browser=fails)
    login, url = bench.begin_login(client)
    assert walk(url).status == 200 and login.result()


# --- While discovery, exchange, keys are on the wire ------------------------------------------------------------------


def test_cancel_during_discovery_opens_no_browser(bench: Bench) -> None:
    shown: list[str] = []
    client = bench.client(browser=shown.append)
    gate = Gate()
    bench.provider.script("discovery", Answer(gate=gate))
    login = bench.call(client.login, timeout=0.3)
    gate.wait_arrived()
    assert login.error().cause is SYSTEM
    gate.open()
    assert bench.call(client.login, timeout=0.3).error().cause is SYSTEM
    assert len(shown) == 1 and client.state is SessionState.UNAUTHENTICATED


@pytest.mark.parametrize("is_signed_in", [False, True])
def test_a_logout_ends_a_login_in_discovery(bench: Bench, is_signed_in: bool) -> None:
    if is_signed_in:
        bench.signed_in().close()
    shown: list[str] = []
    client = bench.client(browser=shown.append)
    gate = Gate()
    bench.provider.script("discovery", Answer(gate=gate))
    login = bench.call(client.login)
    gate.wait_arrived()
    logout = bench.call(client.logout)
    assert login.error().cause is USER
    gate.open()
    assert logout.result().token_revoked is is_signed_in
    assert shown == [] and client.state is SessionState.UNAUTHENTICATED


def test_a_login_ends_an_earlier_one_in_discovery(bench: Bench) -> None:
    person = Person()
    client = bench.client(browser=person)
    gate = Gate()
    bench.provider.script("discovery", Answer(gate=gate))
    first = bench.call(client.login)
    gate.wait_arrived()
    second = bench.call(client.login)
    assert first.error().cause is USER
    gate.open()
    assert second.result().subject == bench.provider.subject and len(person.urls) == 1


@pytest.mark.parametrize("end, cause", ENDINGS, ids=ENDING_NAMES)
@pytest.mark.parametrize("endpoint", ["token", "jwks"])
def test_a_good_grant_is_stored_though_its_caller_is_gone(
    bench: Bench, endpoint: str, end: Ending, cause: RecoverableCause
) -> None:
    """The first law: the code is sent once, and a login ended on the wire stays Authorizing until it is judged."""
    client = bench.client()
    states = client.session_states()
    login, url = bench.begin_login(client)
    gate = Gate()
    bench.provider.script(endpoint, Answer(gate=gate))
    page = bench.call(walk, url)
    gate.wait_arrived()
    end(bench, client)
    assert login.error().cause is cause
    if end is by_cancel:
        assert client.state is SessionState.AUTHORIZING
    gate.open()
    assert page.result().status == 200
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "AUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.AUTHENTICATED
    assert bench.grant_types() == [EXCHANGE]


def test_a_waiting_call_s_timeout_during_the_exchange_ends_the_caller_only(bench: Bench) -> None:
    client = bench.client()
    states = client.session_states()
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    login = bench.call(client.login, timeout=1)
    url = next(str(change.authorization_url) for change in states if change.state is SessionState.AUTHORIZING)
    page = bench.call(walk, url)
    gate.wait_arrived()
    assert login.error().cause is SYSTEM
    gate.open()
    page.result()
    assert client.state is SessionState.AUTHENTICATED and client.identity().subject == bench.provider.subject


@pytest.mark.parametrize("endpoint", ["token", "jwks"])
def test_a_bad_answer_after_the_caller_is_gone_leaves_nothing(bench: Bench, endpoint: str) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    gate = Gate()
    bench.provider.script(endpoint, Answer(status=500, gate=gate), times=2)
    page = bench.call(walk, url)
    gate.wait_arrived()
    client.cancel_login()
    assert login.error().cause is USER
    gate.open()
    page.result()
    assert client.state is SessionState.UNAUTHENTICATED
    client.close()
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED
    assert bench.grant_types() == [EXCHANGE]


def test_a_second_login_while_the_first_one_s_code_is_on_the_wire(bench: Bench) -> None:
    client = bench.client()
    first, url = bench.begin_login(client)
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    page = bench.call(walk, url)
    gate.wait_arrived()
    second, second_url = bench.begin_login(client)
    gate.open()
    page.result()
    assert client.state is SessionState.AUTHORIZING
    assert walk(second_url).status == 200
    assert second.result().subject == bench.provider.subject
    assert first.is_over
    assert bench.grant_types() == [EXCHANGE] * 2 and bench.provider.reuses == []
    assert client.refresh().value


# --- Replaced ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("redirect_uri", ["http://127.0.0.1/callback", OWN_SCHEME])
def test_login_replaces_the_waiting_one_which_ends_UserCancelled(bench: Bench, redirect_uri: str) -> None:
    client = bench.client(redirect_uri=redirect_uri)
    states = client.session_states()
    logins: list[Call] = []
    urls: list[str] = []
    for _ in range(3):
        login, url = bench.begin_login(client)
        logins.append(login)
        urls.append(url)
    redirects = [bench.redirect_of(url) for url in urls]
    assert [login.error().cause for login in logins[:2]] == [USER, USER]
    if redirect_uri == OWN_SCHEME:
        assert [client.handle_redirect(url) for url in redirects] == [False, False, True]
    else:
        pages = [walk(url) for url in redirects]
        assert pages[0].text == pages[1].text != pages[2].text, "its late redirect gets a replaced page"
        assert len({urlsplit(url).port for url in redirects}) == 1, "the listener is taken over"
    assert logins[2].result().subject == bench.provider.subject
    assert bench.grant_types() == [EXCHANGE]
    names = bench.history(client, states)
    assert names == ["UNAUTHENTICATED", "AUTHORIZING", "AUTHORIZING", "AUTHORIZING", "AUTHENTICATED"]


def test_a_login_that_fails_before_its_browser_leaves_the_waiting_one_alone(bench: Bench) -> None:
    client = bench.client()
    first, url = bench.begin_login(client)
    with bench.refused(ConfigurationCause.INVALID_CONFIGURATION):
        client.login(parameters={"state": "x"})
    assert not first.is_over and client.authorization_url == url
    assert walk(url).status == 200 and first.result()


def test_many_logins_at_once_leave_one(bench: Bench) -> None:
    client = bench.client()
    calls = [bench.call(client.login) for _ in range(16)]
    while sum(not call.is_over for call in calls) > 1 or client.authorization_url is None:
        os.sched_yield()
    url = client.authorization_url
    assert url and walk(url).status == 200
    outcomes = [call.error().cause if call._outcome.exception() else "well" for call in calls]
    assert sorted(map(str, outcomes)) == sorted([str(USER)] * 15 + ["well"])
    assert bench.grant_types() == [EXCHANGE]


def test_a_re_login_keeps_the_old_grant_usable_until_it_succeeds(bench: Bench) -> None:
    client = bench.signed_in()
    before = client.access_token().value
    client.close()
    client = bench.client()
    states = client.session_states()
    login, url = bench.begin_login(client)
    assert client.access_token().value != before
    bench.provider.subject = "bob-canary-5f21"
    walk(url)
    assert login.result().subject == "bob-canary-5f21"
    changes = [change for change in states if not (change.state is SessionState.AUTHENTICATED and client.close())]
    generations = [change.generation for change in changes]
    assert generations == sorted(generations)


# --- Other processes --------------------------------------------------------------------------------------------------


def test_killed_while_it_waits_and_restored_with_its_browser(bench: Bench) -> None:
    with Program(bench, "login") as owner:
        url = owner.line()["url"]
        owner.kill()
    client = bench.client()
    assert client.state is SessionState.AUTHORIZING and client.authorization_url == url
    assert walk(url).status == 200 and client.state is SessionState.AUTHENTICATED


def test_a_pending_request_whose_owner_lives_is_left_to_it(bench: Bench) -> None:
    with Program(bench, "login") as owner:
        url = owner.line()["url"]
        client = bench.client()
        assert client.state is SessionState.UNAUTHENTICATED and client.authorization_url is None
        assert walk(url).status == 200
        owner.until(ended="well")


def test_a_redirect_received_by_another_process_is_handed_to_the_living_owner(bench: Bench) -> None:
    with Program(bench, "login", redirect_uri=OWN_SCHEME) as owner:
        redirect = bench.redirect_of(owner.line()["url"])
        with bench.client(redirect_uri=OWN_SCHEME) as client:
            assert client.handle_redirect(redirect) is True
        owner.until(ended="well")
        with bench.client(redirect_uri=OWN_SCHEME) as client:
            assert client.state is SessionState.AUTHENTICATED
            assert client.handle_redirect(redirect) is False
    assert bench.grant_types() == [EXCHANGE]


def test_a_redirect_is_handed_over_also_over_a_grant(bench: Bench) -> None:
    bench.signed_in().close()
    with Program(bench, "login", redirect_uri=OWN_SCHEME) as owner:
        redirect = bench.redirect_of(owner.line()["url"])
        with bench.client(redirect_uri=OWN_SCHEME) as client:
            assert client.state is SessionState.AUTHENTICATED
            assert client.handle_redirect(redirect) is True
        owner.until(ended="well")
    assert bench.grant_types() == [EXCHANGE] * 2 and bench.provider.reuses == []


def test_an_ownerless_redirect_is_finished_by_whoever_receives_it(bench: Bench) -> None:
    # A client that was there before, so that no start takes the request over.
    client = bench.client(redirect_uri=OWN_SCHEME)
    with Program(bench, "login", redirect_uri=OWN_SCHEME) as owner:
        redirect = bench.redirect_of(owner.line()["url"])
        owner.kill()
    assert client.state is SessionState.UNAUTHENTICATED
    assert client.handle_redirect(redirect) is True
    assert client.state is SessionState.AUTHENTICATED and client.handle_redirect(redirect) is False


def test_an_ownerless_request_is_dropped_where_there_is_a_grant(bench: Bench) -> None:
    bench.signed_in().close()
    with Program(bench, "login", redirect_uri=OWN_SCHEME) as owner:
        redirect = bench.redirect_of(owner.line()["url"])
        owner.kill()
    with bench.client(redirect_uri=OWN_SCHEME) as client:
        assert client.state is SessionState.AUTHENTICATED
        assert client.handle_redirect(redirect) is False
    assert bench.grant_types() == [EXCHANGE]


def test_one_redirect_handed_to_many_processes_uses_the_code_once(bench: Bench) -> None:
    with Program(bench, "login", redirect_uri=OWN_SCHEME) as owner:
        redirect = bench.redirect_of(owner.line()["url"])
        helpers = [Program(bench, "redirect", redirect_uri=OWN_SCHEME) for _ in range(6)]
        for helper in helpers:
            assert helper.process.stdin is not None
            helper.process.stdin.write(redirect + "\n")
            helper.process.stdin.flush()
        for helper in helpers:
            with helper:
                helper.until(ended="well")
        owner.until(ended="well")
    assert bench.grant_types() == [EXCHANGE] and bench.provider.resent() == []


def test_a_redirect_for_another_session_name_is_not_ours(bench: Bench) -> None:
    one = bench.client(session="one", redirect_uri=OWN_SCHEME)
    login, url = bench.begin_login(one)
    redirect = bench.redirect_of(url)
    with bench.client(session="two", redirect_uri=OWN_SCHEME) as two:
        assert two.handle_redirect(redirect) is False
    assert one.handle_redirect(redirect) is True and login.result()


# --- The system's browser ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("launcher", ["exit 0", "exit 3", "missing", "kill -9 $$", "exec sleep 60", "silent"])
def test_B47_the_listener_does_not_depend_on_the_launcher(
    bench: Bench, launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "launcher"
    if launcher != "missing":
        path.write_text(f"#!/bin/sh\n{launcher if launcher != 'silent' else 'exec >&- 2>&-; exit 1'}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("BROWSER", str(path))
    client = bench.client(browser="system")
    login, url = bench.begin_login(client)
    assert not login.is_over and client.authorization_url == url
    assert walk(url).status == 200
    assert login.result().subject == bench.provider.subject


@pytest.mark.parametrize("launcher", ["exit 3", "missing"])
def test_B47_cancel_and_deadline_work_without_a_browser(
    bench: Bench, launcher: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "launcher"
    if launcher != "missing":
        path.write_text(f"#!/bin/sh\n{launcher}\n")
        path.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(path))
    client = bench.client(browser="system")
    login, _ = bench.begin_login(client)
    client.reopen_browser()
    client.cancel_login()
    assert login.error().cause is USER
    assert bench.call(client.login, timeout=0.2).error().cause is SYSTEM


def test_B47_the_system_s_browser_gets_the_url_and_nothing_runs_in_a_shell(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    path = tmp_path / "launcher"
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$#" "$1" > {told}.part && mv {told}.part {told}\n')
    path.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(path))
    client = bench.client(browser="system")
    login, url = bench.begin_login(client, login_hint="$(touch /nowhere)`;&|'\"")
    while not told.exists():
        os.sched_yield()
    assert told.read_text().splitlines() == ["1", url]
    client.cancel_login()
    assert login.error().cause is USER


def test_nobody_came_to_a_login_of_a_person_that_closed_the_browser(bench: Bench) -> None:
    """The Authorizing state offers the URL again: reopen_browser()."""
    shown: list[str] = []
    person = Person()

    def browser(url: str) -> None:
        shown.append(url)
        if len(shown) == 2:
            person(url)

    client = bench.client(browser=browser)
    login, url = bench.begin_login(client)
    while not shown:
        os.sched_yield()
    client.reopen_browser()
    assert login.result().subject == bench.provider.subject
    assert shown == [url, url]

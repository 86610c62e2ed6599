# SPDX-License-Identifier: Apache-2.0
"""The client against the built library and the scripted provider."""

from __future__ import annotations

import datetime
import functools
import gc
import json
import logging
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from conftest import Provider, fetch, redirect_of, walk

import versola
from versola import SessionState

Settings = Dict[str, Any]


def await_login(client: versola.OAuthClient, states: Any = None) -> str:
    """Waits until a login of the client waits for the browser; the URL."""
    for change in client.session_states() if states is None else states:
        if change.state is SessionState.AUTHORIZING:
            assert change.authorization_url is not None
            return str(change.authorization_url)
    raise AssertionError("the client was closed")


class Started:
    """A call in a thread of its own, and how it ended."""

    def __init__(self, call: Any, *arguments: Any, **named: Any) -> None:
        self.result: Any = None
        self.error: Any = None

        def run() -> None:
            try:
                self.result = call(*arguments, **named)
            except BaseException as error:
                self.error = error

        self._thread = threading.Thread(target=run)
        self._thread.start()

    def join(self) -> Started:
        self._thread.join(30)
        assert not self._thread.is_alive()
        return self


# --- Signing in and out -----------------------------------------------------------------------------------------------


def test_a_whole_session(settings: Settings, provider: Provider) -> None:
    with versola.OAuthClient(**settings, scopes=["email"]) as client:
        states = client.session_states()
        assert client.state is SessionState.UNAUTHENTICATED

        identity = client.login()
        assert (identity.subject, identity.claims["iss"]) == ("alice", provider.issuer)
        assert client.identity() == identity

        token = client.access_token()
        assert (token.type, token.scope) == ("Bearer", "openid email")
        assert token.expires_at is not None
        left = token.expires_at - datetime.datetime.now(datetime.timezone.utc)
        assert datetime.timedelta(0) < left <= datetime.timedelta(seconds=300)
        answer = fetch(f"{provider.issuer}/api", Authorization=f"Bearer {token.value}")
        assert json.loads(answer)["hello"] == "alice"

        assert client.logout() == versola.LogoutResult(token_revoked=True, session_ended=False)
        assert client.state is SessionState.UNAUTHENTICATED
    assert [change.state for change in states][:3] == [
        SessionState.UNAUTHENTICATED,
        SessionState.AUTHORIZING,
        SessionState.AUTHENTICATED,
    ]
    assert len(provider.requests("token")) == 1


def test_sign_in_opens_the_browser_only_when_nobody_is_signed_in(settings: Settings, provider: Provider) -> None:
    with versola.OAuthClient(versola.OAuthConfiguration(**settings)) as client:
        assert client.sign_in() == client.sign_in()
    assert len(provider.requests("authorize")) == 1


def test_the_session_is_there_again_after_a_restart(settings: Settings, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings["store"] = versola.KeyFile(tmp_path / "key")
    with versola.OAuthClient(**settings) as client:
        identity = client.login()
    with versola.OAuthClient(**settings) as client:
        assert (client.state, client.identity()) == (SessionState.AUTHENTICATED, identity)
        first = next(client.session_states())
        assert (first.state, first.generation) == (SessionState.AUTHENTICATED, 1)


def test_options_of_a_login_reach_the_provider(settings: Settings, provider: Provider) -> None:
    urls: List[str] = []

    def browser(url: str) -> None:
        urls.append(url)
        walk(url)

    with versola.OAuthClient(**{**settings, "browser": browser}) as client:
        client.login(
            scopes="email",
            prompt="login",
            login_hint="alice@example.com",
            ui_locales=["ru", "en"],
            acr_values=["gold"],
            claims={"userinfo": {"email": None}},
            resource=["https://a.example", "https://b.example"],
            parameters={"x_theme": "dark"},
        )
    [url] = urls
    for part in (
        "prompt=login",
        "login_hint=alice%40example.com",
        "ui_locales=ru",
        "acr_values=gold",
        "resource=https%3A%2F%2Fa.example&resource=https%3A%2F%2Fb.example",
        "x_theme=dark",
    ):
        assert part in url


def test_endpoints_take_the_place_of_discovery(settings: Settings, provider: Provider) -> None:
    metadata = json.loads(fetch(f"{provider.issuer}/.well-known/openid-configuration"))
    asked = len(provider.requests("discovery"))
    endpoints = versola.ProviderEndpoints(
        issuer=metadata["issuer"],
        authorization_endpoint=metadata["authorization_endpoint"],
        token_endpoint=metadata["token_endpoint"],
        jwks_uri=metadata["jwks_uri"],
        revocation_endpoint=metadata["revocation_endpoint"],
    )
    with versola.OAuthClient(**{**settings, "issuer": None}, endpoints=endpoints) as client:
        assert client.login().subject == "alice"
        assert client.logout().token_revoked
    assert len(provider.requests("discovery")) == asked


def test_a_redirect_that_the_program_received(settings: Settings) -> None:
    settings.update(browser=None, redirect_uri="com.example.app:/callback")
    with versola.OAuthClient(**settings) as client:
        login = Started(client.login)
        url = await_login(client)
        assert client.authorization_url == url
        assert not client.handle_redirect("com.example.other:/callback?code=1&state=2")
        assert client.handle_redirect(redirect_of(url))
        assert login.join().result.subject == "alice"
        assert client.authorization_url is None
        assert not client.handle_redirect("com.example.app:/callback?code=1&state=2")


def test_refresh_brings_another_token(settings: Settings, provider: Provider) -> None:
    with versola.OAuthClient(**settings, scopes="offline_access") as client:
        client.login()
        first = client.access_token().value
        second = client.refresh().value
        assert first != second == client.access_token().value
        assert client.access_token(force=True).value != second
        assert client.access_token(min_valid=1000).value != second
    assert len(provider.requests("token")) == 4


def test_user_info_is_what_the_provider_says_now(settings: Settings, provider: Provider) -> None:
    provider.tell("settings", userinfo={"set": {"nickname": "Ally"}})
    with versola.OAuthClient(**settings) as client:
        client.login()
        assert (client.user_info()["sub"], client.user_info()["nickname"]) == ("alice", "Ally")


def test_user_info_with_a_number_that_int_refuses_for_its_length(settings: Settings, provider: Provider) -> None:
    body = '{"sub": "alice", "huge": ' + "9" * 5000 + "}"
    with versola.OAuthClient(**settings) as client:
        client.login()
        provider.tell("script", endpoint="userinfo", answer={"status": 200, "body": body})
        assert client.user_info()["huge"] > 1e300


# --- Errors -----------------------------------------------------------------------------------------------------------


def test_the_person_says_no(settings: Settings, provider: Provider) -> None:
    provider.tell("settings", redirect={"error": "access_denied", "error_description": "no"})
    with versola.OAuthClient(**settings) as client, pytest.raises(versola.ReauthenticateError) as caught:
        client.login()
    assert caught.value.cause is versola.ReauthenticateCause.AUTHORIZATION_DENIED
    assert (caught.value.oauth_error, caught.value.error_description) == ("access_denied", "no")


def test_the_provider_fails(settings: Settings, provider: Provider) -> None:
    provider.tell("script", endpoint="discovery", answer={"status": 503}, times=10)
    with versola.OAuthClient(**settings) as client, pytest.raises(versola.RecoverableError) as caught:
        client.login()
    assert (caught.value.cause, caught.value.status) == (versola.RecoverableCause.SERVER, 503)
    assert caught.value.attempts
    assert caught.value.elapsed is not None


def test_nobody_answers(settings: Settings) -> None:
    settings["issuer"] = "http://127.0.0.1:1"
    with versola.OAuthClient(**settings) as client, pytest.raises(versola.RecoverableError) as caught:
        client.login()
    assert (caught.value.cause, caught.value.reason) == (
        versola.RecoverableCause.NETWORK,
        versola.NetworkReason.CONNECT,
    )


def test_nobody_is_signed_in(settings: Settings) -> None:
    with versola.OAuthClient(**settings) as client:
        for call in (client.access_token, client.identity):
            with pytest.raises(versola.ReauthenticateError) as caught:
                call()
            assert caught.value.cause is versola.ReauthenticateCause.SESSION_EXPIRED
        assert client.logout() == versola.LogoutResult(token_revoked=False, session_ended=False)


async def shown_later(url: str) -> None:
    raise AssertionError("nobody awaits it")


class ShownLater:
    async def __call__(self, url: str) -> None:
        raise AssertionError("nobody awaits it")


@pytest.mark.parametrize(
    "wrong",
    [
        {"issuer": None},
        {"issuer": "http://id.example.com"},
        {"client_id": None},
        {"client_id": ""},
        {"redirect_uri": None},
        {"redirect_uri": "http://example.com/callback"},
        {"request_timeout": 0},
        {"request_timeout": 1e9},
        {"clock_skew": -1},
        {"store": "keyring"},
        {"browser": "chromium"},
        {"browser": shown_later},
        {"browser": functools.partial(shown_later)},
        {"browser": ShownLater()},
    ],
)
def test_a_wrong_setting_is_refused_at_once(settings: Settings, wrong: Settings) -> None:
    with pytest.raises(versola.ConfigurationError) as caught:
        versola.OAuthClient(**{**settings, **wrong})
    assert caught.value.cause is versola.ConfigurationCause.INVALID_CONFIGURATION
    assert caught.value.detail


def test_wrong_calls_are_type_errors(settings: Settings) -> None:
    with pytest.raises(TypeError):
        versola.OAuthClient(versola.OAuthConfiguration(**settings), session="other")  # type: ignore[call-overload]
    with versola.OAuthClient(**settings) as client, pytest.raises(TypeError, match="scope'"):
        client.login(scope="email")  # type: ignore[call-arg]


# --- Waiting, and its end ---------------------------------------------------------------------------------------------


def test_a_login_that_ran_out_of_time_can_still_be_finished(settings: Settings) -> None:
    with versola.OAuthClient(**{**settings, "browser": None}) as client:
        states = client.session_states()
        with pytest.raises(versola.RecoverableError) as caught:
            client.login(timeout=0.5)
        assert caught.value.cause is versola.RecoverableCause.SYSTEM_CANCELLED
        url = await_login(client, states)
        assert next(states).state is SessionState.UNAUTHENTICATED
        assert client.handle_redirect(redirect_of(url))
        assert client.identity().subject == "alice"


def test_cancel_login_ends_the_login_of_another_thread(settings: Settings) -> None:
    with versola.OAuthClient(**{**settings, "browser": None}) as client:
        login = Started(client.login)
        await_login(client)
        client.cancel_login()
        assert login.join().error.cause is versola.RecoverableCause.USER_CANCELLED


def test_a_login_replaces_the_one_that_waits(settings: Settings) -> None:
    with versola.OAuthClient(**{**settings, "browser": None}) as client:
        first = Started(client.login)
        url = await_login(client)
        second = Started(client.login)
        assert first.join().error.cause is versola.RecoverableCause.USER_CANCELLED
        while client.authorization_url in (None, url):
            time.sleep(0.01)
        walk(client.authorization_url or "")
        assert second.join().result.subject == "alice"


def test_close_ends_every_waiting_call(settings: Settings) -> None:
    client = versola.OAuthClient(**{**settings, "browser": None})
    observer = Started(lambda states: list(states), client.session_states())
    login = Started(client.login)
    await_login(client)
    client.close()
    assert login.join().error.cause is versola.RecoverableCause.SYSTEM_CANCELLED
    assert observer.join().result[0].state is SessionState.UNAUTHENTICATED
    client.close()
    for call in (client.login, client.access_token, client.identity, client.logout, client.session_states):
        with pytest.raises(versola.ConfigurationError):
            call()
    with pytest.raises(versola.ConfigurationError):
        client.state  # noqa: B018 - asking is what raises


def test_every_waiting_thread_gets_its_own_answer(settings: Settings) -> None:
    with versola.OAuthClient(**settings) as client:
        client.login()
        calls = [Started(lambda: [client.access_token().value for _ in range(20)]) for _ in range(50)]
        values = {value for call in calls for value in call.join().result}
        assert values == {client.access_token().value}


def test_every_iterator_sees_every_state(settings: Settings) -> None:
    client = versola.OAuthClient(**settings)
    observers = [Started(lambda states: list(states), client.session_states()) for _ in range(5)]
    client.login()
    client.logout()
    client.close()
    seen = [[replace(change, reason=None) for change in observer.join().result] for observer in observers]
    assert all(changes == seen[0] for changes in seen)
    assert seen[0][-1].state is SessionState.UNAUTHENTICATED
    assert all(one != other for one, other in zip(seen[0], seen[0][1:]))


def test_a_client_that_nobody_holds_ends_the_iteration(settings: Settings) -> None:
    client = versola.OAuthClient(**settings)
    states = client.session_states()
    del client
    assert [change.state for change in states] == [SessionState.UNAUTHENTICATED]


def test_a_call_from_a_signal_handler_into_a_waiting_call_is_refused(settings: Settings) -> None:
    with versola.OAuthClient(**{**settings, "browser": None}) as client:
        refused: List[RuntimeError] = []

        def handler(number: int, frame: object) -> None:
            try:
                client.access_token()
            except RuntimeError as error:
                refused.append(error)
            client.cancel_login()

        previous = signal.signal(signal.SIGALRM, handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            with pytest.raises(versola.RecoverableError) as caught:
                client.login()
        finally:
            signal.signal(signal.SIGALRM, previous)
        assert caught.value.cause is versola.RecoverableCause.USER_CANCELLED
        assert len(refused) == 1


def test_close_from_a_signal_handler_ends_the_call_it_interrupts(settings: Settings) -> None:
    client = versola.OAuthClient(**{**settings, "browser": None})
    previous = signal.signal(signal.SIGALRM, lambda number, frame: client.close())
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        with pytest.raises(versola.RecoverableError) as caught:
            client.login()
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert caught.value.cause is versola.RecoverableCause.SYSTEM_CANCELLED


# --- The program's own functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("browser", "warnings"),
    [
        (lambda url: True, 0),
        (lambda url: None, 0),
        (lambda url: False, 1),
        (lambda url: 1 / 0, 2),
        (lambda url: shown_later(url), 2),  # known only when it is called
    ],
)
def test_a_browser_function_that_fails_leaves_the_login_waiting(
    settings: Settings, caplog: Any, browser: Any, warnings: int
) -> None:
    with versola.OAuthClient(**{**settings, "browser": browser}) as client:
        login = Started(client.login)
        url = await_login(client)
        while any(thread.name == "versola-browser" for thread in threading.enumerate()):
            time.sleep(0.01)
        walk(url)
        assert login.join().result.subject == "alice"
    assert [record.levelname for record in caplog.records] == ["WARNING"] * warnings
    assert url not in caplog.text


def test_a_client_may_be_garbage_together_with_the_generator_that_closes_it(settings: Settings) -> None:
    complaints: List[Any] = []

    def session(cycle: List[Any]) -> Iterator[SessionState]:
        with versola.OAuthClient(**settings) as client:
            yield client.state
            cycle.clear()

    cycle: List[Any] = []
    cycle.append(session(cycle))
    assert next(cycle[0]) is SessionState.UNAUTHENTICATED
    hook, sys.unraisablehook = sys.unraisablehook, complaints.append
    try:
        del cycle
        gc.collect()
    finally:
        sys.unraisablehook = hook
    assert complaints == []


def test_reopen_browser_calls_the_function_again(settings: Settings) -> None:
    urls: List[str] = []
    opened = threading.Semaphore(0)

    def browser(url: str) -> None:
        urls.append(url)
        opened.release()

    with versola.OAuthClient(**{**settings, "browser": browser}) as client:
        login = Started(client.login)
        assert opened.acquire(timeout=10)
        client.reopen_browser()
        assert opened.acquire(timeout=10)
        walk(urls[1])
        assert login.join().result.subject == "alice"
    assert urls[0] == urls[1]


def test_logs_arrive_and_hold_no_secret(settings: Settings, provider: Provider, caplog: Any) -> None:
    caplog.set_level(logging.DEBUG, "versola")
    settings["redirect_uri"] = "com.example.app:/callback"  # create warns: any program can claim the scheme
    settings["browser"] = None
    with versola.OAuthClient(**settings) as client:
        login = Started(client.login)
        client.handle_redirect(redirect_of(await_login(client)))
        login.join()
        token = client.access_token().value
        client.logout()
    assert [record.name for record in caplog.records if record.levelno == logging.WARNING] == ["versola"]
    [exchange] = provider.requests("token")
    for secret in (token, exchange["form"]["code"], exchange["form"]["code_verifier"]):
        assert secret not in caplog.text


def test_the_log_tells_what_is_sent_again(settings: Settings, provider: Provider, caplog: Any) -> None:
    caplog.set_level(logging.INFO, "versola")
    provider.tell("script", endpoint="discovery", answer={"status": 503, "headers": {"Retry-After": "0"}})
    with versola.OAuthClient(**{**settings, "browser": walk}) as client:
        assert client.login().subject == "alice"
        provider.tell("script", endpoint="userinfo", answer={"status": 404})
        with pytest.raises(versola.RecoverableError) as caught:
            client.user_info()
    issuer = settings["issuer"]
    assert caught.value.detail.startswith(f"UserInfo: {issuer}/") and caught.value.detail.endswith(" answered 404")
    assert caplog.messages == [
        f"discovery: {issuer}/.well-known/openid-configuration answered 503; it is sent again after 0 ms",
        f"user info: {caught.value.detail}",
    ]

# SPDX-License-Identifier: Apache-2.0
"""Access tokens and their refresh (behaviour §1, §2 and §5), at the scripted provider."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import Callable
from typing import Any

import pytest
from versola import (
    ConfigurationCause,
    NetworkReason,
    OAuthConfiguration,
    ReauthenticateCause,
    RecoverableCause,
    RecoverableError,
    SessionState,
    Token,
    VersolaError,
    aio,
)

from cases import Bench, Person, Program, bench_fixture, refresh_tokens_sent  # noqa: F401
from provider import Answer, Cut, Gate

SERVER, NETWORK = RecoverableCause.SERVER, RecoverableCause.NETWORK
EXPIRED = ReauthenticateCause.SESSION_EXPIRED
EXCHANGE, REFRESH = "authorization_code", "refresh_token"


def oauth(error: object, status: int = 400) -> Answer:
    return Answer(status=status, json={"error": error})


KEPT: dict[str, tuple[Answer, object]] = {
    "408": (Answer(status=408), SERVER),
    **{str(status): (Answer(status=status), SERVER) for status in (429, 500, 501, 502, 503, 504, 404)},
    "server_error": (oauth("server_error"), SERVER),
    "temporarily_unavailable": (oauth("temporarily_unavailable"), SERVER),
    "400 invalid_request": (oauth("invalid_request"), ReauthenticateCause.SESSION_REJECTED),
    "401 invalid_request": (oauth("invalid_request", 401), ReauthenticateCause.SESSION_REJECTED),
    "400 without error": (Answer(status=400), ReauthenticateCause.SESSION_REJECTED),
    "401 without error": (Answer(status=401), ReauthenticateCause.SESSION_REJECTED),
    "400 with HTML": (Answer(status=400, body="<html>"), ReauthenticateCause.SESSION_REJECTED),
    "invalid_client": (oauth("invalid_client", 401), ConfigurationCause.AUTHORIZATION_REJECTED),
    "unauthorized_client": (oauth("unauthorized_client"), ConfigurationCause.AUTHORIZATION_REJECTED),
    "unknown": (oauth("something_new"), ConfigurationCause.AUTHORIZATION_REJECTED),
    "302": (Answer(redirect="/x"), ConfigurationCause.ENDPOINT_REDIRECTED),
    "200 HTML": (Answer(status=200, body="<html>"), SERVER),
    "200 with an error body": (Answer(status=200, json={"error": "invalid_grant"}), SERVER),
    "200 empty": (Answer(status=200, body=""), SERVER),
    "200 token cut by C": (Answer(status=200, json={"access_token": "a\0b", "token_type": "Bearer"}), SERVER),
    "200 two header fields": (Answer(status=200, json={"access_token": "a\r\nX: b", "token_type": "Bearer"}), SERVER),
    "reset": (Answer(cut=Cut.RESET, status=503), NETWORK),
    "end": (Answer(cut=Cut.AFTER_READING, status=503), NETWORK),
}


@pytest.mark.parametrize("answer, cause", KEPT.values(), ids=KEPT.keys())
def test_B21_any_other_failure_of_a_refresh_leaves_state_and_stored_token_untouched(
    bench: Bench, answer: Answer, cause: object
) -> None:
    client = bench.signed_in()
    states = client.session_states()
    before = client.access_token().value
    bench.provider.script("token", answer)
    with bench.refused(cause):  # type: ignore[arg-type]
        client.refresh()
    assert bench.grant_types() == [EXCHANGE, REFRESH], "no retry loop"
    assert client.state is SessionState.AUTHENTICATED and client.access_token().value == before
    assert client.refresh().value != before
    first, second = refresh_tokens_sent(bench)
    assert first == second, "the next call sends the same stored token"
    assert bench.provider.reuses == []
    assert bench.history(client, states) == ["AUTHENTICATED", *["REFRESHING", "AUTHENTICATED"] * 2]


def test_B21_invalid_grant_erases_all_that_looks_like_a_credential(bench: Bench) -> None:
    client = bench.signed_in()
    states = client.session_states()
    bench.provider.script("token", oauth("invalid_grant"))
    with bench.refused(ReauthenticateCause.GRANT_REJECTED) as caught:
        client.refresh()
    assert caught.value.oauth_error == "invalid_grant"
    assert client.state is SessionState.UNAUTHENTICATED
    for call in (client.access_token, client.refresh, client.user_info, client.identity):
        with bench.refused(EXPIRED):
            call()
    assert bench.grant_types() == [EXCHANGE, REFRESH]
    client.close()
    changes = list(states)
    assert [change.state.name for change in changes] == ["AUTHENTICATED", "REFRESHING", "UNAUTHENTICATED"]
    assert changes[-1].reason is not None and changes[-1].reason.cause is ReauthenticateCause.GRANT_REJECTED
    assert changes[-1].generation == 0
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_invalid_grant_while_a_login_waits_leaves_it_authorizing(bench: Bench) -> None:
    """Refreshing, invalid_grant: Unauthenticated (Authorizing while a login waits)."""
    bench.signed_in().close()
    client = bench.client()  # without a browser, which would not wait
    client.access_token()
    states = client.session_states()
    login, url = bench.begin_login(client)
    bench.provider.script("token", oauth("invalid_grant"))
    with bench.refused(ReauthenticateCause.GRANT_REJECTED):
        client.refresh()
    assert client.state is SessionState.AUTHORIZING
    Person()(url)
    assert login.result().subject == bench.provider.subject
    client.close()
    changes = list(states)
    assert [change.state.name for change in changes] == ["AUTHENTICATED", *["AUTHORIZING"] * 2, "AUTHENTICATED"]
    assert changes[2].reason is not None and changes[2].reason.cause is ReauthenticateCause.GRANT_REJECTED
    assert changes[2].generation == 0 and changes[3].reason is None


def test_after_a_timeout_the_refresh_is_not_sent_again_and_the_next_call_sends_the_same_token(bench: Bench) -> None:
    client = bench.signed_in(request_timeout=0.4)
    bench.provider.script("token", Answer(gate=Gate(), status=503))
    with bench.refused(NETWORK) as caught:
        client.refresh()
    assert isinstance(caught.value, RecoverableError) and caught.value.reason is NetworkReason.TIMEOUT
    assert bench.grant_types() == [EXCHANGE, REFRESH]
    client.refresh()
    assert len(set(refresh_tokens_sent(bench))) == 1


def test_if_the_lost_answer_had_rotated_the_token_the_next_answer_is_invalid_grant_and_believed(bench: Bench) -> None:
    client = bench.signed_in()
    bench.provider.script("token", Answer(cut=Cut.RESET))
    with bench.refused(NETWORK):
        client.refresh()
    assert client.state is SessionState.AUTHENTICATED
    with bench.refused(ReauthenticateCause.GRANT_REJECTED):
        client.refresh()
    assert client.state is SessionState.UNAUTHENTICATED
    assert bench.grant_types() == [EXCHANGE, REFRESH, REFRESH]
    assert bench.provider.requests("token")[-1].header("Idempotency-Key") is None


@pytest.mark.parametrize(
    "value, lives",
    [
        ("600", 600),
        (600, 600),
        ("0600", 600),
        (None, None),
        (-1, None),
        (1e20, None),
        (0.5, None),
        ("soon", None),
        (True, None),
    ],
)
def test_B16_expires_in_is_read_when_it_is_digits_else_unknown_and_the_tokens_are_kept(
    bench: Bench, value: object, lives: int | None
) -> None:
    bench.provider.token_response["expires_in"] = value
    with bench.signed_in() as client:
        token = client.access_token()
        if lives is None:
            # A number beyond every clock may as well be said as it is; it must not be past.
            assert token.expires_at is None or token.expires_at > datetime.datetime.now(datetime.UTC)
        else:
            assert token.expires_at is not None
            left = (token.expires_at - datetime.datetime.now(datetime.UTC)).total_seconds()
            assert lives - 20 < left <= lives
        assert client.access_token().value == token.value
        assert client.refresh().value != token.value


def test_expires_in_absent_means_until_a_401(bench: Bench) -> None:
    bench.provider.token_response.remove("expires_in")
    with bench.signed_in() as client:
        assert client.access_token().expires_at is None
        bench.provider.grants.expire_access_tokens()
        assert client.user_info()["sub"] == bench.provider.subject
        assert bench.grant_types() == [EXCHANGE, REFRESH]


def test_B18_a_token_that_lives_shorter_than_the_margin_is_usable_once_and_causes_no_loop(bench: Bench) -> None:
    bench.provider.access_token_lifetime = 10
    with bench.signed_in() as client:
        first = client.access_token().value
        assert client.access_token().value == first
        assert bench.grant_types() == [EXCHANGE]
        # What a refresh brings is returned whatever its life.
        assert client.access_token(min_valid=60).value != first
        assert bench.grant_types() == [EXCHANGE, REFRESH]


@pytest.mark.parametrize("expires_in", [0, 1, 2])
def test_B18_a_token_that_is_all_but_dead_on_arrival_is_handed_out_once(bench: Bench, expires_in: int) -> None:
    bench.provider.token_response["expires_in"] = expires_in
    with bench.signed_in() as client:
        assert client.access_token().value
        assert len(bench.grant_types()) <= 2


@pytest.mark.parametrize(
    "life, left_at_least", [(300, 30), (100, 10)], ids=["30 s", "a tenth of the token's life if that is less"]
)
def test_min_valid_defaults(bench: Bench, life: int, left_at_least: int) -> None:
    bench.provider.access_token_lifetime = life
    with bench.signed_in() as client:
        token = client.access_token().value
        assert client.access_token(min_valid=life - 20).value == token
        assert client.access_token(min_valid=life + 1).value != token
        assert bench.grant_types() == [EXCHANGE, REFRESH]


def test_force_refreshes_a_living_token_and_its_failure_is_told(bench: Bench) -> None:
    with bench.signed_in() as client:
        before = client.access_token().value
        assert client.access_token(force=True).value != before
        bench.provider.script("token", Answer(status=503), times=8)
        with bench.refused(SERVER):
            client.access_token(force=True)


def test_a_living_token_is_returned_when_its_early_refresh_fails_recoverably(bench: Bench) -> None:
    with bench.signed_in() as client:
        before = client.access_token().value
        bench.provider.script("token", Answer(status=500), Answer(cut=Cut.RESET, status=500))
        assert client.access_token(min_valid=1000).value == before
        assert client.access_token(min_valid=1000).value == before
        assert bench.grant_types() == [EXCHANGE, REFRESH, REFRESH]
        bench.provider.script("token", oauth("invalid_request"))
        with bench.refused(ReauthenticateCause.SESSION_REJECTED):
            client.access_token(min_valid=1000)


# --- Without a refresh token ------------------------------------------------------------------------------------------


def test_without_a_refresh_token_the_session_ends_with_its_access_token_by_itself_and_no_request(bench: Bench) -> None:
    bench.provider.refresh_tokens = False
    bench.provider.access_token_lifetime = 1
    client = bench.signed_in()
    states = client.session_states()
    assert next(states).state is SessionState.AUTHENTICATED
    ended = next(states)
    assert ended.state is SessionState.UNAUTHENTICATED
    assert ended.reason is not None and ended.reason.cause is EXPIRED
    for call in (client.access_token, client.refresh, client.user_info, client.identity):
        with bench.refused(EXPIRED):
            call()
    assert bench.grant_types() == [EXCHANGE]


def test_without_a_refresh_token_force_and_min_valid_and_refresh_are_SessionExpired_state_unchanged(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    bench.provider.refresh_tokens = False
    with bench.signed_in() as client:
        assert any("token" in record.getMessage() for record in caplog.records), "the notice at login"
        token = client.access_token()
        calls: tuple[Callable[[], Any], ...] = (
            lambda: client.access_token(force=True),
            lambda: client.access_token(min_valid=3600),
            client.refresh,
        )
        for call in calls:
            with bench.refused(EXPIRED):
                call()
        assert client.access_token().value == token.value
        assert client.access_token(min_valid=60).value == token.value
        assert client.state is SessionState.AUTHENTICATED
        assert bench.grant_types() == [EXCHANGE]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


# --- Rotation ---------------------------------------------------------------------------------------------------------


def test_B23_an_answer_without_refresh_token_keeps_the_old_one(bench: Bench) -> None:
    bench.provider.grants.rotate = False
    with bench.signed_in() as client:
        client.refresh()
        client.refresh()
    with bench.client() as again:
        assert again.state is SessionState.AUTHENTICATED
        again.access_token()
    assert len(set(refresh_tokens_sent(bench))) == 1 and len(refresh_tokens_sent(bench)) == 3


def test_B23_a_new_refresh_token_is_on_disk_before_success_is_told(bench: Bench) -> None:
    with bench.signed_in(), Program(bench, "refresh") as program:
        program.until(state="AUTHENTICATED")
        program.go()
        program.until(ended="well")
        program.kill()
    with bench.client() as again:
        again.refresh()
    assert bench.provider.reuses == [] and bench.provider.resent() == []


@pytest.mark.parametrize("value", ["", 5, None, [], {}])
def test_B23_a_refresh_token_that_is_no_token_does_not_take_the_place_of_the_old_one(
    bench: Bench, value: object
) -> None:
    bench.provider.grants.rotate = False
    with bench.signed_in() as client:
        bench.provider.token_response["refresh_token"] = value
        try:
            client.refresh()
        except VersolaError as error:
            bench.heard(error)
        bench.provider.token_response.clear()
        client.refresh()
    assert len(set(refresh_tokens_sent(bench))) == 1


def test_a_new_refresh_token_in_a_2xx_answer_is_stored_whatever_else_is_wrong_with_it(bench: Bench) -> None:
    with bench.signed_in() as client:
        bench.provider.token_response.remove("access_token")
        with bench.refused(SERVER):
            client.refresh()
        bench.provider.token_response.clear()
        bench.provider.token_response["token_type"] = "mac"
        with bench.refused(ConfigurationCause.PROVIDER_UNSUPPORTED):
            client.refresh()
        bench.provider.token_response.clear()
    with bench.client() as again:
        again.refresh()
    assert len(set(refresh_tokens_sent(bench))) == 3 and bench.provider.reuses == []


def edit(name: str, value: object) -> Callable[[Bench], None]:
    return lambda bench: bench.provider.id_token.claims.update({name: value})


@pytest.mark.parametrize(
    "wrong",
    [
        edit("nonce", "another"),
        edit("sub", "another"),
        edit("iss", "https://evil.example"),
        edit("aud", ["native-app", "b"]),
        edit("aud", "another-app"),
        edit("azp", "another"),
        edit("auth_time", 5),
        edit("exp", 5),
        edit("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"),
        lambda bench: setattr(bench.provider.id_token, "wrong_key", True),
        lambda bench: setattr(bench.provider.id_token, "alg", "none"),
        lambda bench: setattr(bench.provider.id_token, "raw", "a.b.c"),
    ],
    ids=["nonce", "sub", "iss", "aud", "aud other", "azp", "auth_time", "exp", "at_hash", "key", "none", "malformed"],
)
def test_B14_a_refreshed_ID_token_that_differs_is_refused_and_the_rotated_token_is_kept(
    bench: Bench, wrong: Callable[[Bench], None]
) -> None:
    with bench.signed_in() as client:
        before, identity = client.access_token().value, client.identity()
        wrong(bench)
        with bench.refused(ConfigurationCause.ID_TOKEN_REJECTED):
            client.refresh()
        assert client.state is SessionState.AUTHENTICATED
        assert client.access_token().value == before, "the access token of a refused answer is not handed out"
        assert client.identity() == identity
    bench.provider.id_token.claims.clear()
    bench.provider.id_token.wrong_key, bench.provider.id_token.alg, bench.provider.id_token.raw = False, "RS256", None
    with bench.client() as again:
        assert again.refresh().value != before
    assert bench.provider.reuses == [] and len(set(refresh_tokens_sent(bench))) == 2


def test_B14_a_refreshed_sub_in_another_spelling_is_another_sub(bench: Bench) -> None:
    bench.provider.subject = "Zo\u00eb-canary-5f21"
    with bench.signed_in() as client:
        bench.provider.id_token.claims["sub"] = "Zoe\u0308-canary-5f21"
        with bench.refused(ConfigurationCause.ID_TOKEN_REJECTED):
            client.refresh()
        bench.provider.id_token.claims.clear()
        assert client.refresh() and client.identity().subject == bench.provider.subject


def test_B14_a_refreshed_ID_token_that_repeats_the_nonce_or_is_missing_is_fine(bench: Bench) -> None:
    with bench.signed_in() as client:
        bench.provider.id_token.claims["nonce"] = bench.provider.requests("authorize")[0].query["nonce"]
        client.refresh()
        bench.provider.id_token.claims["auth_time"] = int(time.time()) + 5
        client.refresh()
        bench.provider.token_response.remove("id_token")
        client.refresh()
        assert client.identity().subject == bench.provider.subject


# --- Many callers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("answer", [Answer(), Answer(status=500), oauth("invalid_grant")], ids=["well", "500", "ended"])
def test_B24_20_parallel_calls_with_an_expired_token_are_one_request_and_one_shared_outcome(
    bench: Bench, answer: Answer
) -> None:
    bench.signed_in().close()
    gate = Gate()
    bench.provider.script("token", Answer(**{**answer.__dict__, "gate": gate}))

    async def ask() -> list[Token | BaseException]:
        async with aio.OAuthClient(OAuthConfiguration(**bench.settings(browser=None))) as client:
            calls = [asyncio.ensure_future(client.access_token()) for _ in range(20)]
            await asyncio.sleep(0)  # lets each begin, which threads would do when they get to it
            gate.wait_arrived()
            calls += [asyncio.ensure_future(client.access_token()) for _ in range(20)]
            await asyncio.sleep(0)
            gate.open()
            return await asyncio.gather(*calls, return_exceptions=True)

    outcomes = set()
    for outcome in asyncio.run(ask()):
        if isinstance(outcome, VersolaError):
            bench.heard(outcome)
            outcomes.add(outcome.cause)
        else:
            assert isinstance(outcome, Token)
            outcomes.add(outcome.value)
    assert len(outcomes) == 1
    assert bench.grant_types() == [EXCHANGE, REFRESH]


def test_B24_one_caller_s_timeout_never_ends_the_refresh_of_the_others(bench: Bench) -> None:
    bench.signed_in().close()
    client = bench.client()
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    starter = bench.call(client.access_token, timeout=0.3)
    gate.wait_arrived()
    other = bench.call(client.access_token)
    assert starter.error().cause is RecoverableCause.SYSTEM_CANCELLED
    assert not other.is_over
    gate.open()
    assert other.result().value == client.access_token().value
    assert bench.grant_types() == [EXCHANGE, REFRESH]


def test_close_during_a_refresh_stores_its_answer(bench: Bench) -> None:
    """The first law: close ends the caller, not the request."""
    bench.signed_in().close()
    client = bench.client()
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    call = bench.call(client.access_token)
    gate.wait_arrived()
    closing = bench.call(client.close)
    assert call.error().cause is RecoverableCause.SYSTEM_CANCELLED
    gate.open()
    closing.result()
    with bench.client() as again:
        again.refresh()
    assert len(set(refresh_tokens_sent(bench))) == 2 and bench.provider.reuses == []


@pytest.mark.parametrize(("endpoint", "call"), [("discovery", "login"), ("userinfo", "user_info")])
def test_B55_close_does_not_wait_for_an_answer_that_nobody_needs(bench: Bench, endpoint: str, call: str) -> None:
    client = bench.client(request_timeout=300) if call == "login" else bench.signed_in(request_timeout=300)
    gate = Gate()
    bench.provider.script(endpoint, Answer(gate=gate))
    waiting = bench.call(getattr(client, call))
    gate.wait_arrived()
    client.close(timeout=30)
    assert waiting.error().cause is RecoverableCause.SYSTEM_CANCELLED
    gate.open()


@pytest.mark.parametrize(("endpoint", "call"), [("token", "refresh"), ("userinfo", "user_info")])
def test_who_began_as_one_person_gets_nothing_of_another(bench: Bench, endpoint: str, call: str) -> None:
    client = bench.signed_in()
    gate = Gate()
    bench.provider.script(endpoint, Answer(gate=gate))
    begun = bench.call(getattr(client, call))
    gate.wait_arrived()
    bench.provider.subject = "bob"
    client.login()
    gate.open()
    assert begun.error().cause is EXPIRED
    assert client.state is SessionState.AUTHENTICATED and client.identity().subject == "bob"
    assert client.user_info()["sub"] == "bob" and client.refresh().value

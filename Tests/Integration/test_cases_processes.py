# SPDX-License-Identifier: Apache-2.0
"""A session across restarts, and several processes on one store (behaviour §1 and §5), at the scripted provider."""

from __future__ import annotations

from pathlib import Path

import pytest
from versola import (
    ConfigurationCause,
    OAuthClient,
    ReauthenticateCause,
    RecoverableCause,
    SessionState,
    VersolaError,
)

from cases import Bench, Person, Program, bench_fixture, refresh_tokens_sent  # noqa: F401

NETWORK = RecoverableCause.NETWORK
EXCHANGE, REFRESH = "authorization_code", "refresh_token"


def test_B22_without_network_the_stored_session_is_kept_and_usable(bench: Bench) -> None:
    bench.signed_in().close()
    bench.provider.stop()
    with bench.client() as client:
        assert client.state is SessionState.AUTHENTICATED
        assert client.identity().subject == bench.provider.subject
        for call in (client.access_token, client.refresh, client.user_info):
            with bench.refused(NETWORK):
                call()
        assert client.state is SessionState.AUTHENTICATED
    bench.provider.start()
    with bench.client() as client:
        assert client.access_token().value
    assert bench.grant_types() == [EXCHANGE, REFRESH]


@pytest.mark.parametrize("count", [8])
def test_processes_on_one_store_that_refresh_at_once_never_send_one_token_twice(bench: Bench, count: int) -> None:
    bench.signed_in().close()
    programs = [Program(bench, "refresh") for _ in range(count)]
    for program in programs:
        program.until(state="AUTHENTICATED")
    for program in programs:
        program.go()
    for program in programs:
        with program:
            program.until(ended="well")
    assert bench.provider.reuses == [] and bench.provider.resent() == []


def test_the_sealed_cache_needs_one_token_request_for_many_processes(bench: Bench) -> None:
    bench.signed_in(access_token_cache="sealed").close()
    for _ in range(3):
        programs = [Program(bench, "token", access_token_cache="sealed") for _ in range(4)]
        for program in programs:
            program.until(state="AUTHENTICATED")
            program.go()
        for program in programs:
            with program:
                program.until(ended="well")
    assert bench.grant_types() == [EXCHANGE]
    with bench.client(access_token_cache="sealed") as client:
        before = client.access_token().value
        after = client.refresh().value
    with bench.client(access_token_cache="sealed") as client:
        assert client.access_token().value == after != before
        bench.provider.grants.expire_access_tokens()
        assert client.user_info()
        fresh = client.access_token().value
    with bench.client(access_token_cache="sealed") as client:
        assert client.access_token().value == fresh
        client.logout()
    assert bench.grant_types() == [EXCHANGE, REFRESH, REFRESH]
    assert bench.state_of_a_new_client(access_token_cache="sealed") is SessionState.UNAUTHENTICATED


def test_the_sealed_cache_without_a_refresh_token_is_a_grant_until_it_expires(bench: Bench) -> None:
    bench.provider.refresh_tokens = False
    bench.provider.access_token_lifetime = 2
    first = bench.signed_in(access_token_cache="sealed")
    token = first.access_token().value
    first.close()
    client = bench.client(access_token_cache="sealed")
    states = client.session_states()
    assert next(states).state is SessionState.AUTHENTICATED
    assert client.access_token().value == token
    assert next(states).state is SessionState.UNAUTHENTICATED
    assert bench.state_of_a_new_client(access_token_cache="sealed") is SessionState.UNAUTHENTICATED
    assert bench.grant_types() == [EXCHANGE]


def test_what_another_process_does_on_the_same_store_becomes_states_here(bench: Bench) -> None:
    with Program(bench, "follow") as follower:
        assert follower.line()["state"] == "UNAUTHENTICATED"
        first = bench.signed_in()
        generation = follower.until(state="AUTHENTICATED")["generation"]
        bench.provider.subject = "bob-canary-5f21"
        first.login()
        assert follower.line()["state"] == "UNAUTHENTICATED"
        assert follower.until(state="AUTHENTICATED")["generation"] > generation
        first.refresh()
        first.logout()
        assert follower.line()["state"] == "UNAUTHENTICATED"


def test_another_client_s_refresh_is_adopted_and_its_token_is_not_sent_again(bench: Bench) -> None:
    one = bench.signed_in()
    with bench.client() as other:
        other.refresh()
        one.refresh()
        other.refresh()
    assert len(set(refresh_tokens_sent(bench))) == 3 and bench.provider.reuses == []


def test_session_names_keep_accounts_side_by_side(bench: Bench) -> None:
    clients: list[OAuthClient] = []
    for name in ("alice", "bob"):
        bench.provider.subject = f"{name}-canary-5f21"
        clients.append(bench.signed_in(session=name))
    assert [client.identity().subject[:3] for client in clients] == ["ali", "bob"]
    clients[0].logout()
    assert clients[1].state is SessionState.AUTHENTICATED and clients[1].refresh()


@pytest.mark.parametrize("damage", ["truncate", "flip", "empty", "garbage"])
def test_a_damaged_record_is_CredentialsInvalidated_told_once_and_a_new_login_works(bench: Bench, damage: str) -> None:
    bench.signed_in().close()
    [record] = [path for path in bench.home.rglob("*grant*") if path.is_file() and path.stat().st_size]
    sealed = record.read_bytes()
    damaged = {
        "truncate": sealed[: len(sealed) // 2],
        "flip": sealed[:-1] + bytes([sealed[-1] ^ 1]),
        "empty": b"",
        "garbage": b"\xff" * 300,
    }[damage]
    record.write_bytes(damaged)
    told: list[object] = []
    for _ in range(2):
        try:
            with bench.client() as client:
                states = client.session_states()
                told.append(next(states).reason)
                assert client.state is SessionState.UNAUTHENTICATED
        except VersolaError as error:
            bench.heard(error)
            told.append(error)
    causes = [reason.cause for reason in told if isinstance(reason, VersolaError)]
    assert causes in ([ReauthenticateCause.CREDENTIALS_INVALIDATED], [ConfigurationCause.STORE_UNAVAILABLE] * 2), causes
    if ConfigurationCause.STORE_UNAVAILABLE not in causes:
        assert bench.signed_in().state is SessionState.AUTHENTICATED


def test_files_of_the_store_are_the_user_s_alone(bench: Bench) -> None:
    with bench.signed_in():
        paths: list[Path] = list(bench.home.rglob("*"))
        assert paths
        assert {oct(path.stat().st_mode & 0o777) for path in paths if path.is_file()} == {"0o600"}
        assert {oct(path.stat().st_mode & 0o777) for path in paths if path.is_dir()} <= {"0o700"}

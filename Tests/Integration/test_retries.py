# SPDX-License-Identifier: Apache-2.0
"""Retries, Retry-After and pause over real sockets, counted at the provider (cases B21, B28, B30, B32)."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from provider import Accept, Answer, Cut, Gate, Provider, walk
from wire import Connection, Wire

if TYPE_CHECKING:
    from versola import OAuthClient, RecoverableError, RetryPolicy

NewClient = Callable[..., "OAuthClient"]
PROGRAM = Path(__file__).with_name("program.py")
PATIENCE = 20.0
SLOW_DOWN = Answer(status=429, headers={"Retry-After": "60", "Content-Type": "text/plain"}, body="slow down")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def quick(library: ModuleType) -> RetryPolicy:
    """The usual limits, with delays that a test can wait for."""
    policy: RetryPolicy = library.RetryPolicy(initial_backoff=0.01, max_backoff=0.02)
    return policy


@pytest.fixture
def new_client(provider: Provider, library: ModuleType, quick: RetryPolicy) -> Iterator[NewClient]:
    clients: list[OAuthClient] = []

    def make(**changes: Any) -> OAuthClient:
        settings: dict[str, Any] = {
            "issuer": provider.issuer,
            "client_id": "native-app",
            "redirect_uri": "http://127.0.0.1/callback",
            "store": "memory",
            "browser": walk,
            "retry_policy": quick,
            **changes,
        }
        client: OAuthClient = library.OAuthClient(**settings)
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def client(new_client: NewClient) -> OAuthClient:
    """One whose person is signed in."""
    client = new_client()
    client.login(timeout=PATIENCE)
    return client


def refreshes(provider: Provider) -> int:
    return sum(request.form["grant_type"] == "refresh_token" for request in provider.requests("token"))


def server_error(call: Callable[[], object]) -> RecoverableError:
    import versola

    with pytest.raises(versola.RecoverableError) as caught:
        call()
    assert caught.value.cause is versola.RecoverableCause.SERVER
    return caught.value


def network_error(call: Callable[[], object]) -> str:
    import versola

    with pytest.raises(versola.RecoverableError) as caught:
        call()
    assert caught.value.cause is versola.RecoverableCause.NETWORK
    assert caught.value.reason is not None
    return caught.value.reason.name


# --- Sent again, or not -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ["discovery", "jwks"])
@pytest.mark.parametrize(
    "answer",
    [*(Answer(status=status) for status in (408, 429, 500, 502, 503, 504)), Answer(cut=Cut.RESET)],
    ids=["408", "429", "500", "502", "503", "504", "reset"],
)
def test_two_lost_answers_do_not_cost_a_login(
    provider: Provider, new_client: NewClient, endpoint: str, answer: Answer
) -> None:
    provider.script(endpoint, answer, times=2)
    assert new_client().login(timeout=PATIENCE).subject == "alice"
    assert len(provider.requests(endpoint)) == 3
    assert len(provider.requests("token")) == 1


def test_three_failed_requests_are_one_error_with_its_numbers(provider: Provider, new_client: NewClient) -> None:
    provider.script("discovery", Answer(status=503), times=9)
    error = server_error(lambda: new_client().login(timeout=PATIENCE))
    assert (error.status, error.attempts, error.retry_after) == (503, 3, None)
    assert error.elapsed is not None and error.elapsed.total_seconds() > 0
    assert len(provider.requests("discovery")) == 3


@pytest.mark.parametrize(
    "answer", [Answer(status=503), SLOW_DOWN, Answer(cut=Cut.RESET), Answer(cut=Cut.AFTER_READING)]
)
def test_b30_a_code_is_sent_once_whatever_happens(provider: Provider, new_client: NewClient, answer: Answer) -> None:
    import versola

    provider.script("token", answer, times=5)
    with pytest.raises(versola.RecoverableError):
        new_client(browser=_walk_to_any_page).login(timeout=PATIENCE)
    assert len(provider.requests("token")) == 1
    assert provider.reuses == [] and provider.resent() == []


def test_b30_a_kept_connection_that_dies_under_user_info_is_tried_again(
    provider: Provider, client: OAuthClient
) -> None:
    client.user_info()
    provider.script("userinfo", Answer(cut=Cut.AFTER_READING))
    assert client.user_info()["sub"] == "alice"
    assert len(provider.requests("userinfo")) == 3


@pytest.mark.parametrize("status", [408, 429, 503])
def test_b21_a_refresh_is_sent_again_when_it_was_not_processed(
    provider: Provider, client: OAuthClient, status: int
) -> None:
    provider.script("token", Answer(status=status), times=2)
    assert client.access_token(force=True).value
    assert refreshes(provider) == 3
    assert provider.reuses == []


@pytest.mark.parametrize("answer", [Answer(status=status) for status in (500, 502, 504)] + [Answer(cut=Cut.RESET)])
def test_b21_else_it_is_sent_once_and_the_session_stays(
    provider: Provider, client: OAuthClient, answer: Answer
) -> None:
    import versola

    provider.script("token", answer)
    with pytest.raises(versola.RecoverableError):
        client.access_token(force=True)
    assert refreshes(provider) == 1
    assert client.state is versola.SessionState.AUTHENTICATED
    assert provider.requests("token")[-1].header("Idempotency-Key") is None


def test_b21_a_provider_that_rotated_and_then_failed(provider: Provider, client: OAuthClient) -> None:
    import versola

    provider.script("token", Answer(status=500, process=True))
    server_error(lambda: client.access_token(force=True))
    assert client.state is versola.SessionState.AUTHENTICATED
    # The next call sends the same token, because nobody can know; the provider's word ends the session.
    with pytest.raises(versola.ReauthenticateError) as refused:
        client.access_token(force=True)
    assert refused.value.cause is versola.ReauthenticateCause.GRANT_REJECTED
    assert refreshes(provider) == 2


def test_b21_a_refused_connection_is_tried_again_and_nothing_is_lost(provider: Provider, client: OAuthClient) -> None:
    provider.stop()
    assert network_error(lambda: client.access_token(force=True)) == "CONNECT"
    provider.start()
    assert client.access_token(force=True).value
    assert refreshes(provider) == 1


def test_b21_a_connection_reset_before_anything_is_read_is_the_end_of_it(
    provider: Provider, client: OAuthClient
) -> None:
    # Nearly always the request was written, and might have been read. Where the reset is faster, nothing was written,
    # and what surely was not processed is sent again: either way the provider sees the token once at most.
    import versola

    provider.script_connections(Accept.RESET)
    try:
        token = client.access_token(force=True).value
    except versola.RecoverableError as error:
        assert error.reason is versola.NetworkReason.RESET
        assert refreshes(provider) == 0
    else:
        assert token
        assert refreshes(provider) == 1


def test_retry_after_is_waited_for(provider: Provider, client: OAuthClient) -> None:
    provider.script("token", Answer(status=503, headers={"Retry-After": "1"}))
    assert client.access_token(force=True).value
    first, second = [request.time for request in provider.requests("token")][-2:]
    assert second - first >= 1.0


def test_retry_after_0_for_ever_ends_after_three(provider: Provider, client: OAuthClient) -> None:
    provider.script("token", Answer(status=429, headers={"Retry-After": "0"}), times=9)
    assert server_error(lambda: client.access_token(force=True)).attempts == 3
    assert refreshes(provider) == 3


@pytest.mark.parametrize(
    "headers",
    [[("Retry-After", value)] for value in ("soon", "-1", "1.5", "", "9, 9", "Sun, 06 Nov 1994 08:49:37 GMT")]
    + [[("Retry-After", "600"), ("Retry-After", "600")]],
)
def test_b29_a_malformed_retry_after_is_as_if_there_were_none(
    provider: Provider, client: OAuthClient, headers: list[tuple[str, str]]
) -> None:
    provider.script("token", Answer(status=429, headers=headers))
    assert client.access_token(force=True).value
    assert refreshes(provider) == 2


@pytest.mark.parametrize(
    "date",
    [
        "Fri, 30 Oct 2026 12:10:00 GMT",
        "Friday, 30-Oct-26 12:10:00 GMT",
        "Fri Oct 30 12:10:00 2026",
        "Mon, 30 Oct 2026 12:10:00 GMT",
    ],
    ids=["imf-fixdate", "rfc850", "asctime", "wrong weekday"],
)
def test_b29_a_date_counts_from_the_answers_own(provider: Provider, client: OAuthClient, date: str) -> None:
    headers = {"Date": "Fri, 30 Oct 2026 12:00:00 GMT", "Retry-After": date}
    provider.script("token", Answer(status=429, headers=headers))
    error = server_error(lambda: client.access_token(force=True))
    assert error.attempts == 1
    assert error.retry_after is not None and error.retry_after.total_seconds() == 600


def test_b29_a_huge_retry_after_is_a_day(provider: Provider, client: OAuthClient) -> None:
    provider.script("token", Answer(status=429, headers={"Retry-After": "9" * 400}))
    error = server_error(lambda: client.access_token(force=True))
    assert error.retry_after is not None and error.retry_after.total_seconds() == 86_400


# --- Pause ------------------------------------------------------------------------------------------------------------


def test_b28_nothing_is_sent_inside_the_pause(provider: Provider, client: OAuthClient) -> None:
    import versola

    provider.script("token", SLOW_DOWN)
    error = server_error(lambda: client.access_token(force=True))
    assert (error.status, error.attempts) == (429, 1)
    assert error.retry_after is not None and error.retry_after.total_seconds() == 60
    sent = len(provider.requests())
    for _ in range(50):
        for call in (lambda: client.access_token(force=True), client.user_info, client.login):
            error = server_error(call)
            assert (error.status, error.attempts) == (429, 0)
            assert error.retry_after is not None and 0 < error.retry_after.total_seconds() <= 60
            assert error.detail.endswith(f": not sent, for {provider.issuer} answered 429 and asked to wait")
    assert len(provider.requests()) == sent
    assert client.state is versola.SessionState.AUTHENTICATED
    assert client.access_token().value, "the token in memory still serves"


def test_another_client_and_another_session_are_refused_too_but_not_another_process(
    provider: Provider, new_client: NewClient, library: ModuleType
) -> None:
    client = new_client(store="auto")
    client.login(timeout=PATIENCE)
    provider.script("token", SLOW_DOWN)
    server_error(lambda: client.access_token(force=True))
    sent = len(provider.requests())
    for other in (new_client(), new_client(session="work", store="auto")):
        assert server_error(lambda: other.login(timeout=PATIENCE)).attempts == 0  # noqa: B023
    # A client without cached metadata asks for them first, and no further.
    assert {request.endpoint for request in provider.requests()[sent:]} <= {"discovery"}

    configuration = {"issuer": provider.issuer, "client_id": "native-app", "redirect_uri": "http://127.0.0.1/callback"}
    told = subprocess.run(
        [sys.executable, str(PROGRAM), "refused"],
        env={**os.environ, "CONFIGURATION": json.dumps(configuration)},
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    assert json.loads(told.stdout) == {"attempts": None}


def test_a_logout_inside_the_pause_erases_the_session_and_says_that_nothing_was_revoked(
    provider: Provider, client: OAuthClient
) -> None:
    import versola

    provider.script("token", SLOW_DOWN)
    server_error(lambda: client.access_token(force=True))
    assert client.logout(timeout=PATIENCE).token_revoked is False
    assert client.state is versola.SessionState.UNAUTHENTICATED
    assert provider.requests("revocation") == []


@pytest.mark.parametrize("endpoint", ["token_endpoint", "userinfo_endpoint"])
def test_a_paused_call_sends_no_byte(provider: Provider, new_client: NewClient, endpoint: str) -> None:
    def slow_down(connection: Connection) -> None:
        connection.read_request()
        connection.send(b"HTTP/1.1 429 Slow\r\nRetry-After: 60\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")

    provider.script("discovery", Answer(headers={"Cache-Control": "no-store"}), times=None)
    client = new_client()
    client.login(timeout=PATIENCE)
    calls = {"token_endpoint": client.refresh, "userinfo_endpoint": client.user_info}
    refused = calls.pop(endpoint)
    with Wire(slow_down) as wire:
        provider.metadata[endpoint] = f"http://127.0.0.1:{wire.port}/"
        assert server_error(refused).attempts == 1
        [connection], received = wire.connections, wire.received
        assert b" / HTTP/1.1\r\n" in received
        for _ in range(100):
            assert server_error(refused).attempts == 0
        assert (wire.connections, wire.received) == ([connection], received)
        # Another port is another origin.
        [granted] = calls.values()
        assert granted()


@pytest.mark.parametrize(
    "answer", [Answer(status=404), Answer(body="no JSON"), Answer(status=501)], ids=["404", "unreadable", "501"]
)
def test_an_error_tells_of_the_pause_that_began_while_its_request_was_on_the_wire(
    provider: Provider, client: OAuthClient, new_client: NewClient, answer: Answer
) -> None:
    gate = Gate()
    provider.script("userinfo", dataclasses.replace(answer, gate=gate))
    other = new_client()
    other.login(timeout=PATIENCE)
    with ThreadPoolExecutor(1) as pool:
        told = pool.submit(server_error, client.user_info)
        provider.wait_for("userinfo")
        provider.script("token", SLOW_DOWN)
        server_error(lambda: other.access_token(force=True))
        gate.open()
        error = told.result(PATIENCE)
    assert (error.status, error.attempts) == (answer.status or 200, 1)
    assert error.retry_after is not None and 0 < error.retry_after.total_seconds() <= 60
    assert len(provider.requests("userinfo")) == 1


# --- Answers without end ----------------------------------------------------------------------------------------------


def peak_memory() -> int:
    """KiB since the last call; the scripted provider lives in this process, too."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:")]
    Path("/proc/self/clear_refs").write_text("5")
    return int(line.split()[1])


@pytest.mark.parametrize(
    "answer", [Answer(endless=True), Answer(gzip=True, pad=200 << 20)], ids=["endless body", "gzip bomb"]
)
def test_b32_a_body_over_the_limit_is_one_failed_request_and_no_memory(
    provider: Provider, client: OAuthClient, new_client: NewClient, answer: Answer
) -> None:
    for endpoint in ("discovery", "token", "userinfo"):
        provider.script(endpoint, answer)
    calls = {
        "discovery": lambda: new_client().login(timeout=PATIENCE),
        "token": lambda: client.access_token(force=True),
        "userinfo": client.user_info,
    }
    peak_memory()
    before = peak_memory()
    for endpoint, call in calls.items():
        sent = len(provider.requests(endpoint))
        error = server_error(call)
        assert (error.status, error.attempts) == (200, 1)
        assert len(provider.requests(endpoint)) == sent + 1
    assert peak_memory() - before < 64 << 10
    assert client.user_info()["sub"] == "alice"
    assert new_client().login(timeout=PATIENCE).subject == "alice"


def test_b32_a_byte_a_second_ends_at_the_request_timeout_each_time(provider: Provider, new_client: NewClient) -> None:
    provider.script("discovery", Answer(drip=1.0), times=9)
    assert network_error(lambda: new_client(request_timeout=0.3).login(timeout=PATIENCE)) == "TIMEOUT"
    assert len(provider.requests("discovery")) == 3


def _walk_to_any_page(url: str) -> None:
    """A failed login is told on the page; its status is not what these tests are about."""
    walk(url)

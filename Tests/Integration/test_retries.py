# SPDX-License-Identifier: Apache-2.0
"""Retries, Retry-After and pause over real sockets, counted at the provider (cases B21, B28, B30, B32)."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pytest

from provider import Accept, Answer, Cut, Provider, walk

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


class RawEndpoint:
    """A listening socket that answers 429 to whatever comes, and counts connections and bytes."""

    def __init__(self) -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}/userinfo"
        self.connections = 0
        self.bytes = 0
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                self.connections += 1
                self.bytes += len(connection.recv(65536))
                connection.sendall(
                    b"HTTP/1.1 429 Slow\r\nRetry-After: 60\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                )

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join(10)


def test_a_paused_call_sends_no_byte(provider: Provider, new_client: NewClient) -> None:
    endpoint = RawEndpoint()
    try:
        provider.metadata["userinfo_endpoint"] = endpoint.url
        client = new_client()
        client.login(timeout=PATIENCE)
        assert server_error(client.user_info).attempts == 1
        seen = (endpoint.connections, endpoint.bytes)
        assert seen[0] == 1 and seen[1] > 0
        for _ in range(100):
            assert server_error(client.user_info).attempts == 0
        assert (endpoint.connections, endpoint.bytes) == seen
        # Another port is another origin.
        assert client.access_token(force=True).value
    finally:
        endpoint.close()


# --- Answers without end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [Answer(endless=True), Answer(gzip=True, pad=200 << 20)], ids=["endless body", "gzip bomb"]
)
def test_b32_a_body_over_the_limit_is_one_failed_request_and_no_memory(
    provider: Provider, new_client: NewClient, answer: Answer
) -> None:
    provider.script("discovery", answer)
    client = new_client()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert server_error(lambda: client.login(timeout=PATIENCE)).attempts == 1
    # The scripted provider lives in this process, too.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10
    assert len(provider.requests("discovery")) == 1
    assert client.login(timeout=PATIENCE).subject == "alice"


def test_b32_a_byte_a_second_ends_at_the_request_timeout_each_time(provider: Provider, new_client: NewClient) -> None:
    provider.script("discovery", Answer(drip=1.0), times=9)
    assert network_error(lambda: new_client(request_timeout=0.3).login(timeout=PATIENCE)) == "TIMEOUT"
    assert len(provider.requests("discovery")) == 3


def _walk_to_any_page(url: str) -> None:
    """A failed login is told on the page; its status is not what these tests are about."""
    walk(url)

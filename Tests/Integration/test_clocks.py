# SPDX-License-Identifier: Apache-2.0
"""A machine that slept, and a wall clock that is wrong: a preloaded library moves the clocks of the app alone."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from provider import Answer, Provider

CLOCKS = Path(__file__).resolve().parents[1] / "time" / "clocks.c"
DRIVEN = Path(__file__).with_name("driven.py")
LIFE = 300
"""Seconds that an access token lives."""
YEAR = 365 * 24 * 3600

pytestmark = pytest.mark.usefixtures("library")


class Failed(Exception):
    """What the app was told; its text is the cause."""


class Driven:
    """An app in a process of its own; its methods are those of driven.py's App."""

    def __init__(self, clocks: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(DRIVEN)],
            env={**os.environ, "LD_PRELOAD": str(clocks)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*arguments: object, **named: object) -> Any:
            assert self._process.stdin is not None and self._process.stdout is not None
            self._process.stdin.write(json.dumps([name, arguments, named]) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            assert line, f"the app ended with {self._process.wait(10)} at {name}"
            answer = json.loads(line)
            if "error" in answer:
                raise Failed(answer["error"])
            return answer["result"]

        return call

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("clocks") / "clocks.so"
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", "-pthread"]
    subprocess.run([*command, "-o", str(library), str(CLOCKS), "-ldl"], check=True)
    return library


@pytest.fixture
def start(clocks: Path) -> Iterator[Callable[[], Driven]]:
    apps: list[Driven] = []

    def one() -> Driven:
        apps.append(Driven(clocks))
        return apps[-1]

    yield one
    for app in apps:
        app.end()


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as one:
        one.access_token_lifetime = LIFE
        yield one


def settings(provider: Provider, **changes: Any) -> dict[str, Any]:
    return {
        "issuer": provider.issuer,
        "client_id": "native-app",
        "redirect_uri": "http://127.0.0.1/callback",
        "scopes": ["offline_access"],
        **changes,
    }


def refreshes(provider: Provider) -> int:
    return sum(request.form["grant_type"] == "refresh_token" for request in provider.requests("token"))


Start = Callable[[], Driven]


def test_a_token_that_expired_while_the_machine_slept_is_refreshed_at_its_next_use(
    provider: Provider, start: Start
) -> None:
    app = start()
    app.open(**settings(provider))
    app.login()
    first = app.token()
    app.suspend(LIFE // 2)
    assert app.token() == first
    app.suspend(LIFE // 2)
    # Nothing happens until somebody wants it, and then it happens once.
    assert app.state() == "AUTHENTICATED" and refreshes(provider) == 0
    second = app.token()
    assert second != first and app.token() == second
    assert refreshes(provider) == 1


def test_a_session_without_a_refresh_token_that_expired_in_sleep_is_over_when_the_machine_wakes(
    provider: Provider, start: Start
) -> None:
    provider.refresh_tokens = False
    app = start()
    app.open(**settings(provider))
    app.login()
    assert [app.next_state()[0] for _ in range(2)] == ["AUTHORIZING", "AUTHENTICATED"]
    app.suspend(LIFE - 5)
    assert app.state() == "AUTHENTICATED"
    app.suspend(5)
    # By its timer: no call was needed.
    assert app.next_state() == ["UNAUTHENTICATED", "SESSION_EXPIRED"]
    with pytest.raises(Failed, match="SESSION_EXPIRED"):
        app.token()
    assert refreshes(provider) == 0


@pytest.mark.parametrize("off_by", [-YEAR, -3600, 3600, YEAR])
def test_a_wrong_wall_clock_changes_nothing_for_an_access_token(provider: Provider, start: Start, off_by: int) -> None:
    # An ID token is judged by the wall clock; without one, nothing here is.
    app = start()
    app.open(**settings(provider))
    app.login()
    provider.token_response.remove("id_token")
    first = app.token()
    app.set_wall_clock(off_by)
    assert app.token() == first and refreshes(provider) == 0
    app.suspend(LIFE)
    second = app.token()
    assert second != first and app.token() == second
    assert refreshes(provider) == 1


@pytest.mark.parametrize("off_by", [-YEAR, YEAR])
def test_a_wrong_wall_clock_changes_nothing_for_the_sealed_cache(provider: Provider, start: Start, off_by: int) -> None:
    first = start()
    first.open(**settings(provider, access_token_cache="sealed"))
    first.login()
    token = first.token()
    first.close()
    second = start()
    second.set_wall_clock(off_by)
    assert second.open(**settings(provider, access_token_cache="sealed")) == "AUTHENTICATED"
    assert second.token() == token and refreshes(provider) == 0
    second.close()
    # The boot-time clock counts for it, in the next process too.
    third = start()
    third.suspend(LIFE)
    third.open(**settings(provider, access_token_cache="sealed"))
    assert third.token() != token and refreshes(provider) == 1


@pytest.mark.parametrize("off_by", [-3600, 2 * YEAR])
def test_a_wrong_wall_clock_at_login_is_told_once(provider: Provider, start: Start, off_by: int) -> None:
    app = start()
    app.open(**settings(provider))
    app.set_wall_clock(off_by)
    with pytest.raises(Failed, match="ID_TOKEN_REJECTED"):
        app.login()
    assert app.state() == "UNAUTHENTICATED"
    assert len(provider.requests("token")) == 1


def test_a_login_that_waits_for_its_browser_is_over_after_ten_minutes_of_sleep(
    provider: Provider, start: Start
) -> None:
    app = start()
    app.open(**settings(provider))
    assert app.begin_login() == "AUTHORIZING"
    app.set_wall_clock(YEAR)
    app.suspend(590)
    assert app.state() == "AUTHORIZING"
    app.suspend(10)
    assert app.next_state() == ["UNAUTHENTICATED", "PENDING_REQUEST_EXPIRED"]
    with pytest.raises(Failed, match="PENDING_REQUEST_EXPIRED"):
        app.end_login()
    assert provider.requests("token") == []


def test_a_pause_runs_while_the_machine_sleeps_and_by_no_wall_clock(provider: Provider, start: Start) -> None:
    app = start()
    app.open(**settings(provider))
    app.login()
    provider.token_response.remove("id_token")
    provider.script("token", Answer(status=429, headers={"Retry-After": "600"}))
    assert app.refusal() == [1, 600]
    app.set_wall_clock(YEAR)
    attempts, left = app.refusal()
    assert attempts == 0 and 10 < left <= 600
    app.suspend(590)
    attempts, left = app.refusal()
    assert attempts == 0 and 0 < left <= 10
    assert refreshes(provider) == 1
    app.suspend(10)
    assert app.refresh() and refreshes(provider) == 2


def test_a_machine_that_slept_past_the_budget_repeats_nothing(provider: Provider, start: Start) -> None:
    app = start()
    app.open(**settings(provider))
    app.login()
    # The listener of the login has been closed by then.
    app.suspend(5)
    provider.script("token", Answer(status=503, headers={"Retry-After": "15"}))
    app.begin_refusal()
    app.suspend(3600)
    assert app.end_refusal() == [1, None]
    assert refreshes(provider) == 1
    assert app.refresh() and refreshes(provider) == 2


@pytest.mark.parametrize("off_by", [-50 * YEAR, YEAR])
@pytest.mark.parametrize("date", ["Fri, 30 Oct 2026 12:10:00 GMT", "Friday, 30-Oct-26 12:10:00 GMT"])
def test_b29_a_wrong_wall_clock_changes_nothing_for_a_date_in_retry_after(
    provider: Provider, start: Start, date: str, off_by: int
) -> None:
    app = start()
    app.open(**settings(provider))
    app.login()
    app.set_wall_clock(off_by)
    headers = {"Date": "Fri, 30 Oct 2026 12:00:00 GMT", "Retry-After": date}
    provider.script("token", Answer(status=503, headers=headers))
    assert app.refusal() == [1, 600]

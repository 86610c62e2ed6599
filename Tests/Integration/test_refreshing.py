# SPDX-License-Identifier: Apache-2.0
"""One refresh serves everybody who needs it: threads of one process, and processes that start and end all the time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from fleet import PROGRAM
from provider import Answer, Gate, Provider, walk

pytestmark = pytest.mark.usefixtures("library")

PATIENCE = 60.0
CALLERS = 1000
PROCESSES = 100


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as one:
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


def browser(url: str) -> None:
    threading.Thread(target=walk, args=(url,), name="person").start()


def test_a_thousand_callers_of_an_expired_token_cause_one_request(provider: Provider) -> None:
    import versola

    with versola.OAuthClient(**settings(provider), browser=browser) as client:
        provider.token_response["expires_in"] = 0
        client.login(timeout=PATIENCE)
        provider.token_response.clear()
        gate = Gate()
        provider.script("token", Answer(gate=gate))
        ready = threading.Barrier(CALLERS + 1)

        def call() -> str:
            ready.wait(PATIENCE)
            return client.access_token(timeout=PATIENCE).value

        with ThreadPoolExecutor(CALLERS) as callers:
            calls = [callers.submit(call) for _ in range(CALLERS)]
            ready.wait(PATIENCE)
            gate.wait_arrived(PATIENCE)
            assert not any(one.done() for one in calls)
            gate.open()
            served = {one.result(PATIENCE) for one in calls}
        assert served == {client.access_token().value}
        assert refreshes(provider) == 1


def test_a_hundred_processes_with_the_sealed_cache_cause_one_request(provider: Provider) -> None:
    import versola

    configuration = settings(provider, access_token_cache="sealed")
    with versola.OAuthClient(**configuration, browser=browser) as client:
        provider.token_response["expires_in"] = 0
        client.login(timeout=PATIENCE)
        provider.token_response.clear()

    def run(_: int) -> str:
        program = subprocess.run(
            [sys.executable, str(PROGRAM), "token"],
            env={**os.environ, "CONFIGURATION": json.dumps(configuration)},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            timeout=PATIENCE,
        )
        token: str = json.loads(program.stdout)["token"]
        return token

    # Some at once, some one after the other.
    with ThreadPoolExecutor(4) as starters:
        tokens = set(starters.map(run, range(PROCESSES)))
    assert len(tokens) == 1
    assert refreshes(provider) == 1
    assert provider.resent() == []


def test_without_the_sealed_cache_each_process_fetches_a_token_of_its_own(provider: Provider) -> None:
    import versola

    with versola.OAuthClient(**settings(provider), browser=browser) as client:
        client.login(timeout=PATIENCE)
    for process in (1, 2):
        with versola.OAuthClient(**settings(provider)) as again:
            again.access_token(timeout=PATIENCE)
        assert refreshes(provider) == process

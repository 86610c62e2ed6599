# SPDX-License-Identifier: Apache-2.0
"""A provider that limits its token endpoint: nanoidp with three requests a minute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from peers import NANOIDP_LIMITED
from person_at_browser import PersonAtBrowser
from running_peer import RunningPeer

if TYPE_CHECKING:
    from versola import OAuthClient, RecoverableError

PROGRAM = Path(__file__).with_name("program.py")
on_nanoidp = pytest.mark.parametrize("running", [NANOIDP_LIMITED], ids=lambda peer: peer.name, indirect=True)


def token_requests(running: RunningPeer) -> int:
    assert running.data is not None
    return (running.data / "log").read_text().count("POST /token HTTP")


def refused(call: Callable[[], object]) -> RecoverableError:
    import versola

    with pytest.raises(versola.RecoverableError) as caught:
        call()
    assert (caught.value.cause, caught.value.status) == (versola.RecoverableCause.SERVER, 429)
    return caught.value


@on_nanoidp
def test_a_rate_limit_is_met_once_and_then_left_alone(
    running: RunningPeer, new_client: Callable[..., OAuthClient], person: Callable[..., PersonAtBrowser]
) -> None:
    import versola

    client = new_client(browser=person())
    client.login(timeout=60)
    limited = _use_up(client)
    assert limited.attempts == 1 and limited.retry_after is not None
    ends_at = time.monotonic() + limited.retry_after.total_seconds()
    sent = token_requests(running)
    assert sent == 4, "the exchange, two refreshes, and the one that was too much"

    for _ in range(100):
        error = refused(lambda: client.access_token(force=True))
        assert error.attempts == 0 and error.retry_after is not None
        assert 0 < error.retry_after.total_seconds() <= limited.retry_after.total_seconds()
    assert refused(lambda: new_client(store="memory").login(timeout=60)).attempts == 0
    assert refused(lambda: new_client(session="work").login(timeout=60)).attempts == 0
    assert token_requests(running) == sent
    assert client.state is versola.SessionState.AUTHENTICATED
    assert client.access_token().value

    # A new process begins without the pause: it asks, and the provider keeps its limit itself.
    assert _refresh_in_a_new_process(running) == {"attempts": 1, "status": 429}
    assert token_requests(running) == sent + 1

    if os.environ.get("VERSOLA_TEST_FULL") == "1":
        time.sleep(max(0.0, ends_at - time.monotonic()) + 1)
        assert client.access_token(force=True).value
        assert token_requests(running) == sent + 2


def _use_up(client: OAuthClient) -> RecoverableError:
    for _ in range(2):
        assert client.access_token(force=True).value
    return refused(lambda: client.access_token(force=True))


def _refresh_in_a_new_process(running: RunningPeer) -> Any:
    configuration = {
        "issuer": running.issuer,
        "client_id": running.peer.client_id,
        "redirect_uri": running.redirect_uri,
        "scopes": list(running.peer.scopes),
    }
    told = subprocess.run(
        [sys.executable, str(PROGRAM), "refresh"],
        env={**os.environ, "CONFIGURATION": json.dumps(configuration)},
        stdout=subprocess.PIPE,
        timeout=60,
        check=True,
    )
    return json.loads(told.stdout)

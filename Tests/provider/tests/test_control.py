# SPDX-License-Identifier: Apache-2.0
"""`python -m provider` and its control API, from another process."""

from __future__ import annotations

import base64
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests


class Remote:
    def __init__(self, line: str) -> None:
        words = line.split()
        self.issuer, self.control = words[2], words[4]

    def post(self, path: str, members: dict[str, Any]) -> requests.Response:
        return requests.post(self.control + path, json=members, timeout=10)

    def get(self, path: str) -> Any:
        return requests.get(self.control + path, timeout=10).json()


@pytest.fixture
def remote() -> Iterator[Remote]:
    tests = Path(__file__).parents[2]
    with subprocess.Popen([sys.executable, "-m", "provider"], cwd=tests, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Remote(process.stdout.readline())
        process.terminate()
        assert process.wait(10) == 0


def test_script_settings_and_journal(remote: Remote) -> None:
    remote.post("/script", {"endpoint": "jwks", "answer": {"status": 503, "headers": {"Retry-After": "2"}}, "times": 2})
    remote.post(
        "/script", {"endpoint": "jwks", "answer": {"raw": base64.b64encode(b"HTTP/1.1 204 No\r\n\r\n").decode()}}
    )
    assert remote.get("/")["unused_answers"] == {"jwks": 2}
    assert [requests.get(remote.issuer + "/jwks", timeout=10).status_code for _ in range(4)] == [503, 503, 204, 200]
    assert [one["endpoint"] for one in remote.get("/requests?endpoint=jwks")] == ["jwks"] * 4
    change = {"metadata": {"set": {"x": 1}, "remove": ["jwks_uri"]}, "id_token": {"alg": "ES256"}}
    assert remote.post("/settings", change).status_code == 200
    metadata = requests.get(remote.issuer + "/.well-known/openid-configuration", timeout=10).json()
    assert metadata["x"] == 1 and "jwks_uri" not in metadata
    assert "ES256" in {key["alg"] for key in requests.get(remote.issuer + "/jwks", timeout=10).json()["keys"]}
    remote.post("/reset", {})
    assert remote.get("/requests") == [] and remote.get("/reuses") == {"reuses": [], "resent": []}


def test_gates_and_connection_faults(remote: Remote) -> None:
    remote.post("/script", {"endpoint": "jwks", "answer": {"gate": "one"}})
    got: list[int] = []
    waiting = threading.Thread(target=lambda: got.append(requests.get(remote.issuer + "/jwks", timeout=10).status_code))
    waiting.start()
    arrived = (remote.get("/requests?endpoint=jwks") for _ in range(2000))
    assert any(arrived) and got == []
    remote.post("/gates", {"open": "one"})
    waiting.join(10)
    assert got == [200]
    remote.post("/connections", {"fault": "reset"})
    with pytest.raises(requests.ConnectionError):
        requests.get(remote.issuer + "/jwks", timeout=10)


def test_a_wrong_call_is_told(remote: Remote) -> None:
    for path, members in [
        ("/script", {"endpoint": "nowhere", "answer": {}}),
        ("/script", {"endpoint": "jwks", "answer": {"statuss": 1}}),
        ("/settings", {"nothing": 1}),
        ("/gates", {"open": "unknown"}),
        ("/elsewhere", {}),
    ]:
        answer = remote.post(path, members)
        assert answer.status_code == 400 and answer.json()["error"], path

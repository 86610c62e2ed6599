# SPDX-License-Identifier: Apache-2.0
"""The example of the README, run as a person would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest
from conftest import ROOT, SOURCES, Provider

BROWSER = """#!{python}
import sys, urllib.request
opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
opener.open(urllib.request.Request(sys.argv[1], headers={{"Sec-Fetch-Mode": "navigate"}}), timeout=20)
"""


@pytest.fixture
def run(library: Any, provider: Provider, tmp_path: Path) -> Any:
    browser = tmp_path / "browser"
    browser.write_text(BROWSER.format(python=sys.executable))
    browser.chmod(0o755)
    environment: Dict[str, str] = {
        **os.environ,
        "BROWSER": str(browser),
        "PYTHONPATH": str(SOURCES),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        command: List[str] = [sys.executable, str(ROOT / "examples" / "python" / "signin.py"), provider.issuer]
        return subprocess.run(
            [*command, "native-app", *arguments], env=environment, capture_output=True, text=True, timeout=60
        )

    return run


def test_it_signs_in_calls_the_api_refreshes_and_signs_out(run: Any, provider: Provider) -> None:
    done = run("--scopes", "openid email", "--api", f"{provider.issuer}/api")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    for start in (
        "state: UNAUTHENTICATED",
        "state: AUTHORIZING",
        "state: AUTHENTICATED",
        "state: REFRESHING",
        "state: LOGGING_OUT",
        "identity: alice, claims ",
        "token: Bearer, ",
        "api: 200 {'hello': 'alice'",
        "user info: claims ",
        "logout: token revoked True, session ended False",
    ):
        assert any(line.startswith(start) for line in lines), start
    assert provider.requests("api")[0]["headers"]
    [token] = [
        value.partition(" ")[2]
        for name, value in provider.requests("api")[0]["headers"]
        if name.lower() == "authorization"
    ]
    assert token not in done.stdout


def test_it_says_what_to_do_when_the_person_says_no(run: Any, provider: Provider) -> None:
    provider.tell("settings", redirect={"error": "access_denied"})
    done = run()
    assert done.returncode == 1
    assert done.stderr.startswith("please sign in again: ")

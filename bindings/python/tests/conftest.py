# SPDX-License-Identifier: Apache-2.0
"""What the tests need from the rest of the repository: the header, the built library, the scripted provider."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import urllib.request
from pathlib import Path
from typing import Any, Dict, Iterator, List, NoReturn

import pytest

import versola
from versola import _library

ROOT = Path(__file__).resolve().parents[3]
SOURCES = Path(versola.__file__).resolve().parents[1]

# No proxy of the environment, and what a browser says of a navigation.
_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def fetch(url: str, **headers: str) -> bytes:
    request = urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})
    body: bytes = _opener.open(request, timeout=20).read()
    return body


def walk(authorization_url: str) -> None:
    """Plays the browser and the person: the scripted provider asks nothing. A page that tells of a failure raises."""
    fetch(authorization_url, Sec_Fetch_Mode="navigate")


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *arguments: Any, **named: Any) -> None:
        return None


def redirect_of(authorization_url: str) -> str:
    """Where the provider sends the browser, which does not go there."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirect())
    try:
        opener.open(authorization_url, timeout=20)
    except urllib.request.HTTPError as answer:
        return str(answer.headers["Location"])
    raise AssertionError("the provider did not redirect")


def missing(what: str) -> NoReturn:
    """Skips; where everything has to be at hand, fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture(scope="session")
def header() -> str:
    return (ROOT / "include" / "versola.h").read_text()


@pytest.fixture(scope="session")
def library() -> Any:
    """The library under test: ``$VERSOLA_LIBRARY``, or where ``make`` puts it."""
    built = ROOT / "build" / _library.SONAME
    if "VERSOLA_LIBRARY" not in os.environ and built.exists():
        os.environ["VERSOLA_LIBRARY"] = str(built)
    try:
        return _library.load()
    except ImportError as error:
        missing(f"NO LIBRARY: {error}")


class Provider:
    """The scripted provider of Tests/provider, in a process of its own: see its README for what can be told to it."""

    def __init__(self, issuer: str, control: str) -> None:
        self.issuer = issuer
        self._control = control

    def tell(self, what: str, **members: Any) -> None:
        request = urllib.request.Request(f"{self._control}/{what}", json.dumps(members).encode(), method="POST")
        _opener.open(request, timeout=20).close()

    def requests(self, endpoint: str) -> List[Dict[str, Any]]:
        found: List[Dict[str, Any]] = json.loads(fetch(f"{self._control}/requests?endpoint={endpoint}"))
        return found

    def reuses(self) -> List[Dict[str, Any]]:
        """Credentials that were spent and came again."""
        found: List[Dict[str, Any]] = json.loads(fetch(f"{self._control}/reuses"))["reuses"]
        return found


@pytest.fixture(scope="session")
def provider_process() -> Iterator[Provider]:
    """Runs with the repository's own virtual environment: it needs a newer Python than the package does."""
    own = ROOT / ".venv" / "bin" / "python"
    python = os.environ.get("VERSOLA_TEST_PYTHON") or (str(own) if own.exists() else sys.executable)
    process = subprocess.Popen(
        [python, "-m", "provider"], cwd=ROOT / "Tests", stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    )
    assert process.stdout is not None
    words = process.stdout.readline().split()
    if words[:2] != ["provider:", "issuer"]:
        process.wait()
        missing("NO PROVIDER: `python -m provider` in Tests did not start; set VERSOLA_TEST_PYTHON")
    yield Provider(issuer=words[2], control=words[4])
    process.terminate()
    process.wait()
    process.stdout.close()


@pytest.fixture
def provider(provider_process: Provider) -> Provider:
    provider_process.tell("reset")
    return provider_process


@pytest.fixture
def settings(library: Any, provider: Provider) -> Dict[str, Any]:
    """A client that works; a test changes what it is about."""
    return {
        "issuer": provider.issuer,
        "client_id": "native-app",
        "redirect_uri": "http://127.0.0.1/callback",
        "store": "memory",
        "browser": walk,
    }


# --- Programs of their own --------------------------------------------------------------------------------------------

PREAMBLE = """
import asyncio, os, signal, sys, threading, time
import versola, versola.aio

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's job in the background ignores it

def client(**settings):
    settings = {"store": "memory", "browser": None, **settings}
    return versola.OAuthClient(
        sys.argv[1], client_id="native-app", redirect_uri="http://127.0.0.1/callback", **settings
    )

def say(*words):
    os.write(1, (" ".join(map(str, words)) + chr(10)).encode())  # one write: lines of threads stay whole

def tell(client):
    for change in client.session_states():
        say(change.state.name)
"""


@pytest.fixture
def program(library: Any, provider: Provider, tmp_path: Path) -> Iterator[Any]:
    """Starts a Python program that has the preamble, the issuer as argument and a home of its own.

    ``before`` comes before all imports.
    """
    environment: Dict[str, str] = {
        **os.environ,
        "PYTHONPATH": str(SOURCES),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_STATE_HOME": str(tmp_path),
    }

    started: "List[subprocess.Popen[str]]" = []

    def start(source: str, before: str = "") -> "subprocess.Popen[str]":
        command = [sys.executable, "-X", "dev", "-c", before + PREAMBLE + textwrap.dedent(source), provider.issuer]
        process = subprocess.Popen(
            command,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        # A test that failed may leave it, or a child of it, behind.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def finished(process: "subprocess.Popen[str]", timeout: float = 30) -> "tuple[int, str, str]":
    output, errors = process.communicate(timeout=timeout)
    return process.returncode, output, errors


def wait_for(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    while process.stdout.readline().strip() != line:
        assert process.poll() is None

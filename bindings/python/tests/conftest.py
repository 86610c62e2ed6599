# SPDX-License-Identifier: Apache-2.0
"""What the tests need from the rest of the repository: the header, the built library, the scripted provider."""

from __future__ import annotations

import json
import os
import subprocess
import sys
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

# SPDX-License-Identifier: Apache-2.0
"""One bench for the cases: the scripted provider, clients on a store of their own, and an eye on every secret."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import versola
from versola import OAuthClient, SessionState, VersolaError

from conftest import unavailable
from provider import Page, Provider, walk

CALLBACK = "http://127.0.0.1/callback"
OWN_SCHEME = "com.example.app:/callback"
PATIENCE = 30.0
PROGRAM = Path(__file__).with_name("case_program.py")
FULL = os.environ.get("VERSOLA_TEST_FULL") == "1"


class Call:
    """A call in a thread of its own, and how it ended."""

    def __init__(self, bench: Bench, call: Callable[..., Any], *arguments: Any, **named: Any) -> None:
        self._bench = bench
        self._outcome: Future[Any] = Future()

        def run() -> None:
            try:
                self._outcome.set_result(call(*arguments, **named))
            except BaseException as error:
                self._outcome.set_exception(error)

        threading.Thread(target=run, daemon=True).start()

    @property
    def is_over(self) -> bool:
        return self._outcome.done()

    def result(self) -> Any:
        return self._outcome.result(timeout=PATIENCE)

    def error(self) -> VersolaError:
        failure = self._outcome.exception(timeout=PATIENCE)
        assert isinstance(failure, VersolaError), f"{failure!r}, result {self._outcome.result() if not failure else ''}"
        self._bench.heard(failure)
        return failure


class Person:
    """Pass it as the client's `browser`: opens what the app shows and keeps the page it all ends on."""

    def __init__(self) -> None:
        self.urls: list[str] = []
        self._pages: list[Page] = []
        self._arrived = threading.Condition()

    def __call__(self, url: str) -> None:
        self.urls.append(url)
        page = walk(url)
        with self._arrived:
            self._pages.append(page)
            self._arrived.notify_all()

    def pages(self, count: int = 1) -> list[Page]:
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self._pages) >= count, PATIENCE), "no page came"
            return list(self._pages)


class Program:
    """An app in a process of its own, on the bench's store: says in JSON lines what it sees."""

    def __init__(self, bench: Bench, what: str, **changes: Any) -> None:
        environment = {**os.environ, "CONFIGURATION": json.dumps(bench.settings(**changes))}
        environment["XDG_STATE_HOME"] = str(bench.home)
        self.process = subprocess.Popen(
            [sys.executable, str(PROGRAM), what],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def line(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"the program ended with {self.process.wait(10)} and said no more"
        members: dict[str, Any] = json.loads(line)
        return members

    def until(self, **wanted: Any) -> dict[str, Any]:
        """The first line that has these members."""
        while True:
            line = self.line()
            if wanted.items() <= line.items():
                return line

    def go(self) -> None:
        """Lets a program that waits for a line on its standard input go on."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(10)

    def __enter__(self) -> Program:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdout.close()
        self.process.stdin.close()


class Bench:
    """What a case needs. At its end nothing secret may have been said anywhere (case B53)."""

    def __init__(self, home: Path, provider: Provider) -> None:
        self.home = home
        self.provider = provider
        self.texts: list[str] = []
        self._clients: list[OAuthClient] = []

    # Clients

    def settings(self, **changes: Any) -> dict[str, Any]:
        settings = {"issuer": self.provider.issuer, "client_id": "native-app", "redirect_uri": CALLBACK}
        return {**settings, **changes}

    def client(self, **changes: Any) -> OAuthClient:
        """Without a browser unless one is given, and with one attempt: failures show at once."""
        usual = {"browser": None, "retry_policy": versola.RetryPolicy(max_attempts_per_origin=1, max_total_attempts=1)}
        client = OAuthClient(versola.OAuthConfiguration(**self.settings(**{**usual, **changes})))
        self._clients.append(client)
        return client

    def signed_in(self, **changes: Any) -> OAuthClient:
        client = self.client(**{"browser": Person(), **changes})
        client.login(timeout=PATIENCE)
        return client

    def call(self, call: Callable[..., Any], *arguments: Any, **named: Any) -> Call:
        return Call(self, call, *arguments, **named)

    def begin_login(self, client: OAuthClient, **options: Any) -> tuple[Call, str]:
        """A login that waits for its redirect, and its URL."""
        before = client.authorization_url
        states = client.session_states()
        login = self.call(client.login, **options)
        for change in states:
            if change.state is SessionState.AUTHORIZING and change.authorization_url != before:
                return login, str(change.authorization_url)
        raise AssertionError("the client was closed")

    def history(self, client: OAuthClient, states: Iterator[versola.SessionStateChange]) -> list[str]:
        """Closes the client and tells every state that `states` saw."""
        client.close()
        changes = list(states)
        for change in changes:
            if change.reason is not None:
                self.heard(change.reason)
        return [change.state.name for change in changes]

    def state_of_a_new_client(self, **changes: Any) -> SessionState:
        """What the store holds now, by what a start makes of it."""
        with self.client(**changes) as client:
            return client.state

    # Redirects

    def redirect_of(self, authorization_url: str) -> str:
        """Where the provider sends the browser, which does not go there."""
        [target] = parse_qs(urlsplit(authorization_url).query)["redirect_uri"]
        return walk(authorization_url, stop_at=target).url

    def grant_types(self) -> list[str]:
        """What came to the token endpoint, in order."""
        return [request.form.get("grant_type", "") for request in self.provider.requests("token")]

    # Errors

    @contextmanager
    def refused(self, cause: versola.Cause) -> Iterator[pytest.ExceptionInfo[VersolaError]]:
        with pytest.raises(VersolaError) as caught:
            yield caught
        self.heard(caught.value)
        assert caught.value.cause is cause, f"{caught.value.cause}: {caught.value.detail}"

    def heard(self, error: VersolaError) -> None:
        self.texts += [text for text in (str(error), repr(error), error.oauth_error, error.error_description) if text]

    # Secrets

    def secrets(self) -> set[str]:
        """All that must not be read anywhere but on the wire: issued, asked with, or who it is about."""
        found = {self.provider.subject, *self.provider.grants.issued()}
        for request in self.provider.requests():
            found |= {urlsplit(request.target).query} if request.endpoint in ("authorize", "end_session") else set()
            for name in ("state", "nonce", "id_token_hint", "code", "code_verifier", "refresh_token", "token"):
                found |= {request.query.get(name, ""), request.form.get(name, "")}
        for key_file in self.home.rglob("*"):
            if "key" in key_file.name and key_file.is_file():
                key = key_file.read_bytes()
                found |= {key.hex(), key.decode("latin-1")}
        return {secret for secret in found if len(secret) >= 8}

    def close(self) -> None:
        for client in self._clients:
            client.close(timeout=PATIENCE)

    def said_no_secret(self, log: str) -> None:
        secrets, files = self.secrets(), [path for path in self.home.rglob("*") if path.is_file()]
        names = "\n".join(str(path.relative_to(self.home)) for path in self.home.rglob("*"))
        for what, said in (("log", log), ("error", "\n".join(self.texts)), ("file name", names)):
            told = [secret[:6] + "…" for secret in secrets if secret in said]
            assert not told and "eyJ" not in said, f"a secret in a {what}: {told}"
        sealed = b"".join(path.read_bytes() for path in files if "key" not in path.name)
        assert not [secret[:6] + "…" for secret in secrets if secret.encode() in sealed], "a secret unsealed on disk"


@pytest.fixture(name="bench")
def bench_fixture(
    own_state_directory: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Bench]:
    caplog.set_level(logging.DEBUG, "versola")
    monkeypatch.setenv("BROWSER", "true")
    with Provider() as provider:
        provider.subject = "alice-canary-5f21"
        bench = Bench(own_state_directory, provider)
        yield bench
        bench.close()
        bench.said_no_secret("\n".join(record.getMessage() for record in caplog.get_records("call")))
        # A code is sent once, whatever happens (the first law); a refresh token again only where a case says so itself.
        assert [one for one in provider.resent() if one.kind == "code"] == []


def io_thread(pid: int) -> str:
    """The id of a process's I/O thread. It names itself after it has started, so it may take a moment."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        for task in Path(f"/proc/{pid}/task").iterdir():
            if (task / "comm").read_text().strip() == "versola-io":
                return task.name
    raise AssertionError("the process has no I/O thread")


@contextmanager
def strace(*arguments: str) -> Iterator[None]:
    """strace, attached meanwhile; what it writes is whole when this ends."""
    tracer = subprocess.Popen(["strace", *arguments], stderr=subprocess.PIPE, text=True)
    assert tracer.stderr is not None
    try:
        said = tracer.stderr.readline()
        if "attached" not in said:
            unavailable(f"strace cannot attach: {said.strip()}")
        yield
    finally:
        tracer.terminate()
        tracer.wait(10)
        tracer.stderr.close()


def refresh_tokens_sent(bench: Bench) -> list[str]:
    return [one.form["refresh_token"] for one in bench.provider.requests("token") if "refresh_token" in one.form]

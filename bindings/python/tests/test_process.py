# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, fork and the end of the process, each in a process of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest
from conftest import SOURCES, Provider

# How often an exit with work pending is tried; releases are tried with VERSOLA_TEST_LONG=1.
EXITS = 100 if os.environ.get("VERSOLA_TEST_LONG") == "1" else 20

PREAMBLE = """
import asyncio, os, signal, sys, threading, time
import versola, versola.aio

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
    """Starts a Python program that has the preamble, the issuer as argument and a home of its own."""
    environment: Dict[str, str] = {
        **os.environ,
        "PYTHONPATH": str(SOURCES),
        "PYTHONDONTWRITEBYTECODE": "1",
        "XDG_STATE_HOME": str(tmp_path),
    }

    started: "List[subprocess.Popen[str]]" = []

    def start(source: str) -> "subprocess.Popen[str]":
        command = [sys.executable, "-X", "dev", "-c", PREAMBLE + textwrap.dedent(source), provider.issuer]
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


def finished(process: "subprocess.Popen[str]") -> "tuple[int, str, str]":
    output, errors = process.communicate(timeout=30)
    return process.returncode, output, errors


def wait_for(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdout is not None
    while process.stdout.readline().strip() != line:
        assert process.poll() is None


def test_ctrl_c_cancels_the_login_as_the_person(program: Any) -> None:
    process = program(
        """
        c = client(store="auto")
        threading.Thread(target=tell, args=(c,), daemon=True).start()
        try:
            c.login()
        except KeyboardInterrupt:
            say(c.state.name, c.authorization_url)
            # The pending request is erased: the next run does not wait for the browser.
            c.close()
            say(client(store="auto").state.name)
            raise
        """
    )
    wait_for(process, "AUTHORIZING")
    process.send_signal(signal.SIGINT)
    code, output, errors = finished(process)
    assert code == -signal.SIGINT
    lines = output.splitlines()
    assert "UNAUTHENTICATED None" in lines
    assert lines[-1] == "UNAUTHENTICATED"
    assert errors.splitlines()[-1] == "KeyboardInterrupt"


def test_ctrl_c_in_the_polling_thread_leaves_the_others_served(program: Any) -> None:
    process = program(
        """
        c = client()
        observer = threading.Thread(target=tell, args=(c,))
        try:
            started = threading.Timer(0.2, observer.start)
            started.start()
            c.login()  # waits longest, so it polls
        except KeyboardInterrupt:
            started.join()
            try:
                c.login(timeout=0.2)
            except versola.RecoverableError as error:
                say(error.cause.name)
            c.close()
            observer.join(10)
            say("alive" if observer.is_alive() else "ended")
        """
    )
    wait_for(process, "AUTHORIZING")
    process.send_signal(signal.SIGINT)
    code, output, errors = finished(process)
    assert (code, errors) == (0, "")
    assert "SYSTEM_CANCELLED" in output.splitlines()
    assert output.splitlines()[-1] == "ended"


@pytest.mark.parametrize("run", range(EXITS))
def test_the_process_ends_cleanly_with_work_pending(program: Any, run: int) -> None:
    code, _, errors = finished(
        program(
            """
            c = client()
            def call(name):
                while True:
                    try:
                        getattr(c, name)()
                    except versola.VersolaError:
                        pass
            for name in ["login", "access_token", "access_token", "logout"] + ["access_token"] * 20:
                threading.Thread(target=call, args=(name,), daemon=True).start()
            threading.Thread(target=tell, args=(c,), daemon=True).start()
            time.sleep(0.1)
            """
        )
    )
    assert (code, errors) == (0, "")


@pytest.mark.parametrize("run", range(EXITS))
def test_the_process_ends_cleanly_with_work_pending_on_event_loops(program: Any, run: int) -> None:
    code, _, errors = finished(
        program(
            """
            async def call(name):
                c = versola.aio.OAuthClient(
                    sys.argv[1], client_id="native-app", redirect_uri="http://127.0.0.1/callback", store="memory",
                    browser=None, session=name,
                )
                calls = [c.login() for _ in range(5)] + [c.access_token() for _ in range(20)]
                pending = asyncio.gather(*calls, return_exceptions=True)
                async for change in c.session_states():
                    pass
            async def main():
                tasks = [asyncio.ensure_future(call(f"s{n}")) for n in range(4)]
                await asyncio.sleep(0.05)
            # One loop ends as asyncio.run() ends it; another is still running in a daemon thread.
            threading.Thread(target=lambda: asyncio.run(call("thread"), debug=False), daemon=True).start()
            asyncio.run(main(), debug=False)
            """
        )
    )
    assert (code, errors) == (0, "")


def test_exit_without_cleaning_up_with_work_pending(program: Any) -> None:
    code, output, errors = finished(
        program(
            """
            c = client()
            threading.Thread(target=c.login, daemon=True).start()
            for change in c.session_states():
                if change.state is versola.SessionState.AUTHORIZING:
                    os._exit(3)
            """
        )
    )
    assert (code, output, errors) == (3, "", "")


def test_exec_with_work_pending(program: Any) -> None:
    code, output, errors = finished(
        program(
            """
            c = client()
            threading.Thread(target=c.login, daemon=True).start()
            for change in c.session_states():
                if change.state is versola.SessionState.AUTHORIZING:
                    # Whoever comes after finds nothing of ours but the pair of sockets by which libcurl 7.88 wakes its
                    # multi handle: it makes them without close-on-exec, and does not tell their numbers.
                    find = "for fd in range(3, 1024):\\n try: print(os.readlink(f'/proc/self/fd/{fd}')[:7])"
                    find += "\\n except OSError: pass"
                    os.execv(sys.executable, [sys.executable, "-c", "import os" + chr(10) + find])
            """
        )
    )
    assert (code, errors) == (0, "")
    assert output in ("", "socket:\n" * 2)


def test_a_forked_child_gets_an_error_from_every_call_and_the_parent_goes_on(program: Any) -> None:
    code, output, errors = finished(
        program(
            """
            c = client()
            states = c.session_states()
            next(states)
            def refused(call):
                try:
                    call()
                except versola.ConfigurationError as error:
                    return error.cause.name == "INVALID_CONFIGURATION"
            child = os.fork()
            if child == 0:
                calls = [c.login, c.access_token, c.identity, c.logout, c.cancel_login, c.reopen_browser]
                calls += [c.session_states, lambda: next(states), lambda: c.state, lambda: c.authorization_url]
                calls += [lambda: c.handle_redirect("http://127.0.0.1/callback"), client]
                say([refused(call) for call in calls])
                c.close()
                sys.exit(7)
            say(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            try:
                c.login(timeout=0.2)
            except versola.RecoverableError as error:
                say(error.cause.name)
            c.close()
            """
        )
    )
    assert (code, errors) == (0, "")
    assert output.splitlines() == [str([True] * 12), "7", "SYSTEM_CANCELLED"]

# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, fork and exec, each in a process of its own."""

from __future__ import annotations

import os
import signal
import textwrap
from typing import Any

import pytest
from conftest import finished, wait_for

# With VERSOLA_TEST_FULL=1, as before a release, 200.
FORKS = 200 if os.environ.get("VERSOLA_TEST_FULL") == "1" else 20


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
            import warnings
            warnings.simplefilter("ignore", DeprecationWarning)  # of fork() beside threads, from Python 3.12 on
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


BUSY = """
import multiprocessing, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork() beside threads, from Python 3.12 on

def aio_client():
    return versola.aio.OAuthClient(
        sys.argv[1], client_id="native-app", redirect_uri="http://127.0.0.1/callback", store="memory", browser=None
    )

c, late = client(), aio_client()

def call(name):
    while True:
        try:
            getattr(c, name)()
        except versola.VersolaError:
            pass

async def calls():
    async with aio_client() as c:
        while True:
            await asyncio.gather(*(c.access_token() for _ in range(10)), return_exceptions=True)

def in_child():
    for call in (c.access_token, client, lambda: asyncio.run(late.login(), debug=False)):
        try:
            call()
        except versola.ConfigurationError as error:
            assert error.cause.name == "INVALID_CONFIGURATION"
        else:
            sys.exit(1)
    sys.exit(7)  # the child ends as a Python program does

for name in ["login"] + ["access_token"] * 3:
    threading.Thread(target=call, args=(name,), daemon=True).start()
threading.Thread(target=lambda: asyncio.run(calls(), debug=False), daemon=True).start()
codes = []
for _ in range(TIMES):
    FORK
say(codes.count(7), "of", TIMES)
"""
BY = {
    "os.fork": """
    child = os.fork()
    if child == 0:
        in_child()
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""",
    "multiprocessing": """
    child = multiprocessing.get_context("fork").Process(target=in_child)
    child.start()
    child.join()
    codes.append(child.exitcode)
""",
}


@pytest.mark.parametrize("way", BY)
def test_every_child_of_a_busy_process_gets_its_error(program: Any, way: str) -> None:
    source = BUSY.replace("    FORK\n", BY[way].lstrip("\n")).replace("TIMES", str(FORKS))
    assert finished(program(source), timeout=300) == (0, f"{FORKS} of {FORKS}\n", "")


@pytest.mark.parametrize("way", BY)
def test_a_child_of_a_process_that_only_imported_the_package_uses_it(program: Any, way: str) -> None:
    source = """
import multiprocessing

def in_child():
    with client() as c:
        try:
            c.login(timeout=0)
        except versola.RecoverableError as error:
            sys.exit(7 if error.cause.name == "SYSTEM_CANCELLED" else 1)

codes = []
FORK
say(codes)
"""
    source = source.replace("FORK\n", textwrap.dedent(BY[way]).lstrip("\n"))
    assert finished(program(source)) == (0, "[7]\n", "")

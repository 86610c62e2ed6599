# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C, fork and exec, each in a process of its own."""

from __future__ import annotations

import signal
from typing import Any

from conftest import finished, wait_for


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

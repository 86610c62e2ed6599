# SPDX-License-Identifier: Apache-2.0
"""SIGKILL at every write, fsync, rename, unlink, send and receive of a login, a refresh and a logout.

strace kills the program as it enters the N-th call of one kind; N rises until the program gets through. Then kills at
random times: a few by default, a thousand with VERSOLA_TEST_FULL=1.
"""

from __future__ import annotations

import contextlib
import random
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from versola import OAuthClient, ReauthenticateCause, SessionState, VersolaError

from cases import FULL, OWN_SCHEME, Bench, Person, Program, bench_fixture, io_thread, strace  # noqa: F401
from conftest import unavailable
from provider import walk

FILE_CALLS = ["write", "fsync", "/^rename", "/^unlink", "fallocate", "ftruncate"]
NETWORK_CALLS = ["/^send", "/^recv"]
FAR = 80


@contextlib.contextmanager
def killed_at(program: Program, calls: str, number: int) -> Iterator[None]:
    """From now on the program dies as it enters the call; network calls are counted in the I/O thread alone."""
    target = ["-f", "-p", str(program.process.pid)]
    if calls in NETWORK_CALLS:
        target = ["-p", io_thread(program.process.pid)]
    inject = f"inject={calls}:signal=SIGKILL:when={number}"
    with strace("-o", "/dev/null", "-e", f"trace={calls}", "-e", inject, *target):
        try:
            yield
        finally:
            program.kill()


def dies(program: Program) -> bool:
    """Waits for the end of the program; whether it was killed."""
    return program.process.wait(30) == -9


@pytest.fixture
def kill_points(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Iterator[tuple[int, Bench]]]:
    """A number and a bench of its own for each kill, on the one provider; the user stops when a program got through."""
    if shutil.which("strace") is None:
        unavailable("strace is not installed")

    def points() -> Iterator[tuple[int, Bench]]:
        for number in range(1, FAR):
            home = tmp_path / f"kill-{number}"
            monkeypatch.setenv("XDG_STATE_HOME", str(home))
            bench.provider.reset()
            own = Bench(home, bench.provider)
            yield number, own
            own.close()
        raise AssertionError(f"the program never got through in {FAR} kills")

    yield points()


def signs_in_again(bench: Bench, client: OAuthClient) -> None:
    """Whatever was left behind, a person can sign in, and the session is there after a restart."""
    client.close()
    with bench.client(browser=Person()) as again:
        assert again.login().subject == bench.provider.subject
        assert again.refresh().value
    assert bench.state_of_a_new_client() is SessionState.AUTHENTICATED
    left = {path.name.partition("-")[0] for path in bench.home.rglob("*") if path.is_file()}
    assert not left & {"tmp", "reserve", "pending", "redirect", "owner"}, f"left behind: {left}"


@pytest.mark.parametrize("calls", FILE_CALLS + NETWORK_CALLS)
def test_killed_from_the_redirect_to_the_stored_grant_the_code_is_never_sent_twice(
    calls: str, kill_points: Iterator[tuple[int, Bench]]
) -> None:
    for number, bench in kill_points:
        with Program(bench, "login") as program:
            url = program.line()["url"]
            redirect = bench.redirect_of(url)
            with killed_at(program, calls, number):
                browser = bench.call(walk, redirect)
                killed = dies(program)
            with contextlib.suppress(Exception):
                browser.result()
        exchanges = len(bench.provider.requests("token"))
        assert exchanges <= 1
        client = bench.client()
        state = client.state
        # Delivered again, as a person reloads the page: the code goes out only if it never did.
        handled = client.handle_redirect(redirect)
        if state is SessionState.AUTHORIZING:
            assert handled and exchanges == 0 and client.state is SessionState.AUTHENTICATED
        elif state is SessionState.AUTHENTICATED:
            assert not handled and exchanges == 1 and client.refresh().value
        else:
            assert state is SessionState.UNAUTHENTICATED and not handled
        assert bench.provider.resent() == [] and bench.provider.reuses == []
        signs_in_again(bench, client)
        if not killed:
            return


@pytest.mark.parametrize("calls", FILE_CALLS + NETWORK_CALLS)
def test_killed_in_a_refresh_no_refresh_token_is_sent_twice_but_for_the_one_retry(
    calls: str, kill_points: Iterator[tuple[int, Bench]]
) -> None:
    for number, bench in kill_points:
        bench.signed_in().close()
        with Program(bench, "refresh") as program:
            program.until(state="AUTHENTICATED")
            with killed_at(program, calls, number):
                program.go()
                killed = dies(program)
        sent = bench.grant_types().count("refresh_token")
        assert sent <= 1
        client = bench.client()
        assert client.state is SessionState.AUTHENTICATED, "nothing is sent and nobody signed out at a start"
        assert client.identity().subject == bench.provider.subject
        assert bench.grant_types().count("refresh_token") == sent
        try:
            client.refresh()
        except VersolaError as error:
            assert error.cause is ReauthenticateCause.GRANT_REJECTED, error
            assert sent == 1 and len(bench.provider.reuses) == 1, "refused though it was never sent before"
            assert client.state is SessionState.UNAUTHENTICATED
            [resent] = bench.provider.resent()
            assert (resent.kind, len(resent.sequences)) == ("refresh_token", 2)
        else:
            assert bench.provider.reuses == [] and bench.provider.resent() == []
            assert client.state is SessionState.AUTHENTICATED
        resent_before = bench.provider.resent()
        signs_in_again(bench, client)
        assert bench.provider.resent() == resent_before
        if not killed:
            return


@pytest.mark.parametrize("calls", FILE_CALLS + NETWORK_CALLS)
def test_killed_in_a_logout_the_session_is_there_or_gone_and_never_revoked_while_it_is_there(
    calls: str, kill_points: Iterator[tuple[int, Bench]]
) -> None:
    for number, bench in kill_points:
        bench.signed_in().close()
        with Program(bench, "logout") as program:
            program.until(state="AUTHENTICATED")
            with killed_at(program, calls, number):
                program.go()
                killed = dies(program)
        client = bench.client()
        if bench.provider.requests("revocation"):
            assert client.state is SessionState.UNAUTHENTICATED, "erased before the provider is asked"
        if client.state is SessionState.AUTHENTICATED:
            assert client.refresh().value
            assert client.logout().token_revoked
        assert client.state is SessionState.UNAUTHENTICATED
        assert bench.provider.resent() == [] and bench.provider.reuses == []
        signs_in_again(bench, client)
        if not killed:
            return


def test_killed_at_random_in_a_refresh(bench: Bench) -> None:
    """One store through all kills: nobody is signed out but by the one retry after a kill inside a refresh."""
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    bench.signed_in().close()
    for turn in range(1000 if FULL else 25):
        known, sent = len(bench.provider.resent()), bench.grant_types().count("refresh_token")
        with Program(bench, "refresh") as program:
            program.until(state="AUTHENTICATED")
            program.go()
            time.sleep(chance.uniform(0, 0.03))
            program.kill()
        was_sent = bench.grant_types().count("refresh_token") > sent
        with bench.client(browser=Person()) as client:
            assert client.state is SessionState.AUTHENTICATED, f"seed {seed}, turn {turn}"
            try:
                client.refresh()
            except VersolaError as error:
                assert error.cause is ReauthenticateCause.GRANT_REJECTED and was_sent, f"seed {seed}, turn {turn}"
                assert len(bench.provider.resent()) == known + 1
                client.login()
            else:
                assert len(bench.provider.resent()) == known, f"seed {seed}, turn {turn}"
    assert all(len(one.sequences) == 2 for one in bench.provider.resent())


def test_killed_between_browser_and_redirect_and_finished_by_the_next_process(bench: Bench) -> None:
    with Program(bench, "login", redirect_uri=OWN_SCHEME) as program:
        url = program.line()["url"]
        program.kill()
    redirect = bench.redirect_of(url)
    with Program(bench, "redirect", redirect_uri=OWN_SCHEME) as next_one:
        assert next_one.process.stdin is not None
        next_one.process.stdin.write(redirect + "\n")
        next_one.process.stdin.flush()
        next_one.until(ended="well", result=True)
    assert bench.state_of_a_new_client(redirect_uri=OWN_SCHEME) is SessionState.AUTHENTICATED

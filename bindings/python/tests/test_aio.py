# SPDX-License-Identifier: Apache-2.0
"""The asyncio client against the built library and the scripted provider, on each event loop at hand."""

from __future__ import annotations

import asyncio
import functools
import gc
import inspect
import logging
import os
import sys
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Coroutine, Dict, List

import pytest
from conftest import Provider, missing, redirect_of, walk

import versola
import versola.aio
from versola import SessionState

Settings = Dict[str, Any]
Run = Callable[[Coroutine[Any, Any, Any]], Any]


def new_loop(name: str) -> asyncio.AbstractEventLoop:
    if name == "asyncio":
        return asyncio.new_event_loop()
    try:
        import uvloop
    except ImportError:
        missing("NO UVLOOP: pip install uvloop")
    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop


def run_on(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, Any]) -> Any:
    """What ``asyncio.run`` does, on a loop of our choice; a hang is a failure."""
    try:
        return loop.run_until_complete(asyncio.wait_for(main, 60))
    finally:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request: Any) -> Run:
    loop = new_loop(request.param)
    return lambda main: run_on(loop, main)


async def await_login(states: AsyncIterator[versola.SessionStateChange]) -> str:
    async for change in states:
        if change.state is SessionState.AUTHORIZING:
            assert change.authorization_url is not None
            return change.authorization_url
    raise AssertionError("the client was closed")


def test_a_whole_session(run: Run, settings: Settings, provider: Provider) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**settings, scopes=["email", "offline_access"]) as client:
            states = client.session_states()
            assert client.state is SessionState.UNAUTHENTICATED
            identity = await client.sign_in()
            assert (identity.subject, identity.claims["iss"]) == ("alice", provider.issuer)
            assert client.identity() == identity == await client.sign_in()
            token = await client.access_token()
            assert await client.access_token() == token != await client.refresh()
            assert (await client.user_info())["sub"] == "alice"
            assert await client.logout() == versola.LogoutResult(token_revoked=True, session_ended=False)
        seen = [change.state async for change in states]
        assert seen[:3] == [SessionState.UNAUTHENTICATED, SessionState.AUTHORIZING, SessionState.AUTHENTICATED]
        assert seen[-1] is SessionState.UNAUTHENTICATED
        assert [change async for change in states] == []

    run(main())


def test_a_cancelled_task_cancels_as_the_program(run: Run, settings: Settings) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": None}) as client:
            states = client.session_states()
            login = asyncio.ensure_future(client.login())
            url = await await_login(states)
            login.cancel()
            with pytest.raises(asyncio.CancelledError):
                await login
            change = await states.__anext__()
            assert change.state is SessionState.UNAUTHENTICATED
            # The pending request is kept: its redirect still signs in.
            assert await client.handle_redirect(redirect_of(url))
            assert client.identity().subject == "alice"

    run(main())


def test_a_task_cancelled_before_it_ran_started_nothing(run: Run, settings: Settings, provider: Provider) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**settings) as client:
            login = asyncio.ensure_future(client.login())
            login.cancel()
            with pytest.raises(asyncio.CancelledError):
                await login
            assert client.state is SessionState.UNAUTHENTICATED
        assert provider.requests("authorize") == []

    run(main())


def test_a_token_that_comes_just_before_the_cancel_is_not_lost(
    run: Run, settings: Settings, provider: Provider, monkeypatch: Any
) -> None:
    tasks: List["asyncio.Future[Any]"] = []
    put = versola.aio._Answer.put

    def put_and_cancel(answer: Any, message: Any) -> None:
        put(answer, message)
        while tasks:  # it will be resumed by the answer that lies there, and is cancelled instead
            tasks.pop().cancel()

    monkeypatch.setattr(versola.aio._Answer, "put", put_and_cancel)

    async def main() -> None:
        async with versola.aio.OAuthClient(**settings, scopes=["offline_access"]) as client:
            await client.login()
            first = await client.access_token()
            refresh = asyncio.ensure_future(client.refresh())
            tasks.append(refresh)
            with pytest.raises(asyncio.CancelledError):
                await refresh
            assert (second := await client.access_token()) != first
            assert await client.refresh() != second

    run(main())
    assert len(provider.requests("token")) == 3
    assert provider.reuses() == []


def test_a_call_ends_by_its_timeout(run: Run, settings: Settings) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": None}) as client:
            with pytest.raises(versola.RecoverableError) as caught:
                await client.login(timeout=0.2)
            assert caught.value.cause is versola.RecoverableCause.SYSTEM_CANCELLED

    run(main())


def test_errors_are_raised_where_they_are_awaited(run: Run, settings: Settings, provider: Provider) -> None:
    provider.tell("script", endpoint="discovery", answer={"status": 503}, times=10)

    async def main() -> None:
        async with versola.aio.OAuthClient(**settings) as client:
            with pytest.raises(versola.ReauthenticateError):
                await client.access_token()
            with pytest.raises(versola.RecoverableError) as caught:
                await client.login()
            assert caught.value.status == 503

    run(main())


def test_many_clients_on_one_loop(run: Run, settings: Settings) -> None:
    async def session(number: int) -> str:
        async with versola.aio.OAuthClient(**settings, session=f"s{number}") as client:
            await client.login()
            tokens = await asyncio.gather(*(client.access_token() for _ in range(10)))
            assert len({token.value for token in tokens}) == 1
            return tokens[0].value

    async def main() -> None:
        tokens = await asyncio.gather(*(session(number) for number in range(20)))
        assert len(set(tokens)) == 20

    run(main())


@pytest.mark.parametrize("name", ["asyncio", "uvloop"])
def test_two_loops_in_two_threads(settings: Settings, name: str) -> None:
    subjects: List[str] = []

    async def main() -> None:
        async with versola.aio.OAuthClient(**settings) as client:
            for _ in range(3):
                subjects.append((await client.login()).subject)
                await client.logout()

    loops = [new_loop(name) for _ in range(2)]
    threads = [threading.Thread(target=run_on, args=(loop, main())) for loop in loops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert subjects == ["alice"] * 6


def test_a_client_goes_to_a_new_loop_only_after_the_old_was_closed(settings: Settings) -> None:
    client = versola.aio.OAuthClient(**settings)  # no loop runs
    first, second, third = asyncio.new_event_loop(), asyncio.new_event_loop(), asyncio.new_event_loop()
    assert first.run_until_complete(client.login()).subject == "alice"
    with pytest.raises(RuntimeError, match="another event loop"):
        second.run_until_complete(client.access_token())
    first.close()
    second.close()
    assert third.run_until_complete(client.access_token()).value
    third.run_until_complete(client.close())
    third.close()


@pytest.mark.parametrize("name", ["asyncio", "uvloop"])
@pytest.mark.parametrize("is_held", [True, False])
def test_a_loop_that_is_gone_closes_the_clients_of_its_tasks(settings: Settings, name: str, is_held: bool) -> None:
    loop = new_loop(name)
    loop.set_exception_handler(lambda loop, context: None)  # it tells of the tasks that were left
    held: List[versola.aio.OAuthClient] = []
    complaints: List[Any] = []

    async def wait_for_states() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": None}) as client:
            if is_held:
                held.append(client)
            async for _ in client.session_states():
                pass

    async def wait_for_login() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": None}) as client:
            await client.login()

    async def begin() -> None:
        for wait in (wait_for_states, wait_for_login):
            asyncio.ensure_future(wait())
        await asyncio.sleep(0.1)

    hook, sys.unraisablehook = sys.unraisablehook, complaints.append
    try:
        loop.run_until_complete(begin())
        loop.close()
        del loop
        # A client that nobody holds is garbage together with the coroutine that still closes it.
        gc.collect()
    finally:
        sys.unraisablehook = hook
    assert complaints == []
    for client in held:
        with pytest.raises(versola.ConfigurationError, match="closed"):
            client.state  # noqa: B018


def test_close_ends_every_waiting_call(run: Run, settings: Settings) -> None:
    async def main() -> None:
        client = versola.aio.OAuthClient(**{**settings, "browser": None})
        states = client.session_states()
        login = asyncio.ensure_future(client.login())
        await await_login(states)
        await client.close()
        await client.close()
        with pytest.raises(versola.RecoverableError) as caught:
            await login
        assert caught.value.cause is versola.RecoverableCause.SYSTEM_CANCELLED
        for call in (client.login, client.access_token, client.refresh, client.user_info, client.logout):
            with pytest.raises(versola.ConfigurationError):
                await call()
        with pytest.raises(versola.ConfigurationError):
            client.session_states()

    run(main())


def test_a_client_that_nobody_holds_ends_the_iteration(run: Run, settings: Settings) -> None:
    async def main() -> None:
        client = versola.aio.OAuthClient(**settings)
        states = client.session_states()
        del client
        gc.collect()
        assert [change.state async for change in states] == [SessionState.UNAUTHENTICATED]

    run(main())


def test_two_tasks_may_read_one_iterator(run: Run, settings: Settings) -> None:
    async def main() -> None:
        client = versola.aio.OAuthClient(**settings)
        states = client.session_states()

        async def read() -> int:
            return len([change async for change in states])

        readers = [asyncio.ensure_future(read()) for _ in range(2)]
        await client.login()
        await client.close()
        assert sum(await asyncio.gather(*readers)) >= 3

    run(main())


def test_calls_at_once_may_come_from_another_thread(run: Run, settings: Settings) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": None}) as client:
            states = client.session_states()
            login = asyncio.ensure_future(client.login())
            await await_login(states)
            await asyncio.get_running_loop().run_in_executor(None, client.cancel_login)
            with pytest.raises(versola.RecoverableError) as caught:
                await login
            assert caught.value.cause is versola.RecoverableCause.USER_CANCELLED

    run(main())


# --- A browser function that has to be awaited ------------------------------------------------------------------------


async def walk_later(url: str, shown_on: Any = None) -> None:
    if shown_on is not None:
        shown_on.append(asyncio.get_running_loop())
    await asyncio.get_running_loop().run_in_executor(None, walk, url)


class WalksLater:
    async def __call__(self, url: str) -> None:
        await walk_later(url)


def task_of_walk_later(url: str) -> Awaitable[None]:
    return walk_later(url)


@pytest.mark.parametrize(
    "browser", [walk_later, functools.partial(walk_later, shown_on=None), WalksLater(), task_of_walk_later]
)
def test_what_a_browser_function_returns_is_awaited(run: Run, settings: Settings, browser: Any) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": browser}) as client:
            assert (await client.login()).subject == "alice"

    run(main())


def test_it_is_awaited_by_the_loop_of_the_client(run: Run, settings: Settings) -> None:
    shown_on: List[asyncio.AbstractEventLoop] = []
    settings["browser"] = functools.partial(walk_later, shown_on=shown_on)

    async def main() -> None:
        async with versola.aio.OAuthClient(**settings) as client:
            await client.login()
        assert shown_on == [asyncio.get_running_loop()]

    run(main())


async def shows_nothing(url: str) -> bool:
    return False


async def fails(url: str) -> None:
    raise ValueError(url)


@pytest.mark.parametrize("browser, told", [(shows_nothing, []), (fails, ["the browser function raised ValueError"])])
def test_what_an_awaited_browser_function_could_not_show_is_logged(
    run: Run, settings: Settings, caplog: Any, browser: Any, told: List[str]
) -> None:
    async def main() -> None:
        async with versola.aio.OAuthClient(**{**settings, "browser": browser}) as client:
            login = asyncio.ensure_future(client.login())
            while "browser: none was opened" not in caplog.text:
                await asyncio.sleep(0.01)
            assert client.state is SessionState.AUTHORIZING
            client.cancel_login()
            with pytest.raises(versola.RecoverableError):
                await login

    run(main())
    assert [line for line in caplog.messages if "browser function" in line] == told
    assert "authorize?" not in caplog.text


def test_a_loop_may_end_before_what_it_awaits_for_the_browser(run: Run, settings: Settings) -> None:
    begun = threading.Event()

    async def never(url: str) -> None:
        begun.set()
        await asyncio.get_running_loop().create_future()

    async def main() -> None:
        client = versola.aio.OAuthClient(**{**settings, "browser": never})
        login = asyncio.ensure_future(client.login())
        await asyncio.get_running_loop().run_in_executor(None, begun.wait, 20)
        await client.close()
        with pytest.raises(versola.RecoverableError):
            await login

    run(main())
    for thread in threading.enumerate():
        if thread.name == "versola-browser":
            thread.join(20)
            assert not thread.is_alive()


def test_what_a_loop_ends_before_it_began_to_await_it_is_discarded(monkeypatch: Any) -> None:
    loop, handed_over = asyncio.new_event_loop(), threading.Event()
    hand_over = loop.call_soon_threadsafe

    def noted(*arguments: Any, **named: Any) -> Any:
        handle = hand_over(*arguments, **named)
        handed_over.set()
        return handle

    async def cancel_the_others() -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    monkeypatch.setattr(loop, "call_soon_threadsafe", noted)
    shown: List[object] = []
    coroutine = walk_later("http://127.0.0.1/")
    thread = threading.Thread(target=lambda: shown.append(versola.aio._await_on(loop, coroutine)))
    thread.start()
    assert handed_over.wait(20)
    loop.run_until_complete(cancel_the_others())
    loop.run_until_complete(asyncio.sleep(0))
    thread.join(20)
    loop.close()
    assert shown == [False] and inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED


# --- The logger, and processes ----------------------------------------------------------------------------------------


def test_a_logging_handler_that_raises_holds_up_nobody(run: Run, settings: Settings) -> None:
    settings["redirect_uri"] = "com.example.app:/callback"  # making the client warns
    logger = logging.getLogger("versola")

    class Bad(logging.Handler):
        records = 0

        def emit(self, record: logging.LogRecord) -> None:
            self.records += 1
            raise RuntimeError("a handler's own failure")

    handler, told = Bad(), []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context["exception"]))
        async with versola.aio.OAuthClient(**{**settings, "browser": None}) as client:
            with pytest.raises(versola.ReauthenticateError):
                await client.access_token()

    logger.addHandler(handler)
    try:
        run(main())
    finally:
        logger.removeHandler(handler)
    assert handler.records == len(told) >= 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_after_fork_every_call_raises_in_the_child(settings: Settings) -> None:
    client = versola.aio.OAuthClient(**{**settings, "browser": None})
    with pytest.raises(versola.RecoverableError):
        asyncio.run(client.login(timeout=0.1))
    child = os.fork()
    if child == 0:
        refused = 0

        async def every_call() -> None:
            nonlocal refused
            for call in (client.login, client.access_token, client.refresh, client.user_info, client.logout):
                try:
                    await call()
                except versola.ConfigurationError:
                    refused += 1
            await client.close()

        try:
            asyncio.run(every_call())
        finally:
            os._exit(refused)
    assert os.WEXITSTATUS(os.waitpid(child, 0)[1]) == 5
    asyncio.run(client.close())

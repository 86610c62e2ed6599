# SPDX-License-Identifier: Apache-2.0
"""The end of the interpreter with operations pending: every way of leaving, at any instant, leaves as it should.

Each is tried a few times; with VERSOLA_TEST_FULL=1, as before a release, 200 times.
"""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from textwrap import dedent
from typing import Any, Dict, Iterable, NamedTuple, Tuple

import pytest
from conftest import Provider, finished

TIMES = 200 if os.environ.get("VERSOLA_TEST_FULL") == "1" else 3
AT_ONCE = 4


class Way(NamedTuple):
    """How a program leaves, and what is seen of it from outside."""

    source: str
    code: int = 0
    last_line: str = ""
    """Of stderr; "" = nothing at all was written there."""


WAYS = {
    "the end of the program": Way("pass"),
    "sys.exit": Way("sys.exit(5)", 5),
    "sys.exit in a thread": Way("thread = threading.Thread(target=sys.exit); thread.start(); thread.join()"),
    "os._exit": Way("os._exit(3)", 3),
    "an exception": Way("raise ValueError('the end')", 1, "ValueError: the end"),
    "Ctrl-C": Way("os.kill(os.getpid(), signal.SIGINT); time.sleep(20)", -signal.SIGINT, "KeyboardInterrupt"),
    "SIGTERM": Way("os.kill(os.getpid(), signal.SIGTERM); time.sleep(20)", -signal.SIGTERM),
}

# The time of leaving is anywhere in the first tenth of a second.
START = """
import random, urllib.request

opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

def walk(url):
    opener.open(urllib.request.Request(url, headers={"Sec-Fetch-Mode": "navigate"}), timeout=20).close()

def some_time():
    return random.random() / 10
"""

# What waits in threads while the main thread leaves.
THREADS = {
    "a login": """
        c = client()
        calls = ["login", "access_token", "access_token", "logout"] + ["access_token"] * 20
    """,
    "requests": """
        c = client(browser=walk, scopes=["offline_access"])
        c.login()
        calls = ["refresh", "user_info"] * 4
    """,
}
WAIT_IN_THREADS = """
def call(name):
    while True:
        try:
            getattr(c, name)()
        except versola.VersolaError:
            pass

for name in calls:
    threading.Thread(target=call, args=(name,), daemon=True).start()
threading.Thread(target=tell, args=(c,), daemon=True).start()
time.sleep(some_time())
"""

# What waits on event loops.
LOOPS = {
    "a login": """
        async def work(c):
            calls = [c.login() for _ in range(5)] + [c.access_token() for _ in range(20)]
            pending = asyncio.gather(*calls, return_exceptions=True)
            async for change in c.session_states():
                pass
    """,
    "requests": """
        async def work(c):
            await c.login()
            while True:
                await asyncio.gather(c.refresh(), c.user_info(), c.refresh(), return_exceptions=True)
    """,
}
WAIT_ON_LOOP = """
async def session(name, browser):
    async with versola.aio.OAuthClient(
        sys.argv[1], client_id="native-app", redirect_uri="http://127.0.0.1/callback", scopes=["offline_access"],
        store="memory", session=name, browser=browser,
    ) as c:
        await work(c)
"""
# The loop ends as asyncio.run() ends it; another one still runs in a daemon thread.
RUN = """
async def main():
    tasks = [asyncio.ensure_future(session(f"s{n}", browser)) for n in range(4)]
    await asyncio.sleep(some_time())
    LEAVE

threading.Thread(target=lambda: asyncio.run(session("thread", browser), debug=False), daemon=True).start()
asyncio.run(main(), debug=False)
"""
ABANDON = """
def tell(loop, context):
    # asyncio tells of tasks that nobody finished or asked; these are meant to be left.
    if "destroyed" not in context["message"] and "never retrieved" not in context["message"]:
        loop.default_exception_handler(context)

import warnings
warnings.simplefilter("ignore", ResourceWarning)  # of an event loop that is not closed
warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)  # of tasks that had not begun
loop = asyncio.new_event_loop()
loop.set_debug(False)  # it tells of callbacks that took long
loop.set_exception_handler(tell)
tasks = [loop.create_task(session(f"s{n}", browser)) for n in range(4)]
loop.run_until_complete(asyncio.sleep(some_time()))
LEAVE
"""
ABANDONED = {"the loop is closed": "loop.close()", "the loop is forgotten": "pass", "os._exit": "os._exit(0)"}


# C's exit() takes a while after Python has ended. Registered before Python's ssl module, which asyncio imports, sets
# OpenSSL up, so that it is called after OpenSSL was freed.
LINGER = """
import ctypes
libc = ctypes.CDLL(None)
libc.__cxa_atexit(ctypes.cast(libc.usleep, ctypes.c_void_p), ctypes.c_void_p(300_000), None)
"""


def answer_after(provider: Provider, seconds: float) -> None:
    for endpoint in ("token", "userinfo"):
        provider.tell("script", endpoint=endpoint, answer={"delay": seconds}, times=None)


@pytest.fixture
def leaves(program: Any, provider: Provider) -> Any:
    """Runs a program often and looks at how it ends. The provider answers within the time in which it leaves."""
    answer_after(provider, 0.02)

    def run(way: Way, *parts: str, before: str = "") -> None:
        source = "".join(dedent(part) for part in (START, *parts))

        def once(_: int) -> Tuple[int, str, str]:
            code, _, errors = finished(program(source, before))
            return code, (errors.splitlines() or [""])[-1], errors

        with ThreadPoolExecutor(AT_ONCE) as pool:
            ends = list(pool.map(once, range(TIMES)))
        wrong = [end for end in ends if end[:2] != (way.code, way.last_line)]
        assert wrong == [], f"{len(wrong)} of {TIMES}"
        print(f"{TIMES} of {TIMES} clean")

    return run


def every(work: Iterable[str], ways: Dict[str, Any]) -> Any:
    return pytest.mark.parametrize(("work", "way"), [(one, way) for one in work for way in ways])


@every(THREADS, WAYS)
def test_leaving_while_threads_wait(leaves: Any, work: str, way: str) -> None:
    leaves(WAYS[way], THREADS[work], WAIT_IN_THREADS, WAYS[way].source)


@every(THREADS, {"close": None})
def test_closing_at_exit_while_threads_wait(leaves: Any, work: str, way: str) -> None:
    leaves(Way(""), THREADS[work], WAIT_IN_THREADS, "import atexit\natexit.register(c.close)\n")


def test_answers_that_come_when_the_process_is_on_its_way_out(leaves: Any, provider: Provider) -> None:
    answer_after(provider, 0.15)
    leaves(Way(""), THREADS["requests"], WAIT_IN_THREADS, before=LINGER)


@every(LOOPS, WAYS)
def test_leaving_while_event_loops_wait(leaves: Any, work: str, way: str) -> None:
    browser = f"browser = {'walk' if work == 'requests' else None}\n"
    leave = WAYS[way].source.replace("time.sleep", "await asyncio.sleep")
    leaves(WAYS[way], LOOPS[work], WAIT_ON_LOOP, browser, RUN.replace("LEAVE", leave))


@every(LOOPS, ABANDONED)
def test_leaving_event_loops_behind(leaves: Any, work: str, way: str) -> None:
    browser = f"browser = {'walk' if work == 'requests' else None}\n"
    leaves(Way(""), LOOPS[work], WAIT_ON_LOOP, browser, ABANDON.replace("LEAVE", ABANDONED[way]))

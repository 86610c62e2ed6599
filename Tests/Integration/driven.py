# SPDX-License-Identifier: Apache-2.0
"""An app that does what it is told: calls in JSON lines, answers in JSON lines. Its clocks can be moved when
Tests/time/clocks.c is preloaded."""

from __future__ import annotations

import ctypes
import json
import os
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

import versola


def walk(url: str) -> None:
    """Plays the browser: the scripted provider asks nothing."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(url, headers={"Sec-Fetch-Mode": "navigate"}), timeout=30).close()


class App:
    client: versola.OAuthClient
    states: Iterator[versola.SessionStateChange]
    waiting: threading.Thread
    told: list[Any]

    def open(self, **settings: Any) -> str:
        def browser(url: str) -> None:
            if self.browser_works:
                threading.Thread(target=walk, args=(url,), daemon=True).start()

        self.browser_works = True
        self.client = versola.OAuthClient(versola.OAuthConfiguration(**settings, browser=browser))
        self.states = self.client.session_states()
        return next(self.states).state.name

    def login(self) -> str:
        return self.client.login(timeout=30).subject

    def begin_login(self) -> str:
        """Nobody comes back from this browser. Answers the state that this leads to."""
        self.browser_works = False
        self.ended_with: versola.VersolaError | None = None

        def wait() -> None:
            try:
                self.client.login()
            except versola.VersolaError as error:
                self.ended_with = error

        self.waiting = threading.Thread(target=wait, daemon=True)
        self.waiting.start()
        return self.next_state()[0]

    def end_login(self) -> None:
        """How the login ended that was begun."""
        self.waiting.join(30)
        if self.ended_with is not None:
            raise self.ended_with

    def token(self) -> str:
        return self.client.access_token(timeout=30).value

    def refresh(self) -> str:
        return self.client.refresh(timeout=30).value

    def refusal(self) -> list[Any]:
        """Of a refresh, by the provider or by a pause: attempts, and the seconds to wait."""
        try:
            self.client.refresh(timeout=30)
        except versola.RecoverableError as error:
            return [error.attempts, error.retry_after and error.retry_after.total_seconds()]
        raise AssertionError("the refresh was not refused")

    def begin_refusal(self) -> None:
        """Returns when the refresh waits for its next try, for more than ten seconds."""
        self.told = []
        self.waiting = threading.Thread(target=lambda: self.told.extend(self.refusal()), daemon=True)
        self.waiting.start()
        deadline = time.monotonic() + 30
        while not ctypes.CDLL(None).test_waits_for_more_than(ctypes.c_int64(10)) and time.monotonic() < deadline:
            time.sleep(0.005)

    def end_refusal(self) -> list[Any]:
        self.waiting.join(30)
        return self.told

    def state(self) -> str:
        return self.client.state.name

    def next_state(self) -> list[Any]:
        change = next(self.states)
        return [change.state.name, change.reason and change.reason.cause.name]

    def suspend(self, seconds: int) -> None:
        ctypes.CDLL(None).test_suspend(ctypes.c_int64(seconds))

    def set_wall_clock(self, seconds: int) -> None:
        ctypes.CDLL(None).test_set_wall_clock(ctypes.c_int64(seconds))

    def close(self) -> None:
        self.client.close()


def main() -> None:
    app = App()
    for line in sys.stdin:
        name, arguments, named = json.loads(line)
        call: Callable[..., object] = getattr(app, name)
        try:
            answer: dict[str, object] = {"result": call(*arguments, **named)}
        except versola.VersolaError as error:
            answer = {"error": error.cause.name}
        print(json.dumps(answer), flush=True)
    os._exit(0)


main()

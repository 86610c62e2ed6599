# SPDX-License-Identifier: Apache-2.0
"""A gate holds an answer back, so that a test decides what happens while a request is on the wire."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future


class Gate:
    """Closed when made; opened once, for every answer that waits at it."""

    def __init__(self) -> None:
        self._arrived = threading.Event()
        self._opened: Future[None] = Future()

    def wait_arrived(self, timeout: float = 10.0) -> None:
        """Returns when a request has been read whole and waits here. Raises TimeoutError."""
        if not self._arrived.wait(timeout):
            raise TimeoutError("no request arrived at the gate")

    def open(self) -> None:
        if not self._opened.done():
            self._opened.set_result(None)

    async def passed(self) -> None:
        self._arrived.set()
        # Shielded: one client that goes away must not cancel the gate for the others.
        await asyncio.shield(asyncio.wrap_future(self._opened))

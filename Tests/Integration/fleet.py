# SPDX-License-Identifier: Apache-2.0
"""Many processes on one session, some of them killed, and what the provider saw of it."""

from __future__ import annotations

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).with_name("program.py")


@dataclass
class Seen:
    refreshed: int = 0
    killed: set[str] = field(default_factory=set)
    """Senders, one name for each process that ever ran."""
    recoverable: list[str] = field(default_factory=list)
    signed_out: list[str] = field(default_factory=list)
    """The causes that the processes were told."""
    sign_ins: int = 0
    """How often the person had to come back."""


class Fleet:
    """`configuration(sender)` is what a process is started with; `sign_in` puts a new grant into the store."""

    def __init__(self, configuration: Callable[[str], dict[str, Any]], sign_in: Callable[[], object]) -> None:
        self._configuration = configuration
        self._sign_in = sign_in
        self._lock = threading.Lock()
        self._running: dict[int, tuple[str, subprocess.Popen[str]]] = {}
        self._signed_in_at = 0.0
        self._failures: list[str] = []
        self.seen = Seen()

    def run(self, processes: int, expiries: int, *, kill_every: float = 1.0, kills: int = 0) -> Seen:
        """So many processes at once see their token expire so often each, and so many are killed, one at a time.

        Raises AssertionError for one that ended of itself.
        """
        places = [
            threading.Thread(target=self._fill, args=(place, expiries), name=f"place-{place}")
            for place in range(processes)
        ]
        for one in places:
            one.start()
        while len(self.seen.killed) < kills and any(one.is_alive() for one in places):
            time.sleep(random.uniform(0.5, 1.5) * kill_every)
            self._kill_one()
        for one in places:
            one.join()
        assert not self._failures, self._failures
        return self.seen

    def _fill(self, place: int, left: int) -> None:
        for incarnation in itertools.count():
            sender = f"{place}-{incarnation}"
            left = self._process(place, sender, left)
            if left <= 0:
                return

    def _process(self, place: int, sender: str, left: int) -> int:
        """How many expiries are left when the process has ended."""
        with (
            tempfile.TemporaryFile("w+") as complaints,
            subprocess.Popen(
                [sys.executable, str(PROGRAM), "work", str(left)],
                env={**os.environ, "CONFIGURATION": json.dumps(self._configuration(sender))},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=complaints,
                text=True,
            ) as process,
        ):
            assert process.stdin is not None and process.stdout is not None
            with self._lock:
                self._running[place] = (sender, process)
            for line in process.stdout:
                # A kill can cut a line.
                if not line.endswith("\n"):
                    break
                told = json.loads(line)
                if "signed_out" in told:
                    self._sign_in_again(told["signed_out"], told["began"])
                    try:
                        process.stdin.write("\n")
                        process.stdin.flush()
                    except BrokenPipeError:
                        break
                elif "recoverable" in told:
                    with self._lock:
                        self.seen.recoverable.append(told["recoverable"])
                else:
                    left -= 1
                    with self._lock:
                        self.seen.refreshed += 1
            with self._lock:
                self._running.pop(place)
            ended_with = process.wait()
            complaints.seek(0)
            complaint = complaints.read()[-2000:]
        if ended_with == 0 or sender in self.seen.killed:
            return left
        self._failures.append(f"process {sender} ended with {ended_with}: {complaint}")
        return 0

    def _sign_in_again(self, cause: str, began: float) -> None:
        with self._lock:
            self.seen.signed_out.append(cause)
            # Whoever was told of the grant that is replaced by now just goes on.
            if began > self._signed_in_at:
                self._sign_in()
                self.seen.sign_ins += 1
                self._signed_in_at = time.monotonic()

    def _kill_one(self) -> None:
        with self._lock:
            if self._running:
                sender, process = random.choice(list(self._running.values()))
                self.seen.killed.add(sender)
                process.kill()

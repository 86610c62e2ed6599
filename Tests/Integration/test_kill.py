# SPDX-License-Identifier: Apache-2.0
"""A program killed at any instant: what the next one finds, and what the provider saw."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from provider import Provider

PROGRAM = Path(__file__).with_name("session_over_and_over.py")
KILLS = 1000 if os.environ.get("VERSOLA_TEST_FULL") == "1" else 200
LANES = 4
"""So many stores, each with a provider of its own, one program at a time on each."""
LONGEST_LIFE = 0.2
"""Seconds after its start: three or four times round."""

# What the last thing that a program said leaves for the next one to find.
LEAVES = {
    "login": {"UNAUTHENTICATED", "AUTHORIZING", "AUTHENTICATED"},
    "signed in": {"AUTHENTICATED"},
    "logout": {"AUTHENTICATED", "UNAUTHENTICATED"},
    "signed out": {"UNAUTHENTICATED"},
    "refused": {"UNAUTHENTICATED"},
}


class Lane:
    """One store and its provider."""

    def __init__(self, number: int, provider: Provider) -> None:
        self.provider = provider
        self._number = number
        self._random = random.Random()
        self._allowed = {"UNAUTHENTICATED"}
        self._reuses = 0
        self.found: list[str] = []
        self.refused = 0

    def run_and_kill(self, run: int) -> None:
        reuses = len(self.provider.reuses)
        with subprocess.Popen(
            [sys.executable, str(PROGRAM)],
            env={**os.environ, "CONFIGURATION": json.dumps(self._configuration(run))},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as program:
            assert program.stdout is not None and program.stderr is not None
            said = [program.stdout.readline()]
            killer = threading.Timer(self._random.uniform(0, LONGEST_LIFE), program.kill)
            killer.start()
            said += program.stdout.readlines()
            complaint = program.stderr.read()
            killer.join()
            assert program.wait() == -9, f"run {run} ended of itself: {complaint[-2000:]}"
        # The kill can cut the last line.
        for line in said[1:]:
            if line.endswith("\n"):
                self._check(run, json.loads(line), reuses)

    def _check(self, run: int, told: dict[str, Any], reuses: int) -> None:
        if "found" in told:
            # The program before was refused, and killed before it could say so.
            refused = {"UNAUTHENTICATED"} if reuses > self._reuses else set()
            assert told["found"] in self._allowed | refused, f"run {run}: {told} after {self._allowed}"
            assert told["reason"] is None
            self.found.append(told["found"])
            self._allowed = {told["found"]}
            self._reuses = reuses
        elif "refused" in told:
            assert told["refused"] == "GRANT_REJECTED"
            assert self.provider.reuses
            self.refused += 1
            self._allowed = LEAVES["refused"]
        else:
            self._allowed = LEAVES[told["step"]]

    def _configuration(self, run: int) -> dict[str, Any]:
        endpoints = {
            "issuer": self.provider.issuer,
            "authorization_endpoint": self.provider.url("authorize"),
            # So that a request tells which program sent it.
            "token_endpoint": f"{self.provider.url('token')}?run={run}",
            "jwks_uri": self.provider.url("jwks"),
            "revocation_endpoint": self.provider.url("revocation"),
            "iss_in_redirect": True,
        }
        return {
            "client_id": "native-app",
            "redirect_uri": "http://127.0.0.1/callback",
            "scopes": ["offline_access"],
            "session": f"lane-{self._number}",
            "endpoints": endpoints,
        }


@pytest.fixture
def lanes() -> Iterator[list[Lane]]:
    providers = [Provider().start() for _ in range(LANES)]
    yield [Lane(number, provider) for number, provider in enumerate(providers)]
    for one in providers:
        one.close()


@pytest.mark.usefixtures("library")
def test_killed_at_any_instant_a_session_is_whole_and_nothing_is_sent_twice(lanes: list[Lane]) -> None:
    def fill(lane: Lane) -> None:
        for run in range(KILLS // LANES):
            lane.run_and_kill(run)

    with ThreadPoolExecutor(LANES) as starters:
        for lane in starters.map(lambda lane: (fill(lane), lane)[1], lanes):
            requests = {request.sequence: request for request in lane.provider.requests()}
            for resent in lane.provider.resent():
                # Behaviour §5: the one retry of a refresh that was noted and never ended.
                assert resent.kind == "refresh_token"
                senders = [requests[sequence].query["run"] for sequence in resent.sequences]
                assert all(after > before for before, after in pairwise(map(int, senders)))
            assert {reuse.kind for reuse in lane.provider.reuses} <= {"refresh_token"}
            assert lane.refused <= len(lane.provider.reuses)
    found = [state for lane in lanes for state in lane.found]
    # Killed while signed out, while a browser was open, and while signed in.
    assert set(found) == {"UNAUTHENTICATED", "AUTHORIZING", "AUTHENTICATED"}
    retries = sum(len(lane.provider.resent()) for lane in lanes)
    print({state: found.count(state) for state in set(found)}, f"{retries} refresh tokens sent again")

# SPDX-License-Identifier: Apache-2.0
"""Real providers, started once per run; what is missing is said loudly, and is a failure in CI."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from peers import PEERS, Peer
from person_at_browser import PersonAtBrowser
from running_peer import RunningPeer, Unavailable, start
from walker import ALICE, Person, Walker

if TYPE_CHECKING:
    import versola


def unavailable(reason: str) -> NoReturn:
    if os.environ.get("CI") == "true":
        pytest.fail(f"NOT TESTED, and in CI that is a failure: {reason}", pytrace=False)
    pytest.skip(f"NOT TESTED: {reason}")


@pytest.fixture(scope="session")
def started() -> Iterator[Callable[[Peer], RunningPeer]]:
    """Starts a peer at its first use; all end with the run. One that failed once is not tried again."""
    outcomes: dict[str, RunningPeer | Unavailable] = {}

    def get(peer: Peer) -> RunningPeer:
        if peer.name not in outcomes:
            try:
                outcomes[peer.name] = start(peer)
            except Unavailable as reason:
                outcomes[peer.name] = reason
        outcome = outcomes[peer.name]
        if isinstance(outcome, Unavailable):
            unavailable(str(outcome))
        return outcome

    yield get
    for outcome in outcomes.values():
        if isinstance(outcome, RunningPeer):
            outcome.stop()


@pytest.fixture(params=PEERS, ids=lambda peer: peer.name)
def running(request: pytest.FixtureRequest, started: Callable[[Peer], RunningPeer]) -> RunningPeer:
    peer: Peer = request.param
    return started(peer)


@pytest.fixture(autouse=True)
def own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test sees the sessions of another, nor those of the person who runs them."""
    state = tmp_path / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    return state


@pytest.fixture
def library() -> ModuleType:
    """The Python package, and through it the release library."""
    try:
        import versola
    except (ImportError, OSError) as reason:
        unavailable(f"the Python package: {reason}")
    package: ModuleType = versola
    return package


@pytest.fixture
def new_client(running: RunningPeer, library: ModuleType) -> Iterator[Callable[..., versola.OAuthClient]]:
    """Makes clients for the running peer, as an app would. All are closed with the test."""
    clients: list[versola.OAuthClient] = []

    def make(**changes: Any) -> versola.OAuthClient:
        settings: dict[str, Any] = {
            "issuer": running.issuer,
            "client_id": running.peer.client_id,
            "redirect_uri": running.redirect_uri,
            "scopes": running.peer.scopes,
            **changes,
        }
        client = library.OAuthClient(library.OAuthConfiguration(**settings))
        clients.append(client)
        return client

    yield make
    for client in clients:
        client.close()


@pytest.fixture
def person(running: RunningPeer) -> Iterator[Callable[..., PersonAtBrowser]]:
    """Puts somebody before a browser of the running peer."""
    people: list[PersonAtBrowser] = []

    def sit_down(who: Person = ALICE, *, before: Walker | None = None) -> PersonAtBrowser:
        """`before`: a browser that was used already, in place of a fresh one."""
        people.append(PersonAtBrowser(before or running.peer.browser(who), running.redirect_uri))
        return people[-1]

    yield sit_down
    for one in people:
        one.leave()

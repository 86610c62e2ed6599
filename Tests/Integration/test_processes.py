# SPDX-License-Identifier: Apache-2.0
"""Many processes on one session, at real providers that kill the whole family when a refresh token comes twice."""

from __future__ import annotations

import os
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from fleet import Fleet
from peers import DJANGO_OAUTH_TOOLKIT, GLEWLWYD
from person_at_browser import PersonAtBrowser
from running_peer import RunningPeer
from test_scenarios import PATIENCE, proxy_before
from token_proxy import Sending, TokenProxy

if TYPE_CHECKING:
    from versola import OAuthClient

NewClient = Callable[..., "OAuthClient"]
SitDown = Callable[..., PersonAtBrowser]

PROCESSES = 8
# `make endurance` sets it: an hour's worth in place of seconds.
FULL = os.environ.get("VERSOLA_TEST_FULL") == "1"
EXPIRIES = 100 if FULL else 12
KILL_EVERY, KILLS = (1.0, 1000) if FULL else (0.3, 12)

kill_the_family = pytest.mark.parametrize(
    "running", [DJANGO_OAUTH_TOOLKIT, GLEWLWYD], ids=lambda peer: peer.name, indirect=True
)


def fleet(proxy: TokenProxy, running: RunningPeer, new_client: NewClient, person: SitDown) -> tuple[Fleet, OAuthClient]:
    """Processes on the session of a client that is signed in, and this client."""
    import versola

    def configuration(sender: str) -> dict[str, Any]:
        return {
            "client_id": running.peer.client_id,
            "redirect_uri": running.redirect_uri,
            "scopes": list(running.peer.scopes),
            "endpoints": proxy.endpoints(sender),
        }

    client = new_client(issuer=None, endpoints=versola.ProviderEndpoints(**proxy.endpoints()), browser=person())
    client.login(timeout=PATIENCE)
    return Fleet(configuration, lambda: client.login(timeout=PATIENCE)), client


@kill_the_family
def test_processes_that_share_a_session_never_send_a_refresh_token_twice(
    running: RunningPeer, new_client: NewClient, person: SitDown
) -> None:
    with proxy_before(running) as proxy:
        processes, client = fleet(proxy, running, new_client, person)
        seen = processes.run(PROCESSES, EXPIRIES)
        assert seen.signed_out == [] and seen.recoverable == []
        assert seen.refreshed == PROCESSES * EXPIRIES
        sendings = proxy.sendings_of_each_refresh_token()
        assert [len(one) for one in sendings] == [1] * (PROCESSES * EXPIRIES)
        assert {one.status for one in proxy.sent()} == {200}
        assert client.user_info(timeout=PATIENCE)["sub"] == client.identity().subject


@kill_the_family
def test_a_refresh_token_comes_twice_only_from_a_process_killed_while_it_refreshed(
    running: RunningPeer, new_client: NewClient, person: SitDown
) -> None:
    with proxy_before(running) as proxy:
        processes, client = fleet(proxy, running, new_client, person)
        seen = processes.run(PROCESSES, EXPIRIES, kill_every=KILL_EVERY, kills=KILLS)
        assert seen.killed and seen.refreshed >= PROCESSES * EXPIRIES

        told_as = running.peer.answers("reuse_told_as")
        # Two that hold one token at once, the killed one's request and the retry, are too much for some providers.
        assert set(seen.recoverable) <= {"SERVER"}
        refused = [one for one in proxy.sent("refresh_token") if one.status == 400]
        sent_twice = [one for one in proxy.sendings_of_each_refresh_token() if len(one) > 1]
        for sendings in sent_twice:
            for before, after in pairwise(sendings):
                assert is_allowed(before, after, seen.killed, grant_is_kept=told_as == "SESSION_REJECTED")
        # One return of the person for each family that died, and a family dies of nothing but such a retry.
        dead = [one for one in sent_twice if any(each in refused for each in one)]
        assert seen.sign_ins <= len(dead) and (seen.sign_ins == 0) == (not refused)
        # Those who find the grant gone were not there when it was refused.
        assert set(seen.signed_out) <= {told_as, "SESSION_EXPIRED"}
        assert client.user_info(timeout=PATIENCE)["sub"] == client.identity().subject
        print(f"{len(seen.killed)} killed, {len(sent_twice)} sent again, {seen.sign_ins} times signed in again")


def is_allowed(before: Sending, after: Sending, killed: set[str], *, grant_is_kept: bool) -> bool:
    """Behaviour §5: the retry under a note of its own. What was refused and kept was not spent by that."""
    if before.status == 400 and grant_is_kept:
        return True
    # Behaviour §3: after a 500 the next call sends the stored token.
    if before.status is not None and before.status >= 500:
        return True
    return before.sender in killed and before.sender != after.sender

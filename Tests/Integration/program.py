# SPDX-License-Identifier: Apache-2.0
"""An app in a process of its own: says in JSON lines what it sees. Configured by $CONFIGURATION."""

from __future__ import annotations

import json
import os
import sys

import versola


def say(**members: object) -> None:
    print(json.dumps(members), flush=True)


def login(client: versola.OAuthClient) -> None:
    """Shows the URL and waits; whoever started this kills it."""
    client.login()


def resume(client: versola.OAuthClient) -> None:
    """Waits for what a login that another process began comes to."""
    for change in client.session_states():
        say(state=change.state.name)
        if change.state is versola.SessionState.AUTHENTICATED:
            break
    say(subject=client.identity().subject)


def whoami(client: versola.OAuthClient) -> None:
    say(state=client.state.name, subject=client.identity().subject)


def refresh(client: versola.OAuthClient) -> None:
    """One forced refresh: how it ended, in numbers."""
    try:
        client.access_token(force=True)
        say(attempts=None)
    except versola.RecoverableError as error:
        say(attempts=error.attempts, status=error.status)


def main() -> None:
    what = {"login": login, "resume": resume, "whoami": whoami, "refresh": refresh}[sys.argv[1]]
    configuration = versola.OAuthConfiguration(
        **json.loads(os.environ["CONFIGURATION"]), browser=lambda url: say(url=url)
    )
    with versola.OAuthClient(configuration) as client:
        what(client)


main()

# SPDX-License-Identifier: Apache-2.0
"""An app in a process of its own: says in JSON lines what it sees. Configured by $CONFIGURATION."""

from __future__ import annotations

import json
import os
import sys
import time

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


def refused(client: versola.OAuthClient) -> None:
    """One forced refresh: how it ended, in numbers."""
    try:
        client.access_token(force=True)
        say(attempts=None)
    except versola.RecoverableError as error:
        say(attempts=error.attempts, status=error.status)


def token(client: versola.OAuthClient) -> None:
    say(token=client.access_token().value)


def refresh(client: versola.OAuthClient) -> None:
    """Says what a fresh token is good for, too."""
    told = client.refresh().value
    say(token=told, subject=client.user_info()["sub"])


def work(client: versola.OAuthClient) -> None:
    """Sees its token expire as often as the argument says; waits for a line when nobody is signed in any more."""
    left = int(sys.argv[2])
    while left > 0:
        began = time.monotonic()
        try:
            client.access_token(force=True)
        except versola.RecoverableError as error:
            # As an app does: it tries again.
            say(recoverable=error.cause.name)
        except versola.ReauthenticateError as error:
            say(signed_out=error.cause.name, began=began)
            sys.stdin.readline()
            # The news of the new session is on its way through the store.
            while client.state is versola.SessionState.UNAUTHENTICATED and time.monotonic() < began + 30:
                time.sleep(0.01)
        else:
            say(refreshed=True)
            left -= 1


def main() -> None:
    what = {f.__name__: f for f in (login, resume, whoami, token, refresh, refused, work)}[sys.argv[1]]
    settings = json.loads(os.environ["CONFIGURATION"])
    if "endpoints" in settings:
        settings["endpoints"] = versola.ProviderEndpoints(**settings["endpoints"])
    configuration = versola.OAuthConfiguration(**settings, browser=lambda url: say(url=url))
    with versola.OAuthClient(configuration) as client:
        what(client)


main()

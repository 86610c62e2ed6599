# SPDX-License-Identifier: Apache-2.0
"""An app that signs in, refreshes and signs out until it is killed. Says each step before and after it is done."""

from __future__ import annotations

import json
import os
import threading
import urllib.request

import versola


def say(**members: object) -> None:
    print(json.dumps(members), flush=True)


def walk(url: str) -> None:
    """Plays the browser: the scripted provider asks nothing."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    opener.open(urllib.request.Request(url, headers={"Sec-Fetch-Mode": "navigate"}), timeout=30).close()


def browser(url: str) -> None:
    threading.Thread(target=walk, args=(url,), daemon=True).start()


def main() -> None:
    settings = json.loads(os.environ["CONFIGURATION"])
    settings["endpoints"] = versola.ProviderEndpoints(**settings["endpoints"])
    say(step="start")
    client = versola.OAuthClient(versola.OAuthConfiguration(**settings, browser=browser))
    found = next(client.session_states())
    say(found=found.state.name, reason=found.reason and found.reason.cause.name)
    while True:
        if client.state is not versola.SessionState.AUTHENTICATED:
            say(step="login")
            client.login(timeout=30)
            say(step="signed in")
        try:
            for _ in range(3):
                client.refresh(timeout=30)
        except versola.ReauthenticateError as error:
            say(refused=error.cause.name)
            continue
        say(step="logout")
        client.logout(timeout=30)
        say(step="signed out")


main()

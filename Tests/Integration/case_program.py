# SPDX-License-Identifier: Apache-2.0
"""An app in a process of its own for the cases: `case_program.py WHAT`, configured by $CONFIGURATION."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

import versola


def say(**members: object) -> None:
    print(json.dumps(members), flush=True)


def told(call: Callable[[], object]) -> None:
    """Says how the call ended."""
    try:
        result = call()
    except versola.VersolaError as error:
        say(ended=str(error.cause))
    else:
        say(ended="well", result=result if isinstance(result, bool) else None)


def login(client: versola.OAuthClient) -> None:
    told(client.login)


def follow(client: versola.OAuthClient) -> None:
    """Says every state, until it is killed."""
    for change in client.session_states():
        say(state=change.state.name, generation=change.generation)


def redirect(client: versola.OAuthClient) -> None:
    """Passes on the URL that it reads."""
    url = sys.stdin.readline().strip()
    told(lambda: client.handle_redirect(url))


def on_a_word(call: Callable[[versola.OAuthClient], object]) -> Callable[[versola.OAuthClient], None]:
    """Says its state and then waits for a line before it calls."""

    def run(client: versola.OAuthClient) -> None:
        say(state=client.state.name)
        sys.stdin.readline()
        told(lambda: call(client))

    return run


PARTS: dict[str, Callable[[versola.OAuthClient], None]] = {
    "login": login,
    "follow": follow,
    "redirect": redirect,
    "state": lambda client: say(state=client.state.name),
    "token": on_a_word(lambda client: client.access_token() and None),
    "refresh": on_a_word(lambda client: client.refresh() and None),
    "logout": on_a_word(lambda client: client.logout().token_revoked),
}


def main() -> None:
    configuration = json.loads(os.environ["CONFIGURATION"])
    configuration.setdefault("browser", None)
    if sys.argv[1] == "login":
        configuration["browser"] = lambda url: say(url=url)
    with versola.OAuthClient(versola.OAuthConfiguration(**configuration)) as client:
        PARTS[sys.argv[1]](client)


main()

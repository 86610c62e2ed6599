#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signs in, tells each session state as it changes, calls an API, refreshes the access token, and signs out again."""

import argparse
import json
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Optional

import versola


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("issuer", help="URL of the OpenID Provider")
    parser.add_argument("client_id")
    parser.add_argument("--redirect-uri", default="http://127.0.0.1/callback")
    parser.add_argument("--scopes", default="openid", help="space-separated")
    parser.add_argument("--api", metavar="URL", help="called with the access token")
    parser.add_argument("--print-url", action="store_true", help="print the URL to open instead of starting a browser")
    arguments = parser.parse_args()

    try:
        with versola.OAuthClient(
            arguments.issuer,
            client_id=arguments.client_id,
            redirect_uri=arguments.redirect_uri,
            scopes=arguments.scopes,
            browser=print if arguments.print_url else "system",
        ) as client:
            # The thread ends with the iterator, which ends when the client is closed.
            threading.Thread(target=tell_states, args=(client.session_states(),)).start()
            use(client, arguments.api)
        return 0
    except KeyboardInterrupt:
        return fail("cancelled")
    except versola.RecoverableError as error:
        wait = f" in {error.retry_after.total_seconds():.0f} s" if error.retry_after else ""
        return fail(f"that did not work, please try again{wait}: {error}")
    except versola.ReauthenticateError as error:
        return fail(f"please sign in again: {error}")
    except versola.StepUpError as error:
        return fail(f"a stronger sign-in is needed: {error}")
    except versola.ConfigurationError as error:
        return fail(f"this program or its provider is not set up correctly: {error}")


def use(client: versola.OAuthClient, api: Optional[str]) -> None:
    identity = client.sign_in()
    say(f"identity: {identity.subject}, claims {', '.join(sorted(identity.claims))}")
    token = client.access_token()
    say(f"token: {token.type}, {len(token.value)} characters, expires {token.expires_at}, scope {token.scope!r}")
    if api is not None:
        say(f"api: {call(api, token)}")
    client.refresh()  # access_token() does so by itself when the token has run out
    say(f"user info: claims {', '.join(sorted(client.user_info()))}")
    result = client.logout()
    say(f"logout: token revoked {result.token_revoked}, session ended {result.session_ended}")


def call(url: str, token: versola.Token) -> str:
    request = urllib.request.Request(url, headers={"Authorization": f"{token.type} {token.value}"})
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return f"{response.status} {json.load(response)}"
    except urllib.error.HTTPError as answer:
        return f"{answer.code} {answer.reason}"
    except (OSError, ValueError) as error:
        return f"no answer to use: {error}"


def tell_states(changes: Iterator[versola.SessionStateChange]) -> None:
    for change in changes:
        say(f"state: {change.state.name}" + (f" ({change.reason})" if change.reason else ""))


def say(line: str) -> None:
    sys.stdout.write(line + "\n")  # whole lines: two threads write here
    sys.stdout.flush()


def fail(message: str) -> int:
    print(message, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())

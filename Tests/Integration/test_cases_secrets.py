# SPDX-License-Identifier: Apache-2.0
"""B53: no code, token, verifier, state, nonce, key, claim or query in any log line, error text or file name.

Every case of these files is scanned when it ends (cases.py); here are the scan itself and the longest way through it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest
from versola import OAuthClient, VersolaError

from cases import OWN_SCHEME, Bench, Person, bench_fixture  # noqa: F401
from provider import Answer, Cut


def attempted(bench: Bench, call: Callable[[], object]) -> None:
    try:
        call()
    except VersolaError as error:
        bench.heard(error)


def test_B53_the_debug_log_of_a_whole_session_and_of_every_failure_holds_no_secret(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    client = bench.signed_in(post_logout_redirect_uri="http://127.0.0.1/callback", scopes="profile email")
    client.access_token()
    failures = [
        *(Answer(status=status) for status in (302, 400, 401, 403, 404, 429, 500, 503)),
        *(Answer(status=400, json={"error": error}) for error in ("invalid_request", "invalid_client", "x", 5)),
        *(Answer(cut=cut, status=500) for cut in (Cut.RESET, Cut.AFTER_READING, Cut.HALF_BODY)),
        Answer(status=200, body="<html>"),
    ]
    calls: dict[str, Callable[[], object]] = {
        "token": client.refresh,
        "userinfo": client.user_info,
        "jwks": client.login,
        "revocation": client.logout,
    }
    for endpoint, call in calls.items():
        for answer in failures:
            bench.provider.script(endpoint, answer, times=4)
            if endpoint == "jwks":
                bench.provider.keys.rotate()
            attempted(bench, call)
            bench.provider.unscript()
            attempted(bench, client.identity)
            if endpoint == "revocation":
                client.login()
    for answer in failures:
        bench.provider.script("token", answer, times=2)
        attempted(bench, client.login)
        bench.provider.unscript()
    assert caplog.records and bench.texts and len(bench.secrets()) > 20


@pytest.mark.parametrize("name", ["state", "iss", "code", "error"])
def test_B53_a_redirect_that_fails_is_not_quoted(bench: Bench, name: str) -> None:
    bench.provider.redirect.parameters[name] = ["quoted-canary-1", "quoted-canary-2"]
    with bench.client(browser=Person()) as client:
        attempted(bench, client.login)
    with bench.client(redirect_uri=OWN_SCHEME) as client:
        login, url = bench.begin_login(client)
        attempted(bench, lambda: client.handle_redirect(bench.redirect_of(url)))
        assert "quoted-canary" not in login.error().detail
    assert not [text for text in bench.texts if "quoted-canary" in text and name != "error"]


def test_B53_the_scan_finds_each_kind_of_secret(bench: Bench) -> None:
    client: OAuthClient = bench.signed_in()
    client.refresh()
    [asked] = bench.provider.requests("authorize")
    exchange, refresh = (request.form for request in bench.provider.requests("token"))
    secrets = [asked.query["state"], asked.query["nonce"], exchange["code"], exchange["code_verifier"]]
    secrets += [refresh["refresh_token"], client.access_token().value, bench.provider.subject]
    [key_file] = [path for path in bench.home.rglob("*key*") if path.is_file()]
    for secret in [*secrets, key_file.read_bytes().hex()]:
        with pytest.raises(AssertionError, match="a secret in a log"):
            bench.said_no_secret(f"debug: {secret}.")
    (bench.home / exchange["code"]).touch()
    with pytest.raises(AssertionError, match="a secret in a file name"):
        bench.said_no_secret("")
    (bench.home / exchange["code"]).unlink()
    (bench.home / "leak").write_text(refresh["refresh_token"])
    with pytest.raises(AssertionError, match="unsealed"):
        bench.said_no_secret("")
    (bench.home / "leak").unlink()


def test_B53_what_is_logged_can_be_read(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """A log without secrets is still a log: a failure leaves a line."""
    bench.provider.script("token", Answer(status=500))
    with bench.client(browser=Person()) as client:
        attempted(bench, client.login)
    assert [record for record in caplog.records if record.levelno >= logging.INFO]

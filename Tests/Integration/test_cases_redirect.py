# SPDX-License-Identifier: Apache-2.0
"""The redirect: what is judged before the code is sent, and what never reaches a login at all (behaviour §2, §4)."""

from __future__ import annotations

import socket
from urllib.parse import parse_qs, urlsplit

import pytest
import requests
from cases import CALLBACK, OWN_SCHEME, Bench, Person, bench_fixture  # noqa: F401
from provider import walk
from versola import ConfigurationCause, ReauthenticateCause, RecoverableCause, RecoverableError, SessionState

Shape = dict[str, list[str]]


def ended_login(bench: Bench, cause: object, *, token_requests: int = 0) -> None:
    """A login fails with this cause, before or after the code was sent; nothing of it stays."""
    client = bench.client(browser=Person())
    states = client.session_states()
    with bench.refused(cause):  # type: ignore[arg-type]
        client.login()
    assert client.state is SessionState.UNAUTHENTICATED
    assert len(bench.provider.requests("token")) == token_requests
    assert bench.history(client, states) == ["UNAUTHENTICATED", "AUTHORIZING", "UNAUTHENTICATED"]
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


@pytest.mark.parametrize("state", [[], ["another"], [""]], ids=["missing", "another", "empty"])
def test_redirect_state_missing_or_not_ours_is_state_mismatch_and_no_token_request_is_made(
    bench: Bench, state: list[str]
) -> None:
    bench.provider.redirect.parameters["state"] = state
    ended_login(bench, ConfigurationCause.STATE_MISMATCH)


def test_state_twice_is_state_mismatch_and_no_token_request_is_made(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    [state] = parse_qs(urlsplit(redirect).query)["state"]
    assert walk(f"{redirect}&state={state}").status != 200 or bench.provider.requests("token") == []
    assert login.error().cause is ConfigurationCause.STATE_MISMATCH
    assert bench.provider.requests("token") == []


@pytest.mark.parametrize("with_metadata", [True, False], ids=["promised", "unpromised"])
@pytest.mark.parametrize(
    "iss",
    [["https://evil.example"], [""], ["{issuer}/"], ["{issuer}", "{issuer}"]],
    ids=["wrong", "empty", "slash", "twice"],
)
def test_B46_redirect_iss_differs_or_comes_twice_is_issuer_mismatch_and_no_token_request(
    bench: Bench, iss: list[str], with_metadata: bool
) -> None:
    bench.provider.metadata["authorization_response_iss_parameter_supported"] = with_metadata
    bench.provider.redirect.parameters["iss"] = [one.format(issuer=bench.provider.issuer) for one in iss]
    ended_login(bench, ConfigurationCause.ISSUER_MISMATCH)


def test_B46_redirect_iss_missing_though_the_metadata_promises_it_is_issuer_mismatch(bench: Bench) -> None:
    bench.provider.redirect.parameters["iss"] = []
    ended_login(bench, ConfigurationCause.ISSUER_MISMATCH)


@pytest.mark.parametrize("promised, iss", [(True, None), (False, None), (False, [])], ids=["right", "extra", "none"])
def test_B46_a_right_iss_or_none_where_none_is_promised_is_accepted(
    bench: Bench, promised: bool, iss: list[str] | None
) -> None:
    bench.provider.metadata["authorization_response_iss_parameter_supported"] = promised
    if iss is not None:
        bench.provider.redirect.parameters["iss"] = iss
    assert bench.signed_in().state is SessionState.AUTHENTICATED


def test_iss_is_judged_before_error(bench: Bench) -> None:
    """What another issuer says of this login is not believed (RFC 9207 §2.4)."""
    bench.provider.redirect.error = "access_denied"
    bench.provider.redirect.parameters["iss"] = ["https://evil.example"]
    ended_login(bench, ConfigurationCause.ISSUER_MISMATCH)


@pytest.mark.parametrize(
    "error, cause",
    [
        ("access_denied", ReauthenticateCause.AUTHORIZATION_DENIED),
        ("unmet_authentication_requirements", ReauthenticateCause.AUTHORIZATION_DENIED),
        ("login_required", ReauthenticateCause.INTERACTION_REQUIRED),
        ("interaction_required", ReauthenticateCause.INTERACTION_REQUIRED),
        ("consent_required", ReauthenticateCause.INTERACTION_REQUIRED),
        ("account_selection_required", ReauthenticateCause.INTERACTION_REQUIRED),
        ("server_error", RecoverableCause.SERVER),
        ("temporarily_unavailable", RecoverableCause.SERVER),
        ("invalid_request", ConfigurationCause.AUTHORIZATION_REJECTED),
        ("unauthorized_client", ConfigurationCause.AUTHORIZATION_REJECTED),
        ("invalid_scope", ConfigurationCause.AUTHORIZATION_REJECTED),
        ("unsupported_response_type", ConfigurationCause.AUTHORIZATION_REJECTED),
        ("invalid_target", ConfigurationCause.AUTHORIZATION_REJECTED),
        ("something_new", ConfigurationCause.AUTHORIZATION_REJECTED),
    ],
)
def test_what_the_redirect_says_went_wrong(bench: Bench, error: str, cause: object) -> None:
    bench.provider.redirect.error = error
    ended_login(bench, cause)


@pytest.mark.parametrize("error, status", [("server_error", 500), ("temporarily_unavailable", 503)])
def test_redirect_carries_server_error_status_500_or_503_attempts_1_retry_after_none(
    bench: Bench, error: str, status: int
) -> None:
    bench.provider.redirect.error = error
    with bench.refused(RecoverableCause.SERVER) as caught:
        bench.signed_in()
    failure = caught.value
    assert isinstance(failure, RecoverableError)
    assert (failure.status, failure.attempts, failure.retry_after) == (status, 1, None)
    assert failure.elapsed is not None and failure.elapsed.total_seconds() < 10


@pytest.mark.parametrize(
    "parameters",
    [
        {"code": []},
        {"error": ["access_denied"]},
        {"code": ["a", "b"]},
        {"code": [], "error": ["a", "b"]},
        {"code": [""]},
    ],
    ids=["neither", "both", "code twice", "error twice", "empty code"],
)
def test_a_redirect_with_neither_or_both_of_code_and_error_or_one_twice_is_authorization_rejected(
    bench: Bench, parameters: Shape
) -> None:
    bench.provider.redirect.parameters.update(parameters)
    ended_login(bench, ConfigurationCause.AUTHORIZATION_REJECTED)


def test_B42_an_error_without_state_is_state_mismatch(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    callback = bench.redirect_of(url).partition("?")[0]
    assert walk(callback + "?error=access_denied").status is not None
    assert login.error().cause is ConfigurationCause.STATE_MISMATCH
    assert login.error().oauth_error is None


def test_B43_a_redirect_delivered_twice_uses_the_code_once(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    first, second = walk(redirect), walk(redirect)
    assert (first.status, second.status) == (200, 200) and first.text and second.text
    assert login.result().subject == bench.provider.subject
    assert client.handle_redirect(redirect) is False
    assert bench.grant_types() == ["authorization_code"]
    assert client.state is SessionState.AUTHENTICATED


def test_B43_two_deliveries_at_once_use_the_code_once(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    pages = [bench.call(walk, redirect) for _ in range(12)]
    assert {page.result().status for page in pages} == {200}
    assert login.result().subject == bench.provider.subject
    assert bench.grant_types() == ["authorization_code"]


def test_B43_a_redirect_after_the_end_is_false_also_in_a_new_client(bench: Bench) -> None:
    client = bench.client(redirect_uri=OWN_SCHEME)
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    assert client.handle_redirect(redirect) is True
    assert login.result()
    assert client.handle_redirect(redirect) is False
    client.close()
    again = bench.client(redirect_uri=OWN_SCHEME)
    assert again.handle_redirect(redirect) is False
    assert bench.grant_types() == ["authorization_code"]
    assert again.state is SessionState.AUTHENTICATED


@pytest.mark.parametrize("redirect_uri", [OWN_SCHEME, "https://app.example.test/callback"])
def test_B45_private_use_scheme_and_https_are_kept_as_written_and_nobody_listens(
    bench: Bench, redirect_uri: str
) -> None:
    client = bench.client(redirect_uri=redirect_uri)
    login, url = bench.begin_login(client)
    assert parse_qs(urlsplit(url).query)["redirect_uri"] == [redirect_uri]
    assert client.handle_redirect(bench.redirect_of(url)) is True
    assert login.result().subject == bench.provider.subject
    assert bench.provider.requests("token")[0].form["redirect_uri"] == redirect_uri


@pytest.mark.parametrize(
    "url",
    [
        "com.example.app://callback",
        "com.example.app:/callback2",
        "com.example.app:/",
        "com.example.ap:/callback",
        "https://app.example.test/callback",
        "not a url",
        "",
    ],
)
def test_a_url_that_is_not_our_redirect_uri_is_false_without_error_and_the_login_goes_on(
    bench: Bench, url: str
) -> None:
    client = bench.client(redirect_uri=OWN_SCHEME)
    login, authorization_url = bench.begin_login(client)
    query = urlsplit(bench.redirect_of(authorization_url)).query
    assert client.handle_redirect(f"{url}?{query}" if url else "") is False
    assert not login.is_over and client.state is SessionState.AUTHORIZING
    assert client.handle_redirect(bench.redirect_of(authorization_url)) is True
    assert login.result()


@pytest.mark.parametrize("query", ["", "?code=1", "?code=1&state=unknown"])
def test_on_our_redirect_uri_an_unknown_state_ends_the_login_waiting_here_with_state_mismatch(
    bench: Bench, query: str
) -> None:
    client = bench.client(redirect_uri=OWN_SCHEME)
    assert client.handle_redirect(OWN_SCHEME + query) is False, "none waits"
    login, _ = bench.begin_login(client)
    with bench.refused(ConfigurationCause.STATE_MISMATCH):
        client.handle_redirect(OWN_SCHEME + query)
    assert login.error().cause is ConfigurationCause.STATE_MISMATCH
    assert client.handle_redirect(OWN_SCHEME + query) is False, "none waits any more"
    assert bench.provider.requests("token") == []


# --- The loopback listener --------------------------------------------------------------------------------------------

NAVIGATE = {"Sec-Fetch-Mode": "navigate"}


def test_B41_only_a_navigating_GET_on_our_path_counts(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    origin = "{0.scheme}://{0.netloc}".format(urlsplit(redirect))
    strangers = [
        requests.request(method, redirect, headers=NAVIGATE, timeout=5)
        for method in ("OPTIONS", "HEAD", "POST", "PUT", "DELETE", "PATCH", "TRACE", "GETT")
    ]
    strangers += [
        requests.get(redirect, headers={**NAVIGATE, "Host": host}, timeout=5)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "127.0.0.1:1", "")
    ]
    strangers += [
        requests.get(redirect, headers={"Sec-Fetch-Mode": mode}, timeout=5)
        for mode in ("cors", "no-cors", "same-origin", "websocket", "nested-navigate")
    ]
    for path in ("/", "/favicon.ico", "/callback/", "/callback/x", "/CALLBACK", "/x/../callback2", "//callback"):
        strangers.append(requests.get(f"{origin}{path}?{urlsplit(redirect).query}", headers=NAVIGATE, timeout=5))
    assert [one.status_code for one in strangers if one.status_code < 400] == []
    secrets = parse_qs(urlsplit(redirect).query)
    assert not [one for one in strangers if secrets["code"][0] in one.text or secrets["state"][0] in one.text]
    assert not login.is_over and bench.provider.requests("token") == []
    assert walk(redirect).status == 200
    assert login.result().subject == bench.provider.subject


def test_B41_broken_and_silent_connections_leave_the_login_waiting(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    address = ("127.0.0.1", urlsplit(redirect).port or 0)
    target = redirect[redirect.index("/callback") :].encode()
    silent = [socket.create_connection(address) for _ in range(8)]
    for piece in (
        b"",
        b"\0" * 64,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\n\r\n",
        b"GET " + target + b" HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"GET " + target + b"\r\n\r\n",
        b"GET " + target + b" HTTP/9.9\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /callback?" + b"a" * 200_000 + b" HTTP/1.1\r\n\r\n",
        b"GET /callback HTTP/1.1\r\n" + b"A: b\r\n" * 20_000 + b"\r\n",
    ):
        with socket.create_connection(address) as connection:
            connection.settimeout(5)
            try:
                connection.sendall(piece)
                connection.shutdown(socket.SHUT_WR)
                while connection.recv(4096):
                    pass
            except ConnectionError:
                pass
    assert not login.is_over and bench.provider.requests("token") == []
    assert walk(redirect).status == 200
    assert login.result()
    for connection in silent:
        connection.close()


def test_a_navigating_GET_with_a_wrong_state_ends_the_login_and_its_page_says_so(bench: Bench) -> None:
    client = bench.client()
    login, url = bench.begin_login(client)
    callback = bench.redirect_of(url).partition("?")[0]
    page = walk(callback + "?code=<script>alert(1)</script>&state=x&error_description=<b>echo</b>")
    assert "<script" not in page.text and "echo" not in page.text
    assert page.headers["Cache-Control"] == "no-store" and page.headers["Referrer-Policy"] == "no-referrer"
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert login.error().cause is ConfigurationCause.STATE_MISMATCH
    assert client.authorization_url is None


def test_the_port_of_the_redirect_uri_is_the_one_listened_on_and_bound_to_loopback_only(bench: Bench) -> None:
    client = bench.client(redirect_uri=CALLBACK)
    login, url = bench.begin_login(client)
    port = urlsplit(bench.redirect_of(url)).port
    assert port
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", port), timeout=1)
    client.cancel_login()
    assert login.error().cause is RecoverableCause.USER_CANCELLED

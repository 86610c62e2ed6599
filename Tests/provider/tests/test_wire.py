# SPDX-License-Identifier: Apache-2.0
"""Answers, cuts and the journal, seen from plain sockets."""

from __future__ import annotations

import gzip
import json
import math
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
import requests

from provider import Accept, Answer, CertificateAuthority, Cut, Gate, Provider

from .native_client import NativeClient

REQUEST = b"POST /token HTTP/1.1\r\nHost: x\r\nx-Odd:  1\r\nX-Twice: a\r\nX-Twice: b\r\nContent-Length: 3\r\n\r\na=1"


@contextmanager
def connection(provider: Provider) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", urlsplit(provider.origin).port or 0), timeout=10) as client:
        yield client


def read_all(client: socket.socket) -> bytes:
    parts = []
    while part := client.recv(65536):
        parts.append(part)
    return b"".join(parts)


def answer_to(provider: Provider, request: bytes = REQUEST) -> bytes:
    with connection(provider) as client:
        client.sendall(request)
        return read_all(client)


def test_the_journal_keeps_order_spelling_and_connections(provider: Provider) -> None:
    with connection(provider) as client:
        for _ in range(2):
            client.sendall(REQUEST)
            assert client.recv(65536).startswith(b"HTTP/1.1 401 ")
    with connection(provider) as client:
        client.sendall(REQUEST)
        client.recv(65536)
    seen = provider.requests("token")
    assert [(one.connection, one.place) for one in seen] == [(0, 0), (0, 1), (1, 0)]
    assert seen[0].headers == (
        ("Host", "x"),
        ("x-Odd", "1"),
        ("X-Twice", "a"),
        ("X-Twice", "b"),
        ("Content-Length", "3"),
    )
    assert (seen[0].method, seen[0].target, seen[0].body) == ("POST", "/token", b"a=1")
    assert [one.sequence for one in seen] == [0, 1, 2]


def test_answers_are_used_up_in_order(provider: Provider) -> None:
    provider.script("jwks", Answer(status=503, headers={"Retry-After": "2"}), Answer(status=429), times=2)
    got = [requests.get(provider.url("jwks"), timeout=10) for _ in range(5)]
    assert [one.status_code for one in got] == [503, 503, 429, 429, 200]
    assert [one.headers.get("Retry-After") for one in got] == ["2", "2", None, None, None]
    assert provider.unused_answers() == {}
    provider.script("jwks", Answer(status=500), times=None)
    assert {requests.get(provider.url("jwks"), timeout=10).status_code for _ in range(3)} == {500}
    provider.unscript("jwks")
    assert requests.get(provider.url("jwks"), timeout=10).status_code == 200
    with pytest.raises(ValueError, match="no endpoint"):
        provider.script("tokken", Answer(status=500))


def test_a_scripted_answer_leaves_the_token_unspent_unless_told(provider: Provider, client: NativeClient) -> None:
    token = client.sign_in()["refresh_token"]
    provider.script("token", Answer(status=503))
    assert client.refresh(token).status_code == 503
    provider.script("token", Answer(cut=Cut.AFTER_READING, process=False))
    with pytest.raises(requests.ConnectionError):
        client.refresh(token)
    provider.script("token", Answer(status=503, process=True))
    answer = client.refresh(token)
    assert answer.status_code == 503 and answer.content == b""
    assert client.refresh(token).json()["error"] == "invalid_grant"
    assert [one.kind for one in provider.reuses] == ["refresh_token"]
    assert [len(one.sequences) for one in provider.resent()] == [4]


def test_headers_can_be_repeated_replaced_and_removed(provider: Provider) -> None:
    provider.script("jwks", Answer(headers=[("Retry-After", "1"), ("Retry-After", "2")], remove_headers=["Date"]))
    with connection(provider) as client:
        client.sendall(b"GET /jwks HTTP/1.1\r\nHost: x\r\n\r\n")
        raw = client.recv(65536)
    head = raw.partition(b"\r\n\r\n")[0].decode().split("\r\n")
    assert "Retry-After: 1" in head and "Retry-After: 2" in head and not any(line.startswith("Date") for line in head)
    provider.script("jwks", Answer(headers={"content-type": "text/javascript"}))
    assert requests.get(provider.url("jwks"), timeout=10).headers["Content-Type"] == "text/javascript"


def test_bodies_raw_bytes_redirects_and_edits(provider: Provider) -> None:
    provider.script("token", Answer(raw=b"SSH-2.0-x\r\n"))
    assert answer_to(provider) == b"SSH-2.0-x\r\n"
    provider.script("jwks", Answer(body="<html>"), Answer(json={"a": None}), Answer(redirect="http://127.0.0.1:1/"))
    assert requests.get(provider.url("jwks"), timeout=10).text == "<html>"
    assert requests.get(provider.url("jwks"), timeout=10).json() == {"a": None}
    moved = requests.get(provider.url("jwks"), timeout=10, allow_redirects=False)
    assert (moved.status_code, moved.headers["Location"]) == (302, "http://127.0.0.1:1/")
    provider.script(
        "jwks", Answer(edit=lambda own: own.with_headers({"X-Keys": str(len(json.loads(own.body)["keys"]))}))
    )
    assert requests.get(provider.url("jwks"), timeout=10).headers["X-Keys"] == "1"


@pytest.mark.parametrize("cut", [Cut.BEFORE_READING, Cut.AFTER_READING])
def test_an_orderly_end_without_an_answer(provider: Provider, cut: Cut) -> None:
    provider.script("token", Answer(cut=cut))
    assert answer_to(provider) == b""
    assert [one.body for one in provider.requests("token")] == [b"" if cut is Cut.BEFORE_READING else b"a=1"]


def test_a_reset_without_an_answer(provider: Provider) -> None:
    provider.script("token", Answer(cut=Cut.RESET))
    with pytest.raises(ConnectionResetError):
        answer_to(provider)
    assert provider.requests("token")[0].body == b"a=1"


def test_a_half_close_goes_on_reading(provider: Provider) -> None:
    provider.script("token", Answer(cut=Cut.HALF_CLOSE))
    with connection(provider) as client:
        client.sendall(REQUEST)
        assert client.recv(1) == b""
        for _ in range(20):
            client.sendall(b"x" * 1000)


@pytest.mark.parametrize("cut", [Cut.HALF_BODY, Cut.HALF_BODY_RESET])
def test_half_a_body(provider: Provider, cut: Cut) -> None:
    provider.script("token", Answer(body=b"0123456789", cut=cut))
    with connection(provider) as client:
        client.sendall(REQUEST)
        got = b""
        try:
            while part := client.recv(65536):
                got += part
        except ConnectionResetError:
            assert cut is Cut.HALF_BODY_RESET
        else:
            assert cut is Cut.HALF_BODY
    assert cut is Cut.HALF_BODY_RESET or (b"Content-Length: 10\r\n" in got and got.endswith(b"\r\n\r\n01234"))


def test_faults_before_anything_is_read(provider: Provider) -> None:
    provider.script_connections(Accept.CLOSE)
    with connection(provider) as client:
        assert client.recv(1) == b""
    provider.script_connections(Accept.RESET)
    # The RST may already end the connecting.
    with pytest.raises(ConnectionResetError), connection(provider) as client:
        client.recv(1)
    provider.script_connections(Accept.STALL)
    with connection(provider) as client:
        client.settimeout(0.2)
        client.sendall(REQUEST)
        with pytest.raises(TimeoutError):
            client.recv(1)
    assert provider.requests() == []
    assert answer_to(provider, b"GET / HTTP/1.0\r\n\r\n").startswith(b"HTTP/1.1 404")


def test_a_stopped_provider_refuses_and_comes_back_on_its_port(provider: Provider, client: NativeClient) -> None:
    token = client.sign_in()["refresh_token"]
    issuer = provider.issuer
    provider.stop()
    with pytest.raises(requests.ConnectionError):
        requests.get(provider.url("jwks"), timeout=10)
    provider.start()
    assert provider.issuer == issuer and "access_token" in client.refresh(token).json()


def test_a_gate_holds_the_answer_until_it_is_opened(provider: Provider) -> None:
    gate = Gate()
    provider.script("token", Answer(gate=gate))
    got: list[bytes] = []
    with connection(provider) as client:
        client.sendall(REQUEST)
        gate.wait_arrived()
        waiting = threading.Thread(target=lambda: got.append(client.recv(65536)))
        waiting.start()
        assert provider.wait_for("token")[0].body == b"a=1" and got == []
        gate.open()
        waiting.join(10)
    assert got[0].startswith(b"HTTP/1.1 401")


def test_no_answer_ever_and_the_client_that_leaves(provider: Provider) -> None:
    provider.script("jwks", Answer(delay=math.inf))
    with pytest.raises(requests.Timeout):
        requests.get(provider.url("jwks"), timeout=0.2)
    assert requests.get(provider.url("jwks"), timeout=10).status_code == 200


def test_a_drip(provider: Provider) -> None:
    provider.script("token", Answer(body=b"0123456789", drip=0.01))
    began = time.monotonic()
    with connection(provider) as client:
        client.sendall(REQUEST)
        got = b""
        while not got.endswith(b"0123456789"):
            got += client.recv(65536)
    assert time.monotonic() - began >= 0.09


def test_a_gzip_bomb_is_still_the_same_json(provider: Provider) -> None:
    provider.script("jwks", Answer(gzip=True, pad=8 * 1024 * 1024))
    with connection(provider) as client:
        client.sendall(b"GET /jwks HTTP/1.1\r\nHost: x\r\n\r\n")
        head, _, body = read_all(client).partition(b"\r\n\r\n")
    assert b"Content-Encoding: gzip" in head and len(body) < 64 * 1024
    plain = gzip.decompress(body)
    assert len(plain) > 8 * 1024 * 1024 and "keys" in json.loads(plain)


def test_an_endless_body(provider: Provider) -> None:
    provider.script("jwks", Answer(endless=True))
    with connection(provider) as client:
        client.sendall(b"GET /jwks HTTP/1.1\r\nHost: x\r\n\r\n")
        seen = 0
        while seen < 4 * 1024 * 1024:
            seen += len(client.recv(65536))
    assert requests.get(provider.url("jwks"), timeout=10).status_code == 200


def test_two_requests_in_one_piece_are_answered_one_after_the_other(provider: Provider) -> None:
    with connection(provider) as client:
        client.sendall(REQUEST + REQUEST.replace(b"a=1", b"b=2"))
        provider.wait_for("token", 2)
    assert [(one.place, one.body) for one in provider.requests("token")] == [(0, b"a=1"), (1, b"b=2")]


def test_tls_with_an_authority_of_its_own() -> None:
    authority = CertificateAuthority()
    with Provider(tls=authority.context()) as provider:
        assert provider.issuer.startswith("https://127.0.0.1:")
        NativeClient(provider, ca_file=str(authority.ca_file)).sign_in()
        with pytest.raises(requests.exceptions.SSLError):
            requests.get(provider.url("jwks"), timeout=10)
    for wrong in (authority.context(expired=True), authority.context(host="other.example")):
        with Provider(tls=wrong) as provider, pytest.raises(requests.exceptions.SSLError):
            requests.get(provider.url("jwks"), timeout=10, verify=str(authority.ca_file))

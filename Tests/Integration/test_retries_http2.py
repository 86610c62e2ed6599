# SPDX-License-Identifier: Apache-2.0
"""Providers that speak HTTP/2: curl resends nothing, and one-time credentials keep out of it (case B30)."""

from __future__ import annotations

import functools
import ssl
from collections.abc import Callable, Sequence

import pytest
import requests
import versola
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import RequestReceived, StreamEnded
from h2.exceptions import ProtocolError
from versola import NetworkReason, RecoverableCause, RecoverableError

from cases import Bench, bench_fixture, refresh_tokens_sent  # noqa: F401
from provider import CertificateAuthority
from wire import Connection, Wire

ATTEMPTS = 2
POLICY = versola.RetryPolicy(
    max_attempts_per_origin=ATTEMPTS, max_total_attempts=ATTEMPTS, initial_backoff=0.01, max_backoff=0.01
)


@functools.cache
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@functools.cache
def both_protocols() -> ssl.SSLContext:
    context = authority().context()
    context.set_alpn_protocols(["h2", "http/1.1"])
    return context


class Stream:
    """One request of an HTTP/2 connection, and what becomes of it."""

    def __init__(self, connection: Connection, protocol: H2Connection, number: int, path: str, headers: dict[str, str]):
        self._connection, self._protocol, self._number = connection, protocol, number
        self.path, self.headers = path, headers

    def head(self, status: int, fields: Sequence[tuple[str, str]] = ()) -> None:
        self._protocol.send_headers(self._number, [(":status", str(status)), *fields])

    def body(self, data: bytes, *, whole: bool = True) -> None:
        self._protocol.send_data(self._number, data, end_stream=whole)

    def reset(self, code: ErrorCodes) -> None:
        self._protocol.reset_stream(self._number, code)

    def go_away(self, *, processed: bool) -> None:
        self._protocol.close_connection(last_stream_id=self._number if processed else 0)

    def end_connection(self, *, by_reset: bool = False) -> None:
        self._connection.send(self._protocol.data_to_send())
        if by_reset:
            self._connection.reset()
        else:
            self._connection.close()


class Server:
    """Speaks HTTP/2 to whoever offers it, else HTTP/1.1; keeps what came over each."""

    def __init__(self, serve: Callable[[Stream], None], serve_http1: Callable[[Connection, bytes], None]) -> None:
        self._serve, self._serve_http1 = serve, serve_http1
        self.streams: list[str] = []
        self.single_requests: list[Connection] = []
        """HTTP/1.1 connections."""

    def __call__(self, connection: Connection) -> None:
        connection.secure(both_protocols())
        if connection.protocol != "h2":
            self.single_requests.append(connection)
            while request := connection.read_request():
                self._serve_http1(connection, request)
            return
        protocol = H2Connection(H2Configuration(client_side=False, header_encoding="utf-8"))
        protocol.initiate_connection()
        connection.send(protocol.data_to_send())
        heads: dict[int, dict[str, str]] = {}
        while data := connection.read():
            try:
                events = protocol.receive_data(data)
            except ProtocolError:
                # h2 hears nothing any more after its GOAWAY.
                return connection.wait_for_end()
            for event in events:
                if isinstance(event, RequestReceived):
                    heads[event.stream_id] = dict(event.headers)
                elif isinstance(event, StreamEnded):
                    headers = heads.pop(event.stream_id)
                    self.streams.append(headers[":path"])
                    self._serve(Stream(connection, protocol, event.stream_id, headers[":path"], headers))
            connection.send(protocol.data_to_send())


def closes_at_once(connection: Connection, _: bytes) -> None:
    connection.close()


# --- Where a stream can die -------------------------------------------------------------------------------------------


def refused(stream: Stream) -> None:
    """RFC 9113 §8.7: "can be retried". Curl would, and on a fresh connection, too."""
    stream.reset(ErrorCodes.REFUSED_STREAM)


def not_processed(stream: Stream) -> None:
    """RFC 9113 §6.8: the same, said of the whole connection."""
    stream.go_away(processed=False)


def not_processed_and_closed(stream: Stream) -> None:
    stream.go_away(processed=False)
    stream.end_connection()


def processed_and_closed(stream: Stream) -> None:
    stream.go_away(processed=True)
    stream.end_connection()


def closed(stream: Stream) -> None:
    stream.end_connection()


def reset(stream: Stream) -> None:
    stream.end_connection(by_reset=True)


def failed(stream: Stream) -> None:
    stream.reset(ErrorCodes.INTERNAL_ERROR)


def half_a_body_then_failed(stream: Stream) -> None:
    stream.head(200, [("content-length", "100")])
    stream.body(b"{", whole=False)
    stream.reset(ErrorCodes.INTERNAL_ERROR)


def half_a_body_then_closed(stream: Stream) -> None:
    stream.head(200, [("content-length", "100")])
    stream.body(b"{", whole=False)
    stream.end_connection()


@pytest.mark.parametrize(
    "dies",
    [
        refused,
        not_processed,
        not_processed_and_closed,
        processed_and_closed,
        closed,
        reset,
        failed,
        half_a_body_then_failed,
        half_a_body_then_closed,
    ],
    ids=lambda dies: dies.__name__,
)
def test_b30_a_stream_that_dies_is_one_failed_request(bench: Bench, dies: Callable[[Stream], None]) -> None:
    server = Server(dies, closes_at_once)
    with Wire(server) as wire:
        bench.provider.metadata["userinfo_endpoint"] = f"https://127.0.0.1:{wire.port}/userinfo"
        client = bench.signed_in(retry_policy=POLICY, ca_file=authority().ca_file)
        with bench.refused(RecoverableCause.NETWORK) as caught:
            client.user_info()
        assert isinstance(caught.value, RecoverableError)
        assert caught.value.reason is NetworkReason.RESET, caught.value.detail
        assert server.streams == ["/userinfo"] * ATTEMPTS
        assert server.single_requests == []
        assert client.refresh().value


@pytest.mark.parametrize("dies", [refused, not_processed, closed], ids=lambda dies: dies.__name__)
def test_b30_one_stream_that_dies_costs_an_attempt_and_no_more(bench: Bench, dies: Callable[[Stream], None]) -> None:
    """Also when it is the second on a connection that was kept."""

    def every_second(stream: Stream) -> None:
        if len(server.streams) % 2 == 0:
            return dies(stream)
        stream.head(200, [("content-type", "application/json")])
        stream.body(b'{"sub":"%s"}' % bench.provider.subject.encode())

    server = Server(every_second, closes_at_once)
    with Wire(server) as wire:
        bench.provider.metadata["userinfo_endpoint"] = f"https://127.0.0.1:{wire.port}/userinfo"
        client = bench.signed_in(retry_policy=POLICY, ca_file=authority().ca_file)
        for sent in (1, 3, 5):
            assert client.user_info()["sub"] == bench.provider.subject
            assert len(server.streams) == sent


def test_retry_after_is_read_over_http2(bench: Bench) -> None:
    def slow_down(stream: Stream) -> None:
        stream.head(429, [("retry-after", "60")])
        stream.body(b"slow down")

    server = Server(slow_down, closes_at_once)
    with Wire(server) as wire:
        bench.provider.metadata["userinfo_endpoint"] = f"https://127.0.0.1:{wire.port}/userinfo"
        client = bench.signed_in(retry_policy=POLICY, ca_file=authority().ca_file)
        for attempts in (1, 0):
            with bench.refused(RecoverableCause.SERVER) as caught:
                client.user_info()
            assert isinstance(caught.value, RecoverableError) and caught.value.retry_after is not None
            assert (caught.value.status, caught.value.attempts) == (429, attempts)
            assert 0 < caught.value.retry_after.total_seconds() <= 60
        assert server.streams == ["/userinfo"]


# --- One-time credentials ---------------------------------------------------------------------------------------------


def test_b30_exchange_and_refresh_take_a_fresh_http1_connection_each(bench: Bench) -> None:
    """Beside a kept HTTP/2 connection to the same origin, which the rest goes over."""

    def pass_on(method: str, path: str, headers: dict[str, str], body: bytes) -> requests.Response:
        passed = {name: headers[name] for name in ("authorization", "content-type") if name in headers}
        return requests.request(method, bench.provider.base + path, headers=passed, data=body, timeout=30)

    def stream_by_stream(stream: Stream) -> None:
        answer = pass_on("GET", stream.path, stream.headers, b"")
        stream.head(answer.status_code, [("content-type", answer.headers["Content-Type"])])
        stream.body(answer.content)

    def one_by_one(connection: Connection, request: bytes) -> None:
        head, _, body = request.partition(b"\r\n\r\n")
        first, *fields = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.lower(): value for name, _, value in (field.partition(": ") for field in fields)}
        answer = pass_on(method, path, headers, body)
        connection.send(
            f"HTTP/1.1 {answer.status_code} Passed on\r\nContent-Type: application/json\r\n"
            f"Content-Length: {len(answer.content)}\r\n\r\n".encode()
            + answer.content
        )

    server = Server(stream_by_stream, one_by_one)
    with Wire(server) as wire:
        own = bench.provider.published_metadata()
        for endpoint in ("token_endpoint", "jwks_uri", "userinfo_endpoint"):
            path = own[endpoint].removeprefix(bench.provider.base)
            bench.provider.metadata[endpoint] = f"https://127.0.0.1:{wire.port}{path}"
        client = bench.signed_in(ca_file=authority().ca_file)
        client.user_info()
        assert client.refresh().value
        client.login()
        client.user_info()
        assert client.refresh().value

        assert bench.grant_types() == ["authorization_code", "refresh_token"] * 2
        assert len(refresh_tokens_sent(bench)) == 2
        assert [len(connection.requests) for connection in server.single_requests] == [1, 1, 1, 1]
        assert all(connection.protocol == "http/1.1" for connection in server.single_requests)
        # Everything else shared one.
        assert [path.rpartition("/")[2] for path in server.streams] == ["jwks", "userinfo", "userinfo"]
        assert len(wire.connections) == 5

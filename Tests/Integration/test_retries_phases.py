# SPDX-License-Identifier: Apache-2.0
"""Where a request can die, from the name look-up to the last byte of its answer, and what was sent again (case B30).

A refresh goes out again only when surely not a byte of it was written; UserInfo, which only reads, after every failure.
"""

from __future__ import annotations

import functools
import os
import shutil
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import versola
from versola import NetworkReason, OAuthClient, RecoverableCause, RecoverableError, SessionState

from cases import PATIENCE, Bench, bench_fixture, io_thread, refresh_tokens_sent, strace  # noqa: F401
from conftest import unavailable
from provider import Answer, CertificateAuthority, walk
from wire import Act, Connection, Wire

ATTEMPTS = 2
POLICY = versola.RetryPolicy(
    max_attempts_per_origin=ATTEMPTS, max_total_attempts=ATTEMPTS, initial_backoff=0.01, max_backoff=0.01
)
HASTE = 0.4
"""Request timeout where nothing gets as far as the request."""
LESS_HASTE = 0.8
"""And where it must, also on a machine that has other things to do."""
NAME = "op.example"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
TUNNEL = b"HTTP/1.1 200 Connection established\r\n\r\n"


@functools.cache
def authority() -> CertificateAuthority:
    return CertificateAuthority()


@functools.cache
def trusted(host: str) -> ssl.SSLContext:
    return authority().context(host=host)


# --- What a peer does -------------------------------------------------------------------------------------------------


def closes(_: Connection) -> None:
    """An act that ends leaves the closing to the wire: FIN."""


def resets(connection: Connection) -> None:
    connection.reset()


def stalls(connection: Connection) -> None:
    connection.wait_for_end()


def after_bytes(then: Act) -> Act:
    """Without reading them."""

    def act(connection: Connection) -> None:
        connection.wait_for_bytes()
        then(connection)

    return act


def after_part(then: Act) -> Act:
    def act(connection: Connection) -> None:
        connection.read(1000)
        then(connection)

    return act


def after_request(then: Act) -> Act:
    def act(connection: Connection) -> None:
        if connection.read_request():
            then(connection)

    return act


def says(answer: bytes, then: Act = closes) -> Act:
    def act(connection: Connection) -> None:
        connection.send(answer)
        then(connection)

    return act


def secure(context: Callable[[], ssl.SSLContext], then: Act) -> Act:
    def act(connection: Connection) -> None:
        connection.secure(context())
        then(connection)

    return act


def tunnel(answer: bytes, then: Act = closes) -> Act:
    """What an HTTP proxy makes of CONNECT."""
    return after_request(says(answer, then))


def socks(reply: int | None, then: Act = closes) -> Act:
    """RFC 1928: no authentication, then this reply; None ends it in place of one."""

    def act(connection: Connection) -> None:
        connection.read()
        connection.send(b"\x05\x00")
        connection.read()
        if reply is not None:
            connection.send(bytes([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]))
            then(connection)

    return act


# --- The table --------------------------------------------------------------------------------------------------------

HTTP = "http://127.0.0.1:{port}/endpoint"
HTTPS = "https://127.0.0.1:{port}/endpoint"
BEHIND_PROXY = f"https://{NAME}/endpoint"
PROXY = "http://127.0.0.1:{port}"
SOCKS = "socks5h://127.0.0.1:{port}"


@dataclass(frozen=True)
class Phase:
    name: str
    act: Act
    reason: NetworkReason
    sent: bool
    """Whether a byte of the request may have been written."""
    url: str = HTTP
    proxy: str | None = None
    reads: bool = False
    """Whether the server got the whole of it."""
    timeout: float | None = None
    long: bool = False
    """Tokens that do not fit into the buffers on the way."""

    def __str__(self) -> str:
        return self.name


def never_sent(name: str, act: Act, reason: NetworkReason, url: str, proxy: str | None = None) -> Phase:
    timeout = HASTE if reason is NetworkReason.TIMEOUT else None
    return Phase(name, act, reason, sent=False, url=url, proxy=proxy, timeout=timeout)


def unread(name: str, act: Act, *, long: bool = False) -> Phase:
    return Phase(name, act, NetworkReason.RESET, sent=True, long=long)


def read(
    name: str, then: Act, reason: NetworkReason = NetworkReason.RESET, url: str = HTTP, proxy: str | None = None
) -> Phase:
    """The request is read, and then it happens."""
    act = after_request(then)
    if url != HTTP:
        act = secure(lambda: trusted(NAME if proxy else "127.0.0.1"), act)
    if proxy is not None:
        act = tunnel(TUNNEL, act) if proxy == PROXY else socks(0, act)
    timeout = LESS_HASTE if reason is NetworkReason.TIMEOUT else None
    return Phase(name, act, reason, sent=True, reads=True, url=url, proxy=proxy, timeout=timeout)


PHASES = [
    # The handshake.
    never_sent("tls-untrusted", secure(lambda: CertificateAuthority().context(), stalls), NetworkReason.TLS, HTTPS),
    never_sent("tls-expired", secure(lambda: authority().context(expired=True), stalls), NetworkReason.TLS, HTTPS),
    never_sent("tls-another-host", secure(lambda: trusted(NAME), stalls), NetworkReason.TLS, HTTPS),
    never_sent("tls-closed", after_part(closes), NetworkReason.TLS, HTTPS),
    never_sent("tls-reset", after_part(resets), NetworkReason.TLS, HTTPS),
    never_sent("tls-not-spoken", after_part(says(b"HTTP/1.1 400 Bad Request\r\n\r\n")), NetworkReason.TLS, HTTPS),
    never_sent("tls-stalled", stalls, NetworkReason.TIMEOUT, HTTPS),
    # The request.
    unread("reset-before-reading", after_bytes(resets)),
    unread("reset-inside-the-request", after_part(resets), long=True),
    unread("closed-inside-the-request", after_part(closes), long=True),
    # Its answer.
    read("reset-after-reading", resets),
    read("closed-after-reading", closes),
    read("reset-after-reading-tls", resets, url=HTTPS),
    read("closed-after-reading-tls", closes, url=HTTPS),
    read("half-a-head", says(HEAD[:40])),
    read("head-without-body", says(HEAD)),
    read("half-a-body", says(HEAD + b'{"access_token":"a","token_type":"Bearer",')),
    read("no-http", says(b"SSH-2.0-OpenSSH_9.2\r\n")),
    read("no-answer", stalls, NetworkReason.TIMEOUT),
    read("half-an-answer-and-no-more", says(HEAD, stalls), NetworkReason.TIMEOUT),
    # An HTTP proxy.
    *(
        never_sent(
            f"proxy-{status}",
            tunnel(b"HTTP/1.1 %d No\r\nRetry-After: 60\r\nContent-Length: 0\r\n\r\n" % status),
            NetworkReason.PROXY,
            BEHIND_PROXY,
            PROXY,
        )
        for status in (403, 407, 502, 503)
    ),
    never_sent("proxy-closed", after_request(closes), NetworkReason.PROXY, BEHIND_PROXY, PROXY),
    never_sent("proxy-reset", after_request(resets), NetworkReason.PROXY, BEHIND_PROXY, PROXY),
    never_sent("proxy-no-http", tunnel(b"SSH-2.0-OpenSSH_9.2\r\n"), NetworkReason.PROXY, BEHIND_PROXY, PROXY),
    never_sent("proxy-stalled", after_request(stalls), NetworkReason.TIMEOUT, BEHIND_PROXY, PROXY),
    never_sent("tunnel-closed", tunnel(TUNNEL, after_part(closes)), NetworkReason.TLS, BEHIND_PROXY, PROXY),
    never_sent("tunnel-reset", tunnel(TUNNEL, after_part(resets)), NetworkReason.TLS, BEHIND_PROXY, PROXY),
    read("tunnel-reset-after-reading", resets, url=BEHIND_PROXY, proxy=PROXY),
    # A SOCKS proxy.
    never_sent("socks-no-method", after_part(says(b"\x05\xff")), NetworkReason.PROXY, BEHIND_PROXY, SOCKS),
    never_sent("socks-closed", socks(None), NetworkReason.PROXY, BEHIND_PROXY, SOCKS),
    never_sent("socks-host-unreachable", socks(4), NetworkReason.PROXY, BEHIND_PROXY, SOCKS),
    never_sent("socks-refused", socks(5), NetworkReason.PROXY, BEHIND_PROXY, SOCKS),
    never_sent("socks-stalled", stalls, NetworkReason.TIMEOUT, BEHIND_PROXY, SOCKS),
    never_sent("socks-tunnel-closed", socks(0, after_part(closes)), NetworkReason.TLS, BEHIND_PROXY, SOCKS),
    read("socks-tunnel-reset-after-reading", resets, url=BEHIND_PROXY, proxy=SOCKS),
]


# --- What is common to all rows ---------------------------------------------------------------------------------------


class Subject:
    """A signed-in client whose token and UserInfo endpoints can be moved to where a request dies."""

    def __init__(self, bench: Bench, *, proxy: str | None = None, timeout: float | None = None) -> None:
        self._bench = bench
        # Asked for before each request: that is how endpoints move.
        bench.provider.script("discovery", Answer(headers={"Cache-Control": "no-store"}), times=None)
        self.client: OAuthClient = bench.signed_in(
            retry_policy=POLICY, ca_file=authority().ca_file, proxy=proxy, request_timeout=timeout
        )
        self.access_token = self.client.access_token().value
        [self.refresh_token] = bench.provider.grants.refresh_tokens()
        self.form = f"grant_type=refresh_token&refresh_token={self.refresh_token}&client_id=native-app".encode()

    def refresh(self, url: str, reason: NetworkReason) -> None:
        self._fails("token_endpoint", url, reason, self.client.refresh)

    def user_info(self, url: str, reason: NetworkReason) -> None:
        self._fails("userinfo_endpoint", url, reason, self.client.user_info)

    def _fails(self, endpoint: str, url: str, reason: NetworkReason, call: Callable[[], object]) -> None:
        self._bench.provider.metadata[endpoint] = url
        with self._bench.refused(RecoverableCause.NETWORK) as caught:
            call()
        assert isinstance(caught.value, RecoverableError)
        assert caught.value.reason is reason, caught.value.detail
        # Only a Server error has these.
        assert (caught.value.status, caught.value.attempts, caught.value.retry_after) == (None, None, None)

    def has_lost_nothing(self) -> None:
        """State, access token and stored refresh token are what they were; the next refresh by anybody succeeds."""
        assert self.client.state is SessionState.AUTHENTICATED
        assert self.client.access_token().value == self.access_token
        self.client.close()
        self._bench.provider.metadata.clear()
        with self._bench.client() as next_one:
            assert next_one.state is SessionState.AUTHENTICATED
            assert next_one.refresh().value
            assert next_one.user_info()["sub"] == self._bench.provider.subject
        assert refresh_tokens_sent(self._bench) == [self.refresh_token]
        assert self._bench.provider.reuses == []


def requests(wire: Wire) -> list[bytes]:
    return [request for request in wire.requests if not request.startswith(b"CONNECT ")]


def seen(wire: Wire, connections: int, whole_requests: int) -> None:
    """The last bytes may still be on their way to the server when the client has given up."""
    assert wire.wait_for(lambda: len(wire.connections) == connections and len(requests(wire)) == whole_requests), (
        f"{len(wire.connections)} connections, {len(requests(wire))} requests"
    )


@pytest.mark.parametrize("phase", PHASES, ids=str)
def test_b30_a_refresh_goes_out_again_only_when_no_byte_of_it_was_written(bench: Bench, phase: Phase) -> None:
    if phase.long:
        bench.provider.grants.token_bytes = 200_000
    with Wire(phase.act, receive_buffer=2048 if phase.long else None) as wire:
        url = phase.url.format(port=wire.port)
        subject = Subject(bench, proxy=phase.proxy and phase.proxy.format(port=wire.port), timeout=phase.timeout)
        bench.provider.grants.token_bytes = 24

        subject.refresh(url, phase.reason)
        sendings = 1 if phase.sent else ATTEMPTS
        seen(wire, sendings, sendings * phase.reads)
        if phase.sent:
            # The next call sends the same token.
            subject.refresh(url, phase.reason)
            sendings = 2
            seen(wire, sendings, sendings * phase.reads)
        refreshes = requests(wire)
        assert all(request.endswith(b"\r\n\r\n" + subject.form) for request in refreshes)
        assert wire.received.count(subject.refresh_token.encode()) == len(refreshes)

        # UserInfo after every failure.
        subject.user_info(url, phase.reason)
        seen(wire, sendings + ATTEMPTS, (sendings + ATTEMPTS) * phase.reads)
        assert all(request.startswith(b"GET /endpoint HTTP/1.1\r\n") for request in requests(wire)[len(refreshes) :])
        subject.has_lost_nothing()


@pytest.mark.parametrize(
    "phase", [phase for phase in PHASES if phase.name in ("tls-closed", "proxy-503", "reset-after-reading")], ids=str
)
def test_b30_a_code_goes_out_once_also_when_no_byte_of_it_was_written(bench: Bench, phase: Phase) -> None:
    with Wire(phase.act) as wire:
        bench.provider.metadata["token_endpoint"] = phase.url.format(port=wire.port)
        proxy = phase.proxy and phase.proxy.format(port=wire.port)
        client = bench.client(retry_policy=POLICY, ca_file=authority().ca_file, proxy=proxy)
        login, url = bench.begin_login(client)
        walk(bench.redirect_of(url))
        error = login.error()
        assert isinstance(error, RecoverableError)
        assert (error.cause, error.reason) == (RecoverableCause.NETWORK, phase.reason)
        seen(wire, 1, int(phase.sent))
    assert client.state is SessionState.UNAUTHENTICATED


@pytest.mark.parametrize("then", [closes, resets, stalls], ids=lambda then: then.__name__)
def test_b28_retry_after_counts_when_its_body_is_cut_off(bench: Bench, then: Act) -> None:
    head = b"HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 100\r\n\r\n"
    with Wire(after_request(says(head + b"cut", then))) as wire:
        subject = Subject(bench, timeout=LESS_HASTE if then is stalls else None)
        bench.provider.metadata["token_endpoint"] = HTTP.format(port=wire.port)
        for attempts in (1, 0):
            with bench.refused(RecoverableCause.SERVER) as caught:
                subject.client.refresh()
            assert isinstance(caught.value, RecoverableError)
            assert (caught.value.status, caught.value.attempts) == (503, attempts)
            assert caught.value.retry_after is not None and caught.value.retry_after.total_seconds() > 3500
        seen(wire, 1, 1)
    subject.has_lost_nothing()


# --- Where nobody is that could count ---------------------------------------------------------------------------------


@contextmanager
def traced(log: Path, *expressions: str) -> Iterator[None]:
    """What the library asks of the kernel meanwhile, as strace writes it; whole when this ends."""
    with strace("-f", "-p", io_thread(os.getpid()), "-o", str(log), *expressions):
        yield


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Bound, so that nobody else gets it, and not listening."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound.getsockname()[1]


@dataclass(frozen=True)
class Absence:
    name: str
    url: str
    reason: NetworkReason
    trace: tuple[str, ...]
    attempt: str
    """What one attempt leaves in the trace."""
    proxy: str | None = None
    timeout: float | None = None

    def __str__(self) -> str:
        return self.name


CONNECTS = ("-e", "trace=connect")
# Every look-up reads this file once, in a thread of its own.
LOOKS_UP = ("-P", "/etc/hosts", "-e", "trace=openat")
SLOWLY = (*LOOKS_UP, "-e", "inject=openat:delay_enter=3000000")

ABSENCES = [
    Absence("refused", HTTP, NetworkReason.CONNECT, CONNECTS, "htons({port})"),
    Absence("refused-tls", HTTPS, NetworkReason.CONNECT, CONNECTS, "htons({port})"),
    Absence("refused-ipv6", "https://[::1]:{port}/endpoint", NetworkReason.CONNECT, CONNECTS, "htons({port})"),
    Absence("no-such-name", "https://versola.invalid/endpoint", NetworkReason.DNS, LOOKS_UP, "/etc/hosts"),
    Absence("slow-dns", BEHIND_PROXY, NetworkReason.TIMEOUT, SLOWLY, "/etc/hosts", timeout=HASTE),
    Absence("no-proxy-there", BEHIND_PROXY, NetworkReason.PROXY, CONNECTS, "htons({port})", proxy=PROXY),
    Absence("no-socks-proxy-there", BEHIND_PROXY, NetworkReason.PROXY, CONNECTS, "htons({port})", proxy=SOCKS),
    Absence(
        "no-such-proxy", BEHIND_PROXY, NetworkReason.PROXY, LOOKS_UP, "/etc/hosts", proxy="http://proxy.invalid:3128"
    ),
]


@pytest.mark.parametrize("absence", ABSENCES, ids=str)
def test_b30_whoever_is_not_there_is_asked_again(
    bench: Bench, closed_port: int, tmp_path: Path, absence: Absence
) -> None:
    if shutil.which("strace") is None:
        unavailable("strace is not installed")
    proxy = absence.proxy and absence.proxy.format(port=closed_port)
    subject = Subject(bench, proxy=proxy, timeout=absence.timeout)
    for call in (subject.refresh, subject.user_info):
        with traced(tmp_path / "trace", *absence.trace):
            call(absence.url.format(port=closed_port), absence.reason)
        assert (tmp_path / "trace").read_text().count(absence.attempt.format(port=closed_port)) == ATTEMPTS
    subject.has_lost_nothing()

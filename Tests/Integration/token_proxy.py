# SPDX-License-Identifier: Apache-2.0
"""Stands before endpoints of a provider and writes down what passes: which process sent which credential."""

from __future__ import annotations

import contextlib
import http.client
import sys
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, urlsplit

# Of the connection (RFC 9110 §7.6.1), and what would make an answer unreadable on its way.
_NOT_PASSED_ON = {"host", "connection", "content-length", "transfer-encoding", "keep-alive", "accept-encoding"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        # Whoever was killed resets its connection.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Passing:
    """A request on its way to the provider."""

    member: str
    """The member of the metadata that names the endpoint."""
    sender: str
    method: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Passed:
    """What is answered to it."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str | None:
        return next((value for one, value in self.headers if one.lower() == name.lower()), None)


@dataclass
class Sending:
    sender: str
    form: dict[str, str]
    status: int | None = None
    """What the provider answered; None while it has not."""

    @property
    def grant_type(self) -> str:
        return self.form["grant_type"]


class TokenProxy:
    """Use as a context. Every sender has URLs of its own, so that a request tells whose it is."""

    stands_before: tuple[str, ...] = ("token_endpoint",)
    """Members of the metadata; whatever else there is, the app reaches at the provider."""

    def __init__(self, metadata: dict[str, Any], *, iss_in_redirect: bool) -> None:
        self._metadata = metadata
        self._iss_in_redirect = iss_in_redirect
        self._lock = threading.Lock()
        self._sent: list[Sending] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                proxy._pass_on(self)

            def do_POST(self) -> None:
                proxy._pass_on(self)

            def log_message(self, *_: object) -> None:
                pass

        self._server = _Server(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self) -> TokenProxy:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, member: str, sender: str = "app") -> str:
        return f"http://127.0.0.1:{self._server.server_port}/{member}/{sender}"

    def endpoints(self, sender: str = "app") -> dict[str, Any]:
        """The members of ProviderEndpoints: the provider's own but for those that this stands before."""

        def endpoint(member: str) -> str | None:
            return self.url(member, sender) if member in self.stands_before else self._metadata.get(member)

        return {
            "issuer": self._metadata["issuer"],
            "authorization_endpoint": endpoint("authorization_endpoint"),
            "token_endpoint": endpoint("token_endpoint"),
            "jwks_uri": endpoint("jwks_uri"),
            "iss_in_redirect": self._iss_in_redirect,
            "revocation_endpoint": endpoint("revocation_endpoint"),
            "user_info_endpoint": endpoint("userinfo_endpoint"),
            "end_session_endpoint": endpoint("end_session_endpoint"),
        }

    def sent(self, grant_type: str | None = None) -> list[Sending]:
        with self._lock:
            return [one for one in self._sent if grant_type in (None, one.grant_type)]

    def sendings_of_each_refresh_token(self) -> list[list[Sending]]:
        by_token: dict[str, list[Sending]] = {}
        for one in self.sent("refresh_token"):
            by_token.setdefault(one.form["refresh_token"], []).append(one)
        return list(by_token.values())

    def answer(self, passing: Passing) -> Passed:
        """What is told to the sender: what the provider says."""
        target = urlsplit(self._metadata[passing.member])
        with contextlib.closing(http.client.HTTPConnection(target.netloc, timeout=30)) as connection:
            connection.request(passing.method, target.path, passing.body or None, passing.headers)
            answer = connection.getresponse()
            headers = [(name, value) for name, value in answer.getheaders() if name.lower() not in _NOT_PASSED_ON]
            return Passed(answer.status, headers, answer.read())

    def _pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        member, sender, *_ = handler.path.strip("/").split("/")
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in _NOT_PASSED_ON}
        body = handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
        passing = Passing(member, sender, handler.command, headers, body)
        if member == "token_endpoint":
            sending = Sending(sender, dict(parse_qsl(body.decode())))
            with self._lock:
                self._sent.append(sending)
            passed = self.answer(passing)
            sending.status = passed.status
        else:
            passed = self.answer(passing)
        # Whoever was killed meanwhile reads nothing any more.
        with contextlib.suppress(ConnectionError):
            handler.send_response_only(passed.status)
            for name, value in passed.headers:
                handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(passed.body)))
            handler.end_headers()
            handler.wfile.write(passed.body)

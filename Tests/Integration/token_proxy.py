# SPDX-License-Identifier: Apache-2.0
"""Stands before a provider's token endpoint and writes down what passes: which process sent which credential."""

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

_NOT_PASSED_ON = {"host", "connection", "content-length", "transfer-encoding", "keep-alive"}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        # Whoever was killed resets its connection.
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


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
    """Use as a context. Every sender has a URL of its own, so that a request tells whose it is."""

    def __init__(self, metadata: dict[str, Any], *, iss_in_redirect: bool) -> None:
        self._metadata = metadata
        self._iss_in_redirect = iss_in_redirect
        self._target = urlsplit(metadata["token_endpoint"])
        self._lock = threading.Lock()
        self._sent: list[Sending] = []
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

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

    def endpoints(self, sender: str = "app") -> dict[str, Any]:
        """The members of ProviderEndpoints: the provider's own but for the token endpoint."""
        optional = {
            "revocation_endpoint": self._metadata.get("revocation_endpoint"),
            "user_info_endpoint": self._metadata.get("userinfo_endpoint"),
            "end_session_endpoint": self._metadata.get("end_session_endpoint"),
        }
        return {
            "issuer": self._metadata["issuer"],
            "authorization_endpoint": self._metadata["authorization_endpoint"],
            "token_endpoint": f"http://127.0.0.1:{self._server.server_port}/{sender}",
            "jwks_uri": self._metadata["jwks_uri"],
            "iss_in_redirect": self._iss_in_redirect,
            **optional,
        }

    def sent(self, grant_type: str | None = None) -> list[Sending]:
        with self._lock:
            return [one for one in self._sent if grant_type in (None, one.grant_type)]

    def sendings_of_each_refresh_token(self) -> list[list[Sending]]:
        by_token: dict[str, list[Sending]] = {}
        for one in self.sent("refresh_token"):
            by_token.setdefault(one.form["refresh_token"], []).append(one)
        return list(by_token.values())

    def _pass_on(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        sending = Sending(handler.path.strip("/"), dict(parse_qsl(body.decode())))
        with self._lock:
            self._sent.append(sending)
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in _NOT_PASSED_ON}
        with contextlib.closing(http.client.HTTPConnection(self._target.netloc, timeout=30)) as connection:
            connection.request("POST", self._target.path, body, headers)
            answer = connection.getresponse()
            said = answer.read()
        sending.status = answer.status
        # Whoever was killed meanwhile reads nothing any more.
        with contextlib.suppress(ConnectionError):
            handler.send_response_only(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _NOT_PASSED_ON:
                    handler.send_header(name, value)
            handler.send_header("Content-Length", str(len(said)))
            handler.end_headers()
            handler.wfile.write(said)

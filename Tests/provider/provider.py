# SPDX-License-Identifier: Apache-2.0
"""The scripted OpenID Provider: the front door."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from .answer import Answer, Response
from .endpoints import ENDPOINTS
from .exchange import Endpoint, Exchange, OAuthProblem
from .grants import GrantStore, Reuse
from .id_token import IDTokenShape
from .journal import Journal, Request, Resent
from .keys import SigningKeys
from .overrides import Overrides
from .redirect import RedirectShape
from .script import Accept, Script
from .server import Handler, Incoming, Server


@dataclass(frozen=True)
class Client:
    """A registered public client."""

    client_id: str
    redirect_uris: tuple[str, ...]
    post_logout_redirect_uris: tuple[str, ...]


LOOPBACK_CALLBACKS = (
    "http://127.0.0.1/callback",
    "http://[::1]/callback",
    "http://localhost/callback",
    "com.example.app:/callback",
    "https://app.example.test/callback",
)


class Provider:
    """Correct and complete until told otherwise.

        with Provider() as provider:
            provider.script("token", Answer(status=503, headers={"Retry-After": "2"}))
            ...
            assert len(provider.requests("token")) == 2

    What is set on it holds for the requests that come afterwards. A test takes one of its own: making it costs
    milliseconds, since RSA keys are shared within the process.
    """

    signing_algorithms = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")

    def __init__(
        self,
        *,
        port: int = 0,
        path: str = "",
        trailing_slash: bool = False,
        tls: ssl.SSLContext | None = None,
        host: str = "127.0.0.1",
    ) -> None:
        self._path = path
        self._trailing_slash = trailing_slash
        self._server = Server(_Endpoints(self), host=host, port=port)
        self._server.tls = tls
        self._host = host
        self._script = Script()
        self.journal = Journal()
        self.reset()

    def reset(self) -> None:
        """Everything as it was when the provider was made; sockets stay as they are."""
        self._script.clear()
        self.journal.clear()
        self.clients = {"native-app": Client("native-app", LOOPBACK_CALLBACKS, LOOPBACK_CALLBACKS)}
        self.subject = "alice"
        self.grants = GrantStore()
        self.keys = SigningKeys()
        self.access_token_lifetime: float = 300.0
        self.refresh_tokens = True
        self.metadata = Overrides()
        self.id_token = IDTokenShape()
        self.token_response = Overrides()
        self.userinfo = Overrides()
        self.redirect = RedirectShape()
        self.logout_redirect = RedirectShape()

    # Life

    def start(self) -> Provider:
        self._server.start()
        return self

    def stop(self) -> None:
        """Connections are refused until `start`, which takes the same port again. Memory and script are kept."""
        self._server.stop()

    def close(self) -> None:
        """Raises RuntimeError if a handler failed by a mistake of its own: no test may take that for the network."""
        self._server.close()
        if self._server.defects:
            raise RuntimeError("the provider itself failed") from self._server.defects[0]

    def __enter__(self) -> Provider:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Addresses

    @property
    def origin(self) -> str:
        scheme = "http" if self._server.tls is None else "https"
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{scheme}://{host}:{self._server.port}"

    @property
    def base(self) -> str:
        """The issuer without its final slash: what the paths of the endpoints are appended to."""
        return self.origin + self._path

    @property
    def issuer(self) -> str:
        """What an app configures."""
        return self.base + ("/" if self._trailing_slash else "")

    @property
    def published_issuer(self) -> str:
        """What the metadata, ID tokens and redirects say: the issuer, unless `metadata["issuer"]` says otherwise."""
        return str(self.metadata.apply({"issuer": self.issuer}).get("issuer", self.issuer))

    def url(self, endpoint: str) -> str:
        return self.base + next(one.path for one in ENDPOINTS if one.name == endpoint)

    def published_metadata(self) -> dict[str, Any]:
        members: dict[str, Any] = {"issuer": self.issuer}
        members |= {one.metadata: self.base + one.path for one in ENDPOINTS if one.metadata}
        members |= {
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": list(self.signing_algorithms),
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "token_endpoint_auth_methods_supported": ["none"],
            "revocation_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }
        return self.metadata.apply(members)

    # Script

    def script(self, endpoint: str, *answers: Answer, times: int | None = 1) -> None:
        """Queues answers, each given `times` times (None: always). Raises ValueError for an unknown endpoint."""
        if endpoint not in {one.name for one in ENDPOINTS}:
            raise ValueError(f"no endpoint {endpoint!r}")
        self._script.add(endpoint, answers, times)

    def script_connections(self, fault: Accept, times: int = 1) -> None:
        """The next connections, whatever they would have asked for, meet this fault before a byte is read."""
        self._script.add_connection(fault, times)

    def unscript(self, endpoint: str | None = None) -> None:
        self._script.clear(endpoint)

    def unused_answers(self) -> dict[str, int]:
        return self._script.unused()

    # What happened

    def requests(self, endpoint: str | None = None) -> list[Request]:
        return self.journal.requests(endpoint)

    def wait_for(self, endpoint: str, count: int = 1, timeout: float = 10.0) -> list[Request]:
        return self.journal.wait_for(endpoint, count, timeout)

    @property
    def reuses(self) -> list[Reuse]:
        """Spent credentials that were presented again."""
        return list(self.grants.reuses)

    def resent(self) -> list[Resent]:
        """Codes and refresh tokens that came over the wire twice, spent or not."""
        return self.journal.resent()


class _Endpoints(Handler):
    """Routes a request to its endpoint and lays the script over what that says."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    def accepted(self) -> Accept | None:
        return self._provider._script.next_connection()

    def plan(self, incoming: Incoming) -> Answer:
        endpoint = self._route(incoming)
        return self._provider._script.next(endpoint.name) if endpoint else Answer()

    async def respond(self, incoming: Incoming, body: bytes, answer: Answer) -> Response:
        endpoint = self._route(incoming)
        request = self._provider.journal.record(
            connection=incoming.connection,
            place=incoming.place,
            endpoint=endpoint.name if endpoint else "",
            method=incoming.method,
            target=incoming.target,
            headers=incoming.headers,
            body=body,
        )
        own = self._own(endpoint, request) if endpoint is None or answer.runs_endpoint() else None
        return answer.over(own)

    def _route(self, incoming: Incoming) -> Endpoint | None:
        try:
            path = urlsplit(incoming.target).path
        except ValueError:
            return None
        own_path = urlsplit(self._provider.base).path
        return next((one for one in ENDPOINTS if path == own_path + one.path), None)

    def _own(self, endpoint: Endpoint | None, request: Request) -> Response:
        if endpoint is None:
            return Response.html("Not found", 404)
        if request.method not in endpoint.methods:
            return Response(405, (("Allow", ", ".join(endpoint.methods)),))
        try:
            return endpoint.handler(Exchange(self._provider, request))
        except OAuthProblem as problem:
            return problem.response

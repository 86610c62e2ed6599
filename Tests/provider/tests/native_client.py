# SPDX-License-Identifier: Apache-2.0
"""As little of a client as it takes to see what the provider does: no check of its own."""

from __future__ import annotations

import base64
import hashlib
import secrets
from typing import Any
from urllib.parse import urlencode

import requests

from provider import Provider, walk

REDIRECT_URI = "http://127.0.0.1:9/callback"
Parameters = dict[str, list[str]]


class NativeClient:
    def __init__(self, provider: Provider, *, ca_file: str | None = None) -> None:
        self.provider = provider
        self.verifier = secrets.token_urlsafe(32)
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.verify = ca_file or True
        self.ca_file = ca_file

    def authorization_url(self, **changes: str | None) -> str:
        challenge = base64.urlsafe_b64encode(hashlib.sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        parameters: dict[str, str | None] = {
            "response_type": "code",
            "client_id": "native-app",
            "redirect_uri": REDIRECT_URI,
            "scope": "openid email",
            "state": "s",
            "nonce": "n",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            **changes,
        }
        kept = {name: value for name, value in parameters.items() if value is not None}
        return self.provider.url("authorize") + "?" + urlencode(kept)

    def authorize(self, **changes: str | None) -> Parameters:
        redirect_uri = changes.get("redirect_uri") or REDIRECT_URI
        return walk(self.authorization_url(**changes), stop_at=redirect_uri, ca_file=self.ca_file).parameters

    def token(self, **form: str) -> requests.Response:
        return self.session.post(self.provider.url("token"), data={"client_id": "native-app", **form}, timeout=10)

    def exchange(self, code: str | None = None, **changes: str) -> requests.Response:
        return self.token(
            **{
                "grant_type": "authorization_code",
                "code": code or self.authorize()["code"][0],
                "redirect_uri": REDIRECT_URI,
                "code_verifier": self.verifier,
                **changes,
            }
        )

    def refresh(self, refresh_token: str) -> requests.Response:
        return self.token(grant_type="refresh_token", refresh_token=refresh_token)

    def sign_in(self) -> dict[str, Any]:
        response = self.exchange()
        response.raise_for_status()
        members: dict[str, Any] = response.json()
        return members

    def bearer(self, endpoint: str, access_token: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {access_token}"}
        return self.session.get(self.provider.url(endpoint), headers=headers, timeout=10)

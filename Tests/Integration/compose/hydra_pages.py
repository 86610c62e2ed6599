# SPDX-License-Identifier: Apache-2.0
"""Hydra has no pages of its own: sign-in, consent and sign-out for alice and bob, and the clients of the tests.

Only Python's standard library. $HYDRA_ADMIN is the admin API, $LISTEN the address of the pages.
"""

from __future__ import annotations

import html
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ADMIN = os.environ.get("HYDRA_ADMIN", "http://127.0.0.1:4445")
HOST, _, PORT = os.environ.get("LISTEN", "127.0.0.1:4446").rpartition(":")
PEOPLE, PASSWORD = ("alice", "bob"), "correct-horse"
REDIRECT_URIS = ["http://127.0.0.1/callback"]
# Here Hydra wants the very port.
POST_LOGOUT_REDIRECT_URIS = ["http://127.0.0.1:47001/callback"]
DENIED = {"error": "access_denied", "error_description": "The person said no"}


def admin(method: str, path: str, body: Any = None, **query: str) -> Any:
    url = f"{ADMIN}{path}?{urllib.parse.urlencode(query)}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    with urllib.request.urlopen(request, timeout=10) as answer:
        return json.loads(answer.read() or b"null")


def register(client_id: str, *, asks: bool = False, **more: object) -> None:
    client = {
        "client_id": client_id,
        "client_name": client_id,
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "redirect_uris": REDIRECT_URIS,
        "post_logout_redirect_uris": POST_LOGOUT_REDIRECT_URIS,
        "scope": "openid profile email offline_access",
        "skip_consent": not asks,
        "skip_logout_consent": not asks,
        **more,
    }
    try:
        admin("POST", "/admin/clients", client)
    except urllib.error.HTTPError as error:
        if error.code != 409:  # already there
            raise


class Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        step, challenge = self._step_and_challenge(urllib.parse.urlsplit(self.path).query)
        if step == "login":
            asked = admin("GET", "/admin/oauth2/auth/requests/login", login_challenge=challenge)
            if asked["skip"]:
                self._accept("login", challenge, {"subject": asked["subject"]})
            else:
                self._sign_in("Sign in", challenge)
        elif step == "consent":
            asked = admin("GET", "/admin/oauth2/auth/requests/consent", consent_challenge=challenge)
            if asked["skip"] or asked["client"].get("skip_consent"):
                self._consent(challenge, asked)
            else:
                self._form(f"Allow {asked['client']['client_name']}?", challenge, [], ("Allow", "Deny"))
        elif step == "logout":
            self._form("Sign out?", challenge, [], ("Log out", "Stay"))
        else:
            self._page("Signed out" if self.path.startswith("/bye") else "Something went wrong", "")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        form = dict(urllib.parse.parse_qsl(body))
        step, challenge = urllib.parse.urlsplit(self.path).path.lstrip("/"), form["challenge"]
        if form["action"] in ("Deny", "Cancel", "Stay"):
            self._reject(step, challenge)
        elif step == "login":
            if form.get("username") in PEOPLE and form.get("password") == PASSWORD:
                subject = {"subject": form["username"], "remember": True, "remember_for": 3600, "amr": ["pwd"]}
                self._accept("login", challenge, subject)
            else:
                self._sign_in("Wrong, try again", challenge)
        elif step == "consent":
            asked = admin("GET", "/admin/oauth2/auth/requests/consent", consent_challenge=challenge)
            self._consent(challenge, asked)
        else:
            self._accept("logout", challenge, None)

    def _consent(self, challenge: str, asked: dict[str, Any]) -> None:
        name, scopes = asked["subject"], asked["requested_scope"]
        claims: dict[str, Any] = {}
        if "profile" in scopes:
            claims |= {"name": f"{name.title()} Example", "preferred_username": name}
        if "email" in scopes:
            claims |= {"email": f"{name}@example.test", "email_verified": True}
        session = {"grant_scope": scopes, "remember": True, "remember_for": 3600, "session": {"id_token": claims}}
        self._accept("consent", challenge, session)

    def _accept(self, step: str, challenge: str, body: Any) -> None:
        query = {f"{step}_challenge": challenge}
        self._go(admin("PUT", f"/admin/oauth2/auth/requests/{step}/accept", body, **query)["redirect_to"])

    def _reject(self, step: str, challenge: str) -> None:
        answer = admin("PUT", f"/admin/oauth2/auth/requests/{step}/reject", DENIED, **{f"{step}_challenge": challenge})
        if step == "logout":
            self._page("Still signed in", "")
        else:
            self._go(answer["redirect_to"])

    @staticmethod
    def _step_and_challenge(query: str) -> tuple[str, str]:
        for name, value in urllib.parse.parse_qsl(query):
            if name.endswith("_challenge"):
                return name.removesuffix("_challenge"), value
        return "", ""

    def _sign_in(self, title: str, challenge: str) -> None:
        fields = [("Username", "username", "text"), ("Password", "password", "password")]
        self._form(title, challenge, fields, ("Log in", "Cancel"))

    def _form(self, title: str, challenge: str, fields: list[tuple[str, str, str]], buttons: tuple[str, str]) -> None:
        rows = "".join(f"<p><label>{label} <input name={name} type={kind}></label>" for label, name, kind in fields)
        ends = "".join(f'<button type=submit name=action value="{word}">{word}</button> ' for word in buttons)
        hidden = f'<input type=hidden name=challenge value="{html.escape(challenge)}">'
        self._page(title, f"<form method=post>{hidden}{rows}<p>{ends}</form>")

    def _page(self, title: str, content: str) -> None:
        page = f"<!doctype html><meta charset=utf-8><title>{html.escape(title)}</title><h1>{html.escape(title)}</h1>"
        body = (page + content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _go(self, url: str) -> None:
        self.send_response(302)
        self.send_header("Location", url)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Query strings here are credentials: none of them is logged."""


def wait_for_hydra() -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(f"{ADMIN}/health/ready", timeout=2).close()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"no Hydra at {ADMIN}")


wait_for_hydra()
register("native-app", asks=False)
register("native-consent", asks=True)
register("native-short", authorization_code_grant_access_token_lifespan="3s")
ThreadingHTTPServer((HOST, int(PORT)), Pages).serve_forever()

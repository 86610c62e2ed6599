# SPDX-License-Identifier: Apache-2.0
"""Glewlwyd's sign-in page is a program in the browser; this makes the calls it makes."""

from __future__ import annotations

from urllib.parse import parse_qs, urlencode, urlsplit, urlunsplit

import requests

from walker import Decision, LostInPages, Walker


class GlewlwydWalker(Walker):
    def _follow(self, url: str, visited: list[str]) -> requests.Response:
        if not urlsplit(url).path.endswith("/login.html"):
            return super()._follow(url, visited)
        visited.append(url)
        origin = urlunsplit(urlsplit(url)._replace(path="", query="", fragment=""))
        query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        client, scope, callback = query.get("client_id", ""), query.get("scope", ""), query.get("callback_url")
        if callback is None:
            raise LostInPages(f"glewlwyd shows an error page: {query.get('error', 'without a code')}")
        if query.get("prompt") == "end_session":
            self._checked(self.session.delete(f"{origin}/api/auth/", timeout=self.timeout))
            return self._gone_to(callback, url)
        self._sign_in(origin, scope)
        allowed = scope if self.person.decision is Decision.ALLOW else ""
        self._grant(origin, client, scope, allowed)
        return self._visit(callback + ("&" if "?" in callback else "?") + "g_continue", visited)

    def _sign_in(self, origin: str, scope: str) -> None:
        state = self.session.get(f"{origin}/api/auth/scheme/?{urlencode({'scope': scope})}", timeout=self.timeout)
        # Per scope: nothing said means that nobody is signed in.
        if state.ok and all(
            one and (one.get("password_authenticated") or not one.get("password_required"))
            for one in state.json().values()
        ):
            return
        self.asked_for_password += 1
        credentials = {"username": self.person.username, "password": self.person.password}
        self._checked(self.session.post(f"{origin}/api/auth/", json=credentials, timeout=self.timeout))

    def _grant(self, origin: str, client: str, scope: str, allowed: str) -> None:
        state = self.session.get(f"{origin}/api/auth/grant/{client}/{scope}", timeout=self.timeout)
        granted = {one["name"] for one in self._checked(state).json().get("scope", []) if one.get("granted")}
        if granted != set(allowed.split()):
            self.asked_for_consent += 1
            answer = self.session.put(
                f"{origin}/api/auth/grant/{client}/", json={"scope": allowed}, timeout=self.timeout
            )
            self._checked(answer)

    @staticmethod
    def _gone_to(location: str, base: str) -> requests.Response:
        """What `document.location = …` does, as a redirect."""
        answer = requests.Response()
        answer.status_code, answer.url = 302, base
        answer.headers["Location"] = location
        return answer

    @staticmethod
    def _checked(answer: requests.Response) -> requests.Response:
        if not answer.ok:
            raise LostInPages(f"{answer.status_code} from glewlwyd's {urlsplit(answer.url).path}")
        return answer

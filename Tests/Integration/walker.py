# SPDX-License-Identifier: Apache-2.0
"""Walks a provider's own sign-in, consent and sign-out pages over HTTP, as a person would click through them."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from urllib.parse import urlencode, urljoin, urlsplit, urlunsplit

import requests
from bs4 import BeautifulSoup, Tag

from provider import Browser, Page

_NO = re.compile(r"deny|reject|refuse|cancel|decline|\bno\b|\bstay\b", re.IGNORECASE)
_YES = re.compile(
    r"accept|allow|authori|approve|continue|\byes\b|consent|submit|log ?out|log ?in|sign ?in|next|confirm",
    re.IGNORECASE,
)
# Keycloak's pages carry a language menu and links that are not part of the way.
_ASIDE = re.compile(r"language|locale|switch|another", re.IGNORECASE)


class Decision(enum.Enum):
    """What the person does when the provider asks whether the app may have what it wants."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True)
class Person:
    username: str = "alice"
    password: str = "correct-horse"
    decision: Decision = Decision.ALLOW


ALICE = Person()


class LostInPages(AssertionError):
    """The pages lead nowhere; the message tells where they ended."""


class Walker(Browser):
    """One browser and one person. Cookies stay, so a second walk finds the person signed in, as the provider has it."""

    def __init__(self, person: Person = ALICE, *, language: str = "en", ca_file: str | None = None) -> None:
        super().__init__(language=language, ca_file=ca_file)
        self.person = person
        self.asked_for_password = 0
        self.asked_for_consent = 0

    def walk(self, url: str, redirect_uri: str, *, fetch_redirect: bool = True) -> Page:
        """From the app's URL to the page that the app's redirect URI answers with.

        A redirect URI without a port stands for every port. One that no browser fetches (a private-use scheme) ends the
        walk unfetched, and so does any with `fetch_redirect=False`.
        """
        visited: list[str] = []
        response = self._visit(url, visited)
        for _ in range(30):
            if not response.is_redirect:
                response = self._act_on_page(response, visited)
                continue
            url = urljoin(response.url, response.headers["Location"])
            if not self._is_ours(url, redirect_uri):
                response = self._follow(url, visited)
                continue
            visited.append(url)
            if not fetch_redirect or urlsplit(url).scheme not in ("http", "https"):
                return Page(url, None, visited=tuple(visited))
            return self.page(self.get(url), visited)
        raise LostInPages("more than 30 steps: " + " > ".join(self._without_query(one) for one in visited))

    def _follow(self, url: str, visited: list[str]) -> requests.Response:
        """A seam for providers whose pages are programs."""
        return self._visit(url, visited)

    def _visit(self, url: str, visited: list[str]) -> requests.Response:
        visited.append(url)
        return self.get(url)

    def _act_on_page(self, response: requests.Response, visited: list[str]) -> requests.Response:
        page = BeautifulSoup(response.text, "lxml")
        forms = page.find_all("form")
        sign_in = next((form for form in forms if form.find("input", {"type": "password"})), None)
        if sign_in is not None:
            self.asked_for_password += 1
            if self.asked_for_password > 3:
                raise LostInPages("the provider asks for the password again and again")
            if self.person.decision is Decision.DENY and (no := self._button(sign_in, _NO)) is not None:
                return self._submit(response.url, sign_in, no, {}, visited)
            return self._submit(response.url, sign_in, self._button(sign_in, _YES), self._credentials(sign_in), visited)
        wanted = _YES if self.person.decision is Decision.ALLOW else _NO
        for form in forms:
            button = self._button(form, wanted)
            if button is not None:
                self.asked_for_consent += 1
                return self._submit(response.url, form, button, {}, visited)
        shown = re.sub(r"\s+", " ", page.get_text(" ")).strip()[:300]
        raise LostInPages(f"{response.status_code} at {self._without_query(response.url)}: {shown}")

    def _credentials(self, form: Tag) -> dict[str, str]:
        filled = {}
        for field in form.find_all("input"):
            name, kind = str(field.get("name", "")), str(field.get("type", "text")).lower()
            if kind == "password":
                filled[name] = self.person.password
            elif kind in ("text", "email") and name:
                filled[name] = self.person.username
        return filled

    @staticmethod
    def _button(form: Tag, wanted: re.Pattern[str]) -> Tag | None:
        button: Tag
        for button in form.find_all(["button", "input"]):
            kind = str(button.get("type", "submit" if button.name == "button" else "text")).lower()
            words = (button.get("value"), button.get_text(" ", strip=True), button.get("name"), button.get("id"))
            label = " ".join(str(word) for word in words if word)
            refuses = _NO.search(label) is not None and wanted is not _NO
            if kind in ("submit", "image") and wanted.search(label) and not refuses and not _ASIDE.search(label):
                return button
        return None

    def _submit(
        self, base: str, form: Tag, button: Tag | None, filled: dict[str, str], visited: list[str]
    ) -> requests.Response:
        """As a browser does: the successful controls of the form and the button that was pressed (HTML §4.10.22)."""
        data = []
        for control in form.find_all(["input", "textarea", "select"]):
            name, kind = str(control.get("name", "")), str(control.get("type", "text")).lower()
            if not name or control.has_attr("disabled") or kind in ("submit", "image", "button", "reset"):
                continue
            if kind in ("checkbox", "radio") and not control.has_attr("checked"):
                continue
            data.append((name, filled.get(name, self._value(control))))
        if button is not None and button.get("name"):
            data.append((str(button["name"]), str(button.get("value", ""))))
        action = urljoin(
            base, str((button.get("formaction") if button is not None else None) or form.get("action") or base)
        )
        if str(form.get("method", "get")).lower() == "get":
            action = urlunsplit(urlsplit(action)._replace(query=urlencode(data)))
            visited.append(action)
            return self.get(action)
        visited.append(action)
        headers = {"Referer": base, "Origin": "{0.scheme}://{0.netloc}".format(urlsplit(base))}
        return self.session.post(action, data=data, headers=headers, allow_redirects=False, timeout=self.timeout)

    @staticmethod
    def _value(control: Tag) -> str:
        if control.name != "select":
            return str(control.get("value", "on" if control.get("type") == "checkbox" else ""))
        chosen = control.find("option", selected=True) or control.find("option")
        return str(chosen.get("value", chosen.get_text())) if isinstance(chosen, Tag) else ""

    @staticmethod
    def _is_ours(url: str, redirect_uri: str) -> bool:
        here, ours = urlsplit(url), urlsplit(redirect_uri)
        same_port = ours.port is None or here.port == ours.port
        return (here.scheme, here.hostname, here.path) == (ours.scheme, ours.hostname, ours.path) and same_port

    @staticmethod
    def _without_query(url: str) -> str:
        return url.partition("?")[0]

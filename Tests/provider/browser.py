# SPDX-License-Identifier: Apache-2.0
"""Plays the browser: follows redirects as one does, down to the app's loopback listener."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urljoin, urlsplit

import requests
from requests.cookies import RequestsCookieJar

NAVIGATION = {
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "cross-site",
    "Upgrade-Insecure-Requests": "1",
    "User-Agent": "Mozilla/5.0 (X11; Linux x86_64) walker",
}


class LoopbackJar(RequestsCookieJar):
    """Loopback is a trustworthy origin for a browser: it sends a Secure cookie there over http, too."""

    def set_cookie(self, cookie, *args, **kwargs):  # type: ignore[no-untyped-def]
        cookie.secure = False
        return super().set_cookie(cookie, *args, **kwargs)


@dataclass(frozen=True)
class Page:
    """Where a walk ended."""

    url: str
    status: int | None
    """None: the URL is not one that a browser fetches (a private-use scheme), or the walk was told to stop there."""
    text: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    visited: tuple[str, ...] = ()
    """Every URL on the way, this one included."""

    @property
    def parameters(self) -> dict[str, list[str]]:
        return parse_qs(urlsplit(self.url).query, keep_blank_values=True)


class Browser:
    """One browser with its cookies."""

    def __init__(self, *, language: str = "en", ca_file: str | None = None, timeout: float = 30.0) -> None:
        self.session = requests.Session()
        self.session.trust_env = False
        self.session.cookies = LoopbackJar()
        self.session.headers.update({**NAVIGATION, "Accept-Language": language})
        if ca_file is not None:
            self.session.verify = ca_file
        self.timeout = timeout

    def get(self, url: str) -> requests.Response:
        return self.session.get(url, allow_redirects=False, timeout=self.timeout)

    def open(self, url: str, *, stop_at: str | None = None) -> Page:
        """Follows redirects until there are none. A URL that begins with `stop_at` is not fetched."""
        visited: list[str] = []
        for response, here in self._steps(url, stop_at, visited):
            if response is None:
                return Page(here, None, visited=tuple(visited))
            last = response
        return self.page(last, visited)

    def page(self, response: requests.Response, visited: list[str]) -> Page:
        return Page(response.url, response.status_code, response.text, dict(response.headers), tuple(visited))

    def _steps(
        self, url: str, stop_at: str | None, visited: list[str]
    ) -> Iterator[tuple[requests.Response | None, str]]:
        for _ in range(20):
            visited.append(url)
            if urlsplit(url).scheme not in ("http", "https") or (stop_at is not None and url.startswith(stop_at)):
                yield None, url
                return
            response = self.get(url)
            yield response, url
            if not response.is_redirect:
                return
            url = urljoin(response.url, response.headers["Location"])
        raise RuntimeError("redirected more than 20 times")


def walk(
    authorization_url: str, *, language: str = "en", stop_at: str | None = None, ca_file: str | None = None
) -> Page:
    """A fresh browser opens the URL: for a provider that asks nothing, this is the whole sign-in."""
    return Browser(language=language, ca_file=ca_file).open(authorization_url, stop_at=stop_at)

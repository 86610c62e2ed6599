# SPDX-License-Identifier: Apache-2.0
"""A person before a browser: opens what the app shows, signs in at the provider, reads the page it all ends on."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from provider import Page
from walker import Walker


class PersonAtBrowser:
    """Pass it as the client's `browser`. Walking takes a thread of its own, as a browser takes a process."""

    def __init__(self, walker: Walker, redirect_uri: str) -> None:
        self.walker = walker
        self._redirect_uri = redirect_uri
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="person")
        self._walk: Future[Page] | None = None

    def __call__(self, url: str) -> None:
        self._walk = self._thread.submit(self.walker.walk, url, self._redirect_uri)

    def page(self) -> Page:
        """The app's page that the browser shows in the end. Raises what the walk raised."""
        assert self._walk is not None, "the app showed no URL"
        return self._walk.result(timeout=60)

    def leave(self) -> None:
        self._thread.shutdown()

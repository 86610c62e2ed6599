# SPDX-License-Identifier: Apache-2.0
"""Headless Chromium as the person's browser: Debian's `chromium` and `chromium-driver`, nothing downloaded."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlencode, urlsplit

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from running_peer import Unavailable
from walker import Decision, Person

_SUBMIT = "button[type=submit], input[type=submit]"


class Chromium:
    """A browser with a language and a colour scheme. Pass it as the client's `browser`. Raises Unavailable."""

    def __init__(self, screenshots: Path, *, language: str = "en", dark: bool = False) -> None:
        binary, driver = shutil.which("chromium"), shutil.which("chromedriver")
        if binary is None or driver is None:
            raise Unavailable("install Debian's chromium and chromium-driver")
        options = ChromeOptions()
        options.binary_location = binary
        for argument in ("--headless=new", "--window-size=900,700", f"--accept-lang={language}", "--disable-gpu"):
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")  # Chromium refuses to start as root with its sandbox
        self._driver = Chrome(options=options, service=Service(driver))
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self._wait = WebDriverWait(self._driver, 30)
        self._screenshots = screenshots
        self._screenshots.mkdir(parents=True, exist_ok=True)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="chromium")
        self._shown: Future[None] | None = None
        self.person = Person()

    def __call__(self, url: str) -> None:
        self._shown = self._thread.submit(self._sign_in, url)

    def forge_redirect(self, url: str) -> None:
        """In place of the provider somebody else sends the browser to the app, with markup for a state."""
        redirect_uri = parse_qs(urlsplit(url).query)["redirect_uri"][0]
        forged = urlencode({"code": "forged", "state": "<b>forged</b>"})
        self._shown = self._thread.submit(self._driver.get, f"{redirect_uri}?{forged}")

    def wait(self) -> None:
        """Returns when the person has done their part. Raises what went wrong."""
        assert self._shown is not None, "the app showed no URL"
        self._shown.result(timeout=60)

    def wait_for_page_of(self, host: str, path: str) -> None:
        """Returns when the browser shows a page with this host name and path, loaded whole."""
        self._wait.until(lambda driver: _is_at(driver.current_url, host, path))
        self._wait.until(lambda driver: driver.execute_script("return document.readyState") == "complete")

    def screenshot(self, name: str) -> Path:
        target = self._screenshots / f"{name}.png"
        self._driver.save_screenshot(str(target))
        return target

    def script(self, source: str) -> object:
        return self._driver.execute_script(source)

    def messages(self) -> list[str]:
        """What the browser's console complains of in the page that is shown; its status is no complaint."""
        shown = self._driver.current_url.partition("?")[0]
        log = self._driver.get_log("browser")  # type: ignore[no-untyped-call]
        told = [str(entry["message"]) for entry in log if entry["source"] != "network"]
        return [message for message in told if message.startswith(shown)]

    def close(self) -> None:
        self._thread.shutdown()
        self._driver.quit()

    def _sign_in(self, url: str) -> None:
        self._driver.get(url)
        password = self._wait.until(lambda driver: driver.find_element(By.CSS_SELECTOR, "input[type=password]"))
        self._driver.find_element(By.NAME, "username").send_keys(self.person.username)
        password.send_keys(self.person.password)
        self.screenshot("sign-in")
        buttons = self._driver.find_elements(By.CSS_SELECTOR, _SUBMIT)
        buttons[-1 if self.person.decision is Decision.DENY else 0].click()


def _is_at(url: str, host: str, path: str) -> bool:
    here = urlsplit(url)
    return (here.hostname, here.path) == (host, path)

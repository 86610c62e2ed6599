# SPDX-License-Identifier: Apache-2.0
"""Stands in for the person where there is no display: `browse.py chromium|walk OUTCOME URL`.

The demo sets it as $BROWSER, so the library starts it as it would start any browser. Signs in as alice; writes into the
file OUTCOME what the last page says.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "Tests"), str(REPOSITORY / "Tests" / "Integration")]


def with_chromium(url: str) -> str:
    from chromium import Chromium

    browser = Chromium(REPOSITORY / "build" / "screenshots" / "demo")
    try:
        browser(url)
        browser.wait()
        redirect = urlsplit(parse_qs(urlsplit(url).query)["redirect_uri"][0])
        browser.wait_for_page_of(redirect.hostname or "", redirect.path)
        picture = browser.screenshot("result")
        return f"{browser.script('return document.title')} ({picture.relative_to(REPOSITORY)})"
    finally:
        browser.close()


def by_hand(url: str) -> str:
    from bs4 import BeautifulSoup
    from walker import Walker

    page = Walker().walk(url, parse_qs(urlsplit(url).query)["redirect_uri"][0])
    title = BeautifulSoup(page.text, "lxml").find(["title", "h1"])
    return title.get_text(strip=True) if title else "a page without a title"


def main() -> None:
    way, outcome, url = sys.argv[1:]
    try:
        said = {"chromium": with_chromium, "walk": by_hand}[way](url)
    except Exception as failure:
        # The type alone: a message may quote the URL, which is a credential.
        Path(outcome).write_text(f"did not get through: {type(failure).__name__}")
        raise SystemExit(1) from None
    Path(outcome).write_text(said)


main()

# SPDX-License-Identifier: Apache-2.0
"""A real browser on the providers' own pages, down to our loopback page: two languages, light and dark, yes and no."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from chromium import Chromium
from conftest import unavailable
from peers import HYDRA, KEYCLOAK
from running_peer import REPOSITORY, RunningPeer, Unavailable
from walker import Decision, Person

if TYPE_CHECKING:
    from versola import OAuthClient

SCREENSHOTS = REPOSITORY / "build" / "screenshots"
on_hydra_and_keycloak = pytest.mark.parametrize("running", [HYDRA, KEYCLOAK], ids=lambda peer: peer.name, indirect=True)
on_hydra = pytest.mark.parametrize("running", [HYDRA], ids=lambda peer: peer.name, indirect=True)
looks = pytest.mark.parametrize("language, dark", [("en", False), ("ru", True)], ids=["en-light", "ru-dark"])


@pytest.fixture
def chromium(running: RunningPeer, language: str, dark: bool, request: pytest.FixtureRequest) -> Iterator[Chromium]:
    outcome = request.node.originalname.removeprefix("test_")
    folder = SCREENSHOTS / f"{running.peer.name}-{outcome}-{language}-{'dark' if dark else 'light'}"
    try:
        browser = Chromium(folder, language=language, dark=dark)
    except Unavailable as reason:
        unavailable(str(reason))
    yield browser
    browser.close()


def look_at_our_page(chromium: Chromium, name: str, language: str, dark: bool) -> str:
    """Keeps a picture and checks what every result page must hold; gives its text."""
    chromium.wait()
    chromium.wait_for_page_of("127.0.0.1", "/callback")
    chromium.screenshot(name)
    assert str(chromium.script("return document.documentElement.lang")).split("-")[0] == language
    assert chromium.script("return document.scripts.length") == 0
    assert chromium.script("return performance.getEntriesByType('resource').length") == 0, "an outside resource"
    assert (_brightness_of_text(chromium) > 0.5) == dark, "light text on a dark page, and the other way round"
    assert chromium.messages() == []
    return str(chromium.script("return document.body.innerText"))


def _brightness_of_text(chromium: Chromium) -> float:
    channels = chromium.script(
        "return getComputedStyle(document.querySelector('h1') ?? document.body).color.match(/[\\d.]+/g).map(Number)"
    )
    assert isinstance(channels, list)
    red, green, blue = channels[:3]
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


@on_hydra_and_keycloak
@looks
def test_signed_in(
    running: RunningPeer, chromium: Chromium, language: str, dark: bool, new_client: Callable[..., OAuthClient]
) -> None:
    client = new_client(browser=chromium)
    assert client.login(timeout=60).claims["preferred_username"] == "alice"
    text = look_at_our_page(chromium, "result", language, dark)
    assert text.strip()


@on_hydra
@looks
def test_denied(
    running: RunningPeer,
    chromium: Chromium,
    language: str,
    dark: bool,
    new_client: Callable[..., OAuthClient],
    library: ModuleType,
) -> None:
    chromium.person = Person("bob", decision=Decision.DENY)
    client = new_client(browser=chromium, client_id=running.peer.consenting_client_id)
    with pytest.raises(library.ReauthenticateError) as denied:
        client.login(timeout=60)
    assert denied.value.cause is library.ReauthenticateCause.AUTHORIZATION_DENIED
    text = look_at_our_page(chromium, "result", language, dark)
    assert "access_denied" not in text, "codes are for logs, not for people"


@on_hydra
@looks
def test_a_forged_redirect_gets_a_page_that_echoes_nothing(
    running: RunningPeer,
    chromium: Chromium,
    language: str,
    dark: bool,
    new_client: Callable[..., OAuthClient],
    library: ModuleType,
) -> None:
    client = new_client(browser=chromium.forge_redirect)
    with pytest.raises(library.ConfigurationError) as refused:
        client.login(timeout=60)
    assert refused.value.cause is library.ConfigurationCause.STATE_MISMATCH
    text = look_at_our_page(chromium, "result", language, dark)
    assert "forged" not in text

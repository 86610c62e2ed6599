# SPDX-License-Identifier: Apache-2.0
"""A forger between a real provider and the library: what is refused, why, and what it leaves of the session.

Keycloak signs people in, a proxy changes one thing in what it says (`forgeries.py`). Each test also does the same with
nothing changed, and that succeeds: so it is the one thing that is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from forgeries import AT_LOGIN, AT_REFRESH, PLAIN_USER_INFO, RIGHT, SIGNED_USER_INFO, Row, Rows
from forging_proxy import Forgery, ForgingProxy, Members
from peers import KEYCLOAK
from person_at_browser import PersonAtBrowser
from running_peer import RunningPeer
from test_scenarios import PATIENCE, metadata_of
from walker import Person, Walker

if TYPE_CHECKING:
    from versola import OAuthClient

pytestmark = pytest.mark.parametrize("running", [KEYCLOAK], ids=lambda peer: peer.name, indirect=True)


def each(rows: Rows) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("row", rows.values(), ids=rows.keys())


@dataclass(frozen=True)
class Session:
    generation: int
    access_token: str
    subject: str


class Scene:
    """Alice and bob, the provider, the app, and the forger in between."""

    def __init__(
        self,
        proxy: ForgingProxy,
        new_client: Callable[..., OAuthClient],
        sit_down: Callable[[str], PersonAtBrowser],
    ) -> None:
        self.proxy = proxy
        self._new_client = new_client
        self._sit_down = sit_down
        self._sat_down: list[PersonAtBrowser] = []

    def client(self, person: str = "alice", *, sender: str = "app", **changes: Any) -> OAuthClient:
        import versola

        self._sat_down.append(self._sit_down(person))
        settings = {
            "issuer": None,
            "endpoints": versola.ProviderEndpoints(**self.proxy.endpoints(sender)),
            "scopes": ("profile",),
            "browser": self._sat_down[-1],
        }
        return self._new_client(**{**settings, **changes})

    def last_page(self) -> str:
        """What the person of the latest client read in the end."""
        return self._sat_down[-1].page().text

    @contextmanager
    def begun(self, row: Row, **changes: Any) -> Iterator[None]:
        self.proxy.resigns = row.own_keys
        if row.needs_bob:
            self.client("bob", sender="bob", session="bob", **changes).login(timeout=PATIENCE)
        yield
        assert not {"jku", "x5u"} & set(self.proxy.asked), "a link in the header was followed"
        sent = self.proxy.sent()
        assert {one.status for one in sent} == {200}
        codes = [one.form["code"] for one in sent if one.grant_type == "authorization_code"]
        assert len(codes) == len(set(codes))
        assert {len(one) for one in self.proxy.sendings_of_each_refresh_token()} <= {1}

    @contextmanager
    def refused(self, row: Row) -> Iterator[None]:
        import versola

        with self.proxy.forging(row.forgery), pytest.raises(versola.ConfigurationError) as caught:
            yield
        error = caught.value
        assert error.cause is not None and error.cause.name == row.cause, error.detail
        assert row.says in error.detail


def session_of(client: OAuthClient) -> Session:
    change = next(client.session_states())
    assert change.state.name == "AUTHENTICATED"
    return Session(change.generation, client.access_token().value, client.identity().subject)


def history(client: OAuthClient, states: Iterator[Any]) -> list[tuple[str, int]]:
    client.close()
    return [(change.state.name, change.generation) for change in states]


def nobody_is_signed_in(client: OAuthClient) -> None:
    import versola

    assert client.state is versola.SessionState.UNAUTHENTICATED
    for call in (client.access_token, client.refresh, client.identity, client.user_info):
        with pytest.raises(versola.ReauthenticateError) as refused:
            call()
        assert refused.value.cause is versola.ReauthenticateCause.SESSION_EXPIRED


def goes_on(scene: Scene, before: Session) -> None:
    """A new process finds the session, and its refresh token is the one that works at the provider."""
    with scene.client() as client:
        # Before: its own access token is with the process that is gone.
        refreshed = client.refresh(timeout=PATIENCE).value
        assert refreshed != before.access_token
        assert session_of(client) == Session(before.generation, refreshed, before.subject)
        assert client.user_info(timeout=PATIENCE)["sub"] == before.subject


@pytest.fixture(scope="module")
def browsers() -> dict[str, Walker]:
    """Their cookies stay, so that who signed in once is not asked for the password again and again."""
    return {
        "alice": KEYCLOAK.browser(),
        "alice, elsewhere": KEYCLOAK.browser(),
        "bob": KEYCLOAK.browser(Person("bob")),
    }


@pytest.fixture
def scene(
    running: RunningPeer,
    browsers: dict[str, Walker],
    new_client: Callable[..., OAuthClient],
    person: Callable[..., PersonAtBrowser],
) -> Iterator[Scene]:
    iss_in_redirect = bool(running.peer.answers("iss_in_redirect"))
    with ForgingProxy(metadata_of(running), iss_in_redirect=iss_in_redirect) as proxy:
        yield Scene(proxy, new_client, lambda who: person(before=browsers[who]))


# --- ID tokens --------------------------------------------------------------------------------------------------------


@each(RIGHT)
def test_what_is_right_is_accepted(scene: Scene, row: Row) -> None:
    with scene.begun(row):
        client = scene.client()
        with scene.proxy.forging(row.forgery):
            client.login(timeout=PATIENCE)
            before = session_of(client)
            assert client.refresh(timeout=PATIENCE).value != before.access_token


@each(AT_LOGIN)
def test_a_forged_login_signs_nobody_in(scene: Scene, row: Row) -> None:
    with scene.begun(row):
        alice = scene.client()
        states = alice.session_states()
        with scene.refused(row):
            alice.login(timeout=PATIENCE, **row.login_options)
        nobody_is_signed_in(alice)
        assert "Sign-in did not work" in scene.last_page()
        told = history(alice, states)
        assert told == [("UNAUTHENTICATED", 0), ("AUTHORIZING", 0), ("UNAUTHENTICATED", 0)]
        with scene.client() as again:
            nobody_is_signed_in(again)
            again.login(timeout=PATIENCE, **row.login_options)
            assert again.access_token().value and "You are signed in" in scene.last_page()


@each(AT_LOGIN)
def test_a_forged_login_leaves_the_session_as_it_was(scene: Scene, row: Row) -> None:
    with scene.begun(row):
        with scene.client() as client:
            client.login(timeout=PATIENCE, **row.login_options)
        # A browser of its own: in alice's the provider would end the session that is there, whatever the library does.
        client = scene.client("alice, elsewhere")
        client.refresh(timeout=PATIENCE)
        before = session_of(client)
        states = client.session_states()
        with scene.refused(row):
            client.login(timeout=PATIENCE, **row.login_options)
        assert session_of(client) == before
        told = history(client, states)
        assert told == [(state, before.generation) for state in ("AUTHENTICATED", "AUTHORIZING", "AUTHENTICATED")]
        goes_on(scene, before)


@each(AT_REFRESH)
def test_a_forged_refresh_leaves_the_session_and_keeps_the_new_refresh_token(scene: Scene, row: Row) -> None:
    with scene.begun(row):
        client = scene.client()
        client.login(timeout=PATIENCE, **row.login_options)
        before = session_of(client)
        states = client.session_states()
        with scene.refused(row):
            client.refresh(timeout=PATIENCE)
        assert session_of(client) == before
        told = history(client, states)
        assert told == [(state, before.generation) for state in ("AUTHENTICATED", "REFRESHING", "AUTHENTICATED")]
        kept = scene.proxy.given["app"][-1]["refresh_token"]
        goes_on(scene, before)
        assert scene.proxy.sent("refresh_token")[-1].form["refresh_token"] == kept


@each({"bob": AT_REFRESH["bob's claims with our nonce"]})
def test_after_a_forged_refresh_the_same_client_goes_on(scene: Scene, row: Row) -> None:
    with scene.begun(row):
        client = scene.client()
        client.login(timeout=PATIENCE)
        before = session_of(client)
        for _ in range(2):
            with scene.refused(row):
                client.access_token(force=True, timeout=PATIENCE)
        assert session_of(client) == before
        assert client.refresh(timeout=PATIENCE).value != before.access_token


# --- Discovery --------------------------------------------------------------------------------------------------------

METADATA: dict[str, Callable[[Members], object]] = {
    "another": lambda members: members.update(issuer="https://evil.example"),
    "another path": lambda members: members.update(issuer=members["issuer"] + "/x"),
    "two slashes at its end": lambda members: members.update(issuer=members["issuer"] + "//"),
    "upper case": lambda members: members.update(issuer=members["issuer"].upper()),
    "a template": lambda members: members.update(issuer=members["issuer"].replace("app", "{tenant}")),
}


@pytest.mark.parametrize("change", METADATA.values(), ids=METADATA.keys())
def test_metadata_of_another_issuer_is_not_believed(
    running: RunningPeer, scene: Scene, browsers: dict[str, Walker], change: Callable[[Members], object]
) -> None:
    row = Row(Forgery(metadata=change), " is configured", cause="DISCOVERY_ISSUER_MISMATCH")
    proxy = scene.proxy
    proxy.issues = proxy.issuer
    opened = []

    def browser(url: str) -> None:
        """Its redirect is forged as well: it says the issuer that the app knows."""
        opened.append(url)
        page = browsers["alice"].walk(url, running.redirect_uri, fetch_redirect=False)
        theirs, ours = quote(metadata_of(running)["issuer"], safe=""), quote(proxy.issuer, safe="")
        assert theirs in page.url
        browsers["alice"].get(page.url.replace(theirs, ours))

    def client() -> OAuthClient:
        return scene.client(issuer=proxy.issuer, endpoints=None, browser=browser)

    with scene.begun(row):
        with client() as nobody, scene.refused(row):
            nobody.login(timeout=PATIENCE)
        assert not opened and proxy.sent() == []
        with client() as alice:
            alice.login(timeout=PATIENCE)
            before = session_of(alice)
            states = alice.session_states()
            with scene.refused(row):
                alice.login(timeout=PATIENCE)
            with scene.refused(row):
                alice.refresh(timeout=PATIENCE)
            assert session_of(alice) == before
            assert len(opened) == len(proxy.sent()) == 1
            told = history(alice, states)
            assert told == [(state, before.generation) for state in ("AUTHENTICATED", "REFRESHING", "AUTHENTICATED")]
        with client() as again:
            assert again.refresh(timeout=PATIENCE).value != before.access_token
            assert session_of(again).generation == before.generation


# --- UserInfo ---------------------------------------------------------------------------------------------------------


def forged_user_info(scene: Scene, row: Row, **changes: Any) -> None:
    with scene.begun(row, **changes):
        client = scene.client(**changes)
        client.login(timeout=PATIENCE)
        before = session_of(client)
        states = client.session_states()
        with scene.refused(row):
            client.user_info(timeout=PATIENCE)
        assert session_of(client) == before
        assert history(client, states) == [("AUTHENTICATED", before.generation)]
        with scene.client(**changes) as again:
            assert again.refresh(timeout=PATIENCE).value != before.access_token
            assert again.user_info(timeout=PATIENCE)["sub"] == before.subject


@each(PLAIN_USER_INFO)
def test_user_info_about_somebody_else_is_not_handed_out(scene: Scene, row: Row) -> None:
    forged_user_info(scene, row)


@each(SIGNED_USER_INFO)
def test_forged_signed_user_info_is_not_handed_out(scene: Scene, row: Row) -> None:
    forged_user_info(scene, row, client_id="native-signed-userinfo")

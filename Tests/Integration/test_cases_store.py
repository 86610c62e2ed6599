# SPDX-License-Identifier: Apache-2.0
"""The store as an app meets it: unusable, locked by others, full of leftovers (behaviour §2, §5, §9, §12)."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from versola import (
    ConfigurationCause,
    KeyFile,
    NetworkReason,
    ReauthenticateCause,
    RecoverableCause,
    RecoverableError,
    SessionState,
)

from cases import Bench, Person, bench_fixture  # noqa: F401
from provider import Answer, CertificateAuthority, Gate, Provider, walk

UNAVAILABLE = ConfigurationCause.STORE_UNAVAILABLE


def store_of(bench: Bench) -> Path:
    [store] = {path.parent for path in bench.home.rglob("grant")}
    return store


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Another process that is stuck inside the lock."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def test_a_state_home_that_is_no_directory_is_StoreUnavailable(bench: Bench) -> None:
    bench.home.write_text("a file")
    with bench.refused(UNAVAILABLE):
        bench.client()
    bench.home.unlink()


def test_a_symbolic_link_in_place_of_a_record_is_not_followed(bench: Bench, tmp_path: Path) -> None:
    bench.signed_in().close()
    grant = store_of(bench) / "grant"
    elsewhere = tmp_path / "elsewhere"
    shutil.move(grant, elsewhere)
    before = elsewhere.read_bytes()
    grant.symlink_to(elsewhere)
    with pytest.raises(Exception) as caught:
        with bench.client() as client:
            assert client.state is SessionState.UNAUTHENTICATED
            raise RuntimeError("not followed")
    assert getattr(caught.value, "cause", UNAVAILABLE) in (UNAVAILABLE, ReauthenticateCause.CREDENTIALS_INVALIDATED)
    assert elsewhere.read_bytes() == before


def test_a_store_that_is_gone_while_signed_in_is_no_crash(bench: Bench) -> None:
    client = bench.signed_in()
    while bench.home.exists():  # the client may be tidying up after the login
        shutil.rmtree(bench.home, ignore_errors=True)
    for call in (client.refresh, client.user_info, client.logout):
        with contextlib.suppress(Exception):
            call()
    assert client.state in (SessionState.UNAUTHENTICATED, SessionState.AUTHENTICATED)
    client.close()
    assert bench.signed_in().state is SessionState.AUTHENTICATED


def test_a_grant_of_another_store_does_not_open_here(bench: Bench) -> None:
    """Records are bound to issuer, client and session: one moved from another session is not taken for ours."""
    bench.signed_in(session="one").close()
    one = store_of(bench)
    sealed = (one / "grant").read_bytes()
    shutil.rmtree(one)
    bench.signed_in(session="two").close()
    two = store_of(bench)
    (two / "grant").write_bytes(sealed)
    for _ in range(2):
        with contextlib.suppress(Exception), bench.client(session="two") as client:
            assert client.state is SessionState.UNAUTHENTICATED


def test_a_refresh_lock_not_had_in_time_is_Network_lock_and_nothing_is_sent(bench: Bench) -> None:
    with bench.signed_in(request_timeout=0.1) as client:
        client.refresh()
        [lock] = store_of(bench).glob("refresh*lock*")
        with held(lock):
            with bench.refused(RecoverableCause.NETWORK) as caught:
                client.refresh()
        assert isinstance(caught.value, RecoverableError) and caught.value.reason is NetworkReason.LOCK
        assert bench.grant_types() == ["authorization_code", "refresh_token"]
        assert client.state is SessionState.AUTHENTICATED and client.refresh().value


def test_a_refresh_token_that_could_not_be_written_is_written_when_the_client_is_closed(bench: Bench) -> None:
    client = bench.signed_in()
    gate = Gate()
    bench.provider.script("token", Answer(gate=gate))
    refresh = bench.call(client.refresh)
    gate.wait_arrived()
    with held(store_of(bench) / "write.lock"):
        gate.open()
        assert refresh.result().value
    client.close()
    with bench.client() as later:
        assert later.refresh().value
    assert bench.provider.reuses == []


def test_logout_waits_for_the_write_lock_for_2_s_and_then_erases_without_it(bench: Bench) -> None:
    client = bench.signed_in()
    with held(store_of(bench) / "write.lock"):
        assert client.logout().token_revoked
        assert list(bench.home.rglob("grant")) == []
    client.close()
    assert bench.state_of_a_new_client() is SessionState.UNAUTHENTICATED


def test_a_key_file_of_one_s_own_is_made_private_and_another_key_is_no_session(bench: Bench, tmp_path: Path) -> None:
    key = KeyFile(tmp_path / "keys" / "key")
    Path(key.path).parent.mkdir()
    bench.signed_in(store=key).close()
    assert oct(Path(key.path).stat().st_mode & 0o777) == "0o600"
    with bench.client(store=key) as client:
        assert client.state is SessionState.AUTHENTICATED
    sealed = (store_of(bench) / "grant").read_bytes()
    Path(key.path).write_bytes(b"short")
    with contextlib.suppress(Exception), bench.client(store=key) as client:
        assert client.state in (SessionState.UNAUTHENTICATED, SessionState.LOCKED)
    # A key that cannot be the right one proves nothing about the record.
    assert (store_of(bench) / "grant").read_bytes() == sealed


def test_the_memory_store_writes_nothing(bench: Bench) -> None:
    with bench.signed_in(store="memory") as client:
        client.refresh()
        assert list(bench.home.rglob("*")) == []
    assert bench.state_of_a_new_client(store="memory") is SessionState.UNAUTHENTICATED


@pytest.mark.parametrize("fault", ["untrusted", "expired", "another host"])
def test_a_certificate_that_is_not_right_is_Network_tls(bench: Bench, fault: str) -> None:
    authority = CertificateAuthority()
    host = "another.example" if fault == "another host" else "127.0.0.1"
    context = authority.context(host=host, expired=fault == "expired")
    with Provider(tls=context) as provider:
        trust = {} if fault == "untrusted" else {"ca_file": authority.ca_file}
        with bench.client(issuer=provider.issuer, browser=Person(), **trust) as client:
            with bench.refused(RecoverableCause.NETWORK) as caught:
                client.login()
            assert isinstance(caught.value, RecoverableError) and caught.value.reason is NetworkReason.TLS
            assert provider.requests() == []


def test_an_extra_CA_file_is_trusted_beside_the_system_s(bench: Bench) -> None:
    authority = CertificateAuthority()
    with Provider(tls=authority.context()) as provider:
        person = bench.client(issuer=provider.issuer, ca_file=authority.ca_file)
        login, url = bench.begin_login(person)
        assert walk(url, ca_file=str(authority.ca_file)).status == 200
        assert login.result().subject == provider.subject
        person.close()

# SPDX-License-Identifier: Apache-2.0
"""Bad input straight on the C ABI, and from the provider: typed errors only, no crash, no hang."""

from __future__ import annotations

import ctypes
import itertools
import json
import random
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from versola import ConfigurationCause, ReauthenticateCause, RecoverableCause, SessionState, VersolaError
from versola._library import load
from versola._native import FUNCTIONS

from cases import FULL, OWN_SCHEME, Bench, bench_fixture  # noqa: F401
from provider import Answer

INVALID = ConfigurationCause.INVALID_CONFIGURATION.value
CAUSES = {0} | {cause.value for kind in (RecoverableCause, ReauthenticateCause, ConfigurationCause) for cause in kind}
MIB = b"a" * (1 << 20)
TEXTS = [
    None,
    b"",
    b"\xff\xfe",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    MIB,
    b"\x01\x02",
    "й".encode() * 1000,
]
NUMBERS = [0, -1, 1, 2**31 - 1, -(2**31), 99]
LONG_NUMBERS = [0, -1, 1, 2**63 - 1, -(2**63), 2**31]
# They would wait for ever, or have no handle to begin with.
BLOCKING = {name for name in FUNCTIONS if name.endswith("_wait")}


def of_kind(kind: Any) -> list[Any]:
    if kind is ctypes.c_char_p:
        return TEXTS
    if kind is ctypes.c_int32:
        return NUMBERS
    if kind is ctypes.c_int64:
        return LONG_NUMBERS
    if kind is ctypes.c_uint64:
        return [0, 1, 2**64 - 1]
    if kind is ctypes.c_bool:
        return [False, True]
    if issubclass(kind, ctypes._CFuncPtr):  # type: ignore[attr-defined]
        return [kind()]
    return [None]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_with_NULL_for_every_object_and_all_bad_values(name: str) -> None:
    library = load()
    result_kind, kinds = FUNCTIONS[name]
    takes_object = bool(kinds) and kinds[0] is ctypes.c_void_p
    for values in itertools.islice(itertools.product(*(of_kind(kind) for kind in kinds)), 2000):
        result = getattr(library, name)(*values)
        if result_kind is ctypes.c_int32 and takes_object and name != "versola_queue_fd":
            assert result in (0, INVALID), f"{name}{values!r:.80} answered {result}"
        elif (result_kind is ctypes.c_void_p and takes_object) or (result_kind is ctypes.c_char_p and takes_object):
            assert not result
        elif result_kind is ctypes.c_void_p and result:
            release = name.rpartition("_new")[0] + "_release"
            getattr(library, release)(result)


FALLIBLE = [name for name, (_, kinds) in FUNCTIONS.items() if name.startswith("versola_client_") and len(kinds) > 1]


@pytest.mark.parametrize("name", FALLIBLE)
def test_on_NULL_the_status_the_error_and_every_out_parameter_are_written(name: str) -> None:
    library = load()
    _, kinds = FUNCTIONS[name]
    for error_wanted in (True, False):
        outs = []
        arguments: list[Any] = []
        for kind in kinds:
            if isinstance(kind, type) and issubclass(kind, ctypes._Pointer):  # type: ignore[attr-defined]
                outs.append(kind._type_(1))
                arguments.append(ctypes.byref(outs[-1]))
            else:
                arguments.append(None if kind in (ctypes.c_void_p, ctypes.c_char_p) else 0)
        if not error_wanted:
            arguments[-1] = None
        assert getattr(library, name)(*arguments) == INVALID
        for out in outs[:-1]:
            assert not out.value, f"{name} left an out-parameter as it was"
        if error_wanted:
            error = outs[-1]
            assert library.versola_error_cause(error) == INVALID and library.versola_error_category(error) == 4
            detail = library.versola_error_detail(error)
            assert b"client" in detail or b"config" in detail, f"{name}: the argument is not named: {detail}"
            library.versola_error_release(error)


def native_client(library: Any, bench: Bench, queue: Any = None) -> ctypes.c_void_p:
    config = library.versola_config_new(bench.provider.issuer.encode(), b"native-app")
    assert library.versola_config_set_redirect_uri(config, OWN_SCHEME.encode()) == 0
    assert library.versola_config_set_store_memory(config) == 0
    assert library.versola_config_set_browser(config, 3) == 0
    if queue:
        assert library.versola_config_set_queue(config, queue) == 0
    client = ctypes.c_void_p()
    assert library.versola_client_create(config, ctypes.byref(client), None) == 0
    library.versola_config_release(config)
    return client


def calls_of_a_client(name: str) -> Iterator[tuple[Any, ...]]:
    """All bad values after the client; a call that waits is given no time."""
    _, kinds = FUNCTIONS[name]
    choices = [[0, 1] if kind is ctypes.c_int64 else of_kind(kind) for kind in kinds[1:]]
    return itertools.islice(itertools.product(*choices), 300)


CLIENT_CALLS = [name for name in FALLIBLE if name not in ("versola_client_create",)]


@pytest.mark.parametrize("name", CLIENT_CALLS)
def test_a_living_client_answers_bad_values_with_a_status_of_the_list(bench: Bench, name: str) -> None:
    library = load()
    queue = library.versola_queue_new()
    client = native_client(library, bench, queue)
    for values in calls_of_a_client(name):
        assert getattr(library, name)(client, *values) in CAUSES
    library.versola_client_close(client)
    assert library.versola_client_close_wait(client, 20_000, None) == 0
    while event := library.versola_queue_pop(queue):
        assert library.versola_event_kind(event) in (1, 2, 3, 4, 5)
        assert library.versola_event_status(event) in CAUSES
        library.versola_event_release(event)
    library.versola_client_release(client)
    library.versola_queue_release(queue)


@pytest.mark.parametrize("name", CLIENT_CALLS)
def test_a_closed_client_is_InvalidConfiguration(bench: Bench, name: str) -> None:
    library = load()
    client = native_client(library, bench)
    library.versola_client_close(client)
    library.versola_client_close(client)
    for values in calls_of_a_client(name):
        status = getattr(library, name)(client, *values)
        allowed = {0, INVALID} if name in ("versola_client_cancel", "versola_client_close_wait") else {INVALID}
        assert status in allowed | ({102} if name == "versola_client_close_wait" else set()), f"{name}: {status}"
    library.versola_client_release(client)


SETTERS = [name for name in FUNCTIONS if "_set_" in name or "_add_" in name]


@pytest.mark.parametrize("name", SETTERS)
def test_a_setter_refuses_or_takes_and_a_refusal_is_remembered(bench: Bench, name: str) -> None:
    library = load()
    _, kinds = FUNCTIONS[name]
    kind = name.partition("_set_")[0].partition("_add_")[0]
    for values in itertools.islice(itertools.product(*(of_kind(one) for one in kinds[1:])), 200):
        if kind == "versola_config":
            builder = library.versola_config_new(bench.provider.issuer.encode(), b"native-app")
            library.versola_config_set_redirect_uri(builder, OWN_SCHEME.encode())
            library.versola_config_set_store_memory(builder)
        elif kind == "versola_endpoints":
            builder = library.versola_endpoints_new(*[b"https://id.example"] * 4)
        else:
            builder = getattr(library, kind + "_new")()
        refused = getattr(library, name)(builder, *values)
        assert refused in (0, INVALID)
        if kind == "versola_config":
            client = ctypes.c_void_p(1)
            status = library.versola_client_create(builder, ctypes.byref(client), None)
            assert status in CAUSES and (not refused or status == INVALID)
            assert bool(client.value) == (status == 0)
            library.versola_client_release(client)
        getattr(library, kind + "_release")(builder)


@pytest.mark.parametrize(
    "changes",
    [
        {"issuer": None},
        {"issuer": ""},
        {"issuer": "http://id.example.com"},
        {"issuer": "ftp://id.example.com"},
        {"issuer": "https://"},
        {"issuer": "https://id.example.com?x=1"},
        {"issuer": "https://id.example.com#x"},
        {"issuer": "https://user:secret@id.example.com"},
        {"client_id": ""},
        {"client_id": None},
        {"redirect_uri": None},
        {"redirect_uri": ""},
        {"redirect_uri": "http://example.com/callback"},
        {"redirect_uri": "http://127.0.0.1.example.com/callback"},
        {"redirect_uri": "http://127.0.0.1:99999/callback"},
        {"redirect_uri": "http://user@127.0.0.1/callback"},
        {"redirect_uri": "http://127.0.0.1/callback#fragment"},
        {"redirect_uri": "https://app.example.test/callback#fragment"},
        {"redirect_uri": "myapp:/callback"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "/callback"},
        {"redirect_uri": "a" * (1 << 20)},
        {"session": ""},
        {"session": None},
        {"request_timeout": 0},
        {"request_timeout": 301},
        {"request_timeout": -1},
        {"clock_skew": -1},
        {"clock_skew": 301},
        {"ca_file": "/nowhere/ca.pem"},
        {"proxy": "ftp://proxy.example"},
        {"post_logout_redirect_uri": "http://example.com/"},
    ],
    ids=lambda changes: "{0[0]}={0[1]!r:.40}".format(next(iter(changes.items()))),
)
def test_a_bad_configuration_value_is_InvalidConfiguration_from_create(bench: Bench, changes: dict[str, Any]) -> None:
    with bench.refused(ConfigurationCause.INVALID_CONFIGURATION):
        bench.client(**{"store": "memory", **changes})


# --- Mutations --------------------------------------------------------------------------------------------------------


PIECES = [
    "",
    "\0",
    "%",
    "%zz",
    "%00",
    "%ff",
    "&",
    "=",
    "?",
    "#",
    "..",
    "//",
    "\\",
    " ",
    "\n",
    "й",
    "\U0001f600",
    "[",
    "]",
]
PIECES += ["{", "}", '"', "null", "-1", "1e999", "9" * 40, "\\u0000", "\\ud800", "a" * 5000]


class Mutator:
    """Byte by byte and piece by piece, with a seed that a failure tells."""

    def __init__(self) -> None:
        self.seed = random.randrange(2**32)
        self._random = random.Random(self.seed)

    def text(self, said: str) -> str:
        chance = self._random
        for _ in range(chance.randint(1, 4)):
            at, end = sorted(chance.randint(0, len(said)) for _ in range(2))
            piece = chance.choice([*PIECES, said[at:end]])
            end = chance.choice([at, at + 1, end])
            said = said[:at] + piece + said[end:]
        return said


def test_mutated_redirect_urls_are_true_false_or_a_typed_error(bench: Bench) -> None:
    """Through the C function itself: the binding refuses what C strings cannot carry."""
    library = load()
    mutator = Mutator()
    client = bench.client(redirect_uri=OWN_SCHEME)
    login, url = bench.begin_login(client)
    redirect = bench.redirect_of(url)
    for turn in range(20_000 if FULL else 5_000):
        if login.is_over:
            login.error()
            login, url = bench.begin_login(client)
            redirect = bench.redirect_of(url)
        mutated = mutator.text(redirect).encode("utf-8", "surrogatepass").partition(b"\0")[0]
        if mutated.decode("utf-8", "replace") == redirect:
            continue
        handled = ctypes.c_bool(True)
        status = library.versola_client_handle_redirect_wait(
            client._handle, mutated, 20_000, ctypes.byref(handled), None
        )
        assert status in CAUSES, f"seed {mutator.seed}, turn {turn}"
        if status == 0 and handled.value:
            # Only what carries our code and state, in another dress.
            assert login.result().subject == bench.provider.subject
            client.logout()
            login, url = bench.begin_login(client)
            redirect = bench.redirect_of(url)
    client.cancel_login()
    assert login.error().code in CAUSES


ENDPOINTS: dict[str, Callable[[Bench], str]] = {
    "discovery": lambda bench: json.dumps(bench.provider.published_metadata()),
    "jwks": lambda bench: json.dumps(bench.provider.keys.jwks()),
    "token": lambda bench: json.dumps(
        {
            "access_token": "a" * 24,
            "token_type": "Bearer",
            "expires_in": 300,
            "refresh_token": "r" * 24,
            "id_token": "a.b.c",
        }
    ),
    "userinfo": lambda bench: json.dumps({"sub": bench.provider.subject, "name": "x"}),
}


@pytest.mark.parametrize("endpoint", ENDPOINTS)
def test_mutated_bodies_of_the_provider_are_taken_or_a_typed_error(bench: Bench, endpoint: str) -> None:
    mutator = Mutator()
    bench.provider.keys.use("RS256")
    body = ENDPOINTS[endpoint](bench)
    grant = bench.signed_in(store="memory", scopes="offline_access")
    for turn in range(1500 if FULL else 250):
        mutated = mutator.text(body).encode("utf-8", "surrogatepass")
        bench.provider.script(endpoint, Answer(status=200, body=mutated))
        with bench.client(store="memory", redirect_uri=OWN_SCHEME) as client:
            try:
                if endpoint == "userinfo":
                    assert grant.user_info()["sub"] == bench.provider.subject
                    continue
                login = bench.call(client.login)
                while not login.is_over and client.state is not SessionState.AUTHORIZING:
                    pass
                if not login.is_over:
                    url = client.authorization_url or ""
                    if (
                        urlsplit(url).netloc == urlsplit(bench.provider.issuer).netloc
                        and urlsplit(url).path == "/authorize"
                    ):
                        client.handle_redirect(bench.redirect_of(url))
                    else:
                        client.cancel_login()
                login.result()
            except VersolaError as error:
                assert error.code in CAUSES, f"seed {mutator.seed}, turn {turn}"
                bench.heard(error)
            except (ValueError, AssertionError) as error:
                raise AssertionError(f"seed {mutator.seed}, turn {turn}") from error
        bench.provider.unscript()
    assert grant.state is SessionState.AUTHENTICATED

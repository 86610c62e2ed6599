# SPDX-License-Identifier: Apache-2.0
"""What a person sees of a value, and what C gets to see of an argument."""

from __future__ import annotations

import datetime

import pytest

import versola
from versola import _library, _values


def test_neither_token_nor_claims_nor_url_are_in_a_repr() -> None:
    values = [
        versola.Token("SECRET", "Bearer", datetime.datetime.now(datetime.timezone.utc), "openid"),
        versola.Identity("alice", {"email": "SECRET"}),
        versola.SessionStateChange(versola.SessionState.AUTHORIZING, None, 0, "https://id.example/?state=SECRET"),
    ]
    for value in values:
        assert "SECRET" not in f"{value!r} {value}"


def test_a_number_that_int_refuses_for_its_length_does_not_cost_the_identity() -> None:
    identity = _values.IdentityText("alice", b'{"sub": "alice", "count": 3, "huge": -' + b"9" * 5000 + b"}").parsed()
    assert identity.claims["count"] == 3
    assert identity.claims["huge"] < -1e300


class FakeLibrary:
    def __init__(self, expires_at_ms: int) -> None:
        self._expires_at_ms = expires_at_ms

    def versola_token_value(self, token: int, length: None) -> bytes:
        return b"value"

    def versola_token_type(self, token: int) -> bytes:
        return b"Bearer"

    def versola_token_scope(self, token: int) -> bytes:
        return b"openid"

    def versola_token_expires_at_unix_ms(self, token: int) -> int:
        return self._expires_at_ms


@pytest.mark.parametrize(
    ("expires_at_ms", "expected"),
    [
        (-1, None),
        (0, datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)),
        (1_900_000_000_500, datetime.datetime(2030, 3, 17, 17, 46, 40, 500_000, datetime.timezone.utc)),
        (2**63 - 1, datetime.datetime.max.replace(tzinfo=datetime.timezone.utc)),
    ],
)
def test_the_expiry_of_a_token(expires_at_ms: int, expected: object) -> None:
    assert _values.token_from(FakeLibrary(expires_at_ms), 1).expires_at == expected


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_a_string_that_c_would_cut_or_misread_is_refused(value: str) -> None:
    with pytest.raises(versola.ConfigurationError, match="^scope ") as caught:
        _library.encoded("scope", value)
    assert caught.value.cause is versola.ConfigurationCause.INVALID_CONFIGURATION


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), 1e300, 2**63])
def test_a_number_that_c_would_wrap_is_refused(value: float) -> None:
    with pytest.raises(versola.ConfigurationError, match="^min_valid "):
        _library.scaled("min_valid", value, 1000)


def test_seconds_become_milliseconds() -> None:
    assert _library.scaled("timeout", 0.2, 1000) == 200


def test_something_that_is_no_string_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="issuer must be str, not int"):
        _library.encoded("issuer", 1)  # type: ignore[arg-type]

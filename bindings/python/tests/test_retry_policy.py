# SPDX-License-Identifier: Apache-2.0
"""The retry policy: refused when it is made, and the library's own numbers."""

from __future__ import annotations

import dataclasses
import datetime
import math
from typing import Any, Dict

import pytest

import versola
from versola import RetryPolicy, _native, _retry_policy


def refused(**settings: Any) -> None:
    with pytest.raises(versola.ConfigurationError, match="^retry policy: ") as caught:
        RetryPolicy(**settings)
    assert caught.value.cause is versola.ConfigurationCause.INVALID_CONFIGURATION


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("max_attempts_per_origin", [0, -1, 6, 2.5, 2**70]),
        ("max_total_attempts", [0, -1, 9, 4.5, 2**70]),
        ("initial_backoff", [0, -1, 0.0009, 30.001, 1e300, datetime.timedelta(0), datetime.timedelta.max]),
        ("backoff_multiplier", [0, 0.999, 10.001, -2]),
        ("max_backoff", [0, -1, 0.0009, 30.001, datetime.timedelta(seconds=-1), datetime.timedelta(seconds=31)]),
        ("total_budget", [0, -1, 0.0009, 60.001, datetime.timedelta(minutes=2)]),
    ],
)
def test_a_value_outside_its_range_is_refused_when_the_policy_is_made(name: str, values: Any) -> None:
    for value in [*values, math.nan, math.inf, -math.inf]:
        refused(**{name: value})
        with pytest.raises(versola.ConfigurationError):
            dataclasses.replace(RetryPolicy.PATIENT, **{name: value})


@pytest.mark.parametrize("name", ["max_attempts_per_origin", "max_total_attempts", "backoff_multiplier"])
def test_a_duration_is_no_number_and_is_refused_when_the_policy_is_made(name: str) -> None:
    with pytest.raises(TypeError):
        RetryPolicy(**{name: datetime.timedelta(seconds=2)})  # type: ignore[arg-type]


def test_more_attempts_per_origin_than_in_all_are_refused_when_the_policy_is_made() -> None:
    refused(max_attempts_per_origin=2, max_total_attempts=1)
    refused(max_attempts_per_origin=5)
    refused(max_total_attempts=2)


def test_the_limits_themselves_are_allowed() -> None:
    RetryPolicy(1, 1, 0.001, 1, 0.001, 0.001)
    RetryPolicy(5, 8, 30, 10, 30, 60)
    RetryPolicy(5, 8, *[datetime.timedelta(seconds=30), 10.0, datetime.timedelta(milliseconds=1)])


def test_the_presets() -> None:
    assert dataclasses.astuple(RetryPolicy()) == (3, 4, 0.5, 2.0, 8.0, 20.0)
    assert dataclasses.astuple(RetryPolicy.CONSERVATIVE) == (2, 2, 0.25, 2.0, 2.0, 5.0)
    assert dataclasses.astuple(RetryPolicy.PATIENT) == (5, 8, 0.5, 2.0, 30.0, 60.0)


def test_the_ranges_are_the_librarys(library: Any) -> None:
    setters = {
        "max_attempts_per_origin": ("max_attempts_per_origin", 1),
        "max_total_attempts": ("max_total_attempts", 1),
        "initial_backoff": ("initial_backoff_ms", 1000),
        "backoff_multiplier": ("backoff_multiplier_permille", 1000),
        "max_backoff": ("max_backoff_ms", 1000),
        "total_budget": ("total_budget_ms", 1000),
    }
    assert {name for name, _, _ in _retry_policy._RANGES} == set(setters)
    config = library.versola_config_new(b"https://id.example.com", b"client")
    try:
        for name, low, high in _retry_policy._RANGES:
            setter, factor = setters[name]
            call = getattr(library, f"versola_config_set_{setter}")
            for value, allowed in [(low, True), (high, True)]:
                assert (call(config, round(value * factor)) == 0) is allowed, name
            assert call(config, round(low * factor) - 1) != 0, name
            assert call(config, round(high * factor) + 1) != 0, name
        for preset in _native.RetryPreset:
            assert library.versola_config_set_retry_preset(config, preset) == 0
    finally:
        library.versola_config_release(config)


def test_the_numbers_reach_the_library() -> None:
    calls: Dict[str, Any] = {}

    class Recording:
        def __getattr__(self, name: str) -> Any:
            return lambda config, value: calls.setdefault(name, value)

    policy = RetryPolicy(2, 3, datetime.timedelta(milliseconds=7), 1.5, 4, datetime.timedelta(seconds=10))
    _retry_policy.set_retry_policy(Recording(), 1, policy)
    assert {name[len("versola_config_set_") :]: value for name, value in calls.items()} == {
        "max_attempts_per_origin": 2,
        "max_total_attempts": 3,
        "initial_backoff_ms": 7,
        "backoff_multiplier_permille": 1500,
        "max_backoff_ms": 4000,
        "total_budget_ms": 10000,
    }
    assert all(type(value) is int for value in calls.values())


@pytest.mark.parametrize("policy", [None, "patient", 3])
def test_only_a_policy_is_taken_for_one(settings: Dict[str, Any], policy: Any) -> None:
    with pytest.raises(versola.ConfigurationError, match="retry_policy"):
        versola.OAuthClient(**settings, retry_policy=policy)


def test_one_attempt_is_one_request(settings: Dict[str, Any], provider: Any) -> None:
    provider.tell("script", endpoint="discovery", answer={"status": 503}, times=2)
    with versola.OAuthClient(**settings, retry_policy=RetryPolicy(1, 1)) as client:
        with pytest.raises(versola.RecoverableError) as caught:
            client.login(timeout=20)
    assert (caught.value.cause, caught.value.status) == (versola.RecoverableCause.SERVER, 503)
    assert (caught.value.attempts, caught.value.retry_after) == (1, None)
    assert len(provider.requests("discovery")) == 1


def test_failed_requests_are_repeated_within_the_policy(settings: Dict[str, Any], provider: Any) -> None:
    provider.tell("script", endpoint="discovery", answer={"status": 503}, times=2)
    policy = RetryPolicy(initial_backoff=0.01, max_backoff=0.02)
    with versola.OAuthClient(**settings, retry_policy=policy) as client:
        assert client.login(timeout=20).subject
    assert len(provider.requests("discovery")) == 3

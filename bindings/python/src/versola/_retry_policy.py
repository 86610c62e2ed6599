# SPDX-License-Identifier: Apache-2.0
"""How long one operation keeps repeating failed requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ._errors import invalid
from ._library import Duration, scaled, seconds


@dataclass(frozen=True)
class RetryPolicy:
    """How long one operation keeps repeating failed requests. Jitter is always on.

    Raises :class:`versola.ConfigurationError` for a value outside its range; none is clamped. Durations are seconds
    or a :class:`datetime.timedelta`.
    """

    max_attempts_per_origin: int = 3
    """Failed requests to one origin, 1 to 5, at most ``max_total_attempts``."""
    max_total_attempts: int = 4
    """Failed requests to all origins, 1 to 8."""
    initial_backoff: Duration = 0.5
    """1 ms to 30 s."""
    backoff_multiplier: float = 2.0
    """1 to 10."""
    max_backoff: Duration = 8.0
    """1 ms to 30 s. A ``Retry-After`` is not limited by it."""
    total_budget: Duration = 20.0
    """1 ms to 60 s of one operation, without the time spent in the browser."""

    CONSERVATIVE: ClassVar[RetryPolicy]
    """2 attempts; 250 ms doubling up to 2 s; 5 s in all."""
    PATIENT: ClassVar[RetryPolicy]
    """5 attempts per origin, 8 in all; 500 ms doubling up to 30 s; 60 s in all."""

    def __post_init__(self) -> None:
        for name, low, high in _RANGES:
            value = getattr(self, name)
            if name in _DURATIONS:
                value = seconds(value)
            # Written so that NaN is refused.
            if not low <= value <= high or (name in _WHOLE and value != int(value)):
                raise invalid(f"retry policy: {name} must be {low} to {high}")
        if self.max_attempts_per_origin > self.max_total_attempts:
            raise invalid("retry policy: max_attempts_per_origin is above max_total_attempts")


_WHOLE = ("max_attempts_per_origin", "max_total_attempts")
_DURATIONS = ("initial_backoff", "max_backoff", "total_budget")
# Seconds, where it is a duration. The library has them too; a test holds these against them.
_RANGES = (
    ("max_attempts_per_origin", 1, 5),
    ("max_total_attempts", 1, 8),
    ("initial_backoff", 0.001, 30),
    ("backoff_multiplier", 1, 10),
    ("max_backoff", 0.001, 30),
    ("total_budget", 0.001, 60),
)


def set_retry_policy(library: Any, config: object, policy: RetryPolicy) -> None:
    library.versola_config_set_max_attempts_per_origin(config, int(policy.max_attempts_per_origin))
    library.versola_config_set_max_total_attempts(config, int(policy.max_total_attempts))
    library.versola_config_set_initial_backoff_ms(config, _milliseconds("initial_backoff", policy))
    library.versola_config_set_backoff_multiplier_permille(
        config, scaled("backoff_multiplier", policy.backoff_multiplier, 1000)
    )
    library.versola_config_set_max_backoff_ms(config, _milliseconds("max_backoff", policy))
    library.versola_config_set_total_budget_ms(config, _milliseconds("total_budget", policy))


def _milliseconds(name: str, policy: RetryPolicy) -> int:
    return scaled(name, seconds(getattr(policy, name)), 1000)


RetryPolicy.CONSERVATIVE = RetryPolicy(2, 2, 0.25, 2.0, 2.0, 5.0)
RetryPolicy.PATIENT = RetryPolicy(5, 8, 0.5, 2.0, 30.0, 60.0)

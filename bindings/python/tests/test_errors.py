# SPDX-License-Identifier: Apache-2.0
"""Numbers of the library become the four exceptions, and nothing that is unknown crashes."""

from __future__ import annotations

import ctypes
import datetime
import pickle
from typing import Any, Optional, Type

import pytest

import versola
from versola import _errors, _library, _native


@pytest.mark.parametrize(
    ("causes", "category"),
    [
        (versola.RecoverableCause, versola.RecoverableError),
        (versola.ReauthenticateCause, versola.ReauthenticateError),
        (versola.StepUpCause, versola.StepUpError),
        (versola.ConfigurationCause, versola.ConfigurationError),
    ],
)
def test_a_cause_has_its_category(causes: Any, category: Type[versola.VersolaError]) -> None:
    for cause in causes:
        error = _errors.error_for(cause.value, "detail", "code", "description")
        assert type(error) is category
        assert (error.cause, error.code) == (cause, cause.value)
        assert (str(error), error.oauth_error, error.error_description) == ("detail", "code", "description")


@pytest.mark.parametrize(
    ("code", "category"),
    [
        (199, versola.RecoverableError),
        (299, versola.ReauthenticateError),
        (399, versola.StepUpError),
        (499, versola.ConfigurationError),
        (599, versola.VersolaError),
        (-1, versola.VersolaError),
    ],
)
def test_an_unknown_cause_keeps_its_category(code: int, category: Type[versola.VersolaError]) -> None:
    error = _errors.error_for(code, "detail")
    assert type(error) is category
    assert (error.cause, error.code) == (None, code)


class FakeLibrary:
    """The getters of one error."""

    def __init__(
        self,
        server: Optional[_native.ServerFailure] = None,
        network: Optional[_native.NetworkFailure] = None,
        challenge: Optional[_native.StepUpChallenge] = None,
    ) -> None:
        self._server, self._network, self._challenge = server, network, challenge

    def versola_error_step_up_challenge(self, error: object) -> Any:
        kind = ctypes.POINTER(_native.StepUpChallenge)
        return kind(self._challenge) if self._challenge is not None else kind()

    def versola_error_detail(self, error: object) -> bytes:
        return b"not \xff UTF-8"

    def versola_error_oauth_error(self, error: object) -> None:
        return None

    def versola_error_description(self, error: object) -> None:
        return None

    def versola_error_server_failure(self, error: object) -> Any:
        kind = ctypes.POINTER(_native.ServerFailure)
        return kind(self._server) if self._server is not None else kind()

    def versola_error_network_failure(self, error: object) -> Any:
        kind = ctypes.POINTER(_native.NetworkFailure)
        return kind(self._network) if self._network is not None else kind()


def test_a_step_up_challenge_has_what_the_resource_asked_for() -> None:
    challenge = _native.StepUpChallenge(32, 0, b"gold", 300, None)
    error = _library.lent_error(FakeLibrary(challenge=challenge), 301, 1)
    assert isinstance(error, versola.StepUpError)
    assert (error.acr_values, error.max_age, error.scope) == ("gold", datetime.timedelta(minutes=5), None)


def recoverable(code: int, library: FakeLibrary) -> versola.RecoverableError:
    error = _library.lent_error(library, code, 1)
    assert isinstance(error, versola.RecoverableError)
    return error


def test_a_server_failure_has_its_four_values() -> None:
    error = recoverable(105, FakeLibrary(server=_native.ServerFailure(32, 503, 7000, 3, 0, 1500)))
    assert (error.status, error.attempts, error.reason) == (503, 3, None)
    assert error.retry_after == datetime.timedelta(seconds=7)
    assert error.elapsed == datetime.timedelta(seconds=1.5)


def test_a_server_failure_without_status_and_time() -> None:
    error = recoverable(105, FakeLibrary(server=_native.ServerFailure(32, 0, -1, 0, 0, 0)))
    assert (error.status, error.retry_after, error.attempts) == (None, None, 0)


def test_a_time_beyond_timedelta_is_the_longest_one() -> None:
    error = recoverable(105, FakeLibrary(server=_native.ServerFailure(32, 503, 2**63 - 1, 1, 0, 2**63 - 1)))
    assert (error.retry_after, error.elapsed) == (datetime.timedelta.max, datetime.timedelta.max)


def test_a_network_failure_has_its_reason() -> None:
    assert recoverable(104, FakeLibrary(network=_native.NetworkFailure(8, 4))).reason is versola.NetworkReason.TLS
    assert recoverable(104, FakeLibrary(network=_native.NetworkFailure(8, 99))).reason is None


def test_text_that_is_not_utf_8_does_not_raise() -> None:
    assert str(recoverable(101, FakeLibrary())) == "not \ufffd UTF-8"


def test_an_error_survives_pickling() -> None:
    error = recoverable(104, FakeLibrary(network=_native.NetworkFailure(8, 1)))
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is versola.RecoverableError
    assert (copy.cause, copy.reason, copy.detail) == (error.cause, error.reason, error.detail)

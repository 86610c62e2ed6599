# SPDX-License-Identifier: Apache-2.0
"""UserInfo: whose claims are handed out, and what its 401 means (behaviour §7), at the scripted provider."""

from __future__ import annotations

import datetime
import json
import time
from dataclasses import replace

import pytest
from versola import ConfigurationCause, ReauthenticateCause, RecoverableCause, SessionState, StepUpCause, StepUpError

from cases import Bench, Person, bench_fixture  # noqa: F401
from provider import Answer, Cut, Gate, IDTokenShape, sign

EXCHANGE, REFRESH = "authorization_code", "refresh_token"
REJECTED = ConfigurationCause.USER_INFO_REJECTED
SESSION_REJECTED = ReauthenticateCause.SESSION_REJECTED
STEP_UP = StepUpCause.INSUFFICIENT_USER_AUTHENTICATION


def challenged(*values: str) -> Answer:
    return Answer(status=401, headers=[("WWW-Authenticate", value) for value in values])


SUBJECTS = ["another", None, ["{subject}"], 5, {"sub": "{subject}"}, True, "", "{subject} ", "{SUBJECT}"]


@pytest.mark.parametrize("subject", SUBJECTS, ids=[str(one) for one in SUBJECTS])
def test_B66_a_sub_that_differs_or_is_no_string_is_refused_and_no_claims_are_handed_out(
    bench: Bench, subject: object
) -> None:
    mine = bench.provider.subject
    text = json.dumps(subject).replace("{subject}", mine).replace("{SUBJECT}", mine.upper())
    with bench.signed_in() as client:
        bench.provider.userinfo["sub"] = json.loads(text)
        with bench.refused(REJECTED):
            client.user_info()
        assert client.state is SessionState.AUTHENTICATED
        bench.provider.userinfo.clear()
        assert client.user_info()["sub"] == mine


def test_B66_a_sub_in_another_spelling_is_another_sub(bench: Bench) -> None:
    bench.provider.subject = "Zo\u00eb-canary-5f21"
    with bench.signed_in() as client:
        bench.provider.userinfo["sub"] = "Zoe\u0308-canary-5f21"
        with bench.refused(REJECTED):
            client.user_info()
        bench.provider.userinfo.clear()
        assert client.user_info()["sub"] == bench.provider.subject


def test_B66_a_missing_sub_is_refused(bench: Bench) -> None:
    with bench.signed_in() as client:
        bench.provider.userinfo.remove("sub")
        with bench.refused(REJECTED):
            client.user_info()


@pytest.mark.parametrize(
    "answer, cause",
    [
        (Answer(status=200, body="<html>"), RecoverableCause.SERVER),
        (Answer(status=200, body=""), RecoverableCause.SERVER),
        (Answer(status=200, body="[]"), RecoverableCause.SERVER),
        (Answer(status=500), RecoverableCause.SERVER),
        (Answer(status=403), RecoverableCause.SERVER),
        (Answer(status=404), RecoverableCause.SERVER),
        (Answer(redirect="/x"), ConfigurationCause.ENDPOINT_REDIRECTED),
        (Answer(cut=Cut.RESET), RecoverableCause.NETWORK),
        (Answer(cut=Cut.HALF_BODY), RecoverableCause.NETWORK),
    ],
)
def test_a_failed_user_info_changes_neither_state_nor_grant(bench: Bench, answer: Answer, cause: object) -> None:
    client = bench.signed_in()
    states = client.session_states()
    bench.provider.script("userinfo", answer, times=8)
    with bench.refused(cause):  # type: ignore[arg-type]
        client.user_info()
    bench.provider.unscript()
    assert client.user_info()["sub"] == bench.provider.subject
    assert bench.history(client, states) == ["AUTHENTICATED"]
    assert bench.grant_types() == [EXCHANGE]


MALFORMED = [
    r'"\z"',
    '"\n"',
    '"\t"',
    r'"\u12g4"',
    r'"\u12"',
    "01",
    "1.",
    ".5",
    "1e",
    "--1",
    "1.2.3",
    "-",
    "1e+",
    "+1",
    "nul",
    "[1,]",
    '{"y":1,}',
    '{"y":1,"y":2}',
]


@pytest.mark.parametrize("value", MALFORMED, ids=repr)
def test_a_body_that_another_parser_would_refuse_is_not_handed_out(bench: Bench, value: str) -> None:
    with bench.signed_in() as client:
        for malformed in (value, f'[{{"x": {value}}}]'):
            body = f'{{"sub": "{bench.provider.subject}", "x": {malformed}}}'
            bench.provider.script("userinfo", Answer(status=200, body=body))
            with bench.refused(RecoverableCause.SERVER):
                client.user_info()


@pytest.mark.parametrize("value", ["0", "-0", "-1.5e-3", "1E+9", "1" * 400, r'"\ud800\"\/"', '"й😀"', "[]", "{}"])
def test_every_well_formed_value_is_handed_out_as_it_came(bench: Bench, value: str) -> None:
    with bench.signed_in() as client:
        body = f'{{"sub": "{bench.provider.subject}", "x": {value}}}'
        bench.provider.script("userinfo", Answer(status=200, body=body))
        assert client.user_info() == json.loads(body)


def test_no_endpoint_is_provider_unsupported(bench: Bench) -> None:
    bench.provider.metadata.remove("userinfo_endpoint")
    with bench.signed_in() as client, bench.refused(ConfigurationCause.PROVIDER_UNSUPPORTED):
        client.user_info()


# --- 401 --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "challenge",
    [
        'Bearer error="invalid_token"',
        "Bearer",
        'Bearer error="something_new"',
        'Bearer realm="insufficient_user_authentication"',
        'Bearer error_description="error=\\"insufficient_user_authentication\\""',
        "Basic realm=x, Negotiate abcd==",
        'Unknown error="invalid_token"',
        "",
        '"',
        "Bearer ,,,=",
        'Bearer error="insufficient_user_authentication',
    ],
)
def test_a_401_of_any_other_error_code_or_none_is_one_refresh_and_one_replay(bench: Bench, challenge: str) -> None:
    client = bench.signed_in()
    states = client.session_states()
    bench.provider.script("userinfo", challenged(challenge))
    assert client.user_info()["sub"] == bench.provider.subject
    assert bench.grant_types() == [EXCHANGE, REFRESH]
    first, second = bench.provider.requests("userinfo")
    assert first.header("Authorization") != second.header("Authorization")
    assert bench.history(client, states) == ["AUTHENTICATED", "REFRESHING", "AUTHENTICATED"]


def test_401_again_after_one_refresh_and_replay_is_SessionRejected_state_and_grant_stay(bench: Bench) -> None:
    with bench.signed_in() as client:
        bench.provider.script("userinfo", challenged('Bearer error="invalid_token"'), times=5)
        with bench.refused(SESSION_REJECTED):
            client.user_info()
        assert client.state is SessionState.AUTHENTICATED
        assert bench.grant_types() == [EXCHANGE, REFRESH]
        assert len(bench.provider.requests("userinfo")) == 2
    assert bench.state_of_a_new_client() is SessionState.AUTHENTICATED


def test_401_with_no_refresh_token_to_use_is_SessionRejected(bench: Bench) -> None:
    bench.provider.refresh_tokens = False
    with bench.signed_in() as client:
        bench.provider.script("userinfo", challenged('Bearer error="invalid_token"'), times=5)
        with bench.refused(SESSION_REJECTED):
            client.user_info()
        assert client.state is SessionState.AUTHENTICATED
        assert bench.grant_types() == [EXCHANGE] and len(bench.provider.requests("userinfo")) == 1


@pytest.mark.parametrize(
    "answer, cause, state",
    [
        (Answer(status=400, json={"error": "invalid_grant"}), ReauthenticateCause.GRANT_REJECTED, "UNAUTHENTICATED"),
        (Answer(status=400), SESSION_REJECTED, "AUTHENTICATED"),
        (Answer(status=500), RecoverableCause.SERVER, "AUTHENTICATED"),
    ],
)
def test_a_refresh_that_fails_for_a_request_ends_it_with_the_refresh_s_error(
    bench: Bench, answer: Answer, cause: object, state: str
) -> None:
    with bench.signed_in() as client:
        bench.provider.script("userinfo", challenged("Bearer"))
        bench.provider.script("token", answer)
        with bench.refused(cause):  # type: ignore[arg-type]
            client.user_info()
        assert client.state.name == state
        assert len(bench.provider.requests("userinfo")) == 1


def test_a_401_to_a_token_no_longer_current_is_replayed_with_the_current_one_without_a_refresh(bench: Bench) -> None:
    client = bench.signed_in()
    gate = Gate()
    bench.provider.script("userinfo", Answer(status=401, gate=gate))
    call = bench.call(client.user_info)
    gate.wait_arrived()
    client.refresh()
    gate.open()
    assert call.result()["sub"] == bench.provider.subject
    assert bench.grant_types() == [EXCHANGE, REFRESH]


# --- Step-up ----------------------------------------------------------------------------------------------------------

RFC9470 = (
    'Bearer error="insufficient_user_authentication", error_description="x", acr_values="gold silver", max_age="5"'
)


@pytest.mark.parametrize(
    "challenges, acr_values, max_age, scope",
    [
        ([RFC9470], "gold silver", 5, None),
        (["Basic realm=x", RFC9470 + ', scope="pay"'], "gold silver", 5, "pay"),
        (['Basic realm="a, Bearer b", ' + RFC9470], "gold silver", 5, None),
        (
            ["Negotiate abcd==, " + RFC9470.replace("Bearer", "bEARER").replace("error=", "ERROR = ")],
            "gold silver",
            5,
            None,
        ),
        (["Bearer error=insufficient_user_authentication"], None, None, None),
        (['Bearer error="insufficient_user_authentication", max_age="x"'], None, None, None),
        (['Bearer error="insufficient_user_authentication", max_age="99999999999999999999"'], None, None, None),
        (['Bearer error="insufficient_user_authentication", max_age=0'], None, 0, None),
        (['DPoP error="insufficient_user_authentication", acr_values="gold"'], "gold", None, None),
        (['Bearer error="invalid_token", ' + RFC9470.replace("Bearer", "DPoP")], "gold silver", 5, None),
    ],
)
def test_401_insufficient_user_authentication_in_any_challenge_is_StepUp_with_what_it_carries(
    bench: Bench, challenges: list[str], acr_values: str | None, max_age: int | None, scope: str | None
) -> None:
    client = bench.signed_in()
    states = client.session_states()
    bench.provider.script("userinfo", challenged(*challenges))
    with bench.refused(STEP_UP) as caught:
        client.user_info()
    challenge = caught.value
    assert isinstance(challenge, StepUpError)
    assert (challenge.acr_values, challenge.scope) == (acr_values, scope)
    assert challenge.max_age == (None if max_age is None else datetime.timedelta(seconds=max_age))
    assert client.state is SessionState.STEP_UP_REQUIRED
    assert bench.grant_types() == [EXCHANGE], "never a refresh"
    # Signed in all the same.
    assert client.access_token().value and client.refresh().value and client.identity()
    assert bench.history(client, states) == ["AUTHENTICATED", "STEP_UP_REQUIRED", "REFRESHING", "STEP_UP_REQUIRED"]


def test_a_newer_challenge_replaces_the_held_one_and_a_login_drops_it(bench: Bench) -> None:
    client = bench.signed_in()
    states = client.session_states()
    for acr in ("gold", "silver"):
        bench.provider.script(
            "userinfo", challenged(f'Bearer error="insufficient_user_authentication", acr_values={acr}')
        )
        with bench.refused(STEP_UP) as caught:
            client.user_info()
        assert isinstance(caught.value, StepUpError) and caught.value.acr_values == acr
    client.login()
    assert client.state is SessionState.AUTHENTICATED
    assert bench.history(client, states) == ["AUTHENTICATED", "STEP_UP_REQUIRED", "AUTHORIZING", "AUTHENTICATED"]


def test_step_up_in_the_replay_is_step_up(bench: Bench) -> None:
    with bench.signed_in() as client:
        bench.provider.script("userinfo", challenged("Bearer"), challenged(RFC9470))
        with bench.refused(STEP_UP):
            client.user_info()
        assert client.state is SessionState.STEP_UP_REQUIRED
        assert bench.grant_types() == [EXCHANGE, REFRESH]


def test_a_restart_and_a_logout_forget_the_challenge(bench: Bench) -> None:
    client = bench.signed_in()
    bench.provider.script("userinfo", challenged(RFC9470), times=2)
    with bench.refused(STEP_UP):
        client.user_info()
    assert bench.state_of_a_new_client() is SessionState.AUTHENTICATED
    client.logout()
    assert client.state is SessionState.UNAUTHENTICATED


def test_a_failed_login_keeps_the_challenge(bench: Bench) -> None:
    client = bench.signed_in()
    bench.provider.script("userinfo", challenged(RFC9470))
    with bench.refused(STEP_UP):
        client.user_info()
    bench.provider.redirect.error = "access_denied"
    with bench.refused(ReauthenticateCause.AUTHORIZATION_DENIED):
        client.login()
    assert client.state is SessionState.STEP_UP_REQUIRED


# --- Signed -----------------------------------------------------------------------------------------------------------


def signed(bench: Bench, shape: IDTokenShape | None = None, **claims: object) -> Answer:
    claims = {"sub": bench.provider.subject, **claims}
    token = sign(claims, shape or IDTokenShape(), bench.provider.keys)
    return Answer(status=200, body=token, headers={"Content-Type": "application/jwt"})


def test_a_signed_answer_is_judged_like_an_ID_token(bench: Bench) -> None:
    other_kind = IDTokenShape()
    other_kind.header["typ"] = "at+jwt"
    with bench.signed_in() as client:
        bench.provider.script("userinfo", signed(bench, iss=bench.provider.issuer, aud="native-app", nickname="x"))
        assert client.user_info()["nickname"] == "x"
        now = int(time.time())
        right = [
            signed(bench),
            signed(bench, aud=["another-app", "native-app"], exp=now - 30, nbf=now + 30),
            signed(bench, iss=None, aud=None, exp=now + 0.5, nbf=None, iat="x"),
        ]
        for type_ in ("Application/JWT", "application/jwt; charset=utf-8", "application/jwt;x=y"):
            right.append(replace(right[0], headers={"Content-Type": type_}))
        for answer in right:
            bench.provider.script("userinfo", answer)
            assert client.user_info()["sub"] == bench.provider.subject
        wrong = [
            signed(bench, sub="another"),
            signed(bench, sub=None),
            signed(bench, sub=[bench.provider.subject]),
            signed(bench, iss="https://evil.example"),
            signed(bench, iss=bench.provider.issuer + "/"),
            signed(bench, iss=[bench.provider.issuer]),
            signed(bench, aud="another-app"),
            signed(bench, aud=[]),
            signed(bench, exp=5),
            signed(bench, exp=str(now + 60)),
            signed(bench, exp=now - 120),
            signed(bench, nbf=now + 120),
            signed(bench, nbf="x"),
            signed(bench, other_kind),
            signed(bench, IDTokenShape(alg="none")),
            signed(bench, IDTokenShape(alg="HS256")),
            signed(bench, IDTokenShape(wrong_key=True)),
            signed(bench, IDTokenShape(broken_signature=True)),
            Answer(status=200, body="a.b.c", headers={"Content-Type": "application/jwt"}),
            Answer(status=200, body=b"\xff\xfe", headers={"Content-Type": "application/jwt; charset=x"}),
        ]
        for answer in wrong:
            bench.provider.script("userinfo", answer)
            with bench.refused(REJECTED):
                client.user_info()


def test_nobody_is_asked_when_nobody_is_signed_in(bench: Bench) -> None:
    """Unauthenticated; Authorizing without a grant; LoggingOut: SessionExpired, nothing sent."""
    client = bench.client(browser=None)
    for _ in range(2):
        for call in (client.user_info, client.access_token, client.refresh, client.identity):
            with bench.refused(ReauthenticateCause.SESSION_EXPIRED):
                call()
        if client.state is SessionState.UNAUTHENTICATED:
            login, _ = bench.begin_login(client)
    assert bench.provider.requests("userinfo") == bench.provider.requests("token") == []
    client.cancel_login()
    assert login.error().cause is RecoverableCause.USER_CANCELLED


def test_while_a_login_waits_over_a_grant_everything_works(bench: Bench) -> None:
    client = bench.signed_in(browser=Person())
    client.close()
    client = bench.client()
    login, _ = bench.begin_login(client)
    assert client.access_token().value and client.refresh().value and client.identity()
    assert client.user_info()["sub"] == bench.provider.subject
    client.cancel_login()
    assert login.error().cause is RecoverableCause.USER_CANCELLED
    assert client.state is SessionState.AUTHENTICATED

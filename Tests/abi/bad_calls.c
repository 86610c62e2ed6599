/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bad input through every function of clients, queues, events and results: NULL, closed clients, bad arguments.
 */
#include "bad_input.h"

static void getters_of_null(void) {
    size_t length = 7;

    CHECK(versola_error_category(NULL) == 0);
    CHECK(versola_error_cause(NULL) == 0);
    CHECK(versola_error_detail(NULL) == NULL);
    CHECK(versola_error_oauth_error(NULL) == NULL);
    CHECK(versola_error_description(NULL) == NULL);
    CHECK(versola_error_server_failure(NULL) == NULL);
    CHECK(versola_error_network_failure(NULL) == NULL);
    CHECK(versola_error_step_up_challenge(NULL) == NULL);
    CHECK(versola_token_value(NULL, &length) == NULL && length == 0);
    CHECK(versola_token_value(NULL, NULL) == NULL);
    CHECK(versola_token_type(NULL) == NULL);
    CHECK(versola_token_expires_at_unix_ms(NULL) == 0);
    CHECK(versola_token_scope(NULL) == NULL);
    CHECK(versola_identity_subject(NULL) == NULL);
    CHECK(versola_identity_claims(NULL) == NULL);
    length = 7;
    CHECK(versola_string_value(NULL, &length) == NULL && length == 0);
    CHECK(versola_string_value(NULL, NULL) == NULL);
    CHECK(versola_queue_fd(NULL) == -1);
    CHECK(versola_queue_pop(NULL) == NULL);
    CHECK(versola_queue_wait(NULL, -1) == NULL);
    CHECK(versola_event_kind(NULL) == 0);
    CHECK(!versola_event_is_of(NULL, NULL));
    CHECK(versola_event_operation_id(NULL) == 0);
    CHECK(versola_event_operation(NULL) == 0);
    CHECK(versola_event_status(NULL) == 0);
    CHECK(versola_event_error(NULL) == NULL);
    CHECK(versola_event_token(NULL) == NULL);
    CHECK(versola_event_identity(NULL) == NULL);
    CHECK(versola_event_user_info(NULL) == NULL);
    CHECK(!versola_event_handled(NULL));
    CHECK(!versola_event_token_revoked(NULL));
    CHECK(!versola_event_session_ended(NULL));
    CHECK(versola_event_state(NULL) == 0);
    CHECK(versola_event_generation(NULL) == 0);
    CHECK(versola_event_url(NULL) == NULL);
    CHECK(versola_event_log_level(NULL) == 0);
    CHECK(versola_event_message(NULL) == NULL);
    CHECK(versola_event_dropped(NULL) == 0);
}

static void references_of_null(void) {
    CHECK(versola_error_retain(NULL) == NULL);
    CHECK(versola_token_retain(NULL) == NULL);
    CHECK(versola_identity_retain(NULL) == NULL);
    versola_error_release(NULL);
    versola_config_release(NULL);
    versola_endpoints_release(NULL);
    versola_login_options_release(NULL);
    versola_token_options_release(NULL);
    versola_token_release(NULL);
    versola_identity_release(NULL);
    versola_string_release(NULL);
    versola_client_release(NULL);
    versola_client_close(NULL);
    versola_queue_release(NULL);
    versola_event_release(NULL);
}

/* Every function of a client but close, each with poisoned out-parameters: all must refuse, and all must write them. */
static void every_call_is_refused(versola_client *client) {
    versola_error *error = UNTOUCHED;
    versola_identity *identity = UNTOUCHED;
    versola_token *token = UNTOUCHED;
    versola_string *url = UNTOUCHED;
    int32_t state = 77;
    bool handled = true, revoked = true, ended = true;

    CHECK(is_error(versola_client_state(client, &state, &error), &error, INVALID) && state == 0);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_identity(client, &identity, &error), &error, INVALID) && identity == NULL);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_authorization_url(client, &url, &error), &error, INVALID) && url == NULL);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_reopen_browser(client, &error), &error, INVALID));
    error = UNTOUCHED;
    CHECK(is_error(versola_client_cancel_login(client, &error), &error, INVALID));
    error = UNTOUCHED;
    identity = UNTOUCHED;
    CHECK(is_error(versola_client_login_wait(client, NULL, -1, &identity, &error), &error, INVALID));
    CHECK(identity == NULL);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_access_token_wait(client, NULL, -1, &token, &error), &error, INVALID));
    CHECK(token == NULL);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_handle_redirect_wait(client, REDIRECT, -1, &handled, &error), &error, INVALID));
    CHECK(!handled);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_logout_wait(client, -1, &revoked, &ended, &error), &error, INVALID));
    CHECK(!revoked && !ended);
    error = UNTOUCHED;
    token = UNTOUCHED;
    CHECK(is_error(versola_client_refresh_wait(client, -1, &token, &error), &error, INVALID) && token == NULL);
    error = UNTOUCHED;
    url = UNTOUCHED;
    CHECK(is_error(versola_client_user_info_wait(client, -1, &url, &error), &error, INVALID) && url == NULL);
    error = UNTOUCHED;
    CHECK(is_error(versola_client_refresh(client, 5, &error), &error, INVALID));
    error = UNTOUCHED;
    CHECK(is_error(versola_client_user_info(client, 6, &error), &error, INVALID));
    error = UNTOUCHED;
    CHECK(is_error(versola_client_login(client, NULL, 1, &error), &error, INVALID));
    error = UNTOUCHED;
    CHECK(is_error(versola_client_access_token(client, NULL, 2, &error), &error, INVALID));
    error = UNTOUCHED;
    CHECK(is_error(versola_client_handle_redirect(client, REDIRECT, 3, &error), &error, INVALID));
    error = UNTOUCHED;
    CHECK(is_error(versola_client_logout(client, 4, &error), &error, INVALID));
}

static void calls_on_null(void) {
    every_call_is_refused(NULL);
    versola_error *error = UNTOUCHED;
    CHECK(is_error(versola_client_cancel(NULL, 1, VERSOLA_CANCEL_USER, &error), &error, INVALID));
    CHECK(is_error(versola_client_close_wait(NULL, -1, &error), &error, INVALID));
    CHECK(versola_client_close_wait(NULL, -1, NULL) == INVALID);
    CHECK(versola_client_login_wait(NULL, NULL, -1, NULL, NULL) == INVALID);
    CHECK(versola_client_logout_wait(NULL, -1, NULL, NULL, NULL) == INVALID);
}

static void calls_on_a_closed_client(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_NONE);
    versola_client_close(client);
    versola_client_close(client); /* idempotent */
    every_call_is_refused(client);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    every_call_is_refused(client);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void calls_with_bad_arguments(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_NONE);
    versola_error *error;
    bool handled;

    /* No place for the one result: of use to nobody, but no crash. */
    CHECK(typed(versola_client_state(client, NULL, NULL)));
    CHECK(versola_client_identity(client, NULL, NULL) != VERSOLA_OK);
    CHECK(typed(versola_client_authorization_url(client, NULL, NULL)));
    CHECK(versola_client_access_token_wait(client, NULL, -1, NULL, NULL) != VERSOLA_OK);
    CHECK(versola_client_refresh_wait(client, -1, NULL, NULL) != VERSOLA_OK);
    CHECK(versola_client_user_info_wait(client, -1, NULL, NULL) != VERSOLA_OK);

    /* URLs that cannot be one. */
    for (int i = 0; i < NOT_UTF8_COUNT; i++) {
        handled = true;
        int32_t status = versola_client_handle_redirect_wait(client, not_utf8[i], -1, &handled, &error);
        CHECK(is_error(status, &error, INVALID));
        CHECK(!handled);
        CHECK(is_error(versola_client_handle_redirect(client, not_utf8[i], 9, &error), &error, INVALID));
    }
    CHECK(is_error(versola_client_handle_redirect_wait(client, NULL, -1, &handled, &error), &error, INVALID));
    CHECK(is_error(versola_client_handle_redirect(client, NULL, 9, &error), &error, INVALID));

    /* URLs that are not ours: no error, not handled. */
    const char *const strangers[] = {
        "", "x", huge, "http://127.0.0.1/callback", "com.example.app:/callback?code=1&state=2"};
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        handled = true;
        int32_t status = versola_client_handle_redirect_wait(client, strangers[i], PATIENCE_MS, &handled, &error);
        CHECK(typed(status) && !handled);
        versola_error_release(error);
    }

    /* Numbers outside their range. */
    const int32_t reasons[] = {0, 3, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        CHECK(is_error(versola_client_cancel(client, 1, reasons[i], &error), &error, INVALID));
    const int64_t timeouts[] = {-2, INT64_MIN};
    for (size_t i = 0; i < sizeof timeouts / sizeof timeouts[0]; i++) {
        versola_token *token;
        CHECK(is_error(versola_client_login_wait(client, NULL, timeouts[i], NULL, &error), &error, INVALID));
        CHECK(is_error(versola_client_access_token_wait(client, NULL, timeouts[i], &token, &error), &error, INVALID));
        CHECK(is_error(versola_client_logout_wait(client, timeouts[i], NULL, NULL, &error), &error, INVALID));
        CHECK(is_error(versola_client_refresh_wait(client, timeouts[i], &token, &error), &error, INVALID));
        versola_string *claims;
        CHECK(is_error(versola_client_user_info_wait(client, timeouts[i], &claims, &error), &error, INVALID));
        int32_t status = versola_client_handle_redirect_wait(client, REDIRECT, timeouts[i], NULL, &error);
        CHECK(is_error(status, &error, INVALID));
    }

    /* An unknown id is no error, and the largest timeout does not overflow. */
    CHECK(versola_client_cancel(client, UINT64_MAX, VERSOLA_CANCEL_SYSTEM, NULL) == VERSOLA_OK);
    versola_token *token = UNTOUCHED;
    CHECK(is_error(versola_client_access_token_wait(client, NULL, INT64_MAX, &token, &error), &error,
        VERSOLA_CAUSE_SESSION_EXPIRED));
    CHECK(token == NULL);
    versola_event *event = versola_queue_wait(queue, INT64_MAX); /* the first state lies there */
    CHECK(versola_event_kind(event) == VERSOLA_EVENT_STATE);
    versola_event_release(event);
    CHECK(versola_client_close_wait(client, INT64_MAX, NULL) == VERSOLA_OK);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void answers(void) {
    versola_error *error = UNTOUCHED;
    CHECK(is_error(versola_event_answer_open_url(NULL, VERSOLA_OPEN_URL_OPENED, &error), &error, INVALID));
    CHECK(versola_event_answer_open_url(NULL, 99, NULL) == INVALID);

    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    versola_event *event = await_event(queue, VERSOLA_EVENT_STATE);
    CHECK(is_error(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, &error), &error, INVALID));
    versola_event_release(event);

    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    event = await_event(queue, VERSOLA_EVENT_OPEN_URL);
    const int32_t unknown[] = {0, 5, -1, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++)
        CHECK(is_error(versola_event_answer_open_url(event, unknown[i], &error), &error, INVALID));
    CHECK(!versola_event_is_of(event, NULL));
    /* Not this kind of event: every other getter has nothing. */
    CHECK(versola_event_token(event) == NULL && versola_event_identity(event) == NULL);
    CHECK(versola_event_error(event) == NULL && versola_event_message(event) == NULL);
    CHECK(versola_event_operation(event) == 0 && versola_event_state(event) == 0);
    versola_client_release(client);
    CHECK(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, NULL) == VERSOLA_OK); /* over: ignored */
    versola_event_release(event);
    versola_queue_release(queue);
}

static void versions(void) {
    CHECK(strcmp(versola_version(), VERSOLA_VERSION_STRING) == 0);
    CHECK(versola_abi_version() == VERSOLA_ABI_VERSION);
    CHECK(!versola_has_feature(0));
    CHECK(!versola_has_feature(-1));
    CHECK(!versola_has_feature(INT32_MAX));
    CHECK(!versola_has_feature(INT32_MIN));
}

int main(void) {
    if (!make_huge())
        return 2;
    tap_run(getters_of_null, "getters asked of NULL return NULL, 0 or false");
    tap_run(references_of_null, "retain, release and close take NULL");
    tap_run(calls_on_null, "every call on a NULL client writes its out-parameters");
    tap_run(calls_on_a_closed_client, "every call on a closed client writes its out-parameters");
    tap_run(calls_with_bad_arguments, "bad arguments of calls on a living client");
    tap_run(answers, "answers to the wrong event, unknown answers, late answers");
    tap_run(versions, "versions agree with the header, unknown features are absent");
    free(huge);
    return tap_done();
}

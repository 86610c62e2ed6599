/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bad input through every function: a typed error, every out-parameter written, never a crash. Tests/abi/run.py holds
 * the names in this file against the header, so that no function is left out.
 */
#include "fixture.h"

#include <stdlib.h>

enum { INVALID = VERSOLA_CAUSE_INVALID_CONFIGURATION };

/* Not UTF-8: a stray byte, an overlong slash, a surrogate, beyond U+10FFFF, cut short. */
static const char *const not_utf8[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"};
enum { NOT_UTF8_COUNT = sizeof not_utf8 / sizeof not_utf8[0] };

static char *huge; /* 1 MiB and a bit of "a" */

static bool typed(int32_t status) {
    return status == VERSOLA_OK || status == INVALID;
}

/* An out-parameter that was not written still points here. */
static char untouched;
#define UNTOUCHED ((void *)&untouched)

/* ------------------------------------------------------------------------------------------------------------------ */

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

/* Of a setter that takes one text. An empty and a huge text may be taken or refused, by their meaning. */
#define CHECK_TEXT_SETTER(setter, builder)                                                                             \
    do {                                                                                                               \
        CHECK(setter(NULL, "text") == INVALID);                                                                        \
        CHECK(setter(builder, NULL) == INVALID);                                                                       \
        for (int i = 0; i < NOT_UTF8_COUNT; i++)                                                                       \
            CHECK(setter(builder, not_utf8[i]) == INVALID);                                                            \
        CHECK(typed(setter(builder, "")));                                                                             \
        CHECK(typed(setter(builder, huge)));                                                                           \
        CHECK(typed(setter(builder, "\n\r\t\x01 \"\\ http://[::1 %00")));                                              \
    } while (0)

#define CHECK_REFUSES(setter, builder, ...)                                                                            \
    do {                                                                                                               \
        const int64_t refused[] = {__VA_ARGS__};                                                                       \
        for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)                                                \
            CHECK(setter(builder, refused[i]) == INVALID);                                                             \
        CHECK(setter(NULL, 1) == INVALID);                                                                             \
    } while (0)

static void configuration_texts(void) {
    versola_config *config = versola_config_new("http://127.0.0.1:9", "native-app");
    CHECK_TEXT_SETTER(versola_config_set_redirect_uri, config);
    CHECK_TEXT_SETTER(versola_config_set_post_logout_redirect_uri, config);
    CHECK_TEXT_SETTER(versola_config_set_scope, config);
    CHECK_TEXT_SETTER(versola_config_set_session, config);
    CHECK_TEXT_SETTER(versola_config_set_store_key_file, config);
    CHECK_TEXT_SETTER(versola_config_set_ca_file, config);
    CHECK_TEXT_SETTER(versola_config_set_proxy, config);
    versola_config_release(config);
}

static void configuration_numbers(void) {
    versola_config *config = versola_config_new("http://127.0.0.1:9", "native-app");
    CHECK_REFUSES(versola_config_set_request_timeout_ms, config, 0, -1, 300001, INT64_MAX, INT64_MIN);
    CHECK_REFUSES(versola_config_set_clock_skew_s, config, -1, 301, INT64_MAX, INT64_MIN);
    CHECK(versola_config_set_request_timeout_ms(config, 300000) == VERSOLA_OK);
    CHECK(versola_config_set_clock_skew_s(config, 0) == VERSOLA_OK);
    const int32_t unknown[] = {-1, 99, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof unknown / sizeof unknown[0]; i++) {
        CHECK(versola_config_set_browser(config, unknown[i]) == INVALID);
        CHECK(versola_config_set_log_level(config, unknown[i]) == INVALID);
        CHECK(versola_config_set_access_token_cache(config, unknown[i]) == INVALID);
    }
    CHECK(versola_config_set_browser(config, 0) == INVALID);
    CHECK(versola_config_set_access_token_cache(config, 0) == INVALID);
    CHECK(versola_config_set_access_token_cache(NULL, VERSOLA_ACCESS_TOKEN_CACHE_MEMORY) == INVALID);
    CHECK(versola_config_set_browser(NULL, VERSOLA_BROWSER_NONE) == INVALID);
    CHECK(versola_config_set_log_level(NULL, VERSOLA_LOG_INFO) == INVALID);
    versola_config_release(config);
}

static void configuration_objects(void) {
    versola_config *config = versola_config_new("http://127.0.0.1:9", "native-app");
    versola_queue *queue = versola_queue_new();
    CHECK(versola_config_set_store_auto(NULL) == INVALID);
    CHECK(versola_config_set_store_memory(NULL) == INVALID);
    CHECK(versola_config_set_endpoints(config, NULL) == INVALID);
    CHECK(versola_config_set_endpoints(NULL, NULL) == INVALID);
    CHECK(versola_config_set_queue(config, NULL) == INVALID);
    CHECK(versola_config_set_queue(NULL, queue) == INVALID);
    versola_queue_release(queue);
    versola_config_release(config);
}

static int32_t create(const versola_config *config) {
    versola_client *client = UNTOUCHED;
    versola_error *error = UNTOUCHED;
    int32_t status = versola_client_create(config, &client, &error);
    CHECK((status == VERSOLA_OK) == (client != NULL));
    CHECK((status == VERSOLA_OK) == (error == NULL));
    CHECK(versola_error_cause(error) == status);
    versola_error_release(error);
    versola_client_release(client);
    return status;
}

static void create_tells_remembered_refusals(void) {
    CHECK(create(NULL) == INVALID);

    const char *const bad[] = {
        NULL, "", not_utf8[0], "not a url", "ftp://id.example.com", "http://id.example.com", huge};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        versola_config *config = versola_config_new(bad[i], "native-app");
        versola_config_set_redirect_uri(config, REDIRECT);
        versola_config_set_store_memory(config);
        CHECK(create(config) == INVALID);
        versola_config_release(config);
    }

    for (int i = 0; i < 3; i++) {
        versola_config *config = versola_config_new("http://127.0.0.1:9", (const char *[]){NULL, "", not_utf8[1]}[i]);
        versola_config_set_redirect_uri(config, REDIRECT);
        versola_config_set_store_memory(config);
        CHECK(create(config) == INVALID);
        versola_config_release(config);
    }

    /* A refused setter whose status nobody looked at; the good value that follows does not heal it silently. */
    versola_config *config = versola_config_new("http://127.0.0.1:9", "native-app");
    CHECK(create(config) == INVALID); /* no redirect URI yet */
    versola_config_set_redirect_uri(config, REDIRECT);
    versola_config_set_store_memory(config);
    CHECK(create(config) == VERSOLA_OK);
    versola_config_set_request_timeout_ms(config, -5);
    versola_error *error = NULL;
    versola_client *client = NULL;
    int32_t status = versola_client_create(config, &client, &error);
    CHECK(error != NULL && strstr(versola_error_detail(error), "timeout") != NULL); /* the argument is named */
    CHECK(is_error(status, &error, INVALID));
    CHECK(client == NULL);
    versola_config_release(config);
}

static void create_without_places_for_results(void) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_error *error = UNTOUCHED;
    CHECK(is_error(versola_client_create(config, NULL, &error), &error, INVALID));
    CHECK(versola_client_create(config, NULL, NULL) == INVALID);
    CHECK(versola_client_create(NULL, NULL, NULL) == INVALID);
    versola_config_release(config);
}

static void endpoints(void) {
    versola_endpoints *endpoints = versola_endpoints_new("http://127.0.0.1:9", "http://127.0.0.1:9/a",
        "http://127.0.0.1:9/t", "http://127.0.0.1:9/j");
    CHECK_TEXT_SETTER(versola_endpoints_set_revocation_endpoint, endpoints);
    CHECK_TEXT_SETTER(versola_endpoints_set_user_info_endpoint, endpoints);
    CHECK_TEXT_SETTER(versola_endpoints_set_end_session_endpoint, endpoints);
    CHECK(versola_endpoints_set_iss_in_redirect(NULL, true) == INVALID);
    CHECK(versola_endpoints_set_iss_in_redirect(endpoints, true) == VERSOLA_OK);
    versola_endpoints_release(endpoints);

    for (int missing = 0; missing < 4; missing++) {
        for (int kind = 0; kind < 3; kind++) {
            if (missing == 0 && kind == 2)
                continue; /* the issuer is a text to compare with, whatever it looks like */
            const char *url[4] = {
                "http://127.0.0.1:9", "http://127.0.0.1:9/a", "http://127.0.0.1:9/t", "http://127.0.0.1:9/j"};
            url[missing] = (const char *[]){NULL, not_utf8[2], huge}[kind];
            endpoints = versola_endpoints_new(url[0], url[1], url[2], url[3]);
            versola_config *config = versola_config_new(NULL, "native-app");
            versola_config_set_redirect_uri(config, REDIRECT);
            versola_config_set_store_memory(config);
            CHECK(typed(versola_config_set_endpoints(config, endpoints)));
            if (!CHECK(create(config) == INVALID))
                printf("# endpoint %d, kind %d\n", missing, kind);
            versola_config_release(config);
            versola_endpoints_release(endpoints);
        }
    }
}

static void login_options(void) {
    versola_login_options *options = versola_login_options_new();
    CHECK_TEXT_SETTER(versola_login_options_set_scope, options);
    CHECK_TEXT_SETTER(versola_login_options_set_prompt, options);
    CHECK_TEXT_SETTER(versola_login_options_set_login_hint, options);
    CHECK_TEXT_SETTER(versola_login_options_set_ui_locales, options);
    CHECK_TEXT_SETTER(versola_login_options_set_acr_values, options);
    CHECK_TEXT_SETTER(versola_login_options_set_claims, options);
    CHECK_TEXT_SETTER(versola_login_options_add_resource, options);
    CHECK_TEXT_SETTER(versola_login_options_set_authorization_details, options);
    CHECK_REFUSES(versola_login_options_set_max_age_s, options, -1, INT64_MIN);
    CHECK(typed(versola_login_options_set_max_age_s(options, INT64_MAX)));
    CHECK(versola_login_options_add_parameter(NULL, "name", "value") == INVALID);
    CHECK(versola_login_options_add_parameter(options, NULL, "value") == INVALID);
    CHECK(versola_login_options_add_parameter(options, "name", NULL) == INVALID);
    CHECK(versola_login_options_add_parameter(options, not_utf8[0], "value") == INVALID);
    CHECK(versola_login_options_add_parameter(options, "name", not_utf8[3]) == INVALID);
    CHECK(typed(versola_login_options_add_parameter(options, huge, huge)));

    /* Refusals are remembered and told by login, in both forms. */
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_NONE);
    versola_error *error = UNTOUCHED;
    versola_identity *identity = UNTOUCHED;
    CHECK(is_error(versola_client_login_wait(client, options, -1, &identity, &error), &error, INVALID));
    CHECK(identity == NULL);
    CHECK(is_error(versola_client_login(client, options, 1, &error), &error, INVALID));
    versola_client_release(client);
    versola_queue_release(queue);
    versola_login_options_release(options);
}

static bool login_refuses(versola_login_options *options) {
    versola_client *client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_error *error = UNTOUCHED;
    bool refused = is_error(versola_client_login_wait(client, options, 100, NULL, &error), &error, INVALID);
    versola_client_release(client);
    versola_login_options_release(options);
    return refused;
}

/* Good UTF-8 with a bad meaning: the setter or the login tells, and no browser is asked. */
static void login_options_that_make_no_sense(void) {
    const char *const not_objects[] = {"", "{\"id_token\":", "[]", "null", "1", huge};
    const char *const not_arrays[] = {"", "[{}", "{}", "null", huge};
    const char *const own_names[] = {
        "state", "nonce", "redirect_uri", "client_id", "code_challenge", "response_type", "scope"};
    for (size_t i = 0; i < sizeof not_objects / sizeof not_objects[0]; i++) {
        versola_login_options *options = versola_login_options_new();
        CHECK(typed(versola_login_options_set_claims(options, not_objects[i])));
        if (!CHECK(login_refuses(options)))
            printf("# claims %.20s\n", not_objects[i]);
    }
    for (size_t i = 0; i < sizeof not_arrays / sizeof not_arrays[0]; i++) {
        versola_login_options *options = versola_login_options_new();
        CHECK(typed(versola_login_options_set_authorization_details(options, not_arrays[i])));
        if (!CHECK(login_refuses(options)))
            printf("# authorization_details %.20s\n", not_arrays[i]);
    }
    for (size_t i = 0; i < sizeof own_names / sizeof own_names[0]; i++) {
        versola_login_options *options = versola_login_options_new();
        CHECK(typed(versola_login_options_add_parameter(options, own_names[i], "mine")));
        if (!CHECK(login_refuses(options)))
            printf("# parameter %s\n", own_names[i]);
    }
}

static void token_options(void) {
    versola_token_options *options = versola_token_options_new();
    CHECK_REFUSES(versola_token_options_set_min_valid_ms, options, -1, INT64_MIN);
    CHECK(typed(versola_token_options_set_min_valid_ms(options, INT64_MAX)));
    CHECK(versola_token_options_set_force(NULL, true) == INVALID);

    versola_client *client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_error *error = UNTOUCHED;
    versola_token *token = UNTOUCHED;
    CHECK(is_error(versola_client_access_token_wait(client, options, -1, &token, &error), &error, INVALID));
    CHECK(token == NULL);
    versola_client_release(client);
    versola_token_options_release(options);
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
    const size_t length = (1u << 20) + 7;
    huge = malloc(length + 1);
    if (huge == NULL)
        return 2;
    memset(huge, 'a', length);
    huge[length] = '\0';

    tap_run(getters_of_null, "getters asked of NULL return NULL, 0 or false");
    tap_run(references_of_null, "retain, release and close take NULL");
    tap_run(configuration_texts, "configuration: NULL, invalid UTF-8, empty and huge texts");
    tap_run(configuration_numbers, "configuration: numbers outside their range and unknown enum values");
    tap_run(configuration_objects, "configuration: NULL objects");
    tap_run(create_tells_remembered_refusals, "create tells what a setter refused");
    tap_run(create_without_places_for_results, "create without a place for the client");
    tap_run(endpoints, "endpoints: missing, invalid and huge URLs");
    tap_run(login_options, "login options: refused values are told by login");
    tap_run(login_options_that_make_no_sense, "login options: claims, details and parameters that make no sense");
    tap_run(token_options, "token options: refused values are told by the call");
    tap_run(calls_on_null, "every call on a NULL client writes its out-parameters");
    tap_run(calls_on_a_closed_client, "every call on a closed client writes its out-parameters");
    tap_run(calls_with_bad_arguments, "bad arguments of calls on a living client");
    tap_run(answers, "answers to the wrong event, unknown answers, late answers");
    tap_run(versions, "versions agree with the header, unknown features are absent");
    free(huge);
    return tap_done();
}

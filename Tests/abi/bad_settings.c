/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bad input through every function of the builders, and what client_create and login say of it.
 */
#include "bad_input.h"

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
        CHECK(versola_config_set_retry_preset(config, unknown[i]) == INVALID);
    }
    CHECK(versola_config_set_retry_preset(config, 0) == INVALID);
    CHECK(versola_config_set_retry_preset(NULL, VERSOLA_RETRY_PATIENT) == INVALID);
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

/* Each number is held against its range at once; the two limits on attempts against each other by create. */
static void retry_policy(void) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_NONE);
    const struct {
        int32_t (*set)(versola_config *config, int32_t number);
        int32_t least, most;
    } counts[] = {
        {versola_config_set_max_attempts_per_origin, 1, 5},
        {versola_config_set_max_total_attempts, 1, 8},
        {versola_config_set_backoff_multiplier_permille, 1000, 10000},
    };
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        CHECK(counts[i].set(config, counts[i].least) == VERSOLA_OK);
        CHECK(counts[i].set(config, counts[i].most) == VERSOLA_OK);
        CHECK(counts[i].set(NULL, counts[i].least) == INVALID);
    }
    const struct {
        int32_t (*set)(versola_config *config, int64_t ms);
        int64_t most;
    } durations[] = {
        {versola_config_set_initial_backoff_ms, 30000},
        {versola_config_set_max_backoff_ms, 30000},
        {versola_config_set_total_budget_ms, 60000},
    };
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        CHECK(durations[i].set(config, 1) == VERSOLA_OK);
        CHECK(durations[i].set(config, durations[i].most) == VERSOLA_OK);
        CHECK(durations[i].set(NULL, 1) == INVALID);
    }
    const int32_t presets[] = {VERSOLA_RETRY_DEFAULT, VERSOLA_RETRY_CONSERVATIVE, VERSOLA_RETRY_PATIENT};
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
        CHECK(versola_config_set_retry_preset(config, presets[i]) == VERSOLA_OK);
        CHECK(create(config) == VERSOLA_OK);
    }

    /* Each is in its range, and more per origin than in all is refused by create alone. */
    CHECK(versola_config_set_max_attempts_per_origin(config, 4) == VERSOLA_OK);
    CHECK(versola_config_set_max_total_attempts(config, 3) == VERSOLA_OK);
    CHECK(create(config) == INVALID);
    CHECK(versola_config_set_max_total_attempts(config, 4) == VERSOLA_OK);
    CHECK(create(config) == VERSOLA_OK);

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        const int32_t outside[] = {0, -1, INT32_MIN, INT32_MAX, counts[i].least - 1, counts[i].most + 1};
        for (size_t k = 0; k < sizeof outside / sizeof outside[0]; k++)
            CHECK(counts[i].set(config, outside[k]) == INVALID);
    }
    for (size_t i = 0; i < sizeof durations / sizeof durations[0]; i++) {
        const int64_t outside[] = {0, -1, INT64_MIN, INT64_MAX, durations[i].most + 1};
        for (size_t k = 0; k < sizeof outside / sizeof outside[0]; k++)
            CHECK(durations[i].set(config, outside[k]) == INVALID);
    }
    CHECK(create(config) == INVALID); /* what a setter refused is remembered */
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

int main(void) {
    if (!make_huge())
        return 2;
    tap_run(configuration_texts, "configuration: NULL, invalid UTF-8, empty and huge texts");
    tap_run(configuration_numbers, "configuration: numbers outside their range and unknown enum values");
    tap_run(configuration_objects, "configuration: NULL objects");
    tap_run(create_tells_remembered_refusals, "create tells what a setter refused");
    tap_run(retry_policy, "retry policy: each number outside its range, and two that contradict each other");
    tap_run(create_without_places_for_results, "create without a place for the client");
    tap_run(endpoints, "endpoints: missing, invalid and huge URLs");
    tap_run(login_options, "login options: refused values are told by login");
    tap_run(login_options_that_make_no_sense, "login options: claims, details and parameters that make no sense");
    tap_run(token_options, "token options: refused values are told by the call");
    free(huge);
    return tap_done();
}

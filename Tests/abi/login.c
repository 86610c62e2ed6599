/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One person's whole day through the C ABI, against the scripted provider: login, token, restart, logout, and a
 * provider that is gone. VERSOLA_TEST_ISSUER names the provider; $BROWSER walks its pages; the session goes to
 * $XDG_STATE_HOME.
 */
#include "fixture.h"

#include <stdlib.h>

static versola_client *new_client(const char *issuer, versola_queue *queue) {
    versola_config *config = versola_config_new(issuer, "native-app");
    versola_config_set_redirect_uri(config, REDIRECT);
    versola_config_set_scope(config, "openid offline_access");
    versola_config_set_browser(config, VERSOLA_BROWSER_SYSTEM);
    if (queue != NULL)
        versola_config_set_queue(config, queue);
    versola_client *client = client_of(config);
    versola_config_release(config);
    return client;
}

static int32_t state_of(versola_client *client) {
    int32_t state = 0;
    CHECK(versola_client_state(client, &state, NULL) == VERSOLA_OK);
    return state;
}

static void login(void) {
    versola_client *client = new_client(getenv("VERSOLA_TEST_ISSUER"), NULL);
    versola_identity *identity = NULL;
    versola_error *error = NULL;
    CHECK(state_of(client) == VERSOLA_STATE_UNAUTHENTICATED);
    if (!CHECK(versola_client_login_wait(client, NULL, PATIENCE_MS, &identity, &error) == VERSOLA_OK))
        printf("# %s\n", versola_error_detail(error));
    CHECK(error == NULL);
    CHECK(identity != NULL && strcmp(versola_identity_subject(identity), "alice") == 0);
    CHECK(identity != NULL && strstr(versola_identity_claims(identity), "\"sub\"") != NULL);
    CHECK(state_of(client) == VERSOLA_STATE_AUTHENTICATED);

    versola_token *token = NULL;
    CHECK(versola_client_access_token_wait(client, NULL, PATIENCE_MS, &token, NULL) == VERSOLA_OK);
    size_t length = 0;
    const char *value = versola_token_value(token, &length);
    CHECK(value != NULL && length > 0 && length == strlen(value));
    CHECK(token != NULL && strcmp(versola_token_type(token), "Bearer") == 0);
    CHECK(versola_token_expires_at_unix_ms(token) > 0);
    CHECK(versola_token_scope(token) != NULL);
    versola_token *newer = NULL;
    CHECK(versola_client_refresh_wait(client, PATIENCE_MS, &newer, NULL) == VERSOLA_OK);
    CHECK(newer != NULL && value != NULL && strcmp(versola_token_value(newer, NULL), value) != 0);
    versola_token_release(newer);
    versola_string *claims = NULL;
    CHECK(versola_client_user_info_wait(client, PATIENCE_MS, &claims, NULL) == VERSOLA_OK);
    CHECK(claims != NULL && strstr(versola_string_value(claims, NULL), "\"alice\"") != NULL);
    versola_string_release(claims);
    versola_token *same = versola_token_retain(token);
    CHECK(same == token);
    versola_token_release(token);
    CHECK(versola_token_value(same, NULL) != NULL); /* one reference is left */
    versola_token_release(same);
    versola_client_release(client);
    CHECK(versola_identity_subject(identity) != NULL); /* results outlive the client */
    versola_identity_release(identity);
}

static void restart(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = new_client(getenv("VERSOLA_TEST_ISSUER"), queue);
    versola_identity *identity = NULL;
    CHECK(state_of(client) == VERSOLA_STATE_AUTHENTICATED);
    CHECK(versola_client_identity(client, &identity, NULL) == VERSOLA_OK);
    CHECK(identity != NULL && strcmp(versola_identity_subject(identity), "alice") == 0);
    versola_identity_release(identity);
    versola_event *event = await_event(queue, VERSOLA_EVENT_STATE);
    CHECK(versola_event_state(event) == VERSOLA_STATE_AUTHENTICATED && versola_event_generation(event) > 0);
    versola_event_release(event);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void logout(void) {
    versola_client *client = new_client(getenv("VERSOLA_TEST_ISSUER"), NULL);
    versola_error *error = NULL;
    versola_identity *identity = NULL;
    bool revoked = false, ended = true;
    CHECK(versola_client_logout_wait(client, PATIENCE_MS, &revoked, &ended, NULL) == VERSOLA_OK);
    CHECK(revoked && !ended);
    CHECK(state_of(client) == VERSOLA_STATE_UNAUTHENTICATED);
    CHECK(is_error(versola_client_identity(client, &identity, &error), &error, VERSOLA_CAUSE_SESSION_EXPIRED));
    versola_client_release(client);

    client = new_client(getenv("VERSOLA_TEST_ISSUER"), NULL);
    CHECK(state_of(client) == VERSOLA_STATE_UNAUTHENTICATED); /* gone from the store, too */
    versola_client_release(client);
}

static void login_by_the_queue(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = new_client(getenv("VERSOLA_TEST_ISSUER"), queue);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event *event = await_event(queue, VERSOLA_EVENT_COMPLETION);
    CHECK(versola_event_status(event) == VERSOLA_OK && versola_event_operation(event) == VERSOLA_OPERATION_LOGIN);
    versola_identity *identity = versola_identity_retain(versola_event_identity(event));
    versola_event_release(event);
    CHECK(identity != NULL && strcmp(versola_identity_subject(identity), "alice") == 0);
    versola_identity_release(identity);

    CHECK(versola_client_access_token(client, NULL, 2, NULL) == VERSOLA_OK);
    event = await_event(queue, VERSOLA_EVENT_COMPLETION);
    CHECK(versola_token_value(versola_event_token(event), NULL) != NULL);
    versola_event_release(event);

    CHECK(versola_client_logout(client, 3, NULL) == VERSOLA_OK);
    event = await_event(queue, VERSOLA_EVENT_COMPLETION);
    CHECK(versola_event_operation(event) == VERSOLA_OPERATION_LOGOUT && versola_event_token_revoked(event));
    versola_event_release(event);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void nobody_answers(void) {
    versola_client *client = new_client("http://127.0.0.1:9", NULL); /* the discard port: refused */
    versola_error *error = NULL;
    CHECK(versola_client_login_wait(client, NULL, PATIENCE_MS, NULL, &error) == VERSOLA_CAUSE_NETWORK);
    const versola_network_failure *failure = versola_error_network_failure(error);
    CHECK(failure != NULL && failure->struct_size >= sizeof *failure && failure->reason == VERSOLA_NETWORK_CONNECT);
    CHECK(versola_error_server_failure(error) == NULL);
    CHECK(versola_error_oauth_error(error) == NULL && versola_error_description(error) == NULL);
    CHECK(is_error(VERSOLA_CAUSE_NETWORK, &error, VERSOLA_CAUSE_NETWORK));
    versola_client_release(client);
}

int main(void) {
    if (getenv("VERSOLA_TEST_ISSUER") == NULL)
        return 2;
    tap_run(login, "login, identity, access token, refresh and UserInfo; results outlive the client");
    tap_run(restart, "a new client finds the session");
    tap_run(logout, "logout revokes and erases");
    tap_run(login_by_the_queue, "login, token and logout by the queue");
    tap_run(nobody_answers, "a provider that is gone is NETWORK with its reason");
    return tap_done();
}

/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Clients for tests. Nothing here needs a network: the endpoints are given, and a login waits for its browser.
 */
#ifndef FIXTURE_H
#define FIXTURE_H

#include "tap.h"

#include <poll.h>
#include <string.h>
#include <versola.h>

/* What an event has to arrive in, also under valgrind; a test that is right never waits that long. */
#define PATIENCE_MS 60000
#define REDIRECT "http://127.0.0.1/callback"

static inline versola_config *config_without_network(versola_queue *queue, int32_t browser) {
    versola_endpoints *endpoints = versola_endpoints_new(
        "http://127.0.0.1:9", "http://127.0.0.1:9/authorize", "http://127.0.0.1:9/token", "http://127.0.0.1:9/jwks");
    versola_config *config = versola_config_new(NULL, "native-app");
    CHECK(versola_config_set_endpoints(config, endpoints) == VERSOLA_OK);
    CHECK(versola_config_set_redirect_uri(config, REDIRECT) == VERSOLA_OK);
    CHECK(versola_config_set_store_memory(config) == VERSOLA_OK);
    CHECK(versola_config_set_browser(config, browser) == VERSOLA_OK);
    if (queue != NULL)
        CHECK(versola_config_set_queue(config, queue) == VERSOLA_OK);
    versola_endpoints_release(endpoints);
    return config;
}

static inline versola_client *client_of(const versola_config *config) {
    versola_client *client = NULL;
    versola_error *error = NULL;
    if (!CHECK(versola_client_create(config, &client, &error) == VERSOLA_OK))
        printf("# %s\n", versola_error_detail(error));
    versola_error_release(error);
    return client;
}

static inline versola_client *client_without_network(versola_queue *queue, int32_t browser) {
    versola_config *config = config_without_network(queue, browser);
    versola_client *client = client_of(config);
    versola_config_release(config);
    return client;
}

static inline bool readable(const versola_queue *queue) {
    struct pollfd fd = {versola_queue_fd(queue), POLLIN, 0};
    return poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN) != 0;
}

/* The next event of this kind; those before it are released. NULL when none came. */
static inline versola_event *await_event(versola_queue *queue, int32_t kind) {
    versola_event *event;
    while ((event = versola_queue_wait(queue, PATIENCE_MS)) != NULL && versola_event_kind(event) != kind)
        versola_event_release(event);
    return event;
}

/* Waits for the next completion, checks whose it is, and gives its status; -1 when none came. */
static inline int32_t await_completion(versola_queue *queue, uint64_t operation_id) {
    versola_event *event = await_event(queue, VERSOLA_EVENT_COMPLETION);
    int32_t status = event != NULL ? versola_event_status(event) : -1;
    CHECK(event != NULL && versola_event_operation_id(event) == operation_id);
    versola_event_release(event);
    return status;
}

/* A status, and the error that must tell the same, released and NULL afterwards. The place is passed and not the error:
 * it is written by the call that stands beside it as an argument. */
static inline bool is_error(int32_t status, versola_error **place, int32_t cause) {
    const versola_error *error = *place;
    bool same = status == cause && versola_error_cause(error) == cause &&
        versola_error_category(error) == cause / 100 && versola_error_detail(error) != NULL &&
        versola_error_detail(error)[0] != '\0';
    if (!same)
        printf("# status %d, cause %d, detail %s\n", status, versola_error_cause(error),
            error != NULL ? versola_error_detail(error) : "(no error)");
    versola_error_release(*place);
    *place = NULL;
    return same;
}

#endif

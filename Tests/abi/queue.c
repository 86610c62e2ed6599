/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Operations and delivery: exactly one completion, in order, CLOSED last, a descriptor that tells the truth.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void empty_queue(void) {
    versola_queue *queue = versola_queue_new();
    CHECK(versola_queue_fd(queue) >= 0);
    CHECK(!readable(queue));
    CHECK(versola_queue_pop(queue) == NULL);
    CHECK(versola_queue_wait(queue, 0) == NULL);
    CHECK(versola_queue_wait(queue, 20) == NULL);
    versola_queue_release(queue);
}

static void readable_while_not_empty(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    versola_event *event = versola_queue_wait(queue, PATIENCE_MS); /* the restored state is the first event */
    CHECK(versola_event_kind(event) == VERSOLA_EVENT_STATE);
    CHECK(versola_event_state(event) == VERSOLA_STATE_UNAUTHENTICATED);
    CHECK(versola_event_error(event) == NULL && versola_event_generation(event) == 0);
    CHECK(versola_event_url(event) == NULL);
    CHECK(versola_event_is_of(event, client));
    CHECK(!readable(queue));
    versola_event_release(event);

    /* A token that nobody signed in for: one completion, and nothing on the caller's stack. */
    for (uint64_t id = 1; id <= 3; id++)
        CHECK(versola_client_access_token(client, NULL, id, NULL) == VERSOLA_OK);
    struct pollfd fd = {versola_queue_fd(queue), POLLIN, 0};
    int seen = 0;
    while (seen < 3 && poll(&fd, 1, PATIENCE_MS) == 1) {
        while (readable(queue)) {
            event = versola_queue_pop(queue);
            CHECK(event != NULL); /* readable, so there is one */
            seen += versola_event_kind(event) == VERSOLA_EVENT_COMPLETION;
            versola_event_release(event);
        }
    }
    CHECK(seen == 3);
    CHECK(!readable(queue) && versola_queue_pop(queue) == NULL); /* no other comes, so there is none */
    versola_client_release(client);
    versola_queue_release(queue);
}

static void login_cancelled_by_the_user(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    versola_error *error = NULL;
    int32_t state = 0;
    versola_string *url = NULL;
    CHECK(versola_client_login(client, NULL, 42, NULL) == VERSOLA_OK);
    versola_event *event = await_event(queue, VERSOLA_EVENT_OPEN_URL);
    const char *opened = versola_event_url(event);
    CHECK(opened != NULL && strncmp(opened, "http://127.0.0.1:9/authorize?", 29) == 0);
    CHECK(versola_event_is_of(event, client));
    CHECK(versola_client_state(client, &state, NULL) == VERSOLA_OK && state == VERSOLA_STATE_AUTHORIZING);
    CHECK(versola_client_authorization_url(client, &url, NULL) == VERSOLA_OK);
    size_t length = 0;
    CHECK(versola_string_value(url, &length) != NULL && length == strlen(versola_string_value(url, NULL)));
    CHECK(opened != NULL && strcmp(versola_string_value(url, NULL), opened) == 0);
    versola_string_release(url);

    /* The id is taken while that operation runs. */
    CHECK(is_error(versola_client_access_token(client, NULL, 42, &error), &error, VERSOLA_CAUSE_INVALID_CONFIGURATION));

    CHECK(versola_client_cancel(client, 42, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    CHECK(versola_client_cancel(client, 42, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK); /* idempotent */
    CHECK(await_completion(queue, 42) == VERSOLA_CAUSE_USER_CANCELLED);
    CHECK(versola_client_state(client, &state, NULL) == VERSOLA_OK && state == VERSOLA_STATE_UNAUTHENTICATED);
    CHECK(versola_client_authorization_url(client, &url, NULL) == VERSOLA_OK && url == NULL);
    CHECK(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_USER_CLOSED, NULL) == VERSOLA_OK); /* late: ignored */

    versola_client_close(client);
    versola_event *closed = await_event(queue, VERSOLA_EVENT_CLOSED);
    CHECK(closed != NULL);
    CHECK(versola_queue_wait(queue, 50) == NULL); /* and nothing after it */
    versola_event_release(closed);
    versola_event_release(event);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void answers_end_a_login(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    static const struct {
        int32_t answer, status;
    } rows[] = {
        {VERSOLA_OPEN_URL_USER_CLOSED, VERSOLA_CAUSE_USER_CANCELLED},
        {VERSOLA_OPEN_URL_SYSTEM_CLOSED, VERSOLA_CAUSE_SYSTEM_CANCELLED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        CHECK(versola_client_login(client, NULL, i + 1, NULL) == VERSOLA_OK);
        versola_event *event = await_event(queue, VERSOLA_EVENT_OPEN_URL);
        CHECK(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, NULL) == VERSOLA_OK);
        CHECK(versola_event_answer_open_url(event, rows[i].answer, NULL) == VERSOLA_OK);
        CHECK(await_completion(queue, i + 1) == rows[i].status);
        versola_event_release(event);
    }
    /* FAILED is no end: the redirect may still come. */
    CHECK(versola_client_login(client, NULL, 9, NULL) == VERSOLA_OK);
    versola_event *event = await_event(queue, VERSOLA_EVENT_OPEN_URL);
    CHECK(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_FAILED, NULL) == VERSOLA_OK);
    versola_event_release(event);
    int32_t state = 0;
    CHECK(versola_client_state(client, &state, NULL) == VERSOLA_OK && state == VERSOLA_STATE_AUTHORIZING);
    /* A question can be asked again. */
    CHECK(versola_client_reopen_browser(client, NULL) == VERSOLA_OK);
    event = await_event(queue, VERSOLA_EVENT_OPEN_URL);
    CHECK(event != NULL);
    versola_event_release(event);
    CHECK(versola_client_cancel_login(client, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 9) == VERSOLA_CAUSE_USER_CANCELLED);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void login_over_a_waiting_login(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event_release(await_event(queue, VERSOLA_EVENT_OPEN_URL));
    CHECK(versola_client_login(client, NULL, 2, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 1) == VERSOLA_CAUSE_USER_CANCELLED);
    CHECK(versola_client_cancel(client, 2, VERSOLA_CANCEL_SYSTEM, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 2) == VERSOLA_CAUSE_SYSTEM_CANCELLED);
    versola_client_release(client);
    versola_queue_release(queue);
}

/* What ends a client; each must bring the completion of what runs and then CLOSED, once each and in this order. */
static void by_close(versola_client *client) {
    versola_client_close(client);
    versola_client_release(client);
}

static void by_close_wait(versola_client *client) {
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(client);
}

static void by_release(versola_client *client) {
    versola_client_release(client);
}

static void ending_a_client(void) {
    void (*const ends[])(versola_client *) = {by_close, by_close_wait, by_release};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        versola_queue *queue = versola_queue_new();
        versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
        CHECK(versola_client_login(client, NULL, 7, NULL) == VERSOLA_OK);
        versola_event_release(await_event(queue, VERSOLA_EVENT_OPEN_URL));
        ends[i](client);
        CHECK(await_completion(queue, 7) == VERSOLA_CAUSE_SYSTEM_CANCELLED);
        versola_event *event;
        int closed = 0, completions = 0;
        while (closed == 0 && (event = versola_queue_wait(queue, PATIENCE_MS)) != NULL) {
            closed += versola_event_kind(event) == VERSOLA_EVENT_CLOSED;
            completions += versola_event_kind(event) == VERSOLA_EVENT_COMPLETION;
            versola_event_release(event);
        }
        CHECK(closed == 1 && completions == 0);
        CHECK(versola_queue_wait(queue, 50) == NULL);
        versola_queue_release(queue);
    }
}

static void close_wait_leaves_nothing_to_come(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    for (uint64_t id = 1; id <= 20; id++)
        CHECK(versola_client_access_token(client, NULL, id, NULL) == VERSOLA_OK);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    int completions = 0, closed = 0;
    versola_event *event;
    while ((event = versola_queue_pop(queue)) != NULL) { /* pop: everything must be there already */
        CHECK(closed == 0);
        completions += versola_event_kind(event) == VERSOLA_EVENT_COMPLETION;
        closed += versola_event_kind(event) == VERSOLA_EVENT_CLOSED;
        versola_event_release(event);
    }
    CHECK(completions == 20 && closed == 1);
    CHECK(versola_queue_wait(queue, 50) == NULL);
    versola_client_release(client);
    versola_queue_release(queue);
}

static void asynchronous_forms_need_a_sink(void) {
    versola_client *client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_error *error = NULL;
    CHECK(is_error(versola_client_login(client, NULL, 1, &error), &error, VERSOLA_CAUSE_INVALID_CONFIGURATION));
    CHECK(is_error(versola_client_logout(client, 1, &error), &error, VERSOLA_CAUSE_INVALID_CONFIGURATION));
    versola_client_release(client);

    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
    client = NULL;
    CHECK(is_error(versola_client_create(config, &client, &error), &error, VERSOLA_CAUSE_INVALID_CONFIGURATION));
    CHECK(client == NULL);
    versola_config_release(config);
}

static void events_outlive_everything(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    CHECK(versola_client_access_token(client, NULL, 5, NULL) == VERSOLA_OK);
    versola_event *event = await_event(queue, VERSOLA_EVENT_COMPLETION);
    versola_error *error = versola_error_retain(versola_event_error(event));
    versola_queue_release(queue);
    versola_client_release(client);
    CHECK(versola_event_status(event) == VERSOLA_CAUSE_SESSION_EXPIRED);
    CHECK(versola_event_operation(event) == VERSOLA_OPERATION_ACCESS_TOKEN);
    CHECK(versola_event_token(event) == NULL);
    versola_event_release(event);
    CHECK(is_error(VERSOLA_CAUSE_SESSION_EXPIRED, &error, VERSOLA_CAUSE_SESSION_EXPIRED));
}

static void *cancel_when_it_waits(void *argument) {
    versola_client *client = argument;
    int32_t state = 0;
    while (versola_client_state(client, &state, NULL) == VERSOLA_OK && state != VERSOLA_STATE_AUTHORIZING)
        usleep(1000);
    versola_client_cancel_login(client, NULL);
    return NULL;
}

static void blocking_login_ends(void) {
    versola_client *client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_error *error = NULL;
    versola_identity *identity = NULL;
    int32_t status = versola_client_login_wait(client, NULL, 50, &identity, &error);
    CHECK(is_error(status, &error, VERSOLA_CAUSE_SYSTEM_CANCELLED));
    CHECK(identity == NULL);
    versola_client_release(client);

    client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    pthread_t canceller;
    pthread_create(&canceller, NULL, cancel_when_it_waits, client);
    status = versola_client_login_wait(client, NULL, -1, &identity, &error);
    CHECK(is_error(status, &error, VERSOLA_CAUSE_USER_CANCELLED));
    pthread_join(canceller, NULL);
    versola_client_release(client);
}

/* Ids are the caller's: any 64 bits, free again when the completion was received. */
static void ids(void) {
    static const uint64_t values[] = {
        0, 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, INT64_MAX, (uint64_t)1 << 63, UINT64_MAX};
    enum { COUNT = sizeof values / sizeof values[0] };
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_NONE);
    for (int round = 0; round < 2; round++) {
        int seen[COUNT] = {0};
        for (size_t i = 0; i < COUNT; i++)
            CHECK(versola_client_access_token(client, NULL, values[i], NULL) == VERSOLA_OK);
        for (size_t i = 0; i < COUNT; i++) {
            versola_event *event = await_event(queue, VERSOLA_EVENT_COMPLETION);
            for (size_t j = 0; j < COUNT; j++)
                seen[j] += event != NULL && versola_event_operation_id(event) == values[j];
            versola_event_release(event);
        }
        for (size_t i = 0; i < COUNT; i++)
            CHECK(seen[i] == 1);
        /* Cancelled when they are over: nothing comes of it. */
        for (size_t i = 0; i < COUNT; i++)
            CHECK(versola_client_cancel(client, values[i], VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    }
    CHECK(versola_queue_wait(queue, 50) == NULL);
    CHECK(versola_client_login(client, NULL, UINT64_MAX, NULL) == VERSOLA_OK);
    CHECK(versola_client_cancel(client, UINT64_MAX, VERSOLA_CANCEL_SYSTEM, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, UINT64_MAX) == VERSOLA_CAUSE_SYSTEM_CANCELLED);
    versola_client_release(client);
    CHECK(versola_client_cancel(NULL, 1, VERSOLA_CANCEL_USER, NULL) == VERSOLA_CAUSE_INVALID_CONFIGURATION);
    versola_queue_release(queue);
}

/* Nobody takes anything, and each client warns once: of the warnings 1,024 are kept, of all else everything. */
static void dropped_logs(void) {
    enum { KEPT = 1024, LOST = 76 };
    versola_queue *queue = versola_queue_new();
    versola_config *config = config_without_network(queue, VERSOLA_BROWSER_NONE);
    CHECK(versola_config_set_redirect_uri(config, "com.example.app:/callback") == VERSOLA_OK);
    CHECK(versola_config_set_log_level(config, VERSOLA_LOG_WARNING) == VERSOLA_OK);
    for (int i = 0; i < KEPT + LOST; i++) {
        versola_client *client = client_of(config);
        CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
        versola_client_release(client);
    }
    int logs = 0, states = 0, closed = 0;
    uint64_t told = 0;
    versola_event *event;
    while ((event = versola_queue_pop(queue)) != NULL) {
        logs += versola_event_kind(event) == VERSOLA_EVENT_LOG;
        states += versola_event_kind(event) == VERSOLA_EVENT_STATE;
        closed += versola_event_kind(event) == VERSOLA_EVENT_CLOSED;
        told += versola_event_dropped(event);
        versola_event_release(event);
    }
    CHECK(logs == KEPT && states == KEPT + LOST && closed == KEPT + LOST && told == 0);
    for (int i = 0; i < 2; i++) { /* the next one tells, once */
        versola_client *client = client_of(config);
        event = await_event(queue, VERSOLA_EVENT_LOG);
        CHECK(event != NULL && versola_event_dropped(event) == (i == 0 ? LOST : 0));
        versola_event_release(event);
        versola_client_release(client);
    }
    versola_config_release(config);
    versola_queue_release(queue);
}

/* The receiver lets go of its queue while operations run: the client does not mind. */
static void receiver_is_gone(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event_release(await_event(queue, VERSOLA_EVENT_OPEN_URL));
    versola_queue_release(queue);
    for (uint64_t id = 2; id < 50; id++)
        CHECK(versola_client_access_token(client, NULL, id, NULL) == VERSOLA_OK);
    CHECK(versola_client_cancel(client, 1, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    versola_token *token = NULL;
    CHECK(versola_client_access_token_wait(client, NULL, PATIENCE_MS, &token, NULL) == VERSOLA_CAUSE_SESSION_EXPIRED);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(client);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * One queue, several clients, several consumers.
 */

enum { CLIENTS = 4, OPERATIONS = 200, CONSUMERS = 8 };

struct crowd {
    versola_queue *queue;
    versola_client *clients[CLIENTS];
    atomic_int completions[CLIENTS * OPERATIONS];
    atomic_int closed;
    atomic_int strangers;
};

static void *consume(void *argument) {
    struct crowd *crowd = argument;
    while (atomic_load(&crowd->closed) < CLIENTS) {
        versola_event *event = versola_queue_wait(crowd->queue, 100);
        if (event == NULL)
            continue;
        if (versola_event_kind(event) == VERSOLA_EVENT_COMPLETION) {
            uint64_t id = versola_event_operation_id(event);
            if (id < CLIENTS * OPERATIONS && versola_event_is_of(event, crowd->clients[id / OPERATIONS]))
                atomic_fetch_add(&crowd->completions[id], 1);
            else
                atomic_fetch_add(&crowd->strangers, 1);
        }
        if (versola_event_kind(event) == VERSOLA_EVENT_CLOSED)
            atomic_fetch_add(&crowd->closed, 1);
        versola_event_release(event);
    }
    return NULL;
}

static void many_consumers(void) {
    struct crowd *crowd = calloc(1, sizeof *crowd);
    pthread_t consumers[CONSUMERS];
    crowd->queue = versola_queue_new();
    for (int i = 0; i < CLIENTS; i++)
        crowd->clients[i] = client_without_network(crowd->queue, VERSOLA_BROWSER_APP);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_create(&consumers[i], NULL, consume, crowd);
    for (uint64_t id = 0; id < CLIENTS * OPERATIONS; id++) {
        versola_client *client = crowd->clients[id / OPERATIONS];
        CHECK((id % 10 == 0 ? versola_client_login(client, NULL, id, NULL)
                            : versola_client_access_token(client, NULL, id, NULL)) == VERSOLA_OK);
        if (id % 10 == 0 && id % 20 == 0)
            CHECK(versola_client_cancel(client, id, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    }
    for (int i = 0; i < CLIENTS; i++)
        versola_client_close(crowd->clients[i]);
    for (int i = 0; i < CONSUMERS; i++)
        pthread_join(consumers[i], NULL);
    int wrong = 0;
    for (int id = 0; id < CLIENTS * OPERATIONS; id++)
        wrong += atomic_load(&crowd->completions[id]) != 1;
    CHECK(wrong == 0);
    CHECK(atomic_load(&crowd->strangers) == 0);
    CHECK(!readable(crowd->queue));
    for (int i = 0; i < CLIENTS; i++)
        versola_client_release(crowd->clients[i]);
    versola_queue_release(crowd->queue);
    free(crowd);
}

int main(void) {
    tap_run(empty_queue, "an empty queue is not readable and gives nothing");
    tap_run(readable_while_not_empty, "the descriptor is readable exactly while the queue is not empty");
    tap_run(login_cancelled_by_the_user, "a cancelled login completes once with USER_CANCELLED; CLOSED comes last");
    tap_run(answers_end_a_login, "answers to OPEN_URL: closed by user, closed by system, failed, asked again");
    tap_run(login_over_a_waiting_login, "a login over a waiting one ends that with USER_CANCELLED");
    tap_run(ending_a_client, "close, close_wait and the last release end what runs with SYSTEM_CANCELLED, then CLOSED");
    tap_run(close_wait_leaves_nothing_to_come, "after close_wait every event lies in the queue");
    tap_run(asynchronous_forms_need_a_sink, "asynchronous forms and the app's browser need a sink");
    tap_run(events_outlive_everything, "an event outlives its queue and its client");
    tap_run(blocking_login_ends, "a blocking login ends by its timeout and by cancel_login");
    tap_run(ids, "any 64 bits are an id, free again after its completion; cancels of what is over are nothing");
    tap_run(dropped_logs, "log events beyond 1,024 are dropped and counted, others never");
    tap_run(receiver_is_gone, "B55: a queue released by its receiver with operations in flight");
    tap_run(many_consumers, "four clients, eight consumers, eight hundred operations: one completion each");
    return tap_done();
}

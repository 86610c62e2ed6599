/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One suite for the three sinks: what holds for one way to receive events holds for all. Then what each has of its own.
 */
#include "receiver.h"

enum { INVALID = VERSOLA_CAUSE_INVALID_CONFIGURATION };

static enum sink kind; /* of the run of the suite */

static struct receiver *connected(void) {
    struct receiver *receiver = receiver_new(kind);
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
    connect_client(receiver, config);
    versola_config_release(config);
    return receiver;
}

static void one_completion_each(void) {
    enum { OPERATIONS = 60 };
    struct receiver *receiver = connected();
    versola_client *client = receiver->client;
    CHECK(versola_client_login(client, NULL, 1000, NULL) == VERSOLA_OK);
    for (uint64_t id = 1; id <= OPERATIONS; id++)
        CHECK((id % 3 == 0 ? versola_client_refresh(client, id, NULL)
                  : id % 3 == 1 ? versola_client_access_token(client, NULL, id, NULL)
                                : versola_client_user_info(client, id, NULL)) == VERSOLA_OK);
    CHECK(versola_client_handle_redirect(client, "com.example.other:/callback", 1001, NULL) == VERSOLA_OK);
    CHECK(await_received(receiver, VERSOLA_EVENT_OPEN_URL) != NULL);
    CHECK(versola_client_cancel(client, 1000, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    await_completions(receiver, OPERATIONS + 2);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(client);
    await_end(receiver);
    for (uint64_t id = 1; id <= OPERATIONS; id++)
        CHECK(completed_once(receiver, id, VERSOLA_CAUSE_SESSION_EXPIRED));
    CHECK(completed_once(receiver, 1000, VERSOLA_CAUSE_USER_CANCELLED));
    CHECK(completed_once(receiver, 1001, VERSOLA_OK));
    receiver_free(receiver);
}

/* The states of a login that the person cancels, and each completion behind the state that it brought. */
static void states_in_order(void) {
    static const int32_t expected[] = {
        VERSOLA_STATE_UNAUTHENTICATED, VERSOLA_STATE_AUTHORIZING, VERSOLA_STATE_UNAUTHENTICATED};
    struct receiver *receiver = connected();
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    CHECK(await_received(receiver, VERSOLA_EVENT_OPEN_URL) != NULL);
    CHECK(versola_client_cancel_login(receiver->client, NULL) == VERSOLA_OK);
    CHECK(await_received(receiver, VERSOLA_EVENT_COMPLETION) != NULL);
    versola_client_release(receiver->client);
    await_end(receiver);
    size_t states = 0;
    for (size_t i = 0; i < receiver->received.count; i++) {
        const versola_event *event = receiver->received.list[i];
        if (versola_event_kind(event) == VERSOLA_EVENT_STATE && states < 3) {
            CHECK(versola_event_state(event) == expected[states]);
            CHECK((versola_event_url(event) != NULL) == (expected[states] == VERSOLA_STATE_AUTHORIZING));
            states++;
        }
        if (versola_event_kind(event) == VERSOLA_EVENT_COMPLETION)
            CHECK(states == 3);
    }
    CHECK(states == 3);
    receiver_free(receiver);
}

static void answer_user_closed(struct receiver *receiver, versola_event *event) {
    (void)receiver;
    if (versola_event_kind(event) == VERSOLA_EVENT_OPEN_URL) {
        CHECK(versola_event_url(event) != NULL);
        CHECK(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, NULL) == VERSOLA_OK);
        CHECK(versola_event_answer_open_url(event, VERSOLA_OPEN_URL_USER_CLOSED, NULL) == VERSOLA_OK);
    }
}

static void question_and_answer(void) {
    struct receiver *receiver = connected();
    atomic_store(&receiver->hook, answer_user_closed);
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    CHECK(await_received(receiver, VERSOLA_EVENT_COMPLETION) != NULL);
    versola_client_release(receiver->client);
    await_end(receiver);
    CHECK(completed_once(receiver, 1, VERSOLA_CAUSE_USER_CANCELLED));
    receiver_free(receiver);
}

/* The one warning that a client has to tell while it is made: any program can claim a private-use scheme. */
static versola_config *config_that_warns(void) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
    CHECK(versola_config_set_redirect_uri(config, "com.example.app:/callback") == VERSOLA_OK);
    CHECK(versola_config_set_log_level(config, VERSOLA_LOG_WARNING) == VERSOLA_OK);
    return config;
}

static void logs(void) {
    struct receiver *receiver = receiver_new(kind);
    versola_config *config = config_that_warns();
    connect_client(receiver, config);
    const versola_event *event = await_received(receiver, VERSOLA_EVENT_LOG);
    CHECK(event != NULL && versola_event_log_level(event) == VERSOLA_LOG_WARNING);
    CHECK(event != NULL && versola_event_message(event) != NULL && versola_event_dropped(event) == 0);
    CHECK(event != NULL && versola_event_is_of(event, receiver->client));
    versola_client_release(receiver->client);
    versola_config_release(config);
    await_end(receiver);
    receiver_free(receiver);
}

static void close_at_the_question(struct receiver *receiver, versola_event *event) {
    if (versola_event_kind(event) == VERSOLA_EVENT_OPEN_URL) {
        versola_client_close(receiver->client);
        versola_client_close(receiver->client);
    }
}

static void release_at_the_question(struct receiver *receiver, versola_event *event) {
    if (versola_event_kind(event) == VERSOLA_EVENT_OPEN_URL)
        versola_client_release(atomic_exchange(&receiver->client, NULL));
}

static void cancel_at_the_question(struct receiver *receiver, versola_event *event) {
    if (versola_event_kind(event) == VERSOLA_EVENT_OPEN_URL)
        CHECK(versola_client_cancel(receiver->client, 7, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
}

/* The question may be there before versola_client_login has returned: a cancel then is as good as a later one. */
static void cancelled_while_it_starts(void) {
    for (int round = 0; round < 20; round++) {
        struct receiver *receiver = connected();
        atomic_store(&receiver->hook, cancel_at_the_question);
        CHECK(versola_client_login(receiver->client, NULL, 7, NULL) == VERSOLA_OK);
        await_completions(receiver, 1);
        versola_client_release(receiver->client);
        await_end(receiver);
        CHECK(completed_once(receiver, 7, VERSOLA_CAUSE_USER_CANCELLED));
        receiver_free(receiver);
    }
}

static void ended_while_an_event_is_handled(void) {
    void (*const hooks[])(struct receiver *, versola_event *) = {close_at_the_question, release_at_the_question};
    for (size_t round = 0; round < 20; round++) {
        struct receiver *receiver = connected();
        atomic_store(&receiver->hook, hooks[round % 2]);
        CHECK(versola_client_login(receiver->client, NULL, 7, NULL) == VERSOLA_OK);
        await_end(receiver);
        CHECK(completed_once(receiver, 7, VERSOLA_CAUSE_SYSTEM_CANCELLED));
        versola_client_release(receiver->client);
        receiver_free(receiver);
    }
}

/* Whatever a client is doing when its last reference goes: each operation completes, and CLOSED comes last. */
static void release_in_flight(void) {
    for (int round = 0; round < 10; round++) {
        struct receiver *receiver = connected();
        CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
        CHECK(versola_client_access_token(receiver->client, NULL, 2, NULL) == VERSOLA_OK);
        CHECK(versola_client_logout(receiver->client, 3, NULL) == VERSOLA_OK);
        if (round % 2 == 0)
            CHECK(await_received(receiver, VERSOLA_EVENT_STATE) != NULL);
        versola_client_release(receiver->client);
        await_end(receiver);
        for (uint64_t id = 1; id <= 3; id++) {
            int32_t status = -1;
            CHECK(completions_of(receiver, id, &status) == 1);
        }
        receiver_free(receiver);
    }
}

/* close_wait: every event has been delivered when it returns, and the context of a callback is free. */
static void close_wait_is_the_end(void) {
    for (int round = 0; round < 20; round++) {
        struct receiver *receiver = connected();
        CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
        CHECK(versola_client_close_wait(receiver->client, PATIENCE_MS, NULL) == VERSOLA_OK);
        if (kind == CALLBACK) {
            CHECK(atomic_load(&receiver->contexts_freed) == 1 && atomic_load(&receiver->closed) == 1);
            CHECK(completed_once(receiver, 1, VERSOLA_CAUSE_SYSTEM_CANCELLED));
        }
        CHECK(versola_client_close_wait(receiver->client, 0, NULL) == VERSOLA_OK);
        versola_client_release(receiver->client);
        await_end(receiver);
        receiver_free(receiver);
    }
}

static void call_everything(struct receiver *receiver, versola_event *event) {
    if (versola_event_kind(event) != VERSOLA_EVENT_OPEN_URL || atomic_fetch_add(&receiver->hooked, 1) != 0)
        return;
    versola_client *client = receiver->client;
    versola_error *error = NULL;
    versola_identity *identity = NULL;
    versola_string *url = NULL;
    int32_t state = 0;
    CHECK(versola_client_state(client, &state, &error) == VERSOLA_OK && state == VERSOLA_STATE_AUTHORIZING);
    CHECK(is_error(versola_client_identity(client, &identity, &error), &error, VERSOLA_CAUSE_SESSION_EXPIRED));
    CHECK(versola_client_authorization_url(client, &url, &error) == VERSOLA_OK && url != NULL);
    versola_string_release(url);
    CHECK(versola_client_reopen_browser(client, &error) == VERSOLA_OK);
    CHECK(versola_client_access_token(client, NULL, 2, &error) == VERSOLA_OK);
    CHECK(versola_client_refresh(client, 3, &error) == VERSOLA_OK);
    CHECK(versola_client_user_info(client, 4, &error) == VERSOLA_OK);
    CHECK(versola_client_handle_redirect(client, "com.example.other:/", 5, &error) == VERSOLA_OK);
    CHECK(versola_client_cancel(client, 99, VERSOLA_CANCEL_SYSTEM, &error) == VERSOLA_OK);
    versola_client *other = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_client_close(other);
    versola_client_release(other);
    CHECK(versola_client_cancel_login(client, &error) == VERSOLA_OK);
    CHECK(versola_client_logout(client, 6, &error) == VERSOLA_OK);
}

static void every_call_while_an_event_is_handled(void) {
    struct receiver *receiver = connected();
    atomic_store(&receiver->hook, call_everything);
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    await_completions(receiver, 6);
    versola_client_release(receiver->client);
    await_end(receiver);
    CHECK(completed_once(receiver, 1, VERSOLA_CAUSE_USER_CANCELLED));
    for (uint64_t id = 2; id <= 4; id++)
        CHECK(completed_once(receiver, id, VERSOLA_CAUSE_SESSION_EXPIRED));
    CHECK(completed_once(receiver, 5, VERSOLA_OK) && completed_once(receiver, 6, VERSOLA_OK));
    receiver_free(receiver);
}

/* An event is its receiver's: it can be read when client and configuration are long gone, on any thread. */
static void events_outlive_the_client(void) {
    struct receiver *receiver = connected();
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event *question = await_received(receiver, VERSOLA_EVENT_OPEN_URL);
    CHECK(versola_client_close_wait(receiver->client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(receiver->client);
    await_end(receiver);
    CHECK(versola_event_url(question) != NULL && strncmp(versola_event_url(question), "http://127.0.0.1:9/", 19) == 0);
    CHECK(versola_event_answer_open_url(question, VERSOLA_OPEN_URL_OPENED, NULL) == VERSOLA_OK); /* late: ignored */
    receiver_free(receiver);
}

/* A refused creation delivers nothing, not even what it had to warn of, and the context stays the caller's. */
static void refused_creation(void) {
    struct receiver *receiver = receiver_new(kind);
    versola_config *config = config_that_warns();
    versola_client *client = NULL;
    versola_error *error = NULL;
    CHECK(versola_config_set_ca_file(config, "/dev/null/no-such-file") == VERSOLA_OK);
    CHECK(set_sink(config, receiver) == VERSOLA_OK);
    int32_t status = versola_client_create(config, &client, &error);
    CHECK(status != VERSOLA_OK && client == NULL && is_error(status, &error, status));
    /* The configuration can be put right, and its callback is not used up. */
    CHECK(versola_config_set_ca_file(config, "/etc/ssl/certs/ca-certificates.crt") == VERSOLA_OK);
    CHECK(receiver->received.count == 0 && atomic_load(&receiver->contexts_freed) == 0);
    connect_client(receiver, config);
    versola_client_release(receiver->client);
    versola_config_release(config);
    await_end(receiver);
    receiver_free(receiver);
}

static void suite(enum sink sink) {
    static const struct {
        void (*test)(void);
        const char *name;
    } tests[] = {
        {one_completion_each, "exactly one completion for every operation, CLOSED last"},
        {states_in_order, "states in order, a completion after the state that it brought"},
        {question_and_answer, "a question is asked and answered where events are handled"},
        {logs, "log lines"},
        {cancelled_while_it_starts, "cancelled while an event is handled, even before the start has returned"},
        {ended_while_an_event_is_handled, "B55: closed and released while an event is handled"},
        {release_in_flight, "B55: released with operations in flight"},
        {close_wait_is_the_end, "B55: close_wait returns when everything was delivered"},
        {every_call_while_an_event_is_handled, "every call that does not block, while an event is handled"},
        {events_outlive_the_client, "B54: an event outlives its client"},
        {refused_creation, "a refused creation delivers nothing"},
    };
    kind = sink;
    for (size_t i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s: %s", sink_names[sink], tests[i].name);
        tap_run(tests[i].test, name);
    }
}

/* ---------------------------------------------------------------------------------------------------------------------
 * Callbacks
 */

static void block(struct receiver *receiver, versola_event *event) {
    if (versola_event_kind(event) != VERSOLA_EVENT_OPEN_URL)
        return;
    versola_client *client = receiver->client;
    versola_error *error = NULL;
    versola_identity *identity = NULL;
    versola_token *token = NULL;
    versola_string *claims = NULL;
    bool flag = true, other = true;
    CHECK(is_error(versola_client_login_wait(client, NULL, -1, &identity, &error), &error, INVALID));
    CHECK(is_error(versola_client_access_token_wait(client, NULL, -1, &token, &error), &error, INVALID));
    CHECK(is_error(versola_client_refresh_wait(client, -1, &token, &error), &error, INVALID));
    CHECK(is_error(versola_client_user_info_wait(client, -1, &claims, &error), &error, INVALID));
    CHECK(is_error(versola_client_handle_redirect_wait(client, REDIRECT, -1, &flag, &error), &error, INVALID));
    CHECK(is_error(versola_client_logout_wait(client, -1, &flag, &other, &error), &error, INVALID));
    CHECK(is_error(versola_client_close_wait(client, -1, &error), &error, INVALID));
    CHECK(!flag && !other && identity == NULL && token == NULL && claims == NULL);
    /* Neither another client's: its callbacks may wait for this one. */
    versola_client *stranger = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    CHECK(is_error(versola_client_login_wait(stranger, NULL, -1, NULL, &error), &error, INVALID));
    versola_client_release(stranger);
    versola_queue *queue = versola_queue_new();
    CHECK(versola_queue_wait(queue, -1) == NULL);
    versola_queue_release(queue);
    versola_client_cancel_login(client, NULL);
}

static void blocking_forms_inside_a_callback(void) {
    struct receiver *receiver = connected();
    atomic_store(&receiver->hook, block);
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    CHECK(await_received(receiver, VERSOLA_EVENT_COMPLETION) != NULL);
    CHECK(versola_client_close_wait(receiver->client, PATIENCE_MS, NULL) == VERSOLA_OK); /* fine outside */
    versola_client_release(receiver->client);
    await_end(receiver);
    CHECK(completed_once(receiver, 1, VERSOLA_CAUSE_USER_CANCELLED));
    receiver_free(receiver);
}

static void one_client_for_each_context(void) {
    struct receiver *first = receiver_new(CALLBACK), *second = receiver_new(CALLBACK);
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
    versola_client *client = NULL;
    versola_error *error = NULL;
    connect_client(first, config);
    CHECK(is_error(versola_client_create(config, &client, &error), &error, INVALID) && client == NULL);
    connect_client(second, config); /* set anew, with a context of its own */
    versola_client_release(first->client);
    await_end(first);
    CHECK(atomic_load(&second->contexts_freed) == 0);
    versola_client_release(second->client);
    versola_config_release(config);
    await_end(second);
    receiver_free(first);
    receiver_free(second);
}

static void callback_without_context(void) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_client *client = NULL;
    versola_error *error = NULL;
    CHECK(versola_config_set_callback(config, NULL, NULL, NULL) == INVALID);
    CHECK(is_error(versola_client_create(config, &client, &error), &error, INVALID)); /* remembered */
    versola_config_release(config);

    struct receiver *receiver = receiver_new(CALLBACK);
    config = config_without_network(NULL, VERSOLA_BROWSER_NONE);
    CHECK(versola_config_set_callback(config, callback, receiver, NULL) == VERSOLA_OK);
    client = client_of(config);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    CHECK(atomic_load(&receiver->closed) == 1);
    versola_client_release(client);
    versola_config_release(config);
    receiver_free(receiver);
}

static void callback_replaced_before_use(void) {
    struct receiver *unused = receiver_new(CALLBACK), *used = receiver_new(CALLBACK);
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_NONE);
    CHECK(set_sink(config, unused) == VERSOLA_OK);
    connect_client(used, config);
    versola_client_release(used->client);
    versola_config_release(config);
    await_end(used);
    CHECK(atomic_load(&unused->contexts_freed) == 0 && unused->received.count == 0);
    receiver_free(used);
    free(unused);
}

/* ---------------------------------------------------------------------------------------------------------------------
 * The Dart port
 */

static versola_client *client_for_port(int64_t port) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
    CHECK(versola_config_set_dart_port(config, port, post_c_object()) == VERSOLA_OK);
    versola_client *client = client_of(config);
    versola_config_release(config);
    return client;
}

/* The isolate is gone from the start, or goes while a login waits: posts answer false, and nothing leaks. */
static void isolate_is_gone(void) {
    int64_t port = open_port();
    end_isolate(port);
    versola_client *client = client_for_port(port);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    CHECK(versola_client_access_token(client, NULL, 2, NULL) == VERSOLA_OK);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(client);
    CHECK(ports[port - 1].count == 0);

    port = open_port();
    client = client_for_port(port);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event *event;
    while ((event = take(&ports[port - 1], PATIENCE_MS)) != NULL && versola_event_kind(event) != VERSOLA_EVENT_OPEN_URL)
        versola_event_release(event);
    versola_event_release(event);
    end_isolate(port);
    CHECK(versola_client_cancel_login(client, NULL) == VERSOLA_OK);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(client);
    CHECK(take(&ports[port - 1], 0) == NULL);
}

/* Finalizers of a dying isolate release in any order, long after the client. */
static void late_release(void) {
    int64_t port = open_port();
    versola_client *client = client_for_port(port);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(client);
    size_t count = ports[port - 1].count;
    CHECK(count > 1 && versola_event_kind(ports[port - 1].list[count - 1]) == VERSOLA_EVENT_CLOSED);
    for (size_t i = 0; i < count; i++)
        versola_event_release(ports[port - 1].list[i]);
}

static void two_clients_one_port(void) {
    int64_t port = open_port();
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
    CHECK(versola_config_set_dart_port(config, port, post_c_object()) == VERSOLA_OK);
    versola_client *clients[] = {client_of(config), client_of(config)};
    versola_config_release(config);
    for (int i = 0; i < 2; i++)
        CHECK(versola_client_close_wait(clients[i], PATIENCE_MS, NULL) == VERSOLA_OK);
    int closed[2] = {0, 0};
    versola_event *event;
    while ((event = take(&ports[port - 1], 0)) != NULL) {
        for (int i = 0; i < 2; i++)
            closed[i] += versola_event_kind(event) == VERSOLA_EVENT_CLOSED && versola_event_is_of(event, clients[i]);
        versola_event_release(event);
    }
    CHECK(closed[0] == 1 && closed[1] == 1);
    for (int i = 0; i < 2; i++)
        versola_client_release(clients[i]);
}

static void port_without_function(void) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_NONE);
    versola_client *client = NULL;
    versola_error *error = NULL;
    CHECK(versola_config_set_dart_port(config, 1, NULL) == INVALID);
    CHECK(is_error(versola_client_create(config, &client, &error), &error, INVALID));
    versola_config_release(config);
}

int main(void) {
    for (enum sink sink = 0; sink < SINKS; sink++)
        suite(sink);
    kind = CALLBACK;
    tap_run(blocking_forms_inside_a_callback, "blocking forms fail at once inside a callback");
    tap_run(one_client_for_each_context, "a second client of one callback is refused; set anew, it has its own");
    tap_run(callback_without_context, "no callback is refused; no function to free the context is fine");
    tap_run(callback_replaced_before_use, "a callback replaced before use is neither called nor freed");
    kind = DART_PORT;
    tap_run(isolate_is_gone, "B55: an isolate that is gone: posts answer false, the library releases the events");
    tap_run(late_release, "events released long after their client");
    tap_run(two_clients_one_port, "two clients of one port");
    tap_run(port_without_function, "a port without the function is refused");
    return tap_done();
}

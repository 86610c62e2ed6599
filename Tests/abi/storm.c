/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Many threads call one client at random until it is closed under them: whatever was started completes once.
 */
#include "receiver.h"

enum { THREADS = 8, CALLS = 100, ROUNDS = 10 };

static enum sink kind; /* of the run of the suite */

struct caller {
    pthread_t thread;
    versola_client *client;
    unsigned seed;
    uint64_t first_id;
    bool started[CALLS];
    atomic_int *calls_until_close;
};

static int32_t call_something(versola_client *client, uint64_t id, unsigned *seed) {
    switch (rand_r(seed) % 6) {
    case 0: return versola_client_login(client, NULL, id, NULL);
    case 1: return versola_client_access_token(client, NULL, id, NULL);
    case 2: return versola_client_refresh(client, id, NULL);
    case 3: return versola_client_user_info(client, id, NULL);
    case 4: return versola_client_handle_redirect(client, REDIRECT "?state=unknown&code=1", id, NULL);
    default: return versola_client_logout(client, id, NULL);
    }
}

static void meddle(versola_client *client, uint64_t id, unsigned *seed) {
    versola_string *url = NULL;
    int32_t state = 0;
    switch (rand_r(seed) % 8) {
    case 0: versola_client_cancel(client, id, VERSOLA_CANCEL_USER, NULL); break;
    case 1: versola_client_cancel(client, id, VERSOLA_CANCEL_SYSTEM, NULL); break;
    case 2: versola_client_cancel(client, id > 0 ? id - 1 : 0, VERSOLA_CANCEL_SYSTEM, NULL); break;
    case 3: versola_client_cancel_login(client, NULL); break;
    case 4: versola_client_reopen_browser(client, NULL); break;
    case 5: versola_client_state(client, &state, NULL); break;
    case 6: versola_client_authorization_url(client, &url, NULL); break;
    default: break;
    }
    versola_string_release(url);
}

static void *call_until_it_is_closed(void *argument) {
    struct caller *caller = argument;
    for (int i = 0; i < CALLS; i++) {
        const uint64_t id = caller->first_id + (uint64_t)i;
        const int32_t status = call_something(caller->client, id, &caller->seed);
        CHECK(status == VERSOLA_OK || status == VERSOLA_CAUSE_INVALID_CONFIGURATION);
        caller->started[i] = status == VERSOLA_OK;
        meddle(caller->client, id, &caller->seed);
        if (atomic_fetch_sub(caller->calls_until_close, 1) == 1)
            versola_client_close(caller->client);
    }
    return NULL;
}

static void answer(struct receiver *receiver, versola_event *event) {
    (void)receiver;
    if (versola_event_kind(event) == VERSOLA_EVENT_OPEN_URL)
        versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED + rand() % 4, NULL);
}

static void storm(void) {
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct receiver *receiver = receiver_new(kind);
        versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_APP);
        atomic_store(&receiver->hook, answer);
        connect_client(receiver, config);
        versola_config_release(config);
        struct caller callers[THREADS];
        atomic_int calls_until_close = (int)(round + 1) * THREADS * CALLS / (ROUNDS + 1);
        for (unsigned i = 0; i < THREADS; i++) {
            callers[i] = (struct caller){
                .client = receiver->client, .seed = round * THREADS + i, .first_id = (uint64_t)i * CALLS,
                .calls_until_close = &calls_until_close};
            pthread_create(&callers[i].thread, NULL, call_until_it_is_closed, &callers[i]);
        }
        for (int i = 0; i < THREADS; i++)
            pthread_join(callers[i].thread, NULL);
        await_end(receiver);
        int wrong = 0, started = 0;
        for (int i = 0; i < THREADS * CALLS; i++) {
            int32_t status = 0;
            const bool has_started = callers[i / CALLS].started[i % CALLS];
            started += has_started;
            wrong += completions_of(receiver, (uint64_t)i, &status) != has_started;
        }
        if (!CHECK(wrong == 0 && started > 0))
            printf("# round %u: %d of %d\n", round, wrong, started);
        versola_client_release(receiver->client);
        receiver_free(receiver);
    }
}

int main(void) {
    for (kind = 0; kind < SINKS; kind++) {
        char name[160];
        snprintf(
            name, sizeof name, "%s: eight threads, each operation that was started completes once", sink_names[kind]);
        tap_run(storm, name);
    }
    return tap_done();
}

/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * B58: a crowd of clients over TLS, VERSOLA_TEST_CLIENTS in all, and what they leave behind in the process.
 * VERSOLA_TEST_TLS_ISSUER names the provider, VERSOLA_TEST_CA its authority.
 */
#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

struct footprint {
    int threads, descriptors;
    long resident_kib;
};

static struct footprint footprint(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    CHECK(statm != NULL && fscanf(statm, "%*d %ld", &pages) == 1);
    if (statm != NULL)
        fclose(statm);
    return (struct footprint){
        entries("/proc/self/task"), entries("/proc/self/fd"), pages * (sysconf(_SC_PAGESIZE) / 1024)};
}

enum { MEMBERS = 16, WARM_UP = SANITIZED ? 32 : 256, MEMORY_KIB = 8 * 1024 };

static atomic_int clients_left;

static void *member(void *argument) {
    (void)argument;
    while (atomic_fetch_sub(&clients_left, 1) > 0) {
        versola_queue *queue = versola_queue_new();
        versola_config *config = versola_config_new(getenv("VERSOLA_TEST_TLS_ISSUER"), "native-app");
        versola_config_set_redirect_uri(config, REDIRECT);
        versola_config_set_ca_file(config, getenv("VERSOLA_TEST_CA"));
        versola_config_set_store_memory(config);
        versola_config_set_browser(config, VERSOLA_BROWSER_APP);
        versola_config_set_queue(config, queue);
        versola_client *client = client_of(config);
        versola_config_release(config);
        CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
        versola_event *event;
        while ((event = versola_queue_wait(queue, PATIENCE_MS)) != NULL &&
            versola_event_kind(event) != VERSOLA_EVENT_OPEN_URL &&
            versola_event_kind(event) != VERSOLA_EVENT_COMPLETION)
            versola_event_release(event);
        if (!CHECK(versola_event_kind(event) == VERSOLA_EVENT_OPEN_URL))
            printf("# %s\n", versola_error_detail(versola_event_error(event)));
        versola_event_release(event);
        CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
        versola_client_release(client);
        versola_queue_release(queue);
    }
    return NULL;
}

static struct footprint after_clients(int clients) {
    pthread_t threads[MEMBERS];
    atomic_store(&clients_left, clients);
    for (int i = 0; i < MEMBERS; i++)
        pthread_create(&threads[i], NULL, member, NULL);
    for (int i = 0; i < MEMBERS; i++)
        pthread_join(threads[i], NULL);
    usleep(300000); /* what closes behind a client's end */
    return footprint();
}

static void tell_footprint(int clients, struct footprint now) {
    printf("# after %d clients: %d threads, %d descriptors, %ld KiB resident\n", clients, now.threads, now.descriptors,
        now.resident_kib);
    fflush(stdout);
}

static void crowd(void) {
    const int clients = atoi(getenv("VERSOLA_TEST_CLIENTS"));
    const int stages[] = {clients / 10, clients / 2, clients};
    tell_footprint(0, after_clients(WARM_UP));
    struct footprint first = {0}, now;
    for (int i = 0, made = 0; i < 3; made = stages[i++]) {
        now = after_clients(stages[i] - made);
        tell_footprint(stages[i], now);
        if (i == 0)
            first = now;
    }
    CHECK(now.descriptors <= first.descriptors + MEMBERS); /* each may have left a connection that curl keeps alive */
    CHECK(now.threads <= first.threads + 8);               /* Dispatch keeps idle workers for a while */
    CHECK(SANITIZED || now.resident_kib <= first.resident_kib + MEMORY_KIB); /* a sanitizer keeps what was freed */
}

int main(void) {
    tap_run(crowd, "B58: clients made and closed in parallel over TLS leave no thread, descriptor, memory behind");
    return tap_done();
}

/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * One receiver for the three sinks, so that one suite holds for all: a thread that consumes a queue, a callback, and a
 * Dart isolate, mimicked: its port takes messages from any thread and gives them to the isolate's own thread, in order;
 * posting
 * to a port that is closed answers false.
 */
#ifndef RECEIVER_H
#define RECEIVER_H

#include "fixture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum sink { QUEUE, CALLBACK, DART_PORT, SINKS };
enum { MOST_EVENTS = 4096 };

static const char *const sink_names[] = {"queue", "callback", "Dart port"};

struct events {
    versola_event *list[MOST_EVENTS];
    size_t count, taken;
    bool gone; /* the isolate of this port is gone */
};

struct receiver {
    enum sink sink;
    versola_queue *queue;
    int64_t port;
    pthread_t thread; /* the queue's consumer or the isolate */
    /* Runs where the sink delivers, before the event lies in `received`. */
    void (*_Atomic hook)(struct receiver *, versola_event *);
    versola_client *_Atomic client; /* for the hook */
    struct events received;
    atomic_int inside, closed, contexts_freed, hooked;
    atomic_bool overlapped;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;

static inline void put(struct events *events, versola_event *event) {
    pthread_mutex_lock(&lock);
    if (events->count < MOST_EVENTS)
        events->list[events->count++] = event;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

/* The next event, or NULL after the time. It stays on the list for a look at the whole. */
static inline versola_event *take(struct events *events, int64_t timeout_ms) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += timeout_ms / 1000;
    end.tv_nsec += timeout_ms % 1000 * 1000000;
    if (end.tv_nsec >= 1000000000) {
        end.tv_sec++;
        end.tv_nsec -= 1000000000;
    }
    pthread_mutex_lock(&lock);
    while (events->taken == events->count && pthread_cond_timedwait(&changed, &lock, &end) == 0)
        ;
    versola_event *event = events->taken < events->count ? events->list[events->taken++] : NULL;
    pthread_mutex_unlock(&lock);
    return event;
}

static inline void delivered(struct receiver *receiver, versola_event *event) {
    if (atomic_fetch_add(&receiver->inside, 1) != 0)
        atomic_store(&receiver->overlapped, true);
    void (*hook)(struct receiver *, versola_event *) = atomic_load(&receiver->hook);
    bool is_last = versola_event_kind(event) == VERSOLA_EVENT_CLOSED;
    if (hook != NULL)
        hook(receiver, event);
    atomic_fetch_sub(&receiver->inside, 1);
    put(&receiver->received, event);
    if (is_last) {
        pthread_mutex_lock(&lock);
        atomic_fetch_add(&receiver->closed, 1);
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
}

/* --- The callback --- */

static inline void callback(void *context, versola_event *event) {
    delivered(context, event);
}

static inline void context_free(void *context) {
    struct receiver *receiver = context;
    CHECK(atomic_load(&receiver->closed) == 1); /* after the last call */
    atomic_fetch_add(&receiver->contexts_freed, 1);
}

/* --- The queue --- */

static inline void *consume_queue(void *argument) {
    struct receiver *receiver = argument;
    while (atomic_load(&receiver->closed) == 0) {
        versola_event *event = versola_queue_wait(receiver->queue, PATIENCE_MS);
        if (!CHECK(event != NULL))
            break;
        delivered(receiver, event);
    }
    return NULL;
}

/* --- The Dart port, as dart_native_api.h declares it --- */

enum { Dart_CObject_kInt64 = 3, PORTS = 64 };

typedef struct {
    int32_t type;
    union {
        bool as_bool;
        int32_t as_int32;
        int64_t as_int64;
        double as_double;
        struct {
            int32_t type;
            intptr_t length;
            uint8_t *data;
            void *peer;
            void (*callback)(void *, void *);
        } as_external_typed_data;
    } value;
} Dart_CObject;

static struct events ports[PORTS]; /* port n is ports[n - 1] */
static int64_t open_ports;

static inline bool Dart_PostCObject(int64_t port, Dart_CObject *message) {
    if (!CHECK(port >= 1 && port <= open_ports) || !CHECK(message->type == Dart_CObject_kInt64))
        return false;
    pthread_mutex_lock(&lock);
    bool gone = ports[port - 1].gone;
    pthread_mutex_unlock(&lock);
    if (!gone)
        put(&ports[port - 1], (versola_event *)(uintptr_t)message->value.as_int64);
    return !gone;
}

static inline const void *post_c_object(void) {
    union {
        bool (*function)(int64_t, Dart_CObject *);
        const void *address; /* Dart's NativeApi.postCObject is a Pointer like any other */
    } post = {Dart_PostCObject};
    return post.address;
}

static inline int64_t open_port(void) {
    pthread_mutex_lock(&lock);
    int64_t port = open_ports < PORTS ? ++open_ports : open_ports;
    memset(&ports[port - 1], 0, sizeof ports[port - 1]);
    pthread_mutex_unlock(&lock);
    return port;
}

/* The isolate ends: later posts answer false. What lies in its port is lost to it; the test releases it. */
static inline void end_isolate(int64_t port) {
    pthread_mutex_lock(&lock);
    ports[port - 1].gone = true;
    pthread_mutex_unlock(&lock);
}

static inline void *run_isolate(void *argument) {
    struct receiver *receiver = argument;
    while (atomic_load(&receiver->closed) == 0) {
        versola_event *event = take(&ports[receiver->port - 1], PATIENCE_MS);
        if (!CHECK(event != NULL))
            break;
        delivered(receiver, event);
    }
    return NULL;
}

/* --- A receiver's life --- */

static inline struct receiver *receiver_new(enum sink sink) {
    struct receiver *receiver = calloc(1, sizeof *receiver);
    receiver->sink = sink;
    if (sink == QUEUE)
        receiver->queue = versola_queue_new();
    if (sink == DART_PORT)
        receiver->port = open_port();
    return receiver;
}

static inline int32_t set_sink(versola_config *config, struct receiver *receiver) {
    switch (receiver->sink) {
    case QUEUE: return versola_config_set_queue(config, receiver->queue);
    case CALLBACK: return versola_config_set_callback(config, callback, receiver, context_free);
    default: return versola_config_set_dart_port(config, receiver->port, post_c_object());
    }
}

/* A client whose events the receiver gets. The receiver has no thread before. */
static inline void connect_client(struct receiver *receiver, versola_config *config) {
    CHECK(set_sink(config, receiver) == VERSOLA_OK);
    atomic_store(&receiver->client, client_of(config));
    if (receiver->sink != CALLBACK)
        pthread_create(&receiver->thread, NULL, receiver->sink == QUEUE ? consume_queue : run_isolate, receiver);
}

static inline versola_event *await_received(struct receiver *receiver, int32_t kind) {
    versola_event *event;
    while ((event = take(&receiver->received, PATIENCE_MS)) != NULL && versola_event_kind(event) != kind)
        ;
    return event;
}

/* Counted from the start: those that were taken before count too. */
static inline void await_completions(struct receiver *receiver, int expected) {
    int count = 0;
    for (size_t i = 0; i < receiver->received.taken; i++)
        count += versola_event_kind(receiver->received.list[i]) == VERSOLA_EVENT_COMPLETION;
    while (count < expected && CHECK(await_received(receiver, VERSOLA_EVENT_COMPLETION) != NULL))
        count++;
}

/* Waits for CLOSED and for what belongs to it, and looks at what must hold for every life of every client. */
static inline void await_end(struct receiver *receiver) {
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_MS / 1000;
    pthread_mutex_lock(&lock);
    while (atomic_load(&receiver->closed) == 0 && pthread_cond_timedwait(&changed, &lock, &end) == 0)
        ;
    pthread_mutex_unlock(&lock);
    CHECK(atomic_load(&receiver->closed) == 1);
    if (receiver->sink != CALLBACK)
        pthread_join(receiver->thread, NULL);
    for (int i = 0; receiver->sink == CALLBACK && i < 2000 && atomic_load(&receiver->contexts_freed) == 0; i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    CHECK(atomic_load(&receiver->contexts_freed) == (receiver->sink == CALLBACK));
    CHECK(!atomic_load(&receiver->overlapped));
}

/* How many completions came for this operation; the last one's status. */
static inline int completions_of(struct receiver *receiver, uint64_t operation_id, int32_t *status) {
    int count = 0;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < receiver->received.count; i++) {
        const versola_event *event = receiver->received.list[i];
        if (versola_event_kind(event) == VERSOLA_EVENT_COMPLETION &&
            versola_event_operation_id(event) == operation_id) {
            *status = versola_event_status(event);
            count++;
        }
    }
    pthread_mutex_unlock(&lock);
    return count;
}

static inline bool completed_once(struct receiver *receiver, uint64_t operation_id, int32_t expected) {
    int32_t status = -1;
    int count = completions_of(receiver, operation_id, &status);
    if (count != 1 || status != expected)
        printf("# operation %d: %d completions, status %d\n", (int)operation_id, count, status);
    return count == 1 && status == expected;
}

static inline void receiver_free(struct receiver *receiver) {
    size_t last = receiver->received.count;
    if (CHECK(last > 0))
        CHECK(versola_event_kind(receiver->received.list[last - 1]) == VERSOLA_EVENT_CLOSED);
    for (size_t i = 0; i < last; i++)
        versola_event_release(receiver->received.list[i]);
    versola_queue_release(receiver->queue);
    free(receiver);
}

#endif

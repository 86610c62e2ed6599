/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What outlives a client, and has something to tell when nobody listens any more: CLOSED stays the last event.
 */
#include "receiver.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sink kind; /* of the run of the suite */

/* --- A browser launcher, which runs as long as the browser does: its end is logged --- */

static char folder[] = "/tmp/versola-late-XXXXXX", launcher[64], gate[64], started[64];

static void write_launcher(void) {
    snprintf(launcher, sizeof launcher, "%s/launcher", folder);
    snprintf(gate, sizeof gate, "%s/gate", folder);
    snprintf(started, sizeof started, "%s/started", folder);
    unlink(gate);
    unlink(started);
    CHECK(mkfifo(gate, 0600) == 0);
    FILE *script = fopen(launcher, "w");
    if (!CHECK(script != NULL))
        return;
    /* By rename, so that the number is there as a whole. */
    fprintf(script, "#!/bin/sh\necho $$ > '%s.new'\nmv '%s.new' '%s'\nread -r line < '%s'\nexit 3\n", started, started,
        started, gate);
    fclose(script);
    CHECK(chmod(launcher, 0700) == 0);
    setenv("BROWSER", launcher, 1);
}

static pid_t await_launcher(void) {
    int pid = 0;
    for (int i = 0; i < PATIENCE_MS / 5 && pid == 0; i++) {
        FILE *file = fopen(started, "r");
        if (file != NULL && fscanf(file, "%d", &pid) != 1)
            pid = 0;
        if (file != NULL)
            fclose(file);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    CHECK(pid != 0);
    return pid;
}

static void end_launcher(pid_t pid) {
    int writer = open(gate, O_WRONLY);
    CHECK(write(writer, "end\n", 4) == 4);
    close(writer);
    /* Gone means reaped, and that is done right before the end is logged. */
    for (int i = 0; i < PATIENCE_MS / 5 && kill(pid, 0) == 0; i++)
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    CHECK(kill(pid, 0) != 0);
}

static versola_config *config_with_launcher(void) {
    versola_config *config = config_without_network(NULL, VERSOLA_BROWSER_SYSTEM);
    CHECK(versola_config_set_log_level(config, VERSOLA_LOG_DEBUG) == VERSOLA_OK);
    return config;
}

static void launcher_outlives_its_client(void) {
    write_launcher();
    struct receiver *receiver = receiver_new(kind);
    versola_config *config = config_with_launcher();
    connect_client(receiver, config);
    versola_config_release(config);
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    pid_t pid = await_launcher();
    CHECK(versola_client_close_wait(receiver->client, PATIENCE_MS, NULL) == VERSOLA_OK);
    await_end(receiver);
    size_t received = receiver->received.count;
    end_launcher(pid);
    if (kind == QUEUE)
        CHECK(versola_queue_wait(receiver->queue, 200) == NULL);
    else
        nanosleep(&(struct timespec){0, 200000000}, NULL);
    CHECK(receiver->received.count == received); /* the callback's context may be gone */
    if (kind == DART_PORT)
        CHECK(ports[receiver->port - 1].count == received);
    CHECK(completed_once(receiver, 1, VERSOLA_CAUSE_SYSTEM_CANCELLED));
    versola_client_release(receiver->client);
    receiver_free(receiver);
}

/* The end of a launcher is told while its client lives; so the silence above is not for want of anything to tell. */
static void launcher_ends_before_its_client(void) {
    write_launcher();
    struct receiver *receiver = receiver_new(kind);
    versola_config *config = config_with_launcher();
    connect_client(receiver, config);
    versola_config_release(config);
    CHECK(versola_client_login(receiver->client, NULL, 1, NULL) == VERSOLA_OK);
    end_launcher(await_launcher());
    versola_event *event;
    while ((event = await_received(receiver, VERSOLA_EVENT_LOG)) != NULL &&
        strstr(versola_event_message(event), "status 3") == NULL)
        ;
    CHECK(event != NULL && versola_event_log_level(event) == VERSOLA_LOG_WARNING);
    versola_client_release(receiver->client);
    await_end(receiver);
    receiver_free(receiver);
}

/* A queue ends with its last user: what still runs of a closed client keeps no descriptor of the host's open. */
static void launcher_keeps_no_queue(void) {
    write_launcher();
    versola_queue *queue = versola_queue_new();
    versola_config *config = config_with_launcher();
    CHECK(versola_config_set_queue(config, queue) == VERSOLA_OK);
    versola_client *client = client_of(config);
    versola_config_release(config);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    pid_t pid = await_launcher();
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    int descriptor = versola_queue_fd(queue);
    versola_client_release(client);
    versola_queue_release(queue);
    bool open = true;
    for (int i = 0; i < PATIENCE_MS / 5 && open; i++) {
        open = fcntl(descriptor, F_GETFD) != -1;
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
    CHECK(!open);
    end_launcher(pid);
}

int main(void) {
    if (mkdtemp(folder) == NULL)
        return 2;
    for (kind = 0; kind < SINKS; kind++) {
        char name[160];
        snprintf(name, sizeof name, "%s: the end of a browser launcher is logged", sink_names[kind]);
        tap_run(launcher_ends_before_its_client, name);
        snprintf(name, sizeof name, "%s: B55: a launcher that outlives its client is not heard of", sink_names[kind]);
        tap_run(launcher_outlives_its_client, name);
    }
    tap_run(launcher_keeps_no_queue, "a launcher that outlives its client keeps no queue open");
    unlink(launcher);
    unlink(gate);
    unlink(started);
    rmdir(folder);
    return tap_done();
}

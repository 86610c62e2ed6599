/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program with an event loop of its own: it signs in, fetches an access token and signs out, and never blocks
 * anywhere but in poll(2). Ctrl-C ends what is running.
 *
 *     cc -o poll poll.c $(pkg-config --cflags --libs versola)
 *     ./poll https://id.example.com my-app
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <versola.h>

/* The ids are ours; a completion brings back the one its operation was started with. */
enum { LOGIN = 1, TOKEN = 2, LOGOUT = 3 };

struct program {
    versola_client *client;
    uint64_t running; /* id of the operation that runs, 0 = none */
    bool failed;
    bool closed;
};

static const char *state_name(int32_t state) {
    switch (state) {
    case VERSOLA_STATE_UNAUTHENTICATED: return "unauthenticated";
    case VERSOLA_STATE_AUTHORIZING: return "authorizing";
    case VERSOLA_STATE_AUTHENTICATED: return "authenticated";
    case VERSOLA_STATE_REFRESHING: return "refreshing";
    case VERSOLA_STATE_STEP_UP_REQUIRED: return "step-up required";
    case VERSOLA_STATE_LOCKED: return "locked";
    case VERSOLA_STATE_LOGGING_OUT: return "logging out";
    default: return "unknown"; /* a later library may know more states */
    }
}

/* A login goes on to a token, a token to a logout, and anything that fails to the end. */
static void start(struct program *program, uint64_t operation) {
    versola_error *error = NULL;
    int32_t status = VERSOLA_OK;

    switch (operation) {
    case LOGIN: status = versola_client_login(program->client, NULL, LOGIN, &error); break;
    case TOKEN: status = versola_client_access_token(program->client, NULL, TOKEN, &error); break;
    case LOGOUT: status = versola_client_logout(program->client, LOGOUT, &error); break;
    }
    if (status == VERSOLA_OK) {
        program->running = operation; /* exactly one completion will come */
    } else {
        fprintf(stderr, "not started: %s\n", versola_error_detail(error)); /* none will come */
        program->failed = true;
        versola_client_close(program->client);
    }
    versola_error_release(error);
}

static void finished(struct program *program, const versola_event *event) {
    program->running = 0;
    if (versola_event_status(event) != VERSOLA_OK) {
        fprintf(stderr, "failed: %s\n", versola_error_detail(versola_event_error(event)));
        program->failed = true;
        versola_client_close(program->client);
        return;
    }
    switch (versola_event_operation(event)) {
    case VERSOLA_OPERATION_LOGIN:
        printf("signed in: %s\n", versola_identity_subject(versola_event_identity(event)));
        start(program, TOKEN);
        break;
    case VERSOLA_OPERATION_ACCESS_TOKEN: {
        /* The value is what goes into "Authorization: Bearer ..."; it is a secret, so only its shape is shown. */
        size_t length = 0;
        versola_token_value(versola_event_token(event), &length);
        printf("access token: %zu characters, scope \"%s\"\n", length, versola_token_scope(versola_event_token(event)));
        start(program, LOGOUT);
        break;
    }
    case VERSOLA_OPERATION_LOGOUT:
        printf("signed out; revoked at the provider: %s\n", versola_event_token_revoked(event) ? "yes" : "no");
        versola_client_close(program->client);
        break;
    }
}

static void handle(struct program *program, versola_event *event) {
    switch (versola_event_kind(event)) {
    case VERSOLA_EVENT_STATE:
        printf("state: %s\n", state_name(versola_event_state(event)));
        break;
    case VERSOLA_EVENT_OPEN_URL:
        /* A program with a window would show the page there; this one asks the person, so the answer is OPENED. */
        printf("open this page to sign in:\n\n    %s\n\n", versola_event_url(event));
        versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, NULL);
        break;
    case VERSOLA_EVENT_COMPLETION:
        finished(program, event);
        break;
    case VERSOLA_EVENT_CLOSED:
        program->closed = true; /* the last event of the client */
        break;
    }
    fflush(stdout);
}

/* Ctrl-C is the person's wish: what runs completes with USER_CANCELLED, and its completion leads to the end. */
static void interrupted(struct program *program, int signals) {
    struct signalfd_siginfo info;
    if (read(signals, &info, sizeof info) < 0)
        return;
    if (program->running != 0)
        versola_client_cancel(program->client, program->running, VERSOLA_CANCEL_USER, NULL);
    else
        versola_client_close(program->client);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s ISSUER CLIENT_ID\n", argv[0]);
        return 2;
    }

    /* The library's threads have their signals blocked, so that SIGINT comes to our descriptor only. */
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGINT);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    int signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);

    /* The statuses of the setters need no look here: a refusal is remembered and told by versola_client_create. */
    versola_queue *queue = versola_queue_new();
    versola_config *config = versola_config_new(argv[1], argv[2]);
    versola_config_set_redirect_uri(config, "http://127.0.0.1/callback");
    versola_config_set_browser(config, VERSOLA_BROWSER_APP);
    versola_config_set_store_memory(config);
    versola_config_set_queue(config, queue);

    struct program program = {0};
    versola_error *error = NULL;
    if (signals >= 0 && versola_client_create(config, &program.client, &error) == VERSOLA_OK) {
        start(&program, LOGIN);
    } else {
        fprintf(stderr, "%s\n", error != NULL ? versola_error_detail(error) : "no signalfd");
        program.failed = program.closed = true;
    }
    versola_error_release(error);
    versola_config_release(config);

    while (!program.closed) {
        struct pollfd ready[] = {{versola_queue_fd(queue), POLLIN, 0}, {signals, POLLIN, 0}};
        if (poll(ready, 2, -1) < 0)
            continue; /* EINTR */
        if (ready[1].revents != 0)
            interrupted(&program, signals);
        versola_event *event;
        while ((event = versola_queue_pop(queue)) != NULL) {
            handle(&program, event);
            versola_event_release(event); /* whoever receives an event owns it */
        }
    }

    versola_client_release(program.client);
    versola_queue_release(queue);
    close(signals);
    return program.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

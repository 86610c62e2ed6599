/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A program that is called back: it signs in, fetches an access token and signs out. Events come on a serial queue of
 * the client's own, one at a time, so `struct program` needs no lock as long as only the callback touches it.
 *
 *     cc -o callback callback.c $(pkg-config --cflags --libs versola)
 *     ./callback https://id.example.com my-app
 */
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <versola.h>

enum { LOGIN = 1, TOKEN = 2, LOGOUT = 3 };

struct program {
    versola_client *client;
    bool failed;
    sem_t ended; /* for main(), which has nothing else to do */
};

/* An operation that was started brings exactly one completion; one that was not brings none. */
static void check_started(struct program *program, int32_t status, versola_error *error) {
    if (status != VERSOLA_OK) {
        fprintf(stderr, "not started: %s\n", versola_error_detail(error));
        program->failed = true;
        versola_client_close(program->client);
    }
    versola_error_release(error);
}

static void finished(struct program *program, const versola_event *event) {
    versola_error *error = NULL;
    int32_t status;

    if (versola_event_status(event) != VERSOLA_OK) {
        fprintf(stderr, "failed: %s\n", versola_error_detail(versola_event_error(event)));
        program->failed = true;
        versola_client_close(program->client);
        return;
    }
    /* Every function may be called in a callback, except those that wait. */
    switch (versola_event_operation_id(event)) {
    case LOGIN:
        printf("signed in: %s\n", versola_identity_subject(versola_event_identity(event)));
        status = versola_client_access_token(program->client, NULL, TOKEN, &error);
        check_started(program, status, error);
        break;
    case TOKEN: {
        size_t length = 0; /* the value is a secret, so only its length is shown */
        versola_token_value(versola_event_token(event), &length);
        printf("access token: %zu characters\n", length);
        status = versola_client_logout(program->client, LOGOUT, &error);
        check_started(program, status, error);
        break;
    }
    case LOGOUT:
        printf("signed out; revoked at the provider: %s\n", versola_event_token_revoked(event) ? "yes" : "no");
        versola_client_close(program->client);
        break;
    }
}

static void called_back(void *context, versola_event *event) {
    struct program *program = context;

    switch (versola_event_kind(event)) {
    case VERSOLA_EVENT_OPEN_URL:
        printf("open this page to sign in:\n\n    %s\n\n", versola_event_url(event));
        versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, NULL);
        break;
    case VERSOLA_EVENT_COMPLETION:
        finished(program, event);
        break;
    }
    fflush(stdout);
    versola_event_release(event); /* whoever receives an event owns it */
}

/* After the last callback. A program that allocated its context would free it here. */
static void ended(void *context) {
    struct program *program = context;
    sem_post(&program->ended);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s ISSUER CLIENT_ID\n", argv[0]);
        return 2;
    }
    struct program program = {0};
    sem_init(&program.ended, 0, 0);

    versola_error *error = NULL;
    versola_config *config = versola_config_new(argv[1], argv[2]);
    versola_config_set_redirect_uri(config, "http://127.0.0.1/callback");
    versola_config_set_browser(config, VERSOLA_BROWSER_APP);
    versola_config_set_store_memory(config);
    versola_config_set_callback(config, called_back, &program, ended);

    /* Callbacks that need the client come after this: they answer operations, and none was started yet. */
    if (versola_client_create(config, &program.client, &error) == VERSOLA_OK) {
        int32_t status = versola_client_login(program.client, NULL, LOGIN, &error);
        check_started(&program, status, error);
        while (sem_wait(&program.ended) != 0)
            ; /* EINTR */
    } else {
        fprintf(stderr, "%s\n", versola_error_detail(error));
        versola_error_release(error);
        program.failed = true;
    }
    versola_config_release(config);
    versola_client_release(program.client);
    sem_destroy(&program.ended);
    return program.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A GLib program, as one with a window would be: the main loop watches the queue's descriptor, so that every event
 * arrives in the main thread and nothing has to be carried over from another. Ctrl-C cancels the login.
 *
 *     cc -o glib glib.c $(pkg-config --cflags --libs versola glib-2.0)
 *     ./glib https://id.example.com my-app
 */
#include <glib-unix.h>
#include <glib.h>
#include <stdlib.h>
#include <versola.h>

enum { LOGIN = 1 };

typedef struct {
    GMainLoop *loop;
    versola_queue *queue;
    versola_client *client;
    gboolean failed;
} Program;

static void on_login(Program *program, const versola_event *event) {
    if (versola_event_status(event) == VERSOLA_OK) {
        g_print("signed in: %s\n", versola_identity_subject(versola_event_identity(event)));
    } else {
        versola_error *error = versola_event_error(event);
        program->failed = TRUE;
        if (versola_error_cause(error) == VERSOLA_CAUSE_USER_CANCELLED)
            g_print("cancelled\n"); /* no error to the person who did it */
        else
            g_printerr("failed: %s\n", versola_error_detail(error));
    }
    versola_client_close(program->client);
}

static gboolean on_events(gint fd, GIOCondition condition, gpointer data) {
    Program *program = data;
    versola_event *event;

    (void)fd;
    (void)condition;
    while ((event = versola_queue_pop(program->queue)) != NULL) {
        switch (versola_event_kind(event)) {
        case VERSOLA_EVENT_OPEN_URL:
            /* With GTK: gtk_uri_launcher_launch() of the URL, and the answer when that has ended. */
            g_print("open this page to sign in:\n\n    %s\n\n", versola_event_url(event));
            versola_event_answer_open_url(event, VERSOLA_OPEN_URL_OPENED, NULL);
            break;
        case VERSOLA_EVENT_COMPLETION:
            on_login(program, event);
            break;
        case VERSOLA_EVENT_CLOSED: /* the last event */
            g_main_loop_quit(program->loop);
            break;
        }
        versola_event_release(event);
    }
    return G_SOURCE_CONTINUE;
}

/* What the Cancel button of a window would do. The completion comes all the same, and ends the program. */
static gboolean on_interrupt(gpointer data) {
    Program *program = data;
    versola_client_cancel(program->client, LOGIN, VERSOLA_CANCEL_USER, NULL);
    return G_SOURCE_CONTINUE;
}

int main(int argc, char **argv) {
    if (argc != 3) {
        g_printerr("usage: %s ISSUER CLIENT_ID\n", argv[0]);
        return 2;
    }
    Program program = {g_main_loop_new(NULL, FALSE), versola_queue_new(), NULL, FALSE};
    versola_error *error = NULL;
    versola_config *config = versola_config_new(argv[1], argv[2]);
    versola_config_set_redirect_uri(config, "http://127.0.0.1/callback");
    versola_config_set_browser(config, VERSOLA_BROWSER_APP);
    versola_config_set_store_memory(config);
    versola_config_set_queue(config, program.queue);

    guint events = g_unix_fd_add(versola_queue_fd(program.queue), G_IO_IN, on_events, &program);
    guint interrupt = g_unix_signal_add(SIGINT, on_interrupt, &program);
    if (versola_client_create(config, &program.client, &error) == VERSOLA_OK &&
        versola_client_login(program.client, NULL, LOGIN, &error) == VERSOLA_OK) {
        g_main_loop_run(program.loop);
    } else {
        g_printerr("%s\n", versola_error_detail(error));
        program.failed = TRUE;
    }

    g_source_remove(interrupt);
    g_source_remove(events);
    versola_error_release(error);
    versola_config_release(config);
    versola_client_release(program.client);
    versola_queue_release(program.queue);
    g_main_loop_unref(program.loop);
    return program.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

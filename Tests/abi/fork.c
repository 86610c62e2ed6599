/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * After fork() the child gets an error at once from every call and its releases do nothing; the parent goes on. Only
 * where the parent had not used the library the child may.
 */
#include "fixture.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

enum { INVALID = VERSOLA_CAUSE_INVALID_CONFIGURATION, HANGS_AFTER_S = 20 };

/* The child checks on its own and tells by its exit status how many checks failed; a hang ends it by SIGALRM. */
static void check_in_child(void (*child)(void)) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(HANGS_AFTER_S);
        tap_failed_checks = 0;
        child();
        fflush(stdout);
        _exit(tap_failed_checks == 0 ? 0 : 1);
    }
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    if (!CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        printf("# the child %s %d\n", WIFSIGNALED(status) ? "was ended by signal" : "exited with",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* --- Before the parent has used the library: the child may, from many threads at once --- */

enum { CHILDREN = 200, THREADS = 8 };

static pthread_barrier_t together;

static void *use_it(void *unused) {
    pthread_barrier_wait(&together);
    versola_queue *own = versola_queue_new();
    versola_client *one = client_without_network(own, VERSOLA_BROWSER_NONE);
    versola_token *token = NULL;
    CHECK(versola_client_access_token_wait(one, NULL, PATIENCE_MS, &token, NULL) == VERSOLA_CAUSE_SESSION_EXPIRED);
    CHECK(versola_client_close_wait(one, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(one);
    versola_queue_release(own);
    return unused;
}

static void first_use(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&together, NULL, THREADS);
    for (int i = 1; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, use_it, NULL) == 0);
    use_it(NULL); /* this thread is the one that forked, in the eyes of who remembers it */
    for (int i = 1; i < THREADS; i++)
        pthread_join(threads[i], NULL);
}

static void fork_before_the_first_use(void) {
    for (int i = 0; i < CHILDREN && tap_failed_checks == 0; i++)
        check_in_child(first_use);
}

/* --- While it begins to: the child may, or is refused --- */

static int spins;

static void use_or_refusal(void) {
    versola_config *begun = versola_config_new(NULL, "native-app");
    pthread_barrier_init(&together, NULL, 1);
    if (begun != NULL)
        use_it(NULL);
    versola_config_release(begun);
}

static void first_use_and_fork(void) {
    pthread_t beginner;
    pthread_barrier_init(&together, NULL, 2);
    CHECK(pthread_create(&beginner, NULL, use_it, NULL) == 0);
    pthread_barrier_wait(&together);
    for (volatile int i = 0; i < spins; i++)
        ;
    check_in_child(use_or_refusal);
    pthread_join(beginner, NULL);
}

static void fork_in_the_first_use(void) {
    for (spins = 0; spins < 3000 * CHILDREN && tap_failed_checks == 0; spins += 3000)
        check_in_child(first_use_and_fork);
}

/* --- After it has: the child gets its error --- */

static versola_queue *queue;
static versola_config *config;
static versola_client *client;

static void every_call(void) {
    versola_error *error = NULL;
    versola_identity *identity = NULL;
    versola_token *token = NULL;
    versola_string *url = NULL;
    versola_client *other = NULL;
    int32_t state = 0;
    bool flag = false;

    CHECK(is_error(versola_client_state(client, &state, &error), &error, INVALID));
    CHECK(is_error(versola_client_identity(client, &identity, &error), &error, INVALID));
    CHECK(is_error(versola_client_authorization_url(client, &url, &error), &error, INVALID));
    CHECK(is_error(versola_client_reopen_browser(client, &error), &error, INVALID));
    CHECK(is_error(versola_client_cancel_login(client, &error), &error, INVALID));
    CHECK(is_error(versola_client_login_wait(client, NULL, -1, &identity, &error), &error, INVALID));
    CHECK(is_error(versola_client_access_token_wait(client, NULL, -1, &token, &error), &error, INVALID));
    CHECK(is_error(versola_client_handle_redirect_wait(client, REDIRECT, -1, &flag, &error), &error, INVALID));
    CHECK(is_error(versola_client_logout_wait(client, -1, &flag, &flag, &error), &error, INVALID));
    CHECK(is_error(versola_client_refresh_wait(client, -1, &token, &error), &error, INVALID));
    CHECK(is_error(versola_client_user_info_wait(client, -1, &url, &error), &error, INVALID));
    CHECK(is_error(versola_client_refresh(client, 15, &error), &error, INVALID));
    CHECK(is_error(versola_client_user_info(client, 16, &error), &error, INVALID));
    CHECK(is_error(versola_client_login(client, NULL, 11, &error), &error, INVALID));
    CHECK(is_error(versola_client_access_token(client, NULL, 12, &error), &error, INVALID));
    CHECK(is_error(versola_client_handle_redirect(client, REDIRECT, 13, &error), &error, INVALID));
    CHECK(is_error(versola_client_logout(client, 14, &error), &error, INVALID));
    CHECK(is_error(versola_client_cancel(client, 1, VERSOLA_CANCEL_USER, &error), &error, INVALID));
    CHECK(is_error(versola_client_close_wait(client, -1, &error), &error, INVALID));

    CHECK(versola_config_new("http://127.0.0.1:9", "native-app") == NULL);
    CHECK(versola_endpoints_new(NULL, NULL, NULL, NULL) == NULL);
    CHECK(versola_login_options_new() == NULL && versola_token_options_new() == NULL);
    CHECK(versola_config_set_redirect_uri(config, REDIRECT) == INVALID);
    CHECK(is_error(versola_client_create(config, &other, &error), &error, INVALID));

    CHECK(versola_queue_new() == NULL);
    CHECK(versola_queue_pop(queue) == NULL);
    CHECK(versola_queue_wait(queue, -1) == NULL);
}

static void releases(void) {
    versola_client_close(client);
    versola_client_release(client);
    versola_config_release(config);
    versola_queue_release(queue);
}

static void fork_with_a_login_waiting(void) {
    queue = versola_queue_new();
    config = config_without_network(queue, VERSOLA_BROWSER_APP);
    client = client_of(config);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event_release(await_event(queue, VERSOLA_EVENT_OPEN_URL));

    check_in_child(every_call);
    check_in_child(releases);

    /* The parent goes on as if nothing had happened: its login still waits and can be ended. */
    int32_t state = 0;
    CHECK(versola_client_state(client, &state, NULL) == VERSOLA_OK && state == VERSOLA_STATE_AUTHORIZING);
    CHECK(versola_client_cancel(client, 1, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 1) == VERSOLA_CAUSE_USER_CANCELLED);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_event_release(await_event(queue, VERSOLA_EVENT_CLOSED));
    versola_client_release(client);
    versola_config_release(config);
    versola_queue_release(queue);
}

static void exec_is_fine(void) {
    client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("true", "true", (char *)NULL);
        _exit(127);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    versola_client_release(client);
}

int main(void) {
    tap_run(fork_before_the_first_use, "fork before the first use: 200 of 200 children use it, from 8 threads at once");
    tap_run(fork_in_the_first_use, "fork in the middle of the first use: no child hangs");
    tap_run(fork_with_a_login_waiting, "with a login waiting: the child is refused at once, the parent goes on");
    tap_run(exec_is_fine, "fork and exec with a client");
    return tap_done();
}

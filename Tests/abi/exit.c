/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * A host that ends by exit() while the library's threads are at work: it ends as it wanted to. Each child loads the
 * library by itself, as it depends on who has set OpenSSL up first. VERSOLA_TEST_LIBRARY names the library.
 */
#include "tap.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <versola.h>

enum { CLIENTS = 8, CHILDREN = 20, WANTED = 5, HANGS_AFTER_S = 60 };

/* For AddressSanitizer: whoever leaves in the midst of work leaves everything behind. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "detect_leaks=0";
}

/* A function of the library by its name; the type is that of the header's declaration. */
#define FUNCTION(name) static __typeof__(&name) name##_
FUNCTION(versola_endpoints_new);
FUNCTION(versola_endpoints_release);
FUNCTION(versola_config_new);
FUNCTION(versola_config_set_endpoints);
FUNCTION(versola_config_set_redirect_uri);
FUNCTION(versola_config_set_store_memory);
FUNCTION(versola_config_set_browser);
FUNCTION(versola_config_set_callback);
FUNCTION(versola_config_release);
FUNCTION(versola_client_create);
FUNCTION(versola_client_login);
FUNCTION(versola_client_cancel_login);
FUNCTION(versola_event_kind);
FUNCTION(versola_event_release);

static void load(void) {
    void *library = dlopen(getenv("VERSOLA_TEST_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL))
        printf("# %s\n", dlerror());
#define FIND(name) *(void **)&name##_ = dlsym(library, #name)
    FIND(versola_endpoints_new);
    FIND(versola_endpoints_release);
    FIND(versola_config_new);
    FIND(versola_config_set_endpoints);
    FIND(versola_config_set_redirect_uri);
    FIND(versola_config_set_store_memory);
    FIND(versola_config_set_browser);
    FIND(versola_config_set_callback);
    FIND(versola_config_release);
    FIND(versola_client_create);
    FIND(versola_client_login);
    FIND(versola_client_cancel_login);
    FIND(versola_event_kind);
    FIND(versola_event_release);
}

/* --- A program that signs in, gives up, and signs in again, for ever: logins hash, seal, take random numbers ---- */

static versola_client *_Atomic clients[CLIENTS];
static atomic_int logins;

static void sign_in(int number) {
    atomic_fetch_add(&logins, 1);
    CHECK(versola_client_login_(clients[number], NULL, (uint64_t)number, NULL) == VERSOLA_OK);
}

static void again_and_again(void *context, versola_event *event) {
    const int number = (int)(intptr_t)context;
    while (clients[number] == NULL) /* the first event may be faster than versola_client_create */
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    if (versola_event_kind_(event) == VERSOLA_EVENT_OPEN_URL)
        CHECK(versola_client_cancel_login_(clients[number], NULL) == VERSOLA_OK);
    if (versola_event_kind_(event) == VERSOLA_EVENT_COMPLETION)
        sign_in(number);
    versola_event_release_(event);
}

static void be_busy(void) {
    const char *const issuer = "http://127.0.0.1:9";
    versola_endpoints *endpoints = versola_endpoints_new_(issuer, issuer, issuer, issuer);
    for (int number = 0; number < CLIENTS; number++) {
        versola_client *client = NULL;
        versola_config *config = versola_config_new_(NULL, "native-app");
        versola_config_set_endpoints_(config, endpoints);
        versola_config_set_redirect_uri_(config, "com.example.app:/callback");
        versola_config_set_store_memory_(config);
        versola_config_set_browser_(config, VERSOLA_BROWSER_APP);
        versola_config_set_callback_(config, again_and_again, (void *)(intptr_t)number, NULL);
        CHECK(versola_client_create_(config, &client, NULL) == VERSOLA_OK);
        clients[number] = client;
        versola_config_release_(config);
        sign_in(number);
    }
    versola_endpoints_release_(endpoints);
    for (int i = 0; i < 6000 && logins < 20 * CLIENTS; i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    CHECK(logins >= 20 * CLIENTS);
}

/* --- The ways to the end --- */

/* Registered first, so called last: what is at work has time to meet what was freed. */
static void linger(void) {
    nanosleep(&(struct timespec){0, 100000000}, NULL);
}

static void library_first(void) {
    atexit(linger);
    load();
    be_busy();
}

static void openssl_first(void) {
    atexit(linger);
    void *libcrypto = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_GLOBAL);
    int (*initialize)(uint64_t, const void *);
    *(void **)&initialize = libcrypto != NULL ? dlsym(libcrypto, "OPENSSL_init_crypto") : NULL;
    const uint64_t all_digests = 8; /* any use will do: it frees OpenSSL at exit */
    if (CHECK(initialize != NULL))
        CHECK(initialize(all_digests, NULL) == 1);
    load();
    be_busy();
}

static void openssl_cleaned_up_by_hand(void) {
    openssl_first();
    void (*clean_up)(void);
    *(void **)&clean_up = dlsym(RTLD_DEFAULT, "OPENSSL_cleanup");
    if (CHECK(clean_up != NULL))
        clean_up();
    linger();
}

/* A child of a busy process, and the end of that: no thread has come along that it could wait for. */
static void forked_child_of_a_busy_process(void) {
    openssl_first();
    int status = 0;
    pid_t pid = fork();
    if (pid == 0)
        exit(WANTED);
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == WANTED);
}

static void all_end_well(void (*body)(void)) {
    int wanted = 0;
    for (int i = 0; i < CHILDREN; i++) {
        int status = 0;
        fflush(NULL);
        pid_t pid = fork();
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            alarm(HANGS_AFTER_S);
            tap_failed_checks = 0;
            body();
            exit(tap_failed_checks == 0 ? WANTED : 1);
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        wanted += WIFEXITED(status) && WEXITSTATUS(status) == WANTED;
        if (WIFSIGNALED(status))
            printf("# ended by signal %d\n", WTERMSIG(status));
    }
    if (!CHECK(wanted == CHILDREN))
        printf("# %d of %d ended as they wanted to\n", wanted, CHILDREN);
}

static void with_the_library_first(void) {
    all_end_well(library_first);
}

static void with_openssl_first(void) {
    all_end_well(openssl_first);
}

static void with_openssl_gone(void) {
    all_end_well(openssl_cleaned_up_by_hand);
}

static void with_children(void) {
    all_end_well(forked_child_of_a_busy_process);
}

int main(void) {
    tap_run(with_the_library_first, "exit() of a busy program");
    tap_run(with_openssl_first, "exit() of a busy program that had set OpenSSL up, which is freed then");
    tap_run(with_openssl_gone, "OPENSSL_cleanup() in a busy program");
    tap_run(with_children, "exit() of a forked child of a busy program that had set OpenSSL up");
    return tap_done();
}

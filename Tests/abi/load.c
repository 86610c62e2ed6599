/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * What loading and using the library must not do to its host: signal handlers, threads, descriptors, environment,
 * locale, umask, working directory, output. The library is named by the environment: it must not be there before.
 */
#include "tap.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <versola.h>

extern char **environ;

/* 32 and 33, SIGCANCEL and SIGSETXID: the C library takes them for itself with the first thread that anybody starts. */
#define SIGNALS_OF_GLIBC (3ULL << 31)

struct manners {
    struct sigaction actions[NSIG];
    sigset_t mask;
    unsigned long long caught; /* the kernel's own list: SigCgt of /proc/self/status */
    int threads;
    int descriptors;
    char *environment;
    char locale[256];
    mode_t umask;
    char directory[4096];
};

static void status_line(const char *key, char *value, size_t size) {
    char line[512];
    FILE *status = fopen("/proc/self/status", "r");
    value[0] = '\0';
    while (status != NULL && fgets(line, sizeof line, status) != NULL)
        if (strncmp(line, key, strlen(key)) == 0)
            snprintf(value, size, "%s", line + strlen(key));
    if (status != NULL)
        fclose(status);
}

static char *joined_environment(void) {
    size_t size = 1;
    for (char **entry = environ; *entry != NULL; entry++)
        size += strlen(*entry) + 1;
    char *joined = calloc(size, 1);
    for (char **entry = environ; joined != NULL && *entry != NULL; entry++) {
        strcat(joined, *entry);
        strcat(joined, "\n");
    }
    return joined;
}

static void observe(struct manners *seen) {
    char value[64];
    memset(seen, 0, sizeof *seen);
    for (int signal = 1; signal < NSIG; signal++)
        sigaction(signal, NULL, &seen->actions[signal]);
    sigprocmask(SIG_BLOCK, NULL, &seen->mask);
    status_line("SigCgt:", value, sizeof value);
    seen->caught = strtoull(value, NULL, 16) & ~SIGNALS_OF_GLIBC;
    status_line("Threads:", value, sizeof value);
    seen->threads = atoi(value);
    seen->descriptors = entries("/proc/self/fd");
    seen->environment = joined_environment();
    snprintf(seen->locale, sizeof seen->locale, "%s", setlocale(LC_ALL, NULL));
    seen->umask = umask(0);
    umask(seen->umask);
    if (getcwd(seen->directory, sizeof seen->directory) == NULL)
        seen->directory[0] = '\0';
}

static void check_manners(const struct manners *before) {
    struct manners now;
    observe(&now);
    for (int signal = 1; signal < NSIG; signal++)
        if (!CHECK(before->actions[signal].sa_handler == now.actions[signal].sa_handler))
            printf("# signal %d\n", signal);
    CHECK(memcmp(&before->mask, &now.mask, sizeof now.mask) == 0);
    if (!CHECK(before->caught == now.caught))
        printf("# SigCgt was %llx, is %llx\n", before->caught, now.caught);
    CHECK(before->environment != NULL && now.environment != NULL && strcmp(before->environment, now.environment) == 0);
    CHECK(strcmp(before->locale, now.locale) == 0);
    CHECK(before->umask == now.umask);
    CHECK(strcmp(before->directory, now.directory) == 0);
    free(now.environment);
}

static struct manners before;
static void *library;

/* A function of the library by its name; the type is that of the header's declaration. */
#define FUNCTION(name)                                                                                                 \
    __typeof__(&name) name##_;                                                                                         \
    *(void **)&name##_ = dlsym(library, #name)

static void loading(void) {
    const char *path = getenv("VERSOLA_TEST_LIBRARY");
    observe(&before);
    library = dlopen(path != NULL ? path : "", RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL)) {
        printf("# %s\n", dlerror());
        exit(tap_done());
    }
    struct manners now;
    observe(&now);
    CHECK(now.threads == before.threads);
    CHECK(now.descriptors == before.descriptors);
    free(now.environment);
    check_manners(&before);
}

static void one_life(bool with_login) {
    FUNCTION(versola_config_new);
    FUNCTION(versola_config_set_redirect_uri);
    FUNCTION(versola_config_set_store_memory);
    FUNCTION(versola_config_set_browser);
    FUNCTION(versola_config_release);
    FUNCTION(versola_client_create);
    FUNCTION(versola_client_login_wait);
    FUNCTION(versola_client_close_wait);
    FUNCTION(versola_client_release);

    versola_client *client = NULL;
    versola_config *config = versola_config_new_("http://127.0.0.1:9", "native-app");
    versola_config_set_redirect_uri_(config, "http://127.0.0.1/callback");
    versola_config_set_store_memory_(config);
    versola_config_set_browser_(config, VERSOLA_BROWSER_NONE);
    CHECK(versola_client_create_(config, &client, NULL) == VERSOLA_OK);
    if (with_login) /* discovery fails: nobody listens on that port */
        CHECK(versola_client_login_wait_(client, NULL, -1, NULL, NULL) == VERSOLA_CAUSE_NETWORK);
    CHECK(versola_client_close_wait_(client, -1, NULL) == VERSOLA_OK);
    versola_client_release_(client);
    versola_config_release_(config);
}

static void using(void) {
    one_life(true);
    check_manners(&before);
}

static void using_again(void) {
    struct manners first, last;
    one_life(true);
    observe(&first);
    for (int i = 0; i < 100; i++)
        one_life(i % 10 == 0);
    observe(&last);
    CHECK(last.descriptors <= first.descriptors);
    CHECK(last.threads <= first.threads + 2); /* Dispatch keeps idle workers for a while */
    free(first.environment);
    free(last.environment);
}

static int saved_output, saved_errors;
static FILE *captured;

static void capture_output(void) {
    fflush(NULL);
    captured = tmpfile();
    saved_output = dup(STDOUT_FILENO);
    saved_errors = dup(STDERR_FILENO);
    dup2(fileno(captured), STDOUT_FILENO);
    dup2(fileno(captured), STDERR_FILENO);
}

static long captured_bytes(void) {
    struct stat status;
    fflush(NULL);
    dup2(saved_output, STDOUT_FILENO);
    dup2(saved_errors, STDERR_FILENO);
    close(saved_output);
    close(saved_errors);
    long bytes = fstat(fileno(captured), &status) == 0 ? (long)status.st_size : -1;
    fclose(captured);
    return bytes;
}

static void silence(void) {
    capture_output();
    one_life(true);
    CHECK(captured_bytes() == 0);
}

static void staying(void) {
    FUNCTION(versola_version);
    CHECK(dlclose(library) == 0);
    CHECK(strcmp(versola_version_(), VERSOLA_VERSION_STRING) == 0);
}

int main(void) {
    tap_run(loading, "loading installs no signal handler, starts no thread, opens no descriptor, changes nothing");
    tap_run(using, "a client's life leaves signals, environment, locale, umask and directory as they were");
    tap_run(using_again, "a hundred clients' lives leave no descriptor and no thread behind");
    tap_run(silence, "nothing is written to stdout or stderr");
    tap_run(staying, "the library stays mapped after dlclose");
    free(before.environment);
    return tap_done();
}

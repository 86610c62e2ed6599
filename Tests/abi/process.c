/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Hosts with manners of their own. Each test runs in a child that is the first to use the library in its process.
 */
#include "fixture.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HANGS_AFTER_S = 240, CANNOT = 77 };

/* The exit status of the body in a child of its own; -1 when a signal ended it. */
static int in_child(void (*body)(void)) {
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(HANGS_AFTER_S);
        tap_failed_checks = 0;
        body();
        fflush(NULL);
        _exit(tap_failed_checks == 0 ? 0 : 1);
    }
    if (pid < 0 || waitpid(pid, &status, 0) != pid)
        return -1;
    if (WIFSIGNALED(status))
        printf("# ended by signal %d\n", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void one_login_that_waits(versola_queue *queue) {
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event_release(await_event(queue, VERSOLA_EVENT_OPEN_URL));
    CHECK(versola_client_cancel(client, 1, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 1) == VERSOLA_CAUSE_USER_CANCELLED);
    CHECK(versola_client_close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_event_release(await_event(queue, VERSOLA_EVENT_CLOSED));
    versola_client_release(client);
}

static void one_life(void) {
    versola_queue *queue = versola_queue_new();
    if (CHECK(queue != NULL))
        one_login_that_waits(queue);
    versola_queue_release(queue);
}

/* --- fork, 200 of 200 --- */

static versola_client *parents_client;

static void refused_at_once(void) {
    int32_t state = 0;
    versola_error *error = NULL;
    int32_t status = versola_client_state(parents_client, &state, &error);
    CHECK(is_error(status, &error, VERSOLA_CAUSE_INVALID_CONFIGURATION));
    status = versola_client_login(parents_client, NULL, 2, &error);
    CHECK(is_error(status, &error, VERSOLA_CAUSE_INVALID_CONFIGURATION));
    versola_client_release(parents_client);
}

static atomic_bool enough;

static void *keep_busy(void *argument) {
    for (uint64_t id = 100; !atomic_load(&enough); id++)
        CHECK(versola_client_access_token(argument, NULL, id, NULL) == VERSOLA_OK);
    return NULL;
}

static void *take_all(void *queue) {
    versola_event *event;
    while ((event = versola_queue_wait(queue, PATIENCE_MS)) != NULL) {
        bool closed = versola_event_kind(event) == VERSOLA_EVENT_CLOSED;
        versola_event_release(event);
        if (closed)
            break;
    }
    return NULL;
}

static void forks_while_busy(void) {
    pthread_t busy, taker;
    versola_queue *queue = versola_queue_new();
    parents_client = client_without_network(queue, VERSOLA_BROWSER_NONE);
    pthread_create(&busy, NULL, keep_busy, parents_client);
    pthread_create(&taker, NULL, take_all, queue);
    int refused = 0;
    for (int i = 0; i < 200; i++)
        refused += in_child(refused_at_once) == 0;
    CHECK(refused == 200);
    atomic_store(&enough, true);
    pthread_join(busy, NULL);
    versola_client_release(parents_client);
    pthread_join(taker, NULL);
    versola_queue_release(queue);
}

/* --- Fork before the library is used, or just then: the child uses it from many threads, or is refused at once --- */

static pthread_barrier_t together;
static int spins;

static void *use_it(void *unused) {
    pthread_barrier_wait(&together);
    one_life();
    return unused;
}

static void first_use(void) {
    pthread_t threads[8];
    const unsigned count = sizeof threads / sizeof threads[0];
    pthread_barrier_init(&together, NULL, count);
    for (unsigned i = 1; i < count; i++)
        CHECK(pthread_create(&threads[i], NULL, use_it, NULL) == 0);
    use_it(NULL); /* this thread is the one that forked, in the eyes of who remembers it */
    for (unsigned i = 1; i < count; i++)
        pthread_join(threads[i], NULL);
}

static void forks_before_use(void) {
    for (int i = 0; i < 200; i++)
        if (!CHECK(in_child(first_use) == 0))
            break;
}

static void use_or_refusal(void) {
    versola_config *config = versola_config_new(NULL, "native-app");
    if (config != NULL)
        one_life();
    versola_config_release(config);
}

static void first_use_and_fork(void) {
    pthread_t beginner;
    pthread_barrier_init(&together, NULL, 2);
    CHECK(pthread_create(&beginner, NULL, use_it, NULL) == 0);
    pthread_barrier_wait(&together);
    for (volatile int i = 0; i < spins; i++)
        ;
    CHECK(in_child(use_or_refusal) == 0);
    pthread_join(beginner, NULL);
}

static void forks_during_first_use(void) {
    for (spins = 0; spins < 600000; spins += 3000)
        if (!CHECK(in_child(first_use_and_fork) == 0))
            break;
}

/* --- Threads that never ran Swift, with small stacks, and gone right after a call --- */

static void *one_call(void *client) {
    int32_t state = 0;
    versola_token *token = NULL;
    CHECK(versola_client_state(client, &state, NULL) == VERSOLA_OK);
    CHECK(versola_client_access_token_wait(client, NULL, PATIENCE_MS, &token, NULL) == VERSOLA_CAUSE_SESSION_EXPIRED);
    return NULL;
}

static void foreign_threads(void) {
    enum { THREADS = 200, AT_ONCE = 20, STACK = 256 * 1024 };
    versola_client *client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, STACK);
    for (int begun = 0; begun < THREADS; begun += AT_ONCE) {
        pthread_t threads[AT_ONCE];
        for (int i = 0; i < AT_ONCE; i++)
            CHECK(pthread_create(&threads[i], &small, one_call, client) == 0);
        for (int i = 0; i < AT_ONCE; i++)
            pthread_join(threads[i], NULL);
    }
    pthread_attr_destroy(&small);
    versola_client_release(client);
}

/* Sends each request once. */
static versola_client *client_of_issuer(const char *issuer, versola_queue *queue, int64_t request_timeout_ms) {
    versola_config *config = versola_config_new(issuer, "native-app");
    versola_config_set_redirect_uri(config, REDIRECT);
    versola_config_set_store_memory(config);
    versola_config_set_browser(config, VERSOLA_BROWSER_NONE);
    versola_config_set_proxy(config, "");
    versola_config_set_request_timeout_ms(config, request_timeout_ms);
    versola_config_set_max_attempts_per_origin(config, 1);
    versola_config_set_max_total_attempts(config, 1);
    if (queue != NULL)
        versola_config_set_queue(config, queue);
    versola_client *client = client_of(config);
    versola_config_release(config);
    return client;
}

/* --- SIGPIPE at default: a provider that resets every connection, and a browser that resets its own --- */

static int listening(uint16_t *port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(bind(server, (struct sockaddr *)&address, size) == 0 && listen(server, 64) == 0);
    CHECK(getsockname(server, (struct sockaddr *)&address, &size) == 0);
    *port = ntohs(address.sin_port);
    return server;
}

static void reset(int connection) {
    const struct linger at_once = {1, 0};
    setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close(connection);
}

static void *reset_everybody(void *server) {
    int connection;
    while ((connection = accept(*(int *)server, NULL, NULL)) >= 0)
        reset(connection);
    return NULL;
}

static void provider_that_resets(void) {
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    uint16_t port = 0;
    int server = listening(&port);
    pthread_t thread;
    pthread_create(&thread, NULL, reset_everybody, &server);
    char issuer[64];
    snprintf(issuer, sizeof issuer, "http://127.0.0.1:%d", port);
    for (int i = 0; i < 3; i++) {
        versola_client *client = client_of_issuer(issuer, NULL, 2000);
        CHECK(versola_client_login_wait(client, NULL, PATIENCE_MS, NULL, NULL) == VERSOLA_CAUSE_NETWORK);
        versola_client_release(client);
    }
    struct sigaction action;
    CHECK(sigaction(SIGPIPE, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
}

static void browser_that_resets(void) {
    CHECK(signal(SIGPIPE, SIG_DFL) != SIG_ERR);
    versola_queue *queue = versola_queue_new();
    versola_client *client = client_without_network(queue, VERSOLA_BROWSER_APP);
    CHECK(versola_client_login(client, NULL, 1, NULL) == VERSOLA_OK);
    versola_event *event = await_event(queue, VERSOLA_EVENT_OPEN_URL);
    const char *found = event != NULL ? strstr(versola_event_url(event), "127.0.0.1%3A") : NULL;
    if (CHECK(found != NULL)) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        address.sin_port = htons((uint16_t)atoi(found + strlen("127.0.0.1%3A")));
        for (int i = 0; i < 200; i++) {
            const char *request = "GET /callback?state=x&code=y HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
            int connection = socket(AF_INET, SOCK_STREAM, 0);
            if (CHECK(connect(connection, (struct sockaddr *)&address, sizeof address) == 0))
                CHECK(send(connection, request, strlen(request), MSG_NOSIGNAL) > 0);
            reset(connection);
        }
    }
    versola_event_release(event);
    CHECK(versola_client_cancel_login(client, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 1) == VERSOLA_CAUSE_USER_CANCELLED);
    versola_client_release(client);
    versola_queue_release(queue);
}

/* --- Slow DNS: a name server that does not answer. libcurl finds this program's getaddrinfo first --- */

static atomic_int names_asked;
static atomic_bool names_answered;

int getaddrinfo(const char *name, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
    if (name != NULL && strcmp(name, "slow.example") == 0) {
        atomic_fetch_add(&names_asked, 1);
        while (!atomic_load(&names_answered))
            usleep(1000);
        atomic_fetch_sub(&names_asked, 1);
        return EAI_AGAIN;
    }
    int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    return real(name, service, hints, found);
}

static void await_names_asked(int count) {
    for (int i = 0; i < PATIENCE_MS && atomic_load(&names_asked) != count; i++)
        usleep(1000);
    CHECK(atomic_load(&names_asked) == count);
}

static void slow_dns(void) {
    versola_queue *queue = versola_queue_new();
    versola_client *waiting = client_of_issuer("https://slow.example", queue, 300000);
    CHECK(versola_client_login(waiting, NULL, 1, NULL) == VERSOLA_OK);
    await_names_asked(1);

    /* It holds up nobody else, nor the end of the one that waits. */
    versola_client *other = client_of_issuer("http://127.0.0.1:9", NULL, 2000);
    CHECK(versola_client_login_wait(other, NULL, PATIENCE_MS, NULL, NULL) == VERSOLA_CAUSE_NETWORK);
    versola_client_release(other);
    CHECK(versola_client_cancel(waiting, 1, VERSOLA_CANCEL_USER, NULL) == VERSOLA_OK);
    CHECK(await_completion(queue, 1) == VERSOLA_CAUSE_USER_CANCELLED);
    CHECK(versola_client_close_wait(waiting, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(waiting);
    versola_queue_release(queue);

    /* A request has its time limit, which no alarm tells: that of this test is as it was. */
    versola_error *error = NULL;
    versola_client *limited = client_of_issuer("https://slow.example", NULL, 200);
    CHECK(versola_client_login_wait(limited, NULL, PATIENCE_MS, NULL, &error) == VERSOLA_CAUSE_NETWORK);
    const versola_network_failure *failure = versola_error_network_failure(error);
    CHECK(failure != NULL && (failure->reason == VERSOLA_NETWORK_TIMEOUT || failure->reason == VERSOLA_NETWORK_DNS));
    versola_error_release(error);
    CHECK(versola_client_close_wait(limited, PATIENCE_MS, NULL) == VERSOLA_OK);
    versola_client_release(limited);
    struct sigaction action;
    CHECK(sigaction(SIGALRM, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(alarm(HANGS_AFTER_S) > 0);

    CHECK(atomic_load(&names_asked) > 0); /* all of that while nobody had answered */
    atomic_store(&names_answered, true);
    await_names_asked(0);
}

/* --- Process 1 of a container forks what is process 1 of another: its number does not tell them apart --- */

static void same_number(void) {
    CHECK(getpid() == 1);
    refused_at_once();
}

static void forks_its_number(void) {
    CHECK(getpid() == 1);
    parents_client = client_without_network(NULL, VERSOLA_BROWSER_NONE);
    CHECK(unshare(CLONE_NEWPID) == 0);
    CHECK(in_child(same_number) == 0);
    /* Not released: from here on this process can start no more threads. */
}

static void first_processes(void) {
    if (unshare(CLONE_NEWPID) != 0)
        _exit(CANNOT);
    CHECK(in_child(forks_its_number) == 0);
}

/* --- Few descriptors: at every number an error that comes and crashes nobody; all is well once there are some --- */

static rlim_t descriptors;

/* Nobody listens on that port: a login that comes to its end ends with NETWORK. One that waits for a thread that never
 * started would end with its timeout. */
static int32_t login_that_nobody_answers(versola_error **error) {
    versola_config *config = versola_config_new("http://127.0.0.1:9", "native-app");
    versola_config_set_redirect_uri(config, REDIRECT);
    versola_config_set_store_memory(config);
    versola_config_set_browser(config, VERSOLA_BROWSER_NONE);
    versola_config_set_max_attempts_per_origin(config, 1);
    versola_client *client = NULL;
    int32_t status = versola_client_create(config, &client, error);
    CHECK((status == VERSOLA_OK) == (client != NULL) && versola_error_cause(*error) == status);
    if (client != NULL)
        status = versola_client_login_wait(client, NULL, PATIENCE_MS / 2, NULL, error);
    CHECK(client == NULL || versola_client_close_wait(client, PATIENCE_MS / 2, NULL) == VERSOLA_OK);
    versola_client_release(client);
    versola_config_release(config);
    return status;
}

static void life_with_few_descriptors(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0);
    const rlim_t many = limit.rlim_cur;
    limit.rlim_cur = descriptors;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    versola_queue *queue = versola_queue_new();
    versola_error *error = NULL;
    int32_t status = login_that_nobody_answers(&error);
    CHECK(status != VERSOLA_CAUSE_SYSTEM_CANCELLED && is_error(status, &error, status));
    limit.rlim_cur = many;
    CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
    status = login_that_nobody_answers(&error);
    CHECK(is_error(status, &error, VERSOLA_CAUSE_NETWORK));
    versola_queue_release(queue);
}

static void few_descriptors(void) {
    for (descriptors = 3; descriptors <= 24; descriptors++)
        if (!CHECK(in_child(life_with_few_descriptors) == 0))
            printf("# with %d descriptors\n", (int)descriptors);
}

/* --- No /proc --- */

static void without_proc(void) {
    if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        umount2("/proc", MNT_DETACH) != 0)
        _exit(CANNOT);
    CHECK(access("/proc/self", F_OK) != 0 && errno == ENOENT);
    one_life();
    provider_that_resets();
}

/* --- Another copy of the library, and another Swift runtime --- */

static bool life_of_copy(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!CHECK(library != NULL)) {
        printf("# %s\n", dlerror());
        return false;
    }
    versola_config *(*config_new)(const char *, const char *);
    int32_t (*set_redirect)(versola_config *, const char *);
    int32_t (*set_memory)(versola_config *);
    int32_t (*create)(const versola_config *, versola_client **, versola_error **);
    int32_t (*login_wait)(
        versola_client *, const versola_login_options *, int64_t, versola_identity **, versola_error **);
    int32_t (*close_wait)(versola_client *, int64_t, versola_error **);
    void (*config_release)(versola_config *);
    void (*client_release)(versola_client *);
    *(void **)&config_new = dlsym(library, "versola_config_new");
    *(void **)&set_redirect = dlsym(library, "versola_config_set_redirect_uri");
    *(void **)&set_memory = dlsym(library, "versola_config_set_store_memory");
    *(void **)&create = dlsym(library, "versola_client_create");
    *(void **)&login_wait = dlsym(library, "versola_client_login_wait");
    *(void **)&close_wait = dlsym(library, "versola_client_close_wait");
    *(void **)&config_release = dlsym(library, "versola_config_release");
    *(void **)&client_release = dlsym(library, "versola_client_release");
    bool is_another = config_new != versola_config_new;
    versola_client *client = NULL;
    versola_config *config = config_new("http://127.0.0.1:9", "native-app");
    set_redirect(config, REDIRECT);
    set_memory(config);
    CHECK(create(config, &client, NULL) == VERSOLA_OK);
    CHECK(login_wait(client, NULL, PATIENCE_MS, NULL, NULL) == VERSOLA_CAUSE_NETWORK);
    CHECK(close_wait(client, PATIENCE_MS, NULL) == VERSOLA_OK);
    client_release(client);
    config_release(config);
    return is_another;
}

static void another_copy(void) {
    one_life();
    CHECK(life_of_copy(getenv("VERSOLA_TEST_COPY")));
    one_life();
}

static void another_swift(void) {
    const char *const names[] = {
        "libswiftCore.so", "libswift_Concurrency.so", "libdispatch.so", "libFoundationEssentials.so"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s", getenv("VERSOLA_TEST_SWIFT"), names[i]);
        if (!CHECK(dlopen(path, RTLD_NOW | RTLD_GLOBAL) != NULL))
            printf("# %s\n", dlerror());
    }
    one_life();
    provider_that_resets();
}

int main(void) {
    static const struct {
        void (*body)(void);
        const char *name;
    } tests[] = {
        {forks_while_busy, "fork while other threads call: 200 of 200 children get their error"},
        {forks_before_use, "fork before the first use: 200 of 200 children use it, from 8 threads at once"},
        {forks_during_first_use, "fork in the middle of the first use: no child hangs"},
        {first_processes, "fork of process 1 into process 1 of another namespace"},
        {foreign_threads, "threads with small stacks that never ran Swift"},
        {provider_that_resets, "B60: SIGPIPE at default, a provider that resets"},
        {browser_that_resets, "B60: SIGPIPE at default, a browser that resets"},
        {slow_dns, "B60: slow DNS holds up nobody, and its limit uses no signal"},
        {few_descriptors, "a limit of 3 to 24 descriptors"},
        {without_proc, "no /proc"},
        {another_copy, "B57: another copy of the library in the process"},
        {another_swift, "B57: another Swift runtime in the process"},
    };
    const int count = sizeof tests / sizeof tests[0];
    int failed = 0;
    for (int i = 0; i < count; i++) {
        int status = in_child(tests[i].body);
        failed += status != 0 && status != CANNOT;
        printf("%s %d - %s%s\n", status == 0 || status == CANNOT ? "ok" : "not ok", i + 1, tests[i].name,
            status == CANNOT ? " # SKIP it takes root to do this" : "");
    }
    printf("1..%d\n", count);
    return failed == 0 ? 0 : 1;
}

/*
 * Versola for Linux: a native OAuth 2.0 / OpenID Connect client.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * HELLO WORLD
 *
 *     #include <stdio.h>
 *     #include <versola.h>
 *     int main(void) {
 *         versola_error *error = NULL; versola_client *client = NULL; versola_identity *me = NULL;
 *         versola_config *config = versola_config_new("https://id.example.com", "my-app");
 *         versola_config_set_redirect_uri(config, "http://127.0.0.1/callback");
 *         int32_t status = versola_client_create(config, &client, &error);
 *         if (status == VERSOLA_OK)
 *             status = versola_client_login_wait(client, NULL, -1, &me, &error);
 *         if (status == VERSOLA_OK)
 *             printf("Hello, %s\n", versola_identity_subject(me));
 *         else
 *             fprintf(stderr, "%s\n", versola_error_detail(error));
 *         versola_identity_release(me); versola_client_release(client);
 *         versola_config_release(config); versola_error_release(error);
 *         return status == VERSOLA_OK ? 0 : 1;
 *     }
 *
 * The person signs in with the browser of the system; the session is kept in the user's state directory and is there again
 * at the next start. Build with `cc hello.c $(pkg-config --cflags --libs versola)`.
 *
 * This header is the contract. It reads in this order: conventions, errors, configuration, results, client with its
 * blocking forms, events with the queue and the asynchronous forms, versions. The three sinks (queue, callback, Dart port)
 * are among the settings.
 *
 *
 * CONVENTIONS
 *
 * Handles are opaque and reference-counted. `versola_X_release` gives up one reference: void, NULL-safe, from any thread,
 * never blocks, never calls your code; handles may be released in any order. A handle must not be used after its last
 * release. Functions named `_new`, `_create`, `_pop`, `_retain`, and every result written through a pointer to a handle,
 * GIVE a reference that you release. Every other pointer is LENT: it lives as long as the object it was asked of.
 *
 * Strings are UTF-8. Strings in are NUL-terminated and copied before the call returns. Strings out are NUL-terminated.
 *
 * Status. `int32_t` functions return VERSOLA_OK (0) or the number of a cause (enum versola_cause), whose hundreds digit is
 * the category. The last parameter `versola_error **error` may be NULL; else it receives NULL or an error you release. Every
 * other out-parameter is written too, on failure with NULL, 0 or false. There is no "last error".
 *
 * Bad arguments never crash: NULL where an object is needed, invalid UTF-8, a number outside its range, a closed client, a
 * client used in a forked child are VERSOLA_CAUSE_INVALID_CONFIGURATION with a detail that names the argument. Getters
 * asked of NULL return NULL, 0 or false.
 *
 * Threads. client and queue may be used from any number of threads at once. error, token, identity, event and string are
 * immutable. config, endpoints, login_options and token_options are builders for one thread at a time; what takes a builder
 * copies it.
 *
 * Events. What a client has to tell by itself - completions, session states, questions, logs - goes to its sink, chosen
 * before it is made: a queue with a descriptor for event loops (plain C, Python), a callback on a serial queue of the
 * client's own, or a Dart port. Whatever the sink, an event is owned by whoever receives it, every operation that was
 * started completes exactly once, and CLOSED comes last. Without a sink there are the blocking forms.
 *
 * Processes. The library installs no signal handler, writes nothing to stdout or stderr, changes no environment,
 * locale, umask or working directory. After fork() the child gets an error, or NULL, from every call and releases do
 * nothing; the parent goes on. Where the parent had not used the library yet, the child may. exec() is fine, though
 * with an older libcurl two idle sockets of it stay open across it, and so is exit() while operations run. No function
 * may be called in a signal handler: let that write to a pipe. Where the process may not start a thread (RLIMIT_NPROC),
 * any call may wait until it may again. Unloading with dlclose() is not supported: the library stays mapped. It uses
 * the system's libcurl and OpenSSL 3: a host that exports functions of the same names itself has to load it with
 * dlopen() and RTLD_DEEPBIND.
 *
 * Times are int64_t with the unit in the name. A timeout_ms of -1 waits without limit.
 */
#ifndef VERSOLA_H
#define VERSOLA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VERSOLA_VERSION_MAJOR 0
#define VERSOLA_VERSION_MINOR 1
#define VERSOLA_VERSION_PATCH 0
#define VERSOLA_VERSION_STRING "0.1.0"
/* Raised when something a program may rely on changes; equals the number in the SONAME. */
#define VERSOLA_ABI_VERSION 1

#if defined(__GNUC__) || defined(__clang__)
#define VERSOLA_API __attribute__((visibility("default")))
#define VERSOLA_CHECK __attribute__((warn_unused_result))
#else
#define VERSOLA_API
#define VERSOLA_CHECK
#endif
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wnullability-extension"
#define VERSOLA_NULLABLE _Nullable
#else
#define VERSOLA_NULLABLE
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct versola_config versola_config;
typedef struct versola_endpoints versola_endpoints;
typedef struct versola_login_options versola_login_options;
typedef struct versola_token_options versola_token_options;
typedef struct versola_client versola_client;
typedef struct versola_queue versola_queue;
typedef struct versola_event versola_event;
typedef struct versola_error versola_error;
typedef struct versola_token versola_token;
typedef struct versola_identity versola_identity;
typedef struct versola_string versola_string;

/* ---------------------------------------------------------------------------------------------------------------------
 * Errors: four categories, closed. Branch on the category, then on the cause; never on text.
 */

#define VERSOLA_OK 0

enum versola_category {
    VERSOLA_CATEGORY_RECOVERABLE = 1,    /* offer "try again", or wait for retry_after_ms */
    VERSOLA_CATEGORY_REAUTHENTICATE = 2, /* lead the user to login; the library never opens a browser by itself */
    VERSOLA_CATEGORY_STEP_UP = 3,        /* ask for a stronger or fresher sign-in, then send the request again */
    VERSOLA_CATEGORY_CONFIGURATION = 4   /* show and report it, once, at the top; do not retry */
};

enum versola_cause {
    VERSOLA_CAUSE_USER_CANCELLED = 101,          /* the person, or another login, ended it: never repeated by itself */
    VERSOLA_CAUSE_SYSTEM_CANCELLED = 102,        /* torn down by the program: a quiet retry is fine */
    VERSOLA_CAUSE_PENDING_REQUEST_EXPIRED = 103, /* nobody came back from the browser within 10 minutes */
    VERSOLA_CAUSE_NETWORK = 104,                 /* nobody answered; see versola_error_network_failure */
    VERSOLA_CAUSE_SERVER = 105,                  /* the provider failed; see versola_error_server_failure */
    VERSOLA_CAUSE_UNLOCK_REQUIRED = 106,         /* the store's key is not to be had now; the session is intact */
    VERSOLA_CAUSE_NONCE_LOOP = 107,              /* the server demanded a DPoP nonce again and again */

    VERSOLA_CAUSE_AUTHORIZATION_DENIED = 201,    /* the person or the provider said no */
    VERSOLA_CAUSE_INTERACTION_REQUIRED = 202,    /* prompt=none was not possible */
    VERSOLA_CAUSE_CREDENTIALS_INVALIDATED = 203, /* a stored record failed its tag: erased */
    VERSOLA_CAUSE_GRANT_REJECTED = 204,          /* invalid_grant */
    VERSOLA_CAUSE_SESSION_REJECTED = 205,        /* a server refused a session that still looks whole */
    VERSOLA_CAUSE_SESSION_EXPIRED = 206,         /* nobody is signed in, or the access token ended without a successor */

    VERSOLA_CAUSE_INSUFFICIENT_USER_AUTHENTICATION = 301, /* RFC 9470 */

    VERSOLA_CAUSE_STATE_MISMATCH = 401,            /* the redirect does not belong to this login */
    VERSOLA_CAUSE_ISSUER_MISMATCH = 402,           /* RFC 9207: the redirect comes from another issuer */
    VERSOLA_CAUSE_ID_TOKEN_REJECTED = 403,         /* OpenID Connect Core 3.1.3.7 */
    VERSOLA_CAUSE_PROVIDER_UNSUPPORTED = 404,      /* the provider lacks something that is needed */
    VERSOLA_CAUSE_INVALID_CONFIGURATION = 405,     /* an argument or a setting is wrong; the detail names it */
    VERSOLA_CAUSE_AUTHORIZATION_REJECTED = 406,    /* any other OAuth error code: see versola_error_oauth_error */
    VERSOLA_CAUSE_DISCOVERY_ISSUER_MISMATCH = 407, /* the metadata names another issuer */
    VERSOLA_CAUSE_ENDPOINT_REDIRECTED = 408,       /* an endpoint answered 3xx: never followed */
    VERSOLA_CAUSE_USER_INFO_REJECTED = 409,        /* UserInfo names another subject, or fails its checks */
    VERSOLA_CAUSE_STORE_UNAVAILABLE = 410          /* the store cannot be read or written */
};

enum versola_network_reason {
    VERSOLA_NETWORK_DNS = 1,
    VERSOLA_NETWORK_CONNECT = 2,
    VERSOLA_NETWORK_PROXY = 3,
    VERSOLA_NETWORK_TLS = 4, /* the detail names the certificate's fault */
    VERSOLA_NETWORK_TIMEOUT = 5,
    VERSOLA_NETWORK_RESET = 6,
    VERSOLA_NETWORK_LOCK = 7 /* the store's lock was not had in time */
};

/* Views grow at the end only: a member exists when struct_size reaches it. */
typedef struct versola_server_failure {
    uint32_t struct_size;
    int32_t status;         /* HTTP status, 0 = none */
    int64_t retry_after_ms; /* -1 = the provider named no time */
    int32_t attempts;       /* failed requests of the request that raised the error; 0 = nothing was sent, a pause runs */
    int32_t reserved;
    int64_t elapsed_ms;     /* of the operation, without the time spent in the browser */
} versola_server_failure;

typedef struct versola_network_failure {
    uint32_t struct_size;
    int32_t reason; /* enum versola_network_reason */
} versola_network_failure;

typedef struct versola_step_up_challenge {
    uint32_t struct_size;
    uint32_t reserved;
    const char *VERSOLA_NULLABLE acr_values; /* NULL = not asked for */
    int64_t max_age_s;                       /* -1 = not asked for */
    const char *VERSOLA_NULLABLE scope;      /* NULL = not asked for */
} versola_step_up_challenge;

/* enum versola_category; 0 for NULL. */
VERSOLA_API int32_t versola_error_category(const versola_error *VERSOLA_NULLABLE error);
/* enum versola_cause; 0 for NULL. */
VERSOLA_API int32_t versola_error_cause(const versola_error *VERSOLA_NULLABLE error);
/* Lent. One English sentence for logs, never a secret; NULL only of NULL. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_error_detail(const versola_error *VERSOLA_NULLABLE error);
/* Lent. The server's `error` code (RFC 6749 5.2), or NULL. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_error_oauth_error(const versola_error *VERSOLA_NULLABLE error);
/* Lent. The server's `error_description`, for logs, or NULL. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_error_description(const versola_error *VERSOLA_NULLABLE error);
/* Lent. NULL unless the cause is SERVER. */
VERSOLA_API const versola_server_failure *VERSOLA_NULLABLE
versola_error_server_failure(const versola_error *VERSOLA_NULLABLE error);
/* Lent. NULL unless the cause is NETWORK. */
VERSOLA_API const versola_network_failure *VERSOLA_NULLABLE
versola_error_network_failure(const versola_error *VERSOLA_NULLABLE error);
/* Lent. NULL unless the cause is INSUFFICIENT_USER_AUTHENTICATION. */
VERSOLA_API const versola_step_up_challenge *VERSOLA_NULLABLE
versola_error_step_up_challenge(const versola_error *VERSOLA_NULLABLE error);
VERSOLA_API versola_error *VERSOLA_NULLABLE versola_error_retain(versola_error *VERSOLA_NULLABLE error);
VERSOLA_API void versola_error_release(versola_error *VERSOLA_NULLABLE error);

/* ---------------------------------------------------------------------------------------------------------------------
 * Configuration. A setter refuses bad UTF-8, NULL and numbers outside their range; a refusal is remembered, so that
 * versola_client_create fails with it even if the setter's status was not looked at. What only the whole can tell
 * (redirect URI kinds, issuer and endpoints together) is told by versola_client_create, before any request.
 */

/* Gives. `issuer` is an https URL (http only on loopback), or NULL when versola_config_set_endpoints follows. */
VERSOLA_API versola_config *VERSOLA_NULLABLE
versola_config_new(const char *VERSOLA_NULLABLE issuer, const char *VERSOLA_NULLABLE client_id);
VERSOLA_API void versola_config_release(versola_config *VERSOLA_NULLABLE config);

/*
 * Required. https://... (your program receives it and passes it to versola_client_handle_redirect), loopback
 * (http://127.0.0.1[:port]/path, http://[::1]..., http://localhost...; without a port any free one is taken), or a
 * private-use scheme with a dot (com.example.app:/callback).
 */
VERSOLA_API int32_t
versola_config_set_redirect_uri(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE uri);
/*
 * Where the provider sends the browser after it has ended its own session (OpenID Connect RP-Initiated Logout); kinds as
 * above. Without it logout does not open a browser.
 */
VERSOLA_API int32_t
versola_config_set_post_logout_redirect_uri(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE uri);
/* Space-separated (RFC 6749 3.3); `openid` is always added. Default: "openid". */
VERSOLA_API int32_t versola_config_set_scope(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE scope);
/* Accounts of one issuer and client live side by side under different names. Default: "default". */
VERSOLA_API int32_t
versola_config_set_session(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE name);
/* Endpoints in place of discovery; then versola_config_new got a NULL issuer. Copied. */
VERSOLA_API int32_t versola_config_set_endpoints(
    versola_config *VERSOLA_NULLABLE config, const versola_endpoints *VERSOLA_NULLABLE endpoints);

/* Where the session is kept. Default: a directory of its own below $XDG_STATE_HOME/versola, its key in a key file there. */
VERSOLA_API int32_t versola_config_set_store_auto(versola_config *VERSOLA_NULLABLE config);
/* Nothing is written; the session ends with the client. */
VERSOLA_API int32_t versola_config_set_store_memory(versola_config *VERSOLA_NULLABLE config);
/* The store's key lives in this file, made while nothing is stored yet (mode 0600). The path is absolute, its directory exists. */
VERSOLA_API int32_t
versola_config_set_store_key_file(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE path);

enum versola_access_token_cache {
    VERSOLA_ACCESS_TOKEN_CACHE_MEMORY = 1, /* default: the access token ends with the process */
    VERSOLA_ACCESS_TOKEN_CACHE_SEALED = 2  /* it is kept in the sealed store, for programs that run often and shortly */
};
VERSOLA_API int32_t versola_config_set_access_token_cache(versola_config *VERSOLA_NULLABLE config, int32_t cache);

enum versola_browser {
    VERSOLA_BROWSER_SYSTEM = 1, /* default: $BROWSER; else xdg-open (WSL: wslview), but none over SSH or without display */
    VERSOLA_BROWSER_APP = 2,    /* the URL arrives as an event VERSOLA_EVENT_OPEN_URL; needs a sink */
    VERSOLA_BROWSER_NONE = 3    /* the URL is in versola_client_authorization_url only */
};
VERSOLA_API int32_t versola_config_set_browser(versola_config *VERSOLA_NULLABLE config, int32_t browser);

/* PEM file with certificates trusted beside the system's. */
VERSOLA_API int32_t
versola_config_set_ca_file(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE path);
/* URL of an HTTP or SOCKS proxy; "" = none. Default: the environment's, as curl reads it. Loopback never uses one. */
VERSOLA_API int32_t versola_config_set_proxy(versola_config *VERSOLA_NULLABLE config, const char *VERSOLA_NULLABLE url);
/* Limit of one request to the provider, 1 to 300,000. Default: 15,000. */
VERSOLA_API int32_t
versola_config_set_request_timeout_ms(versola_config *VERSOLA_NULLABLE config, int64_t timeout_ms);
/* Tolerance when the provider's times are judged, 0 to 300. Default: 60. */
VERSOLA_API int32_t versola_config_set_clock_skew_s(versola_config *VERSOLA_NULLABLE config, int64_t skew_s);

/*
 * How long one operation keeps repeating failed requests. A number outside its range is refused here; more attempts per
 * origin than in all are refused by versola_client_create. Jitter is always on. A preset sets all six.
 */
enum versola_retry_preset {
    VERSOLA_RETRY_DEFAULT = 1,      /* 3 attempts per origin, 4 in all; 500 ms doubling up to 8 s; 20 s in all */
    VERSOLA_RETRY_CONSERVATIVE = 2, /* 2 attempts; 250 ms doubling up to 2 s; 5 s in all */
    VERSOLA_RETRY_PATIENT = 3       /* 5 attempts per origin, 8 in all; 500 ms doubling up to 30 s; 60 s in all */
};
VERSOLA_API int32_t versola_config_set_retry_preset(versola_config *VERSOLA_NULLABLE config, int32_t preset);
/* Failed requests to one origin, 1 to 5. */
VERSOLA_API int32_t
versola_config_set_max_attempts_per_origin(versola_config *VERSOLA_NULLABLE config, int32_t attempts);
/* Failed requests to all origins, 1 to 8. */
VERSOLA_API int32_t versola_config_set_max_total_attempts(versola_config *VERSOLA_NULLABLE config, int32_t attempts);
/* 1 to 30,000. */
VERSOLA_API int32_t
versola_config_set_initial_backoff_ms(versola_config *VERSOLA_NULLABLE config, int64_t backoff_ms);
/* In thousandths, 1,000 to 10,000: 2,000 doubles the backoff after each failure. */
VERSOLA_API int32_t
versola_config_set_backoff_multiplier_permille(versola_config *VERSOLA_NULLABLE config, int32_t multiplier);
/* 1 to 30,000. A Retry-After is not limited by it. */
VERSOLA_API int32_t versola_config_set_max_backoff_ms(versola_config *VERSOLA_NULLABLE config, int64_t backoff_ms);
/* Of one operation, without the time spent in the browser, 1 to 60,000. */
VERSOLA_API int32_t versola_config_set_total_budget_ms(versola_config *VERSOLA_NULLABLE config, int64_t budget_ms);

enum versola_log_level {
    VERSOLA_LOG_OFF = 0, /* default */
    VERSOLA_LOG_ERROR = 1,
    VERSOLA_LOG_WARNING = 2,
    VERSOLA_LOG_INFO = 3,
    VERSOLA_LOG_DEBUG = 4
};
/* The most talkative level that is delivered (VERSOLA_EVENT_LOG). Logs never hold a secret. */
VERSOLA_API int32_t versola_config_set_log_level(versola_config *VERSOLA_NULLABLE config, int32_t level);
/*
 * The sink: where completions, session states, questions and logs of the client go. One of three kinds (a queue, a
 * callback, a Dart port; see below), the one set last. Without a sink, states and logs are dropped and only the blocking
 * forms can be used.
 */
/* The client keeps its own reference. */
VERSOLA_API int32_t
versola_config_set_queue(versola_config *VERSOLA_NULLABLE config, versola_queue *VERSOLA_NULLABLE queue);
/* Called with `context` and an event that the callee owns (versola_event_release). */
typedef void (*versola_callback)(void *VERSOLA_NULLABLE context, versola_event *VERSOLA_NULLABLE event);
/*
 * Events are handed to `callback` on a serial queue of the client's own, one at a time, in order, never on the caller's
 * stack and no lock held; the first may come before versola_client_create has returned. Every function may be called
 * inside except the blocking ones (`_wait`), which fail at once there. `context_free` (may be NULL) runs once with
 * `context`, on the same queue, after the event CLOSED; not at all when no client is made. One client is made of a
 * configuration with a callback: another one needs a context of its own, set anew. The thread has its signals blocked,
 * as all of the library's: a child that is started there inherits that, unless it is given another mask.
 */
VERSOLA_API int32_t versola_config_set_callback(
    versola_config *VERSOLA_NULLABLE config, versola_callback VERSOLA_NULLABLE callback, void *VERSOLA_NULLABLE context,
    void (*VERSOLA_NULLABLE context_free)(void *VERSOLA_NULLABLE context));
/*
 * For Dart. `post_c_object` is NativeApi.postCObject, `port` a SendPort's nativePort: the address of each event arrives
 * there as an int, and the receiver owns the event. A post that answers false (the isolate is gone) releases it.
 */
VERSOLA_API int32_t versola_config_set_dart_port(
    versola_config *VERSOLA_NULLABLE config, int64_t port, const void *VERSOLA_NULLABLE post_c_object);

/* Gives. `issuer` is the expected `iss` of ID tokens and redirects, byte for byte. All four are required. */
VERSOLA_API versola_endpoints *VERSOLA_NULLABLE versola_endpoints_new(
    const char *VERSOLA_NULLABLE issuer, const char *VERSOLA_NULLABLE authorization_endpoint,
    const char *VERSOLA_NULLABLE token_endpoint, const char *VERSOLA_NULLABLE jwks_uri);
VERSOLA_API int32_t versola_endpoints_set_revocation_endpoint(
    versola_endpoints *VERSOLA_NULLABLE endpoints, const char *VERSOLA_NULLABLE url);
VERSOLA_API int32_t versola_endpoints_set_user_info_endpoint(
    versola_endpoints *VERSOLA_NULLABLE endpoints, const char *VERSOLA_NULLABLE url);
VERSOLA_API int32_t versola_endpoints_set_end_session_endpoint(
    versola_endpoints *VERSOLA_NULLABLE endpoints, const char *VERSOLA_NULLABLE url);
/* Whether the provider puts `iss` into every redirect (RFC 9207). Default: false. */
VERSOLA_API int32_t
versola_endpoints_set_iss_in_redirect(versola_endpoints *VERSOLA_NULLABLE endpoints, bool promised);
VERSOLA_API void versola_endpoints_release(versola_endpoints *VERSOLA_NULLABLE endpoints);

/* ---------------------------------------------------------------------------------------------------------------------
 * Options of one login. NULL options = none. Refusals are remembered as with the configuration and told by login.
 */

/* Gives. */
VERSOLA_API versola_login_options *VERSOLA_NULLABLE versola_login_options_new(void);
/* In place of the configured scope; `openid` is always added. */
VERSOLA_API int32_t versola_login_options_set_scope(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE scope);
VERSOLA_API int32_t versola_login_options_set_prompt(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE prompt);
VERSOLA_API int32_t versola_login_options_set_login_hint(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE login_hint);
VERSOLA_API int32_t versola_login_options_set_ui_locales(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE ui_locales);
VERSOLA_API int32_t versola_login_options_set_acr_values(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE acr_values);
/* 0 or more; the ID token's auth_time is then demanded and checked. */
VERSOLA_API int32_t
versola_login_options_set_max_age_s(versola_login_options *VERSOLA_NULLABLE options, int64_t max_age_s);
/* A JSON object (OpenID Connect Core 5.5). */
VERSOLA_API int32_t versola_login_options_set_claims(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE claims);
/* May be called again for another resource (RFC 8707). */
VERSOLA_API int32_t versola_login_options_add_resource(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE resource);
/* A JSON array (RFC 9396). */
VERSOLA_API int32_t versola_login_options_set_authorization_details(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE authorization_details);
/* Another parameter of the authorization request; names that the library sets itself are refused. */
VERSOLA_API int32_t versola_login_options_add_parameter(
    versola_login_options *VERSOLA_NULLABLE options, const char *VERSOLA_NULLABLE name, const char *VERSOLA_NULLABLE value);
VERSOLA_API void versola_login_options_release(versola_login_options *VERSOLA_NULLABLE options);

/* Options of one call for an access token. NULL options = the defaults. */
/* Gives. */
VERSOLA_API versola_token_options *VERSOLA_NULLABLE versola_token_options_new(void);
/* 0 or more: a token that lives shorter is refreshed first. Default: 30,000, or a tenth of the token's life if less. */
VERSOLA_API int32_t
versola_token_options_set_min_valid_ms(versola_token_options *VERSOLA_NULLABLE options, int64_t min_valid_ms);
/* true: refresh whatever the token's age. */
VERSOLA_API int32_t versola_token_options_set_force(versola_token_options *VERSOLA_NULLABLE options, bool force);
VERSOLA_API void versola_token_options_release(versola_token_options *VERSOLA_NULLABLE options);

/* ---------------------------------------------------------------------------------------------------------------------
 * Results.
 */

/* A token that can be sent. The bytes of the value are zeroed with the last release. */
/* Lent. NUL-terminated; its length without the NUL goes to `length` when that is not NULL. */
VERSOLA_API const char *VERSOLA_NULLABLE
versola_token_value(const versola_token *VERSOLA_NULLABLE token, size_t *VERSOLA_NULLABLE length);
/* Lent. "Bearer". */
VERSOLA_API const char *VERSOLA_NULLABLE versola_token_type(const versola_token *VERSOLA_NULLABLE token);
/* Wall-clock time of expiry, milliseconds since 1970; -1 = the provider did not say. */
VERSOLA_API int64_t versola_token_expires_at_unix_ms(const versola_token *VERSOLA_NULLABLE token);
/* Lent. The granted scope, space-separated. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_token_scope(const versola_token *VERSOLA_NULLABLE token);
VERSOLA_API versola_token *VERSOLA_NULLABLE versola_token_retain(versola_token *VERSOLA_NULLABLE token);
VERSOLA_API void versola_token_release(versola_token *VERSOLA_NULLABLE token);

/* Who is signed in: the claims of the verified ID token. */
/* Lent. The `sub` claim. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_identity_subject(const versola_identity *VERSOLA_NULLABLE identity);
/* Lent. All claims, a JSON object. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_identity_claims(const versola_identity *VERSOLA_NULLABLE identity);
VERSOLA_API versola_identity *VERSOLA_NULLABLE
versola_identity_retain(versola_identity *VERSOLA_NULLABLE identity);
VERSOLA_API void versola_identity_release(versola_identity *VERSOLA_NULLABLE identity);

/* Lent. */
VERSOLA_API const char *VERSOLA_NULLABLE
versola_string_value(const versola_string *VERSOLA_NULLABLE string, size_t *VERSOLA_NULLABLE length);
VERSOLA_API void versola_string_release(versola_string *VERSOLA_NULLABLE string);

/* ---------------------------------------------------------------------------------------------------------------------
 * Client. One per issuer, client_id and session name and process is the rule; several are correct, too.
 */

enum versola_state {
    VERSOLA_STATE_UNAUTHENTICATED = 1,  /* nobody is signed in */
    VERSOLA_STATE_AUTHORIZING = 2,      /* a login waits for the browser */
    VERSOLA_STATE_AUTHENTICATED = 3,    /* signed in */
    VERSOLA_STATE_REFRESHING = 4,       /* signed in; a new access token is being fetched */
    VERSOLA_STATE_STEP_UP_REQUIRED = 5, /* signed in; a resource asked for a stronger or fresher sign-in */
    VERSOLA_STATE_LOCKED = 6,           /* signed in; the store's key needs the user */
    VERSOLA_STATE_LOGGING_OUT = 7       /* logout has begun */
};

/* Gives. Reads the store, uses no network; the state is then the restored one. NETWORK when the process has no descriptor or
 * memory left for the thread that will use it. */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_create(
    const versola_config *VERSOLA_NULLABLE config, versola_client *VERSOLA_NULLABLE *VERSOLA_NULLABLE client,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* The last release is a close. */
VERSOLA_API void versola_client_release(versola_client *VERSOLA_NULLABLE client);
/* Ends every waiting call and login with SYSTEM_CANCELLED and stops listening. The session stays in the store; a token
 * request already on the wire is finished and its answer stored, one for metadata or UserInfo is not, and a logout still
 * revokes. Further calls fail. Never blocks. */
VERSOLA_API void versola_client_close(versola_client *VERSOLA_NULLABLE client);
/* Closes, and returns when nothing of the client is running any more and every event of it has been delivered: it lies in
 * the queue, was posted, or its callback has returned, and `context_free` with it. SYSTEM_CANCELLED when that took longer
 * than timeout_ms. */
VERSOLA_API int32_t versola_client_close_wait(
    versola_client *VERSOLA_NULLABLE client, int64_t timeout_ms, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);

/* At once: enum versola_state. */
VERSOLA_API int32_t versola_client_state(
    versola_client *VERSOLA_NULLABLE client, int32_t *VERSOLA_NULLABLE state,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* At once, offline too. Gives. SESSION_EXPIRED when nobody is signed in, UNLOCK_REQUIRED when the state is LOCKED. */
VERSOLA_API int32_t versola_client_identity(
    versola_client *VERSOLA_NULLABLE client, versola_identity *VERSOLA_NULLABLE *VERSOLA_NULLABLE identity,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* At once. Gives the URL the person has to open while the state is AUTHORIZING; NULL when no login waits here. */
VERSOLA_API int32_t versola_client_authorization_url(
    versola_client *VERSOLA_NULLABLE client, versola_string *VERSOLA_NULLABLE *VERSOLA_NULLABLE url,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* At once. Opens the browser again for the login that waits; nothing when none does. */
VERSOLA_API int32_t versola_client_reopen_browser(
    versola_client *VERSOLA_NULLABLE client, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* At once. Ends the login that waits, or is about to, with USER_CANCELLED, also one restored from another run; nothing when
 * none does. */
VERSOLA_API int32_t versola_client_cancel_login(
    versola_client *VERSOLA_NULLABLE client, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);

/* Blocking forms. After timeout_ms (-1: none) the call ends with SYSTEM_CANCELLED; the pending request is kept. */

/* Signs a person in through the browser. `identity` may be NULL; else gives who it is. */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_login_wait(
    versola_client *VERSOLA_NULLABLE client, const versola_login_options *VERSOLA_NULLABLE options, int64_t timeout_ms,
    versola_identity *VERSOLA_NULLABLE *VERSOLA_NULLABLE identity,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* An access token that can be used now. `options` may be NULL. Gives. */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_access_token_wait(
    versola_client *VERSOLA_NULLABLE client, const versola_token_options *VERSOLA_NULLABLE options, int64_t timeout_ms,
    versola_token *VERSOLA_NULLABLE *VERSOLA_NULLABLE token, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* A new access token, whatever the old one's age. Gives. */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_refresh_wait(
    versola_client *VERSOLA_NULLABLE client, int64_t timeout_ms, versola_token *VERSOLA_NULLABLE *VERSOLA_NULLABLE token,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/* What the provider's UserInfo endpoint says of the person: the claims, a JSON object. Gives. */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_user_info_wait(
    versola_client *VERSOLA_NULLABLE client, int64_t timeout_ms, versola_string *VERSOLA_NULLABLE *VERSOLA_NULLABLE claims,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/*
 * A URL that the program received. `handled` (may be NULL) tells whether it was a redirect that was awaited; the status is
 * then the outcome of that login. false and VERSOLA_OK: not our redirect URI, or its login is over.
 */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_handle_redirect_wait(
    versola_client *VERSOLA_NULLABLE client, const char *VERSOLA_NULLABLE url, int64_t timeout_ms,
    bool *VERSOLA_NULLABLE handled, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
/*
 * Erases the session here, then revokes it at the provider, then ends the provider's own session in the browser when a
 * post-logout redirect is configured and the provider offers that. `token_revoked` (may be NULL): the provider confirmed.
 * `session_ended` (may be NULL): the browser came back. The session is erased here whatever the provider says.
 */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_logout_wait(
    versola_client *VERSOLA_NULLABLE client, int64_t timeout_ms, bool *VERSOLA_NULLABLE token_revoked,
    bool *VERSOLA_NULLABLE session_ended, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);

/* ---------------------------------------------------------------------------------------------------------------------
 * Queue and events. One queue may serve many clients; many threads may consume it. Whoever receives an event owns it.
 */

enum versola_event_kind {
    VERSOLA_EVENT_COMPLETION = 1, /* an operation ended: operation_id, operation, status, error and its result */
    VERSOLA_EVENT_STATE = 2,      /* the session state: state, error (the reason, or NULL), generation, url */
    VERSOLA_EVENT_OPEN_URL = 3,   /* question: open this url in a browser; versola_event_answer_open_url */
    VERSOLA_EVENT_LOG = 4,        /* log_level, message, dropped */
    VERSOLA_EVENT_CLOSED = 5      /* the last event of a client */
};

enum versola_operation {
    VERSOLA_OPERATION_LOGIN = 1,           /* result: identity */
    VERSOLA_OPERATION_ACCESS_TOKEN = 2,    /* result: token */
    VERSOLA_OPERATION_HANDLE_REDIRECT = 3, /* result: handled */
    VERSOLA_OPERATION_LOGOUT = 4,          /* result: token_revoked, session_ended */
    VERSOLA_OPERATION_REFRESH = 5,         /* result: token */
    VERSOLA_OPERATION_USER_INFO = 6        /* result: user_info */
};

/* Gives. NULL when the process has no descriptor left. */
VERSOLA_API versola_queue *VERSOLA_NULLABLE versola_queue_new(void);
/* An eventfd for poll, epoll, asyncio or GLib: readable exactly while the queue is not empty. Do not read, write or close
 * it. -1 for NULL. Lives as long as the queue. */
VERSOLA_API int32_t versola_queue_fd(const versola_queue *VERSOLA_NULLABLE queue);
/* Gives the oldest event, or NULL when there is none. Never blocks. */
VERSOLA_API versola_event *VERSOLA_NULLABLE versola_queue_pop(versola_queue *VERSOLA_NULLABLE queue);
/* As pop, but waits up to timeout_ms (-1: without limit) for an event; any other negative number is 0. Inside a callback it
 * does not wait. */
VERSOLA_API versola_event *VERSOLA_NULLABLE versola_queue_wait(versola_queue *VERSOLA_NULLABLE queue, int64_t timeout_ms);
/* Events nobody took are released with the queue. */
VERSOLA_API void versola_queue_release(versola_queue *VERSOLA_NULLABLE queue);

/* enum versola_event_kind; 0 for NULL. */
VERSOLA_API int32_t versola_event_kind(const versola_event *VERSOLA_NULLABLE event);
/* Whether the event is of this client: for queues that serve several. */
VERSOLA_API bool versola_event_is_of(
    const versola_event *VERSOLA_NULLABLE event, const versola_client *VERSOLA_NULLABLE client);
/* As chosen when the operation was started. */
VERSOLA_API uint64_t versola_event_operation_id(const versola_event *VERSOLA_NULLABLE event);
/* enum versola_operation; 0 unless a completion. */
VERSOLA_API int32_t versola_event_operation(const versola_event *VERSOLA_NULLABLE event);
/* VERSOLA_OK, or the cause. */
VERSOLA_API int32_t versola_event_status(const versola_event *VERSOLA_NULLABLE event);
/* Lent, or NULL: the error of a completion, the reason of a state. */
VERSOLA_API versola_error *VERSOLA_NULLABLE versola_event_error(const versola_event *VERSOLA_NULLABLE event);
/* Lent, or NULL; retain it to keep it longer than the event. */
VERSOLA_API versola_token *VERSOLA_NULLABLE versola_event_token(const versola_event *VERSOLA_NULLABLE event);
/* Lent, or NULL; retain it to keep it longer than the event. */
VERSOLA_API versola_identity *VERSOLA_NULLABLE versola_event_identity(const versola_event *VERSOLA_NULLABLE event);
/* Lent, or NULL: the claims, a JSON object. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_event_user_info(const versola_event *VERSOLA_NULLABLE event);
VERSOLA_API bool versola_event_handled(const versola_event *VERSOLA_NULLABLE event);
VERSOLA_API bool versola_event_token_revoked(const versola_event *VERSOLA_NULLABLE event);
VERSOLA_API bool versola_event_session_ended(const versola_event *VERSOLA_NULLABLE event);
/* enum versola_state; 0 unless a state. */
VERSOLA_API int32_t versola_event_state(const versola_event *VERSOLA_NULLABLE event);
/* Rises with every login stored, not with a refresh; 0 = nobody is signed in. */
VERSOLA_API int64_t versola_event_generation(const versola_event *VERSOLA_NULLABLE event);
/* Lent, or NULL: the URL to open (OPEN_URL, and STATE while it is AUTHORIZING). It belongs to the person: do not log it. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_event_url(const versola_event *VERSOLA_NULLABLE event);
/* enum versola_log_level. */
VERSOLA_API int32_t versola_event_log_level(const versola_event *VERSOLA_NULLABLE event);
/* Lent, or NULL. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_event_message(const versola_event *VERSOLA_NULLABLE event);
/* Log events lost before this one because more than 1,024 lay in the queue; 0 with the other sinks. */
VERSOLA_API uint64_t versola_event_dropped(const versola_event *VERSOLA_NULLABLE event);

enum versola_open_url_answer {
    VERSOLA_OPEN_URL_OPENED = 1,       /* the person sees it */
    VERSOLA_OPEN_URL_FAILED = 2,       /* no browser: logged; the login goes on waiting for its redirect */
    VERSOLA_OPEN_URL_USER_CLOSED = 3,  /* the person closed it: USER_CANCELLED */
    VERSOLA_OPEN_URL_SYSTEM_CLOSED = 4 /* the system closed it: SYSTEM_CANCELLED, the pending request is kept */
};
/* May be called several times, for instance OPENED and later USER_CLOSED; ignored once that login is over. */
VERSOLA_API int32_t versola_event_answer_open_url(
    const versola_event *VERSOLA_NULLABLE event, int32_t answer, versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
VERSOLA_API void versola_event_release(versola_event *VERSOLA_NULLABLE event);

/*
 * Asynchronous forms. They need a sink. A status other than VERSOLA_OK: nothing will be delivered. VERSOLA_OK: exactly one
 * completion with this operation_id comes, later and never on the caller's stack, also after cancel, close or release. The
 * id is the caller's choice, unique among the client's running operations.
 */
VERSOLA_API VERSOLA_CHECK int32_t versola_client_login(
    versola_client *VERSOLA_NULLABLE client, const versola_login_options *VERSOLA_NULLABLE options, uint64_t operation_id,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
VERSOLA_API VERSOLA_CHECK int32_t versola_client_access_token(
    versola_client *VERSOLA_NULLABLE client, const versola_token_options *VERSOLA_NULLABLE options, uint64_t operation_id,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
VERSOLA_API VERSOLA_CHECK int32_t versola_client_refresh(
    versola_client *VERSOLA_NULLABLE client, uint64_t operation_id,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
VERSOLA_API VERSOLA_CHECK int32_t versola_client_user_info(
    versola_client *VERSOLA_NULLABLE client, uint64_t operation_id,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
VERSOLA_API VERSOLA_CHECK int32_t versola_client_handle_redirect(
    versola_client *VERSOLA_NULLABLE client, const char *VERSOLA_NULLABLE url, uint64_t operation_id,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);
VERSOLA_API VERSOLA_CHECK int32_t versola_client_logout(
    versola_client *VERSOLA_NULLABLE client, uint64_t operation_id,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);

enum versola_cancel {
    VERSOLA_CANCEL_USER = 1,  /* the person wants it to end: USER_CANCELLED, the pending request is erased */
    VERSOLA_CANCEL_SYSTEM = 2 /* the program is being torn down: SYSTEM_CANCELLED, the pending request is kept */
};
/* Ends the waiting of one operation. Idempotent, never blocks; an unknown id or a closed client is no error. The
 * completion still comes, with the real result if that was faster. A token request on the wire is finished and its answer
 * stored all the same. */
VERSOLA_API int32_t versola_client_cancel(
    versola_client *VERSOLA_NULLABLE client, uint64_t operation_id, int32_t reason,
    versola_error *VERSOLA_NULLABLE *VERSOLA_NULLABLE error);

/* ---------------------------------------------------------------------------------------------------------------------
 * Versions, for bindings: compare at load and refuse a mismatch.
 */

/* Lent for ever: VERSOLA_VERSION_STRING of the library. */
VERSOLA_API const char *VERSOLA_NULLABLE versola_version(void);
/* VERSOLA_ABI_VERSION of the library. */
VERSOLA_API int32_t versola_abi_version(void);

enum versola_feature {
    VERSOLA_FEATURE_HTTP2 = 1 /* the libcurl at hand speaks HTTP/2 */
};
/* What cannot be seen from the symbols: whether the library, as it runs here, has it. false for unknown numbers. */
VERSOLA_API bool versola_has_feature(int32_t feature);

#ifdef __cplusplus
}
#endif

#if defined(__cplusplus)
#define VERSOLA_STATIC_ASSERT(condition) static_assert(condition, #condition)
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define VERSOLA_STATIC_ASSERT(condition) _Static_assert(condition, #condition)
#else
#define VERSOLA_STATIC_ASSERT(condition) extern int versola_no_such_object
#endif
VERSOLA_STATIC_ASSERT(sizeof(versola_server_failure) == 32);
VERSOLA_STATIC_ASSERT(offsetof(versola_server_failure, retry_after_ms) == 8);
VERSOLA_STATIC_ASSERT(offsetof(versola_server_failure, elapsed_ms) == 24);
VERSOLA_STATIC_ASSERT(sizeof(versola_network_failure) == 8);
VERSOLA_STATIC_ASSERT(offsetof(versola_step_up_challenge, acr_values) == 8);
VERSOLA_STATIC_ASSERT(sizeof(versola_step_up_challenge) == 16 + 2 * sizeof(int64_t));
#undef VERSOLA_STATIC_ASSERT

#if defined(__clang__)
#pragma clang diagnostic pop
#endif

#endif

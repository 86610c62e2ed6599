/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * B62: a host that exports functions of its own under names of OpenSSL, as one with another OpenSSL linked in does.
 * Loaded with RTLD_DEEPBIND the library finds its own all the same; a whole login over TLS shows it.
 */
#include "tap.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <versola.h>

/* Exported by -rdynamic. Whoever calls one of these has been misled. */
static void misled(const char *name) {
    printf("# the host's %s was called\nnot ok 1 - a login in a host with OpenSSL's names\n1..1\n", name);
    fflush(stdout);
    _Exit(1);
}
#define EXPORTED(name)                                                                                                 \
    void name(void);                                                                                                   \
    void name(void) { misled(#name); }
EXPORTED(EVP_sha256)
EXPORTED(EVP_DigestVerify)
EXPORTED(EVP_MD_CTX_new)
EXPORTED(EVP_CIPHER_CTX_new)
EXPORTED(RAND_bytes)
EXPORTED(SSL_CTX_new)
EXPORTED(SSL_connect)
EXPORTED(json_loads)

#define FUNCTION(name)                                                                                                 \
    __typeof__(&name) name##_;                                                                                         \
    *(void **)&name##_ = dlsym(library, #name)

static void login(void) {
    void *library = dlopen(getenv("VERSOLA_TEST_LIBRARY"), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (!CHECK(library != NULL)) {
        printf("# %s\n", dlerror());
        return;
    }
    FUNCTION(versola_config_new);
    FUNCTION(versola_config_set_redirect_uri);
    FUNCTION(versola_config_set_ca_file);
    FUNCTION(versola_client_create);
    FUNCTION(versola_client_login_wait);
    FUNCTION(versola_client_release);
    FUNCTION(versola_config_release);
    FUNCTION(versola_error_detail);
    FUNCTION(versola_error_release);
    versola_client *client = NULL;
    versola_error *error = NULL;
    versola_config *config = versola_config_new_(getenv("VERSOLA_TEST_TLS_ISSUER"), "native-app");
    versola_config_set_redirect_uri_(config, "http://127.0.0.1/callback");
    versola_config_set_ca_file_(config, getenv("VERSOLA_TEST_CA"));
    CHECK(versola_client_create_(config, &client, &error) == VERSOLA_OK);
    if (!CHECK(versola_client_login_wait_(client, NULL, 60000, NULL, &error) == VERSOLA_OK))
        printf("# %s\n", versola_error_detail_(error));
    versola_error_release_(error);
    versola_client_release_(client);
    versola_config_release_(config);
}

int main(void) {
    tap_run(login, "B62: a login over TLS in a host that exports names of OpenSSL, loaded with RTLD_DEEPBIND");
    return tap_done();
}

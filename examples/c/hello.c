/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * The shortest program: sign in, say who it is.
 *
 *     cc -o hello hello.c $(pkg-config --cflags --libs versola)
 */
#include <stdio.h>
#include <versola.h>
int main(void) {
    versola_error *error = NULL; versola_client *client = NULL; versola_identity *me = NULL;
    versola_config *config = versola_config_new("https://id.example.com", "my-app");
    versola_config_set_redirect_uri(config, "http://127.0.0.1/callback");
    int32_t status = versola_client_create(config, &client, &error);
    if (status == VERSOLA_OK)
        status = versola_client_login_wait(client, NULL, -1, &me, &error);
    if (status == VERSOLA_OK)
        printf("Hello, %s\n", versola_identity_subject(me));
    else
        fprintf(stderr, "%s\n", versola_error_detail(error));
    versola_identity_release(me); versola_client_release(client);
    versola_config_release(config); versola_error_release(error);
    return status == VERSOLA_OK ? 0 : 1;
}

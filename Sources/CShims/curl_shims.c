// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE
#include "curl_shims.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <sys/socket.h>

CURLcode shim_curl_global_init(void) {
    return curl_global_init(CURL_GLOBAL_DEFAULT);
}

CURLcode shim_curl_set_long(CURL *easy, CURLoption option, long value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode shim_curl_set_pointer(CURL *easy, CURLoption option, const void *value) {
    return curl_easy_setopt(easy, option, value);
}

CURLcode shim_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count) {
    struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_NOCOPY};
    return curl_easy_setopt(easy, option, &blob);
}

CURLcode shim_curl_set_body(CURL *easy, const void *bytes, size_t count) {
    CURLcode code = curl_easy_setopt(easy, CURLOPT_POST, 1L);
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)count);
    /* Without a pointer curl would read the body from standard input. */
    if (code == CURLE_OK) code = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, bytes ? bytes : "");
    return code;
}

CURLcode shim_curl_set_sink(CURL *easy, CURLoption option, curl_write_callback function) {
    return curl_easy_setopt(easy, option, function);
}

CURLcode shim_curl_set_prerequest(CURL *easy, curl_prereq_callback function) {
    return curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, function);
}

static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
    (void)context;
    (void)purpose;
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

CURLcode shim_curl_set_close_on_exec(CURL *easy) {
    return curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
}

CURLMcode shim_curl_multi_set_long(CURLM *multi, CURLMoption option, long value) {
    return curl_multi_setopt(multi, option, value);
}

long shim_curl_get_long(CURL *easy, CURLINFO info) {
    long value = 0;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : 0;
}

const char *shim_curl_get_string(CURL *easy, CURLINFO info) {
    const char *value = NULL;
    return curl_easy_getinfo(easy, info, &value) == CURLE_OK ? value : NULL;
}

const char *shim_verify_result_text(long result) {
    return X509_verify_cert_error_string(result);
}

int shim_pem_certificate_count(const void *pem, size_t count) {
    if (count > INT_MAX) return -1;
    BIO *bio = BIO_new_mem_buf(pem, (int)count);
    if (!bio) return -1;
    STACK_OF(X509_INFO) *infos = PEM_X509_INFO_read_bio(bio, NULL, NULL, NULL);
    BIO_free(bio);
    if (!infos) return -1;
    int certificates = 0;
    for (int i = 0; i < sk_X509_INFO_num(infos); i++)
        if (sk_X509_INFO_value(infos, i)->x509) certificates++;
    sk_X509_INFO_pop_free(infos, X509_INFO_free);
    return certificates;
}

const char *shim_openssl_ca_file(void) {
    return X509_get_default_cert_file();
}

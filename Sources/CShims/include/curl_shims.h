// SPDX-License-Identifier: Apache-2.0
#ifndef CURL_SHIMS_H
#define CURL_SHIMS_H

#include <curl/curl.h>
#include <openssl/x509_vfy.h>
#include <stddef.h>

/* curl's options and infos are variadic, which Swift cannot call: one function per type of argument. */

/* curl_global_init, once per process and never undone. 0 on success. */
CURLcode shim_curl_global_init(void);

CURLcode shim_curl_set_long(CURL *easy, CURLoption option, long value);
/* A string (copied by curl), a list, a URL handle or user data, as the option says. */
CURLcode shim_curl_set_pointer(CURL *easy, CURLoption option, const void *value);
/* The bytes are not copied: they must outlive the transfer. */
CURLcode shim_curl_set_blob(CURL *easy, CURLoption option, const void *bytes, size_t count);
/* The request body; not copied, must outlive the transfer. */
CURLcode shim_curl_set_body(CURL *easy, const void *bytes, size_t count);
/* CURLOPT_WRITEFUNCTION or CURLOPT_HEADERFUNCTION. */
CURLcode shim_curl_set_sink(CURL *easy, CURLoption option, curl_write_callback function);
CURLcode shim_curl_set_prerequest(CURL *easy, curl_prereq_callback function);

/* Sockets that no child of the host inherits; curl itself sets close-on-exec only in later releases. */
CURLcode shim_curl_set_close_on_exec(CURL *easy);

CURLMcode shim_curl_multi_set_long(CURLM *multi, CURLMoption option, long value);

/* 0 when curl does not know. */
long shim_curl_get_long(CURL *easy, CURLINFO info);
/* NULL when curl does not know; lent until the handle's next use. */
const char *shim_curl_get_string(CURL *easy, CURLINFO info);

/* OpenSSL's words for a certificate verification result; lent for ever. */
const char *shim_verify_result_text(long result);
/* Number of certificates in a PEM text, read as curl reads a CA bundle; -1 if curl would refuse it. */
int shim_pem_certificate_count(const void *pem, size_t count);
/* OpenSSL's own CA bundle, for a curl without one of its own; lent for ever. */
const char *shim_openssl_ca_file(void);

#endif

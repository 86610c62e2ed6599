/*
 * SPDX-License-Identifier: Apache-2.0
 *
 * Bad input: what the tests of it share. A typed error, every out-parameter written, never a crash. Tests/abi/run.py
 * holds the names in these tests against the header, so that no function is left out.
 */
#ifndef BAD_INPUT_H
#define BAD_INPUT_H

#include "fixture.h"

#include <stdlib.h>

enum { INVALID = VERSOLA_CAUSE_INVALID_CONFIGURATION };

/* Not UTF-8: a stray byte, an overlong slash, a surrogate, beyond U+10FFFF, cut short. */
static const char *const not_utf8[] = {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe2\x82"};
enum { NOT_UTF8_COUNT = sizeof not_utf8 / sizeof not_utf8[0] };

static char *huge; /* 1 MiB and a bit of "a" */

static inline bool make_huge(void) {
    const size_t length = (1u << 20) + 7;
    huge = malloc(length + 1);
    if (huge == NULL)
        return false;
    memset(huge, 'a', length);
    huge[length] = '\0';
    return true;
}

static inline bool typed(int32_t status) {
    return status == VERSOLA_OK || status == INVALID;
}

/* An out-parameter that was not written still points here. */
static char untouched;
#define UNTOUCHED ((void *)&untouched)

#endif

// SPDX-License-Identifier: Apache-2.0
#ifndef CURL_SHIMS_H
#define CURL_SHIMS_H

#endif

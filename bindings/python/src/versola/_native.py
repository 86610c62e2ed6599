# SPDX-License-Identifier: Apache-2.0
"""What versola.h declares, for ctypes: a table of functions, the views, the numbers that never leave this package."""

from __future__ import annotations

import enum
from ctypes import POINTER, Structure, c_bool, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, Tuple

ABI_VERSION = 1


class ServerFailure(Structure):
    """versola_server_failure. Views grow at the end only, so these members exist in every library of this ABI."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("retry_after_ms", c_int64),
        ("attempts", c_int32),
        ("reserved", c_int32),
        ("elapsed_ms", c_int64),
    ]


class NetworkFailure(Structure):
    """versola_network_failure."""

    _fields_ = [("struct_size", c_uint32), ("reason", c_int32)]


class StepUpChallenge(Structure):
    """versola_step_up_challenge."""

    _fields_ = [
        ("struct_size", c_uint32),
        ("reserved", c_uint32),
        ("acr_values", c_char_p),
        ("max_age_s", c_int64),
        ("scope", c_char_p),
    ]


class Category(enum.IntEnum):
    RECOVERABLE = 1
    REAUTHENTICATE = 2
    STEP_UP = 3
    CONFIGURATION = 4


class AccessTokenCache(enum.IntEnum):
    MEMORY = 1
    SEALED = 2


class Browser(enum.IntEnum):
    SYSTEM = 1
    APP = 2
    NONE = 3


class RetryPreset(enum.IntEnum):
    DEFAULT = 1
    CONSERVATIVE = 2
    PATIENT = 3


class LogLevel(enum.IntEnum):
    OFF = 0
    ERROR = 1
    WARNING = 2
    INFO = 3
    DEBUG = 4


class EventKind(enum.IntEnum):
    COMPLETION = 1
    STATE = 2
    OPEN_URL = 3
    LOG = 4
    CLOSED = 5


class Operation(enum.IntEnum):
    LOGIN = 1
    ACCESS_TOKEN = 2
    HANDLE_REDIRECT = 3
    LOGOUT = 4
    REFRESH = 5
    USER_INFO = 6


class OpenURLAnswer(enum.IntEnum):
    OPENED = 1
    FAILED = 2
    USER_CLOSED = 3
    SYSTEM_CLOSED = 4


class Cancel(enum.IntEnum):
    USER = 1
    SYSTEM = 2


class Feature(enum.IntEnum):
    HTTP2 = 1


_handle = c_void_p
_out = POINTER(c_void_p)
_text = c_char_p
_status = c_int32

Signature = Tuple[Any, Tuple[Any, ...]]

# name -> (restype, argtypes). Every function of versola.h, in its order; a test compares the two.
FUNCTIONS: Dict[str, Signature] = {
    "versola_error_category": (c_int32, (_handle,)),
    "versola_error_cause": (c_int32, (_handle,)),
    "versola_error_detail": (_text, (_handle,)),
    "versola_error_oauth_error": (_text, (_handle,)),
    "versola_error_description": (_text, (_handle,)),
    "versola_error_server_failure": (POINTER(ServerFailure), (_handle,)),
    "versola_error_network_failure": (POINTER(NetworkFailure), (_handle,)),
    "versola_error_step_up_challenge": (POINTER(StepUpChallenge), (_handle,)),
    "versola_error_retain": (_handle, (_handle,)),
    "versola_error_release": (None, (_handle,)),
    "versola_config_new": (_handle, (_text, _text)),
    "versola_config_release": (None, (_handle,)),
    "versola_config_set_redirect_uri": (_status, (_handle, _text)),
    "versola_config_set_post_logout_redirect_uri": (_status, (_handle, _text)),
    "versola_config_set_scope": (_status, (_handle, _text)),
    "versola_config_set_session": (_status, (_handle, _text)),
    "versola_config_set_endpoints": (_status, (_handle, _handle)),
    "versola_config_set_store_auto": (_status, (_handle,)),
    "versola_config_set_store_memory": (_status, (_handle,)),
    "versola_config_set_store_key_file": (_status, (_handle, _text)),
    "versola_config_set_access_token_cache": (_status, (_handle, c_int32)),
    "versola_config_set_browser": (_status, (_handle, c_int32)),
    "versola_config_set_ca_file": (_status, (_handle, _text)),
    "versola_config_set_proxy": (_status, (_handle, _text)),
    "versola_config_set_request_timeout_ms": (_status, (_handle, c_int64)),
    "versola_config_set_clock_skew_s": (_status, (_handle, c_int64)),
    "versola_config_set_retry_preset": (_status, (_handle, c_int32)),
    "versola_config_set_max_attempts_per_origin": (_status, (_handle, c_int32)),
    "versola_config_set_max_total_attempts": (_status, (_handle, c_int32)),
    "versola_config_set_initial_backoff_ms": (_status, (_handle, c_int64)),
    "versola_config_set_backoff_multiplier_permille": (_status, (_handle, c_int32)),
    "versola_config_set_max_backoff_ms": (_status, (_handle, c_int64)),
    "versola_config_set_total_budget_ms": (_status, (_handle, c_int64)),
    "versola_config_set_log_level": (_status, (_handle, c_int32)),
    "versola_config_set_queue": (_status, (_handle, _handle)),
    "versola_config_set_callback": (_status, (_handle, c_void_p, c_void_p, c_void_p)),
    "versola_config_set_dart_port": (_status, (_handle, c_int64, c_void_p)),
    "versola_endpoints_new": (_handle, (_text, _text, _text, _text)),
    "versola_endpoints_set_revocation_endpoint": (_status, (_handle, _text)),
    "versola_endpoints_set_user_info_endpoint": (_status, (_handle, _text)),
    "versola_endpoints_set_end_session_endpoint": (_status, (_handle, _text)),
    "versola_endpoints_set_iss_in_redirect": (_status, (_handle, c_bool)),
    "versola_endpoints_release": (None, (_handle,)),
    "versola_login_options_new": (_handle, ()),
    "versola_login_options_set_scope": (_status, (_handle, _text)),
    "versola_login_options_set_prompt": (_status, (_handle, _text)),
    "versola_login_options_set_login_hint": (_status, (_handle, _text)),
    "versola_login_options_set_ui_locales": (_status, (_handle, _text)),
    "versola_login_options_set_acr_values": (_status, (_handle, _text)),
    "versola_login_options_set_max_age_s": (_status, (_handle, c_int64)),
    "versola_login_options_set_claims": (_status, (_handle, _text)),
    "versola_login_options_add_resource": (_status, (_handle, _text)),
    "versola_login_options_set_authorization_details": (_status, (_handle, _text)),
    "versola_login_options_add_parameter": (_status, (_handle, _text, _text)),
    "versola_login_options_release": (None, (_handle,)),
    "versola_token_options_new": (_handle, ()),
    "versola_token_options_set_min_valid_ms": (_status, (_handle, c_int64)),
    "versola_token_options_set_force": (_status, (_handle, c_bool)),
    "versola_token_options_release": (None, (_handle,)),
    "versola_token_value": (_text, (_handle, POINTER(c_size_t))),
    "versola_token_type": (_text, (_handle,)),
    "versola_token_expires_at_unix_ms": (c_int64, (_handle,)),
    "versola_token_scope": (_text, (_handle,)),
    "versola_token_retain": (_handle, (_handle,)),
    "versola_token_release": (None, (_handle,)),
    "versola_identity_subject": (_text, (_handle,)),
    "versola_identity_claims": (_text, (_handle,)),
    "versola_identity_retain": (_handle, (_handle,)),
    "versola_identity_release": (None, (_handle,)),
    "versola_string_value": (_text, (_handle, POINTER(c_size_t))),
    "versola_string_release": (None, (_handle,)),
    "versola_client_create": (_status, (_handle, _out, _out)),
    "versola_client_release": (None, (_handle,)),
    "versola_client_close": (None, (_handle,)),
    "versola_client_close_wait": (_status, (_handle, c_int64, _out)),
    "versola_client_state": (_status, (_handle, POINTER(c_int32), _out)),
    "versola_client_identity": (_status, (_handle, _out, _out)),
    "versola_client_authorization_url": (_status, (_handle, _out, _out)),
    "versola_client_reopen_browser": (_status, (_handle, _out)),
    "versola_client_cancel_login": (_status, (_handle, _out)),
    "versola_client_login_wait": (_status, (_handle, _handle, c_int64, _out, _out)),
    "versola_client_access_token_wait": (_status, (_handle, _handle, c_int64, _out, _out)),
    "versola_client_refresh_wait": (_status, (_handle, c_int64, _out, _out)),
    "versola_client_user_info_wait": (_status, (_handle, c_int64, _out, _out)),
    "versola_client_handle_redirect_wait": (_status, (_handle, _text, c_int64, POINTER(c_bool), _out)),
    "versola_client_logout_wait": (_status, (_handle, c_int64, POINTER(c_bool), POINTER(c_bool), _out)),
    "versola_queue_new": (_handle, ()),
    "versola_queue_fd": (c_int32, (_handle,)),
    "versola_queue_pop": (_handle, (_handle,)),
    "versola_queue_wait": (_handle, (_handle, c_int64)),
    "versola_queue_release": (None, (_handle,)),
    "versola_event_kind": (c_int32, (_handle,)),
    "versola_event_is_of": (c_bool, (_handle, _handle)),
    "versola_event_operation_id": (c_uint64, (_handle,)),
    "versola_event_operation": (c_int32, (_handle,)),
    "versola_event_status": (_status, (_handle,)),
    "versola_event_error": (_handle, (_handle,)),
    "versola_event_token": (_handle, (_handle,)),
    "versola_event_identity": (_handle, (_handle,)),
    "versola_event_user_info": (_text, (_handle,)),
    "versola_event_handled": (c_bool, (_handle,)),
    "versola_event_token_revoked": (c_bool, (_handle,)),
    "versola_event_session_ended": (c_bool, (_handle,)),
    "versola_event_state": (c_int32, (_handle,)),
    "versola_event_generation": (c_int64, (_handle,)),
    "versola_event_url": (_text, (_handle,)),
    "versola_event_log_level": (c_int32, (_handle,)),
    "versola_event_message": (_text, (_handle,)),
    "versola_event_dropped": (c_uint64, (_handle,)),
    "versola_event_answer_open_url": (_status, (_handle, c_int32, _out)),
    "versola_event_release": (None, (_handle,)),
    "versola_client_login": (_status, (_handle, _handle, c_uint64, _out)),
    "versola_client_access_token": (_status, (_handle, _handle, c_uint64, _out)),
    "versola_client_refresh": (_status, (_handle, c_uint64, _out)),
    "versola_client_user_info": (_status, (_handle, c_uint64, _out)),
    "versola_client_handle_redirect": (_status, (_handle, _text, c_uint64, _out)),
    "versola_client_logout": (_status, (_handle, c_uint64, _out)),
    "versola_client_cancel": (_status, (_handle, c_uint64, c_int32, _out)),
    "versola_version": (_text, ()),
    "versola_abi_version": (c_int32, ()),
    "versola_has_feature": (c_bool, (c_int32,)),
}

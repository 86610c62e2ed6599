# SPDX-License-Identifier: Apache-2.0
"""The table of functions, the views and every number are those of versola.h."""

from __future__ import annotations

import ctypes
import enum
import re
from typing import Any, Dict, List, Tuple, Type

import versola
from versola import _native

SCALARS = {
    "const char *": ctypes.c_char_p,
    "int32_t": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64,
    "size_t": ctypes.c_size_t,
    "bool": ctypes.c_bool,
}
VIEWS = {
    "versola_server_failure": _native.ServerFailure,
    "versola_network_failure": _native.NetworkFailure,
    "versola_step_up_challenge": _native.StepUpChallenge,
}
ENUMS: Dict[str, List[Type[enum.Enum]]] = {
    "category": [_native.Category],
    "cause": [
        versola.RecoverableCause,
        versola.ReauthenticateCause,
        versola.StepUpCause,
        versola.ConfigurationCause,
    ],
    "network_reason": [versola.NetworkReason],
    "access_token_cache": [_native.AccessTokenCache],
    "browser": [_native.Browser],
    "retry_preset": [_native.RetryPreset],
    "log_level": [_native.LogLevel],
    "state": [versola.SessionState],
    "event_kind": [_native.EventKind],
    "operation": [_native.Operation],
    "open_url_answer": [_native.OpenURLAnswer],
    "cancel": [_native.Cancel],
    "feature": [_native.Feature],
}
# The enumerators' prefix where it is not VERSOLA_<NAME OF THE ENUM>_.
PREFIXES = {
    "network_reason": "NETWORK",
    "log_level": "LOG",
    "event_kind": "EVENT",
    "open_url_answer": "OPEN_URL",
    "retry_preset": "RETRY",
}


def code_of(header: str) -> str:
    return re.sub(r"/\*.*?\*/", "", header, flags=re.S)


def ctype_of(declaration: str, *, parameter: bool) -> Any:
    """The ctypes type of a C type, with or without the name of a parameter behind it."""
    words = re.sub(r"\b(const|VERSOLA_NULLABLE)\b", " ", declaration)
    if "(" in words or words.split()[0] == "versola_callback":
        return ctypes.c_void_p  # functions are passed as addresses
    stars = words.count("*")
    base = words.replace("*", " ").split()[0]
    if stars == 0:
        return None if base == "void" else SCALARS[base]
    if base == "char":
        assert stars == 1
        return ctypes.c_char_p
    if base in SCALARS or base in VIEWS:
        assert stars == 1
        return ctypes.POINTER(SCALARS.get(base) or VIEWS[base])
    return ctypes.c_void_p if stars == 1 else ctypes.POINTER(ctypes.c_void_p)


def functions_of(header: str) -> Dict[str, Tuple[Any, Tuple[Any, ...]]]:
    pattern = r"VERSOLA_API\s+(?:VERSOLA_CHECK\s+)?([\w\s*]+?)(versola_\w+)\s*\(((?:[^()]|\([^()]*\))*)\)\s*;"
    functions = {}
    for result, name, parameters in re.findall(pattern, code_of(header)):
        arguments = [] if parameters.strip() == "void" else parameters.split(",")
        functions[name] = (
            ctype_of(result, parameter=False),
            tuple(ctype_of(argument, parameter=True) for argument in arguments),
        )
    return functions


def test_every_function_of_the_header_is_in_the_table_with_its_types(header: str) -> None:
    declared = functions_of(header)
    assert len(declared) == code_of(header).count("VERSOLA_API ") - 1  # its own #define
    assert list(_native.FUNCTIONS) == list(declared)
    for name, signature in declared.items():
        assert _native.FUNCTIONS[name] == signature, name


def test_every_enumerator_of_the_header_has_its_number(header: str) -> None:
    declared = dict(re.findall(r"enum versola_(\w+) \{(.*?)\};", code_of(header), flags=re.S))
    assert set(declared) == set(ENUMS)
    for name, body in declared.items():
        prefix = f"VERSOLA_{PREFIXES.get(name, name.upper())}_"
        numbers = {key[len(prefix) :]: int(value) for key, value in re.findall(r"(VERSOLA_\w+) = (\d+)", body)}
        assert numbers == {each.name: each.value for enumeration in ENUMS[name] for each in enumeration}, name


def test_the_views_have_the_members_of_the_header(header: str) -> None:
    for name, view in VIEWS.items():
        body = re.search(rf"typedef struct {name} \{{(.*?)\}} {name};", code_of(header), flags=re.S)
        assert body is not None
        declarations = re.findall(r"(const char \*|\w+ )(?:VERSOLA_NULLABLE )?(\w+);", body[1])
        members = [(member, SCALARS[kind.strip()]) for kind, member in declarations]
        assert len(members) == body[1].count(";")
        assert list(view._fields_) == members
    assert ctypes.sizeof(_native.ServerFailure) == 32
    assert ctypes.sizeof(_native.NetworkFailure) == 8
    assert ctypes.sizeof(_native.StepUpChallenge) == 32


def test_the_abi_version_and_the_package_version_are_the_headers(header: str) -> None:
    assert f"#define VERSOLA_ABI_VERSION {_native.ABI_VERSION}\n" in header
    assert f'#define VERSOLA_VERSION_STRING "{versola.__version__}"\n' in header


def test_the_library_has_every_function(library: Any) -> None:
    for name in _native.FUNCTIONS:
        assert getattr(library, name).argtypes is not None, name

# SPDX-License-Identifier: Apache-2.0
"""Proof that every check of contract.py can fail: a sound stub library passes them all, each broken copy fails one."""

import re
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from abi.contract import (
    SIZE_LIMIT,
    Inputs,
    build_stub,
    header_compiles_alone,
    header_keeps_what_landed,
    header_marks_every_function,
    library_is_header,
    library_is_map,
    macro,
    map_is_header,
    needed,
    no_icu,
    no_runpath,
    nodelete,
    python_has_the_types,
    python_is_header,
    run,
    size,
    soname,
    versions_agree,
    views_grow_at_the_end,
)


def edited(path, folder, *edits):
    """A copy of the file in which each pattern was replaced; that it was found is checked."""
    text = path.read_text()
    for pattern, replacement in edits:
        text, count = re.subn(pattern, replacement, text, flags=re.M | re.S)
        if count == 0:
            raise AssertionError(f"{pattern!r} is not in {path}")
    copy = Path(tempfile.mkdtemp(dir=folder)) / path.name
    copy.write_text(text)
    return copy


def broken_copies(sound, folder):
    """(check, what is wrong, inputs) for each way to fail."""

    def header(pattern, replacement, *more):
        return replace(sound, header=edited(sound.header, folder, (pattern, replacement), *more))

    def library(name, source="", flags=None, strip=True, map=sound.map):
        built = folder / name
        soname_flags, keep_flags = ["-Wl,-soname,libversola.so.1"], ["-Wl,-z,nodelete"]
        build_stub(
            sound.header,
            built,
            source,
            [*(soname_flags + keep_flags if flags is None else flags), f"-Wl,--version-script={map}", *LINKED],
        )
        debug = folder / (name + ".debug")
        shutil.copy(built, debug)
        if strip:
            run("strip", "--strip-unneeded", built)
        return replace(sound, library=built, debug=debug)

    keep, name = "-Wl,-z,nodelete", "-Wl,-soname,libversola.so.1"
    added = "VERSOLA_API int32_t versola_added(void);\n\\g<0>"
    yield header_compiles_alone, "pedantic", header(r"^#include <stdint.h>", "#include <stdint.h>\nextern int x[0];")
    yield (
        header_compiles_alone,
        "a C++ keyword",
        header(r"versola_has_feature\(int32_t feature\)", "versola_has_feature(int32_t class)"),
    )
    yield header_marks_every_function, "no VERSOLA_API", header(r"VERSOLA_API (bool versola_has_feature)", r"\1")
    yield header_keeps_what_landed, "function removed", header(r"^VERSOLA_API uint64_t versola_event_dropped.*?;", "")
    yield (
        header_keeps_what_landed,
        "parameter changed",
        header(r"versola_has_feature\(int32_t", "versola_has_feature(int64_t"),
    )
    yield header_keeps_what_landed, "enumerator changed", header(r"LOGGING_OUT = 7", "LOGGING_OUT = 8")
    yield header_keeps_what_landed, "enumerator removed", header(r"^    VERSOLA_STATE_LOCKED = 6,.*?$", "")
    unasserted = (r"^VERSOLA_STATIC_ASSERT\(.*?$", "")
    yield (
        views_grow_at_the_end,
        "members swapped",
        header(r"(    int32_t attempts;.*?\n)(    int32_t reserved;\n)", r"\2\1"),
    )
    yield (
        views_grow_at_the_end,
        "member inserted",
        header(r"^    int32_t reserved;", "    int32_t added;\n    int32_t reserved;", unasserted),
    )
    yield views_grow_at_the_end, "type changed", header(r"^    int32_t status;", "    uint32_t status;")
    yield views_grow_at_the_end, "member removed", header(r"^    int64_t elapsed_ms;.*?$", "", unasserted)
    yield map_is_header, "map lacks one", replace(sound, map=edited(sound.map, folder, (r"^ +versola_version;\n", "")))
    yield map_is_header, "header has one more", header(r"^VERSOLA_API bool versola_has_feature", added)
    yield map_is_header, "map hides nothing", replace(sound, map=edited(sound.map, folder, (r"local: \*;", "")))
    yield (
        library_is_header,
        "library lacks one",
        library("lacks.so", map=edited(sound.map, folder, (r"^ +versola_version;\n", ""))),
    )
    extra = 'int other(void); __attribute__((visibility("default"))) int other(void) { return 0; }\n'
    yield (
        library_is_header,
        "library exports one more",
        library("extra.so", extra, map=edited(sound.map, folder, (r"versola_version;", "versola_version; other;"))),
    )
    yield (
        library_is_map,
        "another node",
        library("node.so", map=edited(sound.map, folder, (r"VERSOLA_0\.1 \{", "VERSOLA_9 {"))),
    )
    yield (
        python_is_header,
        "table lacks one",
        replace(sound, python=edited(sound.python, folder, ('"versola_version"', '"other"'))),
    )

    def table(wrong, pattern, replacement):
        return python_has_the_types, wrong, replace(sound, python=edited(sound.python, folder, (pattern, replacement)))

    yield table("int64_t as int32_t", r'("versola_queue_wait": \(\w+, \(\w+, )c_int64', r"\1c_int32")
    yield table("a parameter too few", r'("versola_client_logout": \(\w+, \(\w+, )c_uint64, ', r"\1")
    yield table("another result", r'("versola_version": \()\w+', r"\1c_int64")
    yield table("a callback's parameter", r"(Callback = CFUNCTYPE\(None, )c_void_p, ", r"\1")
    yield table("a function as a plain pointer", r"_handle, Callback, c_void_p", "_handle, c_void_p, c_void_p")
    yield table("a view's member", r'"attempts", c_int32', '"attempts", c_int64')
    yield needed, "libz too", library("needs.so", flags=[name, keep, "-Wl,--no-as-needed", "-l:libz.so.1"])
    yield soname, "none", library("nameless.so", flags=[keep])
    yield soname, "ABI raised", header(r"VERSOLA_ABI_VERSION 1", "VERSOLA_ABI_VERSION 2")
    yield nodelete, "flag missing", library("deletable.so", flags=[name])
    yield no_runpath, "RUNPATH", library("runpath.so", flags=[name, keep, "-Wl,-rpath,/opt/toolchain"])
    yield size, "not stripped", library("unstripped.so", strip=False)
    yield size, "too large", library("large.so", f"const char padding[{SIZE_LIMIT}] __attribute__((used)) = {{1}};\n")
    yield no_icu, "ICU", library("icu.so", "int udat_open_74(void); int udat_open_74(void) { return 0; }\n")
    yield versions_agree, "header", header(r"VERSOLA_VERSION_STRING \"[\d.]+\"", 'VERSOLA_VERSION_STRING "9.9.9"')
    yield (
        versions_agree,
        "Python package",
        replace(
            sound,
            python_version=edited(sound.python_version, folder, (r'^__version__ = "[^"]*"', '__version__ = "9.9.9"')),
        ),
    )
    yield (
        versions_agree,
        "versola.pc",
        replace(sound, pkgconfig=edited(sound.pkgconfig, folder, (r"^Version: .*?$", "Version: 9.9.9"))),
    )
    yield (
        versions_agree,
        "map ahead",
        replace(sound, map=edited(sound.map, folder, (r"VERSOLA_0\.1 \{", "VERSOLA_9.9 {"))),
    )


LINKED = ["-Wl,--no-as-needed", "-l:libcurl.so.4", "-l:libssl.so.3", "-l:libcrypto.so.3"]


def grown(sound, folder):
    """What a later release may do: add a function and an enumerator, let a view grow at its end."""
    header = edited(
        sound.header,
        folder,
        (r"^VERSOLA_API bool versola_has_feature", "VERSOLA_API int32_t versola_added(void);\n\\g<0>"),
        (r"LOGGING_OUT = 7", "LOGGING_OUT = 7,\n    VERSOLA_STATE_ADDED = 8"),
        (r"^    int64_t elapsed_ms;", "\\g<0>\n    int64_t added_ms;"),
        (r"^VERSOLA_STATIC_ASSERT\(sizeof.*?$", ""),
    )
    return replace(sound, header=header)


def sound_inputs(folder):
    """A library made of the header alone that every check accepts, with the files beside it that `make` writes."""
    library, debug, pkgconfig = (folder / name for name in ("sound.so", "sound.so.debug", "versola.pc"))
    flags = ["-Wl,-soname,libversola.so.1", "-Wl,-z,nodelete", f"-Wl,--version-script={Inputs.map}", *LINKED]
    build_stub(Inputs.header, library, flags=flags)
    shutil.copy(library, debug)
    run("strip", "--strip-unneeded", library)
    pkgconfig.write_text("Version: " + macro(Inputs.header, "VERSOLA_VERSION_STRING") + "\n")
    return replace(Inputs(), library=library, debug=debug, pkgconfig=pkgconfig)

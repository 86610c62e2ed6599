# SPDX-License-Identifier: Apache-2.0
"""The checks that hold libversola.so to its contract, include/versola.h. Each is a function of the files it compares;
its docstring is the rule, Failed tells what differs. Run by scripts/check-abi."""

import ctypes
import re
import runpy
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SIZE_LIMIT = 16_000_000
NAMES_SHOWN = 8
NEEDED = {"libcurl.so.4", "libssl.so.3", "libcrypto.so.3"}
NEEDED_RUNTIME = {"libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6"}  # and ld-linux-*.so.*
STANDARDS = [("c99", "c"), ("c11", "c"), ("c17", "c"), ("c++11", "c++"), ("c++17", "c++"), ("c++20", "c++")]
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]


class Failed(Exception):
    """A check did not hold; the text says what differs."""


@dataclass(frozen=True)
class Inputs:
    """What is held against each other. Replaced piece by piece in the self-test."""

    header: Path = ROOT / "include/versola.h"
    landed: Path = ROOT / "Tests/abi/landed/versola.h"
    map: Path = ROOT / "include/versola.map"
    library: Path = ROOT / "build/libversola.so"
    debug: Path = ROOT / "build/libversola.so.1.0.0.debug"
    python: Path = ROOT / "bindings/python/src/versola/_native.py"
    python_version: Path = ROOT / "bindings/python/src/versola/__init__.py"
    pkgconfig: Path = ROOT / "build/installed/lib/pkgconfig/versola.pc"


def run(*command, **options):
    """The standard output of a command; Failed with its messages when it fails."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    if result.returncode != 0:
        raise Failed(f"{command[0]}: {(result.stderr or result.stdout).strip()}")
    return result.stdout


def same(what, expected, found):
    """Compares two sets of names."""
    expected, found = set(expected), set(found)
    missing, extra = sorted(expected - found), sorted(found - expected)
    if missing or extra:
        raise Failed(f"{what}: missing {shown(missing)}; too many {shown(extra)}")


def shown(names):
    more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
    return (", ".join(str(name) for name in names[:NAMES_SHOWN]) or "none") + more


# --- What the files say -----------------------------------------------------------------------------------------------


def prototypes(header):
    """(name, prototype) of each function of the header, as the compiler understood it."""
    with tempfile.TemporaryDirectory() as folder:
        listing = Path(folder) / "prototypes"
        run("gcc", "-std=c11", "-fsyntax-only", "-aux-info", listing, "-x", "c", header)
        found = re.findall(
            rf"^/\* {re.escape(str(header))}:\d+:\w+ \*/ extern (.*?\b(\w+) \(.*\));$", listing.read_text(), re.M
        )
    return [(name, prototype.replace("_Bool", "bool")) for prototype, name in found]


def header_functions(header):
    return [name for name, _ in prototypes(header)]


def header_enumerators(header):
    """Name and value of every enumerator."""
    return {name: int(value) for name, value in re.findall(r"^    (VERSOLA_\w+) = (\d+)", header.read_text(), re.M)}


def macro(header, name):
    found = re.search(rf'^#define {name} "?([^"\s]+)"?', header.read_text(), re.M)
    if not found:
        raise Failed(f"{header.name} does not define {name}")
    return found.group(1)


def map_nodes(path):
    """{node: [names]} in the order of the file."""
    text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.S)
    nodes = {}
    for node, body in re.findall(r"(\w[\w.]*)\s*\{(.*?)\}", text, re.S):
        exported = re.search(r"global:(.*?)(local:|$)", body, re.S)
        nodes[node] = re.findall(r"([^\s;]+);", exported.group(1)) if exported else []
    if text.count("local: *;") != 1:
        raise Failed("the export map must hide everything else with one `local: *;`")
    return nodes


def exported_symbols(library):
    """{name: version node} of what the library defines for others."""
    symbols = {}
    for line in run("nm", "-D", "--extern-only", "--defined-only", "--with-symbol-versions", library).splitlines():
        kind, name = line.split()[1:3]
        name, _, node = name.partition("@@")
        if kind != "A":  # the version nodes themselves
            symbols[name] = node
    return symbols


def dynamic(library):
    """The dynamic section: {tag: [values]}."""
    section = {}
    for tag, value in re.findall(r"\((\w+)\)\s+(.*)$", run("readelf", "-dW", library), re.M):
        bracketed = re.search(r"\[(.*)\]", value)
        section.setdefault(tag, []).append(bracketed.group(1) if bracketed else value.strip())
    return section


def python_signatures(path):
    """The Python table, {name: (restype, *argtypes)}. Its module loads no library."""
    table = runpy.run_path(str(path))["FUNCTIONS"]
    return {name: (restype, *argtypes) for name, (restype, argtypes) in table.items()}


def ctypes_signature(prototype, structs, typedefs):
    """(restype, *argtypes) as ctypes has to see this prototype; a view is told by its members and their offsets, a
    pointer to a function by the types of that function."""
    result, parameters = re.fullmatch(r"(.*?)\w+ \((.*)\)", prototype).groups()
    return tuple(ctypes_type(text, structs, typedefs) for text in [result, *separate(parameters)])


def separate(parameters):
    """The parameters of a list; those of a pointer to a function stay with it."""
    found, depth = [""], 0
    for character in parameters:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            found.append("")
        else:
            found[-1] += character
    found = [text.strip() for text in found]
    return [] if found == ["void"] else found


def ctypes_type(text, structs, typedefs):
    pointed = re.fullmatch(r"(.*?)\(\*\w*\) ?\((.*)\)", typedefs.get(text, text))
    if pointed:
        parts = [pointed[1], *separate(pointed[2])]
        return ("function", *(ctypes_type(part, structs, typedefs) for part in parts))
    scalars = {"int32_t": ctypes.c_int32, "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64}
    scalars |= {"size_t": ctypes.c_size_t, "bool": ctypes.c_bool}
    words = [word for word in re.findall(r"\w+", text) if word != "const"]
    kind, pointers = words[0], text.count("*")
    if kind == "void":
        return ctypes.c_void_p if pointers else None
    if kind == "char":
        return ctypes.c_char_p
    if kind in scalars:
        return ctypes.POINTER(scalars[kind]) if pointers else scalars[kind]
    if kind in structs:
        return tuple((member, int(offset)) for _, member, offset in structs[kind])
    return ctypes.c_void_p if pointers == 1 else ctypes.POINTER(ctypes.c_void_p)


def function_typedefs(header):
    """{name: type} of the pointers to functions that the header names."""
    text = re.sub(r"/\*.*?\*/|\bVERSOLA_NULLABLE\b", "", header.read_text(), flags=re.S)
    return {
        name: f"{result} (*)({parameters})"
        for result, name, parameters in re.findall(r"^typedef (\w+) \(\*(\w+)\)\((.*?)\);", text, re.M | re.S)
    }


def ctypes_shown(kind):
    """A type of the Python table in the same terms."""
    target = getattr(kind, "_type_", None)
    if isinstance(target, type) and issubclass(target, ctypes.Structure):
        return tuple((member, getattr(target, member).offset) for member, *_ in target._fields_)
    if isinstance(kind, type) and hasattr(kind, "_argtypes_"):
        return ("function", kind._restype_, *kind._argtypes_)
    return kind


# --- A C library made from a header alone -----------------------------------------------------------------------------


def stub_source(header):
    """C source that defines every function of the header, and one more per enum: a status is an int32_t, so no function
    would carry the enum into the debug information that abidiff reads."""
    lines = [f'#include "{header}"']
    for name, prototype in prototypes(header):
        lines.append(prototype + (" {}" if prototype.startswith(f"void {name}") else " { return 0; }"))
    for enum in re.findall(r"^enum (\w+) \{", header.read_text(), re.M):
        lines.append(f'__attribute__((visibility("default"))) enum {enum} {enum}_of_stub(void) {{ return 0; }}')
    return "\n".join(lines) + "\n"


def views(header):
    """{struct: [(type, member, offset)]} of the structs whose members the header shows."""
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    structs = {
        name: re.findall(r"(\w[\w *]*?)\s*(\w+);", body)
        for name, body in re.findall(r"^typedef struct (\w+) \{(.*?)\}", text, re.M | re.S)
    }
    offsets = [f"offsetof({name}, {member})" for name, members in structs.items() for _, member in members]
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "offsets"
        prints = "".join(f'printf("%zu\\n", {offset});' for offset in offsets)
        code = f'#include <stdio.h>\n#include "{header}"\nint main(void) {{ {prints} }}\n'
        run("gcc", "-std=c11", "-o", program, "-x", "c", "-", input=code)
        found = iter(run(program).split())
    return {name: [(kind, member, next(found)) for kind, member in members] for name, members in structs.items()}


def build_stub(header, library, source="", flags=()):
    """Hidden by default: what the header forgot to mark VERSOLA_API is not exported."""
    code = library.with_suffix(".c")
    code.write_text(stub_source(header) + source)
    run("gcc", "-std=c11", "-g", "-shared", "-fPIC", "-fvisibility=hidden", "-o", library, code, *flags)


# --- The checks -------------------------------------------------------------------------------------------------------


def header_compiles_alone(inputs):
    """the header alone compiles without a warning as C99, C11, C17, C++11, C++17 and C++20"""
    compilers = [name for name in ("gcc", "clang") if shutil.which(name)]
    for compiler in compilers:
        for standard, language in STANDARDS:
            run(
                compiler,
                f"-std={standard}",
                *WARNINGS,
                "-fsyntax-only",
                f"-I{inputs.header.parent}",
                "-x",
                language,
                "-",
                input="#include <versola.h>\n",
            )


def header_marks_every_function(inputs):
    """every function of the header is marked VERSOLA_API"""
    with tempfile.TemporaryDirectory() as folder:
        stub = Path(folder) / "stub.so"
        build_stub(inputs.header, stub)
        names = [name for name in exported_symbols(stub) if not name.endswith("_of_stub")]
        same("marked functions", header_functions(inputs.header), names)


def header_keeps_what_landed(inputs):
    """nothing of the last landed header was changed or removed"""
    with tempfile.TemporaryDirectory() as folder:
        old, new, rules = (Path(folder) / name for name in ("old.so", "new.so", "rules"))
        # Views are left to views_grow_at_the_end: abidiff cannot tell growth at the end from members that moved.
        names = "|".join(views(inputs.landed))
        rules.write_text(f"[suppress_type]\n  type_kind = struct\n  name_regexp = ^({names})$\n")
        build_stub(inputs.landed, old)
        build_stub(inputs.header, new)
        run("abidiff", "--no-added-syms", "--suppressions", rules, old, new)


def views_grow_at_the_end(inputs):
    """every view still starts with the members it had in the last landed header"""
    new = views(inputs.header)
    for view, members in views(inputs.landed).items():
        if new.get(view, [])[: len(members)] != members:
            raise Failed(f"{view}: was {members}, is {new.get(view)}")


def map_is_header(inputs):
    """the export map names exactly the functions of the header"""
    same(
        "export map",
        header_functions(inputs.header),
        [name for names in map_nodes(inputs.map).values() for name in names],
    )


def library_is_header(inputs):
    """the library exports exactly the functions of the header"""
    same("exports", header_functions(inputs.header), exported_symbols(inputs.library))


def library_is_map(inputs):
    """every exported symbol has the version of its node in the export map"""
    expected = {name: node for node, names in map_nodes(inputs.map).items() for name in names}
    same("symbol versions", expected.items(), exported_symbols(inputs.library).items())


def python_is_header(inputs):
    """the Python table names exactly the functions of the header"""
    same("Python table", header_functions(inputs.header), python_signatures(inputs.python))


def python_has_the_types(inputs):
    """the Python table gives every function the types of the header"""
    table, structs = python_signatures(inputs.python), views(inputs.header)
    typedefs = function_typedefs(inputs.header)
    for name, prototype in prototypes(inputs.header):
        shown = tuple(ctypes_shown(kind) for kind in table.get(name, ()))
        if shown != ctypes_signature(prototype, structs, typedefs):
            raise Failed(f"{name}: the table says {shown}, the header {prototype}")


def needed(inputs):
    """the library needs libcurl, libssl, libcrypto and the C and C++ runtime, nothing else"""
    found = set(dynamic(inputs.library).get("NEEDED", []))
    runtime = NEEDED_RUNTIME | {name for name in found if name.startswith("ld-linux")}
    same("NEEDED", NEEDED, found - runtime)


def soname(inputs):
    """the SONAME carries VERSOLA_ABI_VERSION"""
    expected = "libversola.so." + macro(inputs.header, "VERSOLA_ABI_VERSION")
    same("SONAME", [expected], dynamic(inputs.library).get("SONAME", []))


def nodelete(inputs):
    """the library is marked NODELETE: a Swift runtime cannot be unloaded"""
    if "NODELETE" not in " ".join(dynamic(inputs.library).get("FLAGS_1", [])):
        raise Failed("the flag NODELETE is missing")


def no_runpath(inputs):
    """the library has no RPATH or RUNPATH"""
    found = dynamic(inputs.library)
    if "RPATH" in found or "RUNPATH" in found:
        raise Failed(f"search path: {found.get('RPATH', []) + found.get('RUNPATH', [])}")


def size(inputs):
    """the stripped library has at most 16 MB"""
    size = inputs.library.stat().st_size
    if ".debug_info" in run("readelf", "-SW", inputs.library) or ".symtab" in run("readelf", "-SW", inputs.library):
        raise Failed("the library is not stripped")
    if size > SIZE_LIMIT:
        raise Failed(f"{size:,} bytes, limit {SIZE_LIMIT:,}")
    return f"{size:,} bytes"


def no_icu(inputs):
    """neither ICU nor the large Foundation modules were linked in"""
    names = run("nm", inputs.debug)
    # Mangled names of the modules, and ICU as Foundation carries it: every function with a version suffix.
    heavy = re.findall(
        r"\S*(?:24FoundationInternationalization|20FoundationNetworking|u(?:cal|dat|loc|num)_open)\S*", names
    )
    if heavy:
        raise Failed(f"{len(heavy)} symbols, the first is {heavy[0]}")


def versions_agree(inputs):
    """header, export map, Python package and versola.pc tell the same version"""
    parts = [macro(inputs.header, f"VERSOLA_VERSION_{part}") for part in ("MAJOR", "MINOR", "PATCH")]
    version = ".".join(parts)
    found = {
        "VERSOLA_VERSION_STRING": macro(inputs.header, "VERSOLA_VERSION_STRING"),
        "versola.pc": re.search(r"^Version: (.*)$", inputs.pkgconfig.read_text(), re.M).group(1),
        "__version__": re.search(r'^__version__ = "(.*)"$', inputs.python_version.read_text(), re.M).group(1),
    }
    wrong = {name: value for name, value in found.items() if value != version}
    # Nodes are made by releases that add functions; none may be ahead of the version.
    newest = list(map_nodes(inputs.map))[-1]
    if [int(n) for n in newest.removeprefix("VERSOLA_").split(".")] > [int(n) for n in parts[:2]]:
        wrong[inputs.map.name] = newest
    if wrong:
        raise Failed(f"the header says {version}, but {wrong}")


CHECKS = [
    header_compiles_alone,
    header_marks_every_function,
    header_keeps_what_landed,
    views_grow_at_the_end,
    map_is_header,
    library_is_header,
    library_is_map,
    python_is_header,
    python_has_the_types,
    needed,
    soname,
    nodelete,
    no_runpath,
    size,
    no_icu,
    versions_agree,
]

# SPDX-License-Identifier: Apache-2.0
"""Builds the C tests and examples as a program outside would, and runs them, with and without valgrind.

    .venv/bin/python Tests/abi/run.py [--no-valgrind | --asan | --tsan]

They see nothing but the tree that `make install PREFIX=build/installed` made, through pkg-config and CMake; with --asan
or --tsan they, and the library of `make SANITIZE=address` or `=thread` that they load then, run under that sanitizer.
Prints TAP.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "Tests"))

from provider import CertificateAuthority, Provider, walk  # noqa: E402

INSTALLED = ROOT / "build/installed"
TOOLCHAIN = Path(
    json.loads(subprocess.check_output(["swift", "-print-target-info"]))["paths"]["runtimeLibraryPaths"][0]
)
SANITIZER = next((name for name in ("asan", "tsan") if f"--{name}" in sys.argv[1:]), None)
LIBRARIES = ROOT / "build" / SANITIZER if SANITIZER else INSTALLED / "lib"
COMPILER = {
    # The library was instrumented by Swift's clang, so the sanitizer's runtime in the programs has to be of that.
    "asan": ["clang", "-fuse-ld=lld", "-fsanitize=address"],
    # ThreadSanitizer's stands in for the functions of a shared libdispatch, and is exported only when asked for.
    "tsan": [
        *("clang", "-fuse-ld=lld", "-fsanitize=thread", "-rdynamic"),
        *("-ldispatch", "-lBlocksRuntime", f"-L{TOOLCHAIN}", f"-Wl,-rpath,{TOOLCHAIN}"),
    ],
    None: ["cc"],
}[SANITIZER]
HEADER = INSTALLED / "include/versola.h"
# What each is run under beside being run as it is. ThreadSanitizer is for those with threads: it knows nothing of fork,
# and the shared Swift runtime that its library needs has process manners of its own.
PROGRAMS = {
    "bad_settings": ("valgrind", "asan"),
    "bad_calls": ("valgrind", "asan"),
    "load": ("asan",),
    "fork": ("asan",),
    "exit": ("asan",),
    "queue": ("valgrind", "asan", "tsan"),
    "delivery": ("valgrind", "asan", "tsan"),
    "storm": ("valgrind", "asan", "tsan"),
    "late": ("valgrind", "asan", "tsan"),
    "login": ("valgrind", "asan", "tsan"),
}
PROCESS_PROGRAMS = {"process": ("asan",), "crowd": ("asan", "tsan")}
# Two of valgrind's checks say nothing about Swift code. Undefined values: an enum's tag lies in the top bits of a word
# whose other bits may be undefined, and valgrind takes a jump on the sign for one on the whole word. "Possibly lost":
# the Swift runtime's caches and Dispatch's threads, which live as long as the process, are held by pointers into their
# middle.
VALGRIND = [
    "valgrind",
    "--quiet",
    "--error-exitcode=99",
    "--undef-value-errors=no",
    "--leak-check=full",
    "--show-leak-kinds=definite",
    "--errors-for-leak-kinds=definite",
    "--num-callers=40",
    f"--suppressions={ROOT}/Tests/abi/valgrind.supp",
]
PATIENCE = 240  # seconds for one program, under valgrind and on a busy machine
FULL = os.environ.get("VERSOLA_TEST_FULL") == "1"


class Tap:
    def __init__(self):
        self.count = self.failed = 0

    def report(self, holds, name, detail=""):
        self.count += 1
        self.failed += not holds
        print(f"{'ok' if holds else 'not ok'} {self.count} - {name}")
        for line in detail.splitlines() if not holds else ():
            print(f"# {line}")
        sys.stdout.flush()

    def passed_on(self, program, output, status):
        """The results of a program that speaks TAP itself; its exit status must agree with them."""
        notes, last, plan, expected = [], "the start", None, 0
        for line in output.splitlines():
            result = re.match(r"(ok|not ok) \d+ - (.*)", line)
            if result:
                last = result[2]
                expected = expected or int(result[1] != "ok")
                self.report(result[1] == "ok", f"{program}: {last}", "\n".join(notes))
                notes = []
            elif line.startswith("1.."):
                plan = line
            else:
                notes.append(line.removeprefix("# "))
        if plan is None or status != expected:
            self.report(False, f"{program}: ran to its end", "\n".join([*notes, f"exit {status}, after: {last}"]))


tap = Tap()


def run(command, environment, patience=PATIENCE):
    try:
        return subprocess.run(
            [str(part) for part in command], env=environment, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=patience, stdin=subprocess.DEVNULL,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        output = expired.stdout or b""
        output = output.decode(errors="replace") if isinstance(output, bytes) else output
        return subprocess.CompletedProcess(command, -1, output + f"\n# no end after {patience} s", None)


def pkg_config(*packages):
    flags = run(
        ["pkg-config", "--cflags", "--libs", *(packages or ["versola"])],
        {**os.environ, "PKG_CONFIG_PATH": str(INSTALLED / "lib/pkgconfig")},
    )
    return shlex.split(flags.stdout)


def build(source, program, *more):
    flags = ["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-pthread"]
    result = run([*COMPILER, *flags, "-o", program, source, *more], dict(os.environ))
    tap.report(result.returncode == 0, f"{source.name} compiles without a warning", result.stdout)
    return result.returncode == 0


@contextmanager
def environment_of_a_person(folder, provider=None):
    """A home of its own, and a browser that walks the provider's pages by itself."""
    with tempfile.TemporaryDirectory(dir=folder) as home:
        browser = Path(home) / "browser"
        browser.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/Tests/abi/browser.py" "$1"\n')
        browser.chmod(0o755)
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "VERSOLA_"))}
        yield {
            **kept,
            "HOME": home,
            "XDG_STATE_HOME": str(Path(home) / "state"),
            "BROWSER": str(browser),
            "LD_LIBRARY_PATH": str(LIBRARIES),
            "VERSOLA_TEST_LIBRARY": str(LIBRARIES / "libversola.so.1"),
            "TSAN_OPTIONS": f"suppressions={ROOT}/Tests/abi/tsan.supp",
            **({"VERSOLA_TEST_ISSUER": provider.issuer} if provider else {}),
        }


def library_for_valgrind(folder):
    """The folder of a copy of the library with the names of its functions: valgrind needs those for readable reports,
    but gives up on the line numbers that Swift writes."""
    library, names = folder / "libversola.so.1", folder / "libversola.names"
    folder.mkdir()
    for command in [
        ["objcopy", "--strip-debug", ROOT / "build/libversola.so.1.0.0.debug", names],
        ["objcopy", "--remove-section=.gnu_debuglink", INSTALLED / "lib/libversola.so.1", library],
        ["objcopy", f"--add-gnu-debuglink={names}", library],
    ]:
        subprocess.run([str(part) for part in command], check=True)
    return folder


def test_programs(folder, valgrind):
    for name, tools in PROGRAMS.items():
        if SANITIZER and SANITIZER not in tools:
            continue
        source, program = ROOT / f"Tests/abi/{name}.c", folder / name
        loads_by_itself = name in ("load", "exit")
        flags = ["-I", HEADER.parent, "-ldl"] if loads_by_itself else pkg_config()
        if not build(source, program, *flags):
            continue
        for tool in [[], valgrind] if valgrind and "valgrind" in tools else [[]]:
            with Provider() as provider, environment_of_a_person(folder, provider) as environment:
                result = run([*tool, program], environment)
            label = f"{name} under valgrind" if tool else name
            tap.passed_on(label, result.stdout, result.returncode)


def test_process_manners(folder):
    """500 clients over TLS; 10,000 with VERSOLA_TEST_FULL=1, and what they leave behind is told."""
    copy, flags = folder / "another-copy.so", ["-D_GNU_SOURCE", "-ldl"]
    shutil.copy(LIBRARIES / "libversola.so.1", copy)
    authority = CertificateAuthority()
    with Provider(tls=authority.context()) as provider, environment_of_a_person(folder) as environment:
        environment.update(
            VERSOLA_TEST_COPY=str(copy),
            VERSOLA_TEST_SWIFT=str(TOOLCHAIN),
            VERSOLA_TEST_TLS_ISSUER=provider.issuer,
            VERSOLA_TEST_CA=str(authority.ca_file),
            VERSOLA_TEST_CLIENTS="10000" if FULL else "100" if SANITIZER else "500",
        )
        for name, tools in PROCESS_PROGRAMS.items():
            if SANITIZER and SANITIZER not in tools:
                continue
            if build(ROOT / f"Tests/abi/{name}.c", folder / name, "-rdynamic", *flags, *pkg_config()):
                result = run([folder / name], environment, patience=3600 if FULL else 2 * PATIENCE)
                tap.passed_on(name, result.stdout, result.returncode)
                if FULL:
                    print(*(line for line in result.stdout.splitlines() if line.startswith("# after")), sep="\n")
        # A sanitizer's runtime refuses dlopen() with RTLD_DEEPBIND: its own names would not be found either.
        host = folder / "host_symbols"
        header = ["-I", HEADER.parent]
        if SANITIZER is None and build(ROOT / "Tests/abi/host_symbols.c", host, "-rdynamic", *header, *flags):
            result = run([host], environment)
            tap.passed_on("host_symbols", result.stdout, result.returncode)


def test_bad_input_names_every_function():
    declared = set(re.findall(r"\b(versola_\w+)\(", re.sub(r"/\*.*?\*/", "", HEADER.read_text(), flags=re.S)))
    sources = "".join((ROOT / f"Tests/abi/{name}.c").read_text() for name in ("bad_settings", "bad_calls"))
    named = set(re.findall(r"\bversola_\w+", sources))
    tap.report(
        declared <= named,
        "the tests of bad input call every function of the header",
        f"not: {sorted(declared - named)}",
    )


def hello_world_of_the_header():
    comment = re.search(r"HELLO WORLD\n \*\n(.*?\n)(?= \*\n)", HEADER.read_text(), re.S)[1]
    return "".join(line.removeprefix(" *     ") + "\n" for line in comment.splitlines())


def test_hello(folder, valgrind):
    example = (ROOT / "examples/c/hello.c").read_text()
    hello = hello_world_of_the_header()
    tap.report(hello in example, "examples/c/hello.c is the hello world of the header")
    statements = hello[hello.index("int main(void) {\n") : hello.rindex("}")].splitlines()[1:]
    tap.report(len(statements) < 15, f"hello world has {len(statements)} lines, under fifteen")
    with Provider() as provider, environment_of_a_person(folder, provider) as environment:
        source, program = folder / "hello.c", folder / "hello"
        source.write_text(
            example.replace("https://id.example.com", provider.issuer).replace('"my-app"', '"native-app"')
        )
        if build(source, program, *pkg_config()):
            result = run([*valgrind, program], environment)
            greeted = result.returncode == 0 and "Hello, alice\n" in result.stdout
            tap.report(greeted, "hello signs in", result.stdout)


def example_output(program, provider, environment, tool, on_url):
    """Runs an example that shows the URL; `on_url` is given the process and the URL."""
    command = [str(part) for part in [*tool, program, provider.issuer, "native-app"]]
    output = []
    with subprocess.Popen(
        command, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
    ) as process:
        watchdog = threading.Timer(PATIENCE, process.kill)
        watchdog.start()
        for line in process.stdout:
            output.append(line)
            if line.startswith("    http"):
                on_url(process, line.strip())
        process.wait(PATIENCE)
        watchdog.cancel()
    return process.returncode, "".join(output)


# What each example says when all goes well, in this order, and when Ctrl-C ends it; None: it takes no Ctrl-C.
EXAMPLES = {
    "poll": (
        [
            "state: unauthenticated",
            "state: authorizing",
            "state: authenticated",
            "signed in: alice",
            "access token: ",
            "state: logging out",
            "signed out; revoked at the provider: yes",
        ],
        "failed: ",
    ),
    "callback": (["signed in: alice", "access token: ", "signed out; revoked at the provider: yes"], None),
    "glib": (["signed in: alice"], "cancelled"),
}


def test_examples(folder, valgrind):
    for name, (expected, interrupted) in EXAMPLES.items():
        program = folder / name
        packages = ["versola", "glib-2.0"] if name == "glib" else ["versola"]
        if not build(ROOT / f"examples/c/{name}.c", program, *pkg_config(*packages)):
            continue
        for tool in [[], valgrind] if valgrind else [[]]:
            label = f"{name} under valgrind" if tool else name
            with Provider() as provider, environment_of_a_person(folder) as environment:
                status, output = example_output(program, provider, environment, tool, lambda _, url: walk(url))
                places = [output.find(text) for text in expected]
                in_order = -1 not in places and places == sorted(places)
                tap.report(status == 0 and in_order, f"{label} signs in and goes to its end", output)
                if interrupted is None:
                    continue
                status, output = example_output(
                    program, provider, environment, tool, lambda process, _: process.send_signal(signal.SIGINT)
                )
                tap.report(status == 1 and interrupted in output, f"{label} ends at Ctrl-C", f"exit {status}\n{output}")


def test_cmake(folder):
    project = folder / "project"
    project.mkdir()
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(hello C)\nfind_package(versola 0.1 REQUIRED)\n"
        f"add_executable(hello {ROOT}/examples/c/hello.c)\ntarget_link_libraries(hello PRIVATE versola::versola)\n"
    )
    configure = ["cmake", "-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={INSTALLED}"]
    for name, command in [("configures", configure), ("builds", ["cmake", "--build", project / "build"])]:
        result = run(command, dict(os.environ))
        tap.report(result.returncode == 0, f"a CMake project with find_package(versola) {name}", result.stdout)
    (project / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(hello C)\nfind_package(versola 99 REQUIRED)\n"
    )
    result = run(configure, dict(os.environ))
    tap.report(result.returncode != 0, "find_package refuses another major version", result.stdout)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        valgrind = []
        if SANITIZER is None and "--no-valgrind" not in sys.argv[1:]:
            valgrind = ["env", f"LD_LIBRARY_PATH={library_for_valgrind(folder / 'names')}", *VALGRIND]
        test_bad_input_names_every_function()
        test_programs(folder, valgrind)
        test_process_manners(folder)
        test_hello(folder, valgrind)
        test_examples(folder, valgrind)
        if SANITIZER is None:
            test_cmake(folder)
    print(f"1..{tap.count}")
    return 1 if tap.failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""The code of the documentation, run as its readers would run it.

Every fenced block in C or Python has to compile. Comments right before it, which nobody sees, say how it is run:

    <!-- run; says Hello, alice -->                       a program: ends with status 0 and prints this line
    <!-- run NAME; token 503; says show_retry_button -->  a function: called with a client that has a stored session

Several comments are several runs. What follows `run`, separated by `;`:

    ENDPOINT STATUS            the next answer of this endpoint of the scripted provider; `retry-after SECONDS` and
                               `N times` may follow
    again                      the function is called a second time
    step-up                    the next answer of UserInfo: a demand for a stronger sign-in
    pastes                     a person copies the redirect of the URL that is shown back into the program
    twice                      the program is run again, on the same store
    says TEXT                  a line of the output; several are found in this order
    ENDPOINT is asked N times  by all runs together, the login that stored the session of a function included

Issuer, client id and API of the examples stand for those of the scripted provider, and the functions below for those
that an app would have.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from conftest import unavailable
from provider import Answer, Provider, walk

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = Path(os.environ.get("VERSOLA_LIBRARY", ROOT / "build/libversola.so.1"))
PAGES = [
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs/ru").glob("*.md")),
    ROOT / "README.md",
    ROOT / "bindings/python/README.md",
]
BLOCK = re.compile(r"(?P<comments>(?:^<!--[^\n]*-->\n)*)^```(?P<language>c|python)\n(?P<code>.*?)^```$", re.M | re.S)

# What an app would have: each says its name.
APP = ["show_app", "show_sign_in_button", "show_continue_in_browser", "show_spinner", "show_prompt", "show_unlock_help"]
APP += ["show_retry_button", "show_offline", "show_fault"]
APP_IN_C = "#include <stdint.h>\n#include <stdio.h>\n#include <string.h>\n#include <versola.h>\n" + "".join(
    [f'void {name}(void) {{ puts("{name}"); }}\n' for name in APP]
    + ['void use_token(const char *value) { puts(value != NULL ? "use_token" : "no token"); }\n']
    + ['void schedule_retry(int64_t after_ms) { printf("schedule_retry %d\\n", (int)((after_ms + 999) / 1000)); }\n']
    + ['void show_countdown(int64_t seconds) { puts(seconds > 0 ? "show_countdown" : "no time left"); }\n']
)
MAIN_IN_C = """
int main(void) {
    versola_client *client = NULL;
    versola_config *config = versola_config_new("https://id.example.com", "my-app");
    versola_config_set_redirect_uri(config, "http://127.0.0.1/callback");
    int32_t status = versola_client_create(config, &client, NULL);
    if (status == VERSOLA_OK)
        NAME(client);
    versola_client_release(client);
    versola_config_release(config);
    return status;
}
"""
APP_IN_PYTHON = "import math, versola\n" + "".join(
    [f'def {name}(): print("{name}")\n' for name in APP]
    + ['def use_token(value): print("use_token" if value else "no token")\n']
    + ['def schedule_retry(after): print("schedule_retry", math.ceil(after.total_seconds()))\n']
    + ['def show_countdown(seconds): print("show_countdown" if seconds > 0 else "no time left")\n']
)
MAIN_IN_PYTHON = """
with versola.OAuthClient(
    "https://id.example.com", client_id="my-app", redirect_uri="http://127.0.0.1/callback"
) as client:
    NAME(client)
"""
STEP_UP = Answer(
    status=401,
    headers={"WWW-Authenticate": 'Bearer error="insufficient_user_authentication", acr_values="phr", max_age="300"'},
)


@dataclass(frozen=True)
class Block:
    page: Path
    line: int
    language: str
    code: str
    runs: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True)
class Run:
    block: Block
    function: str | None
    steps: tuple[str, ...]

    @classmethod
    def parse(cls, block: Block, comment: str) -> Run:
        first, *steps = (part.strip() for part in comment.split(";"))
        return cls(block, first.partition(" ")[2] or None, tuple(steps))

    def __str__(self) -> str:
        return "; ".join([str(self.block), *(step.replace(" ", "-") for step in self.steps)])

    @property
    def says(self) -> list[str]:
        return [step.partition(" ")[2] for step in self.steps if step.startswith("says ")]

    @property
    def asks(self) -> dict[str, int]:
        found = (re.fullmatch(r"(\w+) is asked (\d+) times?", step) for step in self.steps)
        return {one[1]: int(one[2]) for one in found if one}

    def source(self, issuer: str) -> str:
        """The program: a function gets the app around it. The examples' names become those of the scripted provider."""
        app, main = {"c": (APP_IN_C, MAIN_IN_C), "python": (APP_IN_PYTHON, MAIN_IN_PYTHON)}[self.block.language]
        code = self.block.code
        if self.function is not None:
            if "again" in self.steps:
                main = main.replace("NAME(client)", "NAME(client), NAME(client)")
            code = app + code + main.replace("NAME", self.function)
        for example, real in {
            "https://id.example.com": issuer,
            "https://api.example.com/me": f"{issuer}/api",
            "my-app": "native-app",
        }.items():
            code = code.replace(example, real)
        return code


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in BLOCK.finditer(text):
        comments = re.findall(r"<!-- *(run\b.*?) *-->", found["comments"])
        line = text.count("\n", 0, found.start("code"))
        yield Block(page, line, found["language"], found["code"], tuple(comments))


BLOCKS = [block for page in PAGES for block in blocks_of(page)]
RUNS = [Run.parse(block, comment) for block in BLOCKS for comment in block.runs]


def compiled(source: str, folder: Path, *more: str) -> Path:
    if shutil.which("cc") is None:
        unavailable("no C compiler")
    file, program = folder / "block.c", folder / "block"
    file.write_text(source)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-I", str(ROOT / "include")]
    done = subprocess.run(["cc", *flags, str(file), *more, "-o", str(program)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return program


@pytest.mark.parametrize("block", BLOCKS, ids=str)
def test_it_compiles(block: Block, tmp_path: Path) -> None:
    if block.language == "python":
        compile(block.code, str(block), "exec")
    else:
        app = "" if "int main(" in block.code else APP_IN_C
        compiled(app + block.code, tmp_path, "-c")


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as provider:
        yield provider


@pytest.fixture
def environment(tmp_path: Path, own_state_directory: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A home of its own, and a browser whose person has signed in at the provider long ago."""
    monkeypatch.setenv("VERSOLA_LIBRARY", str(LIBRARY))
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{ROOT}/Tests/abi/browser.py" "$1"\n')
    browser.chmod(0o755)
    return {
        **os.environ,
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(own_state_directory),
        "BROWSER": str(browser),
        "PYTHONPATH": str(ROOT / "bindings/python/src"),
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


@pytest.mark.parametrize("run", RUNS, ids=str)
def test_it_runs(
    run: Run, provider: Provider, environment: dict[str, str], library: ModuleType, tmp_path: Path
) -> None:
    if run.function is not None:
        with library.OAuthClient(
            provider.issuer, client_id="native-app", redirect_uri="http://127.0.0.1/callback", browser=walk
        ) as client:
            client.login()
    for step in run.steps:
        scripted = re.fullmatch(r"(\w+) (\d{3})(?: retry-after (\d+))?(?: (\d+) times)?", step)
        if scripted is not None:
            headers = {"Retry-After": scripted[3]} if scripted[3] else {}
            for _ in range(int(scripted[4] or 1)):
                provider.script(scripted[1], Answer(status=int(scripted[2]), headers=headers))
        elif step == "step-up":
            provider.script("userinfo", STEP_UP)
        else:
            known = step in ("pastes", "twice", "again") or step.startswith("says ") or " is asked " in step
            assert known, f"no such step: {step}"
    source = run.source(provider.issuer)
    if run.block.language == "c":
        command = [str(compiled(source, tmp_path, str(LIBRARY), f"-Wl,-rpath,{LIBRARY.resolve().parent}"))]
    else:
        file = tmp_path / "block.py"
        file.write_text(source)
        command = [sys.executable, "-u", str(file)]
    output = ""
    for _ in range(2 if "twice" in run.steps else 1):
        status, printed = outcome(command, environment, provider.issuer if "pastes" in run.steps else None)
        output += printed
        assert status == 0, output
    said = iter(output.splitlines())
    for line in run.says:
        assert line in said, f"missing, or not in this order: {line!r} in\n{output}"
    assert provider.unused_answers() == {}
    assert {endpoint: len(provider.requests(endpoint)) for endpoint in run.asks} == run.asks


def outcome(command: list[str], environment: dict[str, str], pasted_from: str | None) -> tuple[int, str]:
    """Status and output. With an issuer, the redirect of a URL of it that was shown is pasted into the program."""
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        patience = threading.Timer(60, process.kill)
        patience.start()
        output = []
        try:
            for line in process.stdout:
                output.append(line)
                if pasted_from is not None and line.startswith(pasted_from):
                    redirect = walk(line.strip(), stop_at="http://127.0.0.1:" + port_of_redirect(line)).url
                    process.stdin.write(redirect + "\n")
                    process.stdin.flush()
            process.wait()
        finally:
            patience.cancel()
    return process.returncode, "".join(output)


def port_of_redirect(url: str) -> str:
    found = re.search(r"redirect_uri=http%3A%2F%2F127\.0\.0\.1%3A(\d+)", url)
    assert found is not None, url
    return found[1]


@pytest.mark.parametrize("page", sorted((ROOT / "docs/ru").glob("*.md")), ids=lambda page: page.name)
def test_a_translation_has_the_same_code(page: Path) -> None:
    translated, original = ([(one.code, one.runs) for one in blocks_of(at)] for at in (page, ROOT / "docs" / page.name))
    assert translated == original


@pytest.mark.parametrize("folder", ["docs", "docs/ru"])
def test_every_state_and_cause_of_the_header_is_explained(folder: str) -> None:
    header = (ROOT / "include/versola.h").read_text()
    page = (ROOT / folder / "session-states-and-errors.md").read_text()
    names = re.findall(r"VERSOLA_(?:STATE|CAUSE|NETWORK)_(\w+) =", header)
    assert len(names) > 30
    assert [name for name in names if f"`{name}`" not in page] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """To files of this repository, and to headings of pages in it as GitHub names them."""
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if "://" in target:
            continue
        path, _, heading = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        if heading:
            titles = re.findall(r"^#+ (.*)$", file.read_text(), re.M)
            slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
            assert heading in slugs, target

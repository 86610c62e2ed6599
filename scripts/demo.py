# SPDX-License-Identifier: Apache-2.0
"""`make demo`: a real OpenID Provider on loopback, and examples/python/signin.py signing in on it.

The browser is yours where there is a display; else headless Chromium where installed; else the provider's pages are
walked over HTTP. It says which. `--keep DIR` keeps the provider's data and the session there; otherwise both go.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
PARTS = REPOSITORY / "scripts" / "demo"
CLIENT_ID = "native-app"


@contextlib.contextmanager
def folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        yield kept.resolve()
        return
    with tempfile.TemporaryDirectory(prefix="versola-demo-") as temporary:
        yield Path(temporary)


@contextlib.contextmanager
def provider(data: Path) -> Iterator[str]:
    """The issuer of a provider that runs until the block ends."""
    with (data / "provider.log").open("w") as log:
        command = [sys.executable, str(PARTS / "provider.py"), str(data)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
            try:
                assert process.stdout is not None
                words = process.stdout.readline().split()
                if words[:2] != ["provider:", "issuer"]:
                    raise SystemExit("The provider did not start:\n" + (data / "provider.log").read_text()[-2000:])
                yield words[2]
            finally:
                process.terminate()


def way() -> str:
    if os.environ.get("BROWSER") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return "yours"
    return "chromium" if shutil.which("chromium") and shutil.which("chromedriver") else "walk"


def stand_in(which: str, data: Path, outcome: Path) -> Path:
    """A program for $BROWSER. It knows all by itself: the library starts browsers in a clean environment."""
    launcher = data / "browser"
    words = [sys.executable, str(PARTS / "browse.py"), which, str(outcome)]
    quoted = " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
    launcher.write_text(f'#!/bin/sh\nexec {quoted} "$1"\n')
    launcher.chmod(0o700)
    return launcher


def environment(data: Path) -> dict[str, str]:
    found = {**os.environ, "XDG_STATE_HOME": str(data / "state")}
    found["PYTHONPATH"] = os.pathsep.join(
        piece for piece in (str(REPOSITORY / "bindings" / "python" / "src"), os.environ.get("PYTHONPATH")) if piece
    )
    found.setdefault("VERSOLA_LIBRARY", str(REPOSITORY / "build" / "libversola.so"))
    return found


def said_by_page(outcome: Path) -> str:
    """What the stand-in read; it may still be reading when the app has long gone on."""
    end = time.monotonic() + 20
    while time.monotonic() < end:
        if outcome.exists() and (said := outcome.read_text()):
            return said
        time.sleep(0.05)
    return "the browser did not say"


SAYS = {
    "yours": "your own. Sign in as alice with the password correct-horse.",
    "chromium": "headless Chromium, signing in as alice (there is no display)",
    "walk": "none here and no display, so the provider's pages are walked over HTTP, as alice",
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Signs in on a real OpenID Provider that this starts.")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep the provider's data and the session in DIR")
    parser.add_argument("--browser", choices=list(SAYS), default=way(), help="in place of what is found")
    arguments = parser.parse_args()

    with folder(arguments.keep) as data, provider(data) as issuer:
        outcome = data / "outcome"
        outcome.unlink(missing_ok=True)
        settings = environment(data)
        print(f"provider: {issuer} (django-oauth-toolkit)")
        print(f"browser: {SAYS[arguments.browser]}", flush=True)
        if arguments.browser != "yours":
            settings["BROWSER"] = str(stand_in(arguments.browser, data, outcome))
        signin = [sys.executable, str(REPOSITORY / "examples" / "python" / "signin.py")]
        options = ["--scopes", "openid profile email", "--api", f"{issuer}/userinfo/"]
        command = [*signin, issuer, CLIENT_ID, *options]
        try:
            status = subprocess.run(command, env=settings, timeout=600).returncode
        except subprocess.TimeoutExpired:
            print("Nobody signed in within 10 minutes.")
            status = 1
        if arguments.browser != "yours" and status == 0:
            print(f"page: {said_by_page(outcome)}")
        if arguments.keep is not None:
            print(f"kept in: {data}")
        return status


if __name__ == "__main__":
    sys.exit(main())

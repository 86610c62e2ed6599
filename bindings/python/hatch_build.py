# SPDX-License-Identifier: Apache-2.0
"""Puts the built library into the wheel: ``VERSOLA_LIBRARY=…/libversola.so.1 python -m build --wheel``.

Without ``VERSOLA_LIBRARY`` the wheel holds none and uses the system's, as a distribution wants it.
"""

from __future__ import annotations

import os
import re
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class LibraryHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        library = os.environ.get("VERSOLA_LIBRARY")
        if version == "editable" or not library:
            return
        path = Path(library).resolve(strict=True)
        build_data["force_include"][str(path)] = "versola/lib/libversola.so.1"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform(path)}"


def _platform(library: Path) -> str:
    """The manylinux tag of the glibc that the library's symbols ask for.

    libcurl and OpenSSL stay the system's, with its security updates. No tag can say that; the README does.
    """
    versions = {(int(major), int(minor)) for major, minor in re.findall(rb"GLIBC_(\d+)\.(\d+)", library.read_bytes())}
    major, minor = max(versions)
    machine = sysconfig.get_platform().partition("-")[2].replace("-", "_").replace(".", "_")
    return f"manylinux_{major}_{minor}_{machine}"

# SPDX-License-Identifier: Apache-2.0
"""What the tests need from the rest of the repository: the header, the built library, the scripted provider."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import versola
from versola import _library

ROOT = Path(__file__).resolve().parents[3]
SOURCES = Path(versola.__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def header() -> str:
    return (ROOT / "include" / "versola.h").read_text()


@pytest.fixture(scope="session")
def library() -> Any:
    """The library under test: ``$VERSOLA_LIBRARY``, or where ``make`` puts it."""
    built = ROOT / "build" / _library.SONAME
    if "VERSOLA_LIBRARY" not in os.environ and built.exists():
        os.environ["VERSOLA_LIBRARY"] = str(built)
    try:
        return _library.load()
    except ImportError as error:
        pytest.skip(f"NO LIBRARY: {error}")

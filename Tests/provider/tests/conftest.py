# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Iterator

import pytest

from provider import Provider

from .native_client import NativeClient


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as running:
        yield running


@pytest.fixture
def client(provider: Provider) -> NativeClient:
    return NativeClient(provider)

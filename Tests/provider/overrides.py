# SPDX-License-Identifier: Apache-2.0
"""Changes laid over a JSON object that the provider would otherwise send as it is."""

from __future__ import annotations

from typing import Any


class Overrides:
    """Members set to another value, and members taken out. `None` is a value (JSON null), not an absence."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._removed: set[str] = set()

    def __setitem__(self, name: str, value: Any) -> None:
        self._removed.discard(name)
        self._values[name] = value

    def update(self, values: dict[str, Any]) -> None:
        for name, value in values.items():
            self[name] = value

    def remove(self, *names: str) -> None:
        for name in names:
            self._values.pop(name, None)
            self._removed.add(name)

    def clear(self) -> None:
        self._values.clear()
        self._removed.clear()

    def apply(self, members: dict[str, Any]) -> dict[str, Any]:
        kept = {name: value for name, value in members.items() if name not in self._removed}
        return {**kept, **self._values}

# SPDX-License-Identifier: Apache-2.0
"""Signing keys and what JWKS shows of them."""

from __future__ import annotations

import functools
import itertools
from typing import Any

from joserfc.jwk import ECKey, OKPKey, RSAKey

Key = RSAKey | ECKey | OKPKey

_CURVES = {"ES256": "P-256", "ES384": "P-384", "ES512": "P-521"}
_numbers = itertools.count(1)


def make_key(alg: str, bits: int = 2048) -> Key:
    """A fresh key that fits the algorithm. Raises ValueError for one that signs with no key pair."""
    if alg[:2] in ("RS", "PS"):
        return RSAKey.generate_key(bits)
    if alg in _CURVES:
        return ECKey.generate_key(_CURVES[alg])
    if alg == "EdDSA":
        return OKPKey.generate_key("Ed25519")
    raise ValueError(f"no key pair for {alg}")


@functools.cache
def _shared_key(alg_family: str, turn: int) -> Key:
    """RSA keys take long to make, and a test does not care whose they were: one per family and turn and process."""
    return make_key(alg_family)


class SigningKeys:
    """The current key of each algorithm, and the set that JWKS publishes."""

    def __init__(self) -> None:
        self._current: dict[str, tuple[str, Key]] = {}
        self._turns: dict[str, int] = {}
        self._retired: list[dict[str, Any]] = []
        self.published: list[dict[str, Any]] | None = None
        """In place of the set that follows from the keys."""

    def use(self, alg: str) -> tuple[str, Key]:
        """`kid` and key for this algorithm, made at first use."""
        if alg not in self._current:
            turn = self._turns.get(alg, 0)
            self._current[alg] = (f"{alg.lower()}-{next(_numbers)}", _shared_key(alg, turn))
        return self._current[alg]

    def stranger(self, alg: str) -> Key:
        """A key of the right kind that is published nowhere."""
        return _shared_key(alg, -1)

    def rotate(self, alg: str = "RS256", *, keep_old: bool = False, to: Key | None = None) -> None:
        """The next token is signed by a new key with a new `kid`; the old one leaves the set unless it is kept."""
        if alg in self._current and keep_old:
            self._retired.append(self.public(alg))
        self._turns[alg] = self._turns.get(alg, 0) + 1
        key = to or _shared_key(alg, self._turns[alg])
        self._current[alg] = (f"{alg.lower()}-{next(_numbers)}", key)

    def put(self, alg: str, key: Key) -> str:
        """The next token is signed by this key; tells its `kid`."""
        self._current[alg] = (f"{alg.lower()}-{next(_numbers)}", key)
        return self._current[alg][0]

    def public(self, alg: str) -> dict[str, Any]:
        kid, key = self.use(alg)
        return {**key.as_dict(private=False), "kid": kid, "alg": alg, "use": "sig"}

    def jwks(self) -> dict[str, Any]:
        if self.published is not None:
            return {"keys": self.published}
        return {"keys": [self.public(alg) for alg in self._current] + self._retired}

# SPDX-License-Identifier: Apache-2.0
"""What only Keycloak's administrator can do."""

from __future__ import annotations

import requests

from running_peer import RunningPeer


def shorten_access_tokens(running: RunningPeer, client_id: str, *, seconds: int) -> None:
    """From now on this client's access tokens live so long."""
    base, _, realm = running.issuer.rpartition("/realms/")
    credentials = {"grant_type": "password", "client_id": "admin-cli", "username": "admin", "password": "correct-horse"}
    session = requests.Session()
    answer = session.post(f"{base}/realms/master/protocol/openid-connect/token", data=credentials, timeout=30)
    answer.raise_for_status()
    session.headers["Authorization"] = f"Bearer {answer.json()['access_token']}"
    clients = f"{base}/admin/realms/{realm}/clients"
    found = session.get(clients, params={"clientId": client_id}, timeout=30)
    found.raise_for_status()
    client = found.json()[0]
    client["attributes"]["access.token.lifespan"] = str(seconds)
    session.put(f"{clients}/{client['id']}", json=client, timeout=30).raise_for_status()

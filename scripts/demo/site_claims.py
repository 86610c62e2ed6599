# SPDX-License-Identifier: Apache-2.0
"""What the demo's provider tells of a person."""

from __future__ import annotations

from oauth2_provider.oauth2_validators import OAuth2Validator


class Claims(OAuth2Validator):
    oidc_claim_scope = {
        **OAuth2Validator.oidc_claim_scope,
        "name": "profile",
        "preferred_username": "profile",
        "email": "email",
    }

    def get_additional_claims(self, request):  # type: ignore[no-untyped-def]
        user = request.user
        return {"name": user.get_full_name(), "preferred_username": user.username, "email": user.email}

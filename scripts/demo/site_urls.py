# SPDX-License-Identifier: Apache-2.0
"""The pages of the demo's provider."""

from __future__ import annotations

import json
from typing import Any

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, JsonResponse
from django.urls import include, path
from oauth2_provider import urls as toolkit
from oauth2_provider.views import ConnectDiscoveryInfoView


class Discovery(ConnectDiscoveryInfoView):
    """The toolkit names its revocation endpoint in its RFC 8414 document only; here OpenID clients find it, too."""

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> JsonResponse:
        members = json.loads(super().get(request, *args, **kwargs).content)
        members["revocation_endpoint"] = members["token_endpoint"].replace("/token/", "/revoke_token/")
        members["token_endpoint_auth_methods_supported"].append("none")
        return JsonResponse(members)


urlpatterns = [
    path("login/", LoginView.as_view()),
    path("o/.well-known/openid-configuration", Discovery.as_view()),
    path("o/", include(toolkit, namespace="oauth2_provider")),
]

# SPDX-License-Identifier: Apache-2.0
"""Versola: a native OAuth 2.0 / OpenID Connect client.

>>> import versola
>>> with versola.OAuthClient(
...     "https://id.example.com", client_id="my-app", redirect_uri="http://127.0.0.1/callback"
... ) as client:  # doctest: +SKIP
...     print("Hello,", client.sign_in().subject)
"""

import logging as _logging

from ._client import OAuthClient
from ._configuration import KeyFile, OAuthConfiguration, ProviderEndpoints
from ._errors import (
    Cause,
    ConfigurationCause,
    ConfigurationError,
    NetworkReason,
    ReauthenticateCause,
    ReauthenticateError,
    RecoverableCause,
    RecoverableError,
    StepUpCause,
    StepUpError,
    VersolaError,
)
from ._retry_policy import RetryPolicy
from ._values import Identity, LogoutResult, SessionState, SessionStateChange, Token

__version__ = "0.1.0"

__all__ = [
    "Cause",
    "ConfigurationCause",
    "ConfigurationError",
    "Identity",
    "KeyFile",
    "LogoutResult",
    "NetworkReason",
    "OAuthClient",
    "OAuthConfiguration",
    "ProviderEndpoints",
    "ReauthenticateCause",
    "ReauthenticateError",
    "RecoverableCause",
    "RecoverableError",
    "RetryPolicy",
    "SessionState",
    "SessionStateChange",
    "StepUpCause",
    "StepUpError",
    "Token",
    "VersolaError",
    "__version__",
]

# Silent unless the program configures logging.
_logging.getLogger("versola").addHandler(_logging.NullHandler())

# SPDX-License-Identifier: Apache-2.0
"""A scripted OpenID Provider over real loopback sockets. See README.md."""

from .answer import Answer, Cut, Response
from .browser import Browser, Page, walk
from .gate import Gate
from .grants import Reuse
from .id_token import IDTokenShape, sign
from .journal import Request, Resent
from .provider import Client, Provider
from .script import Accept
from .tls import CertificateAuthority

__all__ = [
    "Accept",
    "Answer",
    "Browser",
    "CertificateAuthority",
    "Client",
    "Cut",
    "Gate",
    "IDTokenShape",
    "Page",
    "Provider",
    "Request",
    "Resent",
    "Response",
    "Reuse",
    "sign",
    "walk",
]

# SPDX-License-Identifier: Apache-2.0
"""django-oauth-toolkit as an OpenID Provider in one process: `provider.py DATADIR`.

A real provider, kept by others (BSD licence), in the smallest site that Django allows: one public client and two
people, alice and bob. Any free loopback port, the same again on the same folder. Prints `provider: issuer URL` when it
serves. Everything it knows lies in DATADIR.
"""

from __future__ import annotations

import secrets
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from django.conf import settings
from django.core.management import call_command
from django.core.wsgi import get_wsgi_application

PASSWORD = "correct-horse"
CLIENT_ID = "native-app"
REDIRECT_URI = "http://127.0.0.1/callback"
SIGN_IN_PAGE = """<!doctype html>
<html lang="en">
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<title>Sign in to the demo provider</title>
<style>body { font: 1rem/1.5 system-ui, sans-serif; max-width: 22rem; margin: 4rem auto } input { width: 100% }</style>
<h1>Demo provider</h1>
<form method="post">{% csrf_token %}{{ form.as_p }}
<input type="hidden" name="next" value="{{ next }}"><button type="submit">Sign in</button></form>
"""


def signing_key(file: Path) -> str:
    """The key of an earlier run on the same folder, else a new one."""
    if not file.exists():
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        file.touch(mode=0o600)
        file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return file.read_text()


def remembered_port(file: Path) -> int:
    """A session belongs to its issuer, so a kept folder means the same port. 0: any."""
    return int(file.read_text()) if file.exists() else 0


def configure(data: Path) -> None:
    applications = ["auth", "contenttypes", "sessions"]
    context = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]
    templates = ("django.template.loaders.locmem.Loader", {"registration/login.html": SIGN_IN_PAGE})
    settings.configure(
        SECRET_KEY=secrets.token_urlsafe(48),
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF="site_urls",
        USE_TZ=True,
        LOGIN_URL="/login/",
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": data / "db.sqlite3"}},
        INSTALLED_APPS=[f"django.contrib.{name}" for name in applications] + ["oauth2_provider"],
        MIDDLEWARE=[
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "context_processors": context,
                    "loaders": [templates, "django.template.loaders.app_directories.Loader"],
                },
            }
        ],
        LOGGING_CONFIG=None,
        OAUTH2_PROVIDER={
            "OIDC_ENABLED": True,
            "OIDC_RSA_PRIVATE_KEY": signing_key(data / "signing-key.pem"),
            "OAUTH2_VALIDATOR_CLASS": "site_claims.Claims",
            "SCOPES": {"openid": "Who you are", "profile": "Your name", "email": "Your e-mail address"},
            "PKCE_REQUIRED": True,
            "ALLOWED_SCHEMES": ["http", "https"],
            "ALLOW_LOCALHOST_LOOPBACK": True,
            "ACCESS_TOKEN_EXPIRE_SECONDS": 600,
            "ROTATE_REFRESH_TOKEN": True,
            "REFRESH_TOKEN_REUSE_PROTECTION": True,
            "OIDC_RP_INITIATED_LOGOUT_ENABLED": True,
            "COMPLIANT_BCP_RFC9700_AUTHZ_RESPONSE_ISS": True,
        },
    )
    django.setup()


def fill() -> None:
    """Two people and one client, unless an earlier run on the same folder left them."""
    from django.contrib.auth.models import User
    from oauth2_provider.models import get_application_model

    call_command("migrate", verbosity=0)
    for name in ("alice", "bob"):
        if not User.objects.filter(username=name).exists():
            User.objects.create_user(
                name, f"{name}@example.test", PASSWORD, first_name=name.title(), last_name="Example"
            )
    get_application_model().objects.get_or_create(
        client_id=CLIENT_ID,
        defaults={
            "name": "The demo's native app",
            "client_type": "public",
            "client_secret": "",
            "authorization_grant_type": "authorization-code",
            "redirect_uris": REDIRECT_URI,
            "post_logout_redirect_uris": REDIRECT_URI,
            "algorithm": "RS256",
            "skip_authorization": True,
        },
    )


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Query strings here are credentials: none of them is logged."""


class Threaded(ThreadingMixIn, WSGIServer):
    daemon_threads = True


def main() -> None:
    data = Path(sys.argv[1])
    configure(data)
    fill()
    port = remembered_port(data / "port")
    server = make_server("127.0.0.1", port, get_wsgi_application(), server_class=Threaded, handler_class=Quiet)
    (data / "port").write_text(str(server.server_port))
    print(f"provider: issuer http://127.0.0.1:{server.server_port}/o", flush=True)
    server.serve_forever()


main()

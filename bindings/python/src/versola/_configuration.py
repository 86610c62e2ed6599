# SPDX-License-Identifier: Apache-2.0
"""Settings of a client and options of a login, and how they reach the library."""

from __future__ import annotations

import json
import logging
import os
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple, Union

from ._errors import invalid
from ._library import Duration, Handle, encoded, scaled, seconds
from ._native import AccessTokenCache, Browser, LogLevel
from ._retry_policy import RetryPolicy, set_retry_policy

if TYPE_CHECKING:
    from typing_extensions import Literal, TypedDict

    class LoginOptions(TypedDict, total=False):
        """Options of one login; without one, the provider decides."""

        scopes: Union[str, Iterable[str]]
        """In place of the configured scopes; ``openid`` is always added."""
        prompt: str
        login_hint: str
        ui_locales: Union[str, Iterable[str]]
        acr_values: Union[str, Iterable[str]]
        max_age: Duration
        """Time since the person last signed in at the provider, 0 or more; the answer is checked."""
        claims: Mapping[str, Any]
        """OpenID Connect Core 5.5."""
        resource: Union[str, Iterable[str]]
        """RFC 8707."""
        authorization_details: Sequence[Mapping[str, Any]]
        """RFC 9396."""
        parameters: Mapping[str, str]
        """Further parameters of the authorization request; those that the library sets itself are refused."""


@dataclass(frozen=True)
class KeyFile:
    """The session is kept in the user's state directory, its key in this file (mode 0600, made when missing)."""

    path: Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class ProviderEndpoints:
    """Endpoints in place of discovery. ``issuer`` is the ``iss`` expected in ID tokens and redirects, byte for byte."""

    issuer: str
    authorization_endpoint: str
    token_endpoint: str
    jwks_uri: str
    revocation_endpoint: Optional[str] = None
    user_info_endpoint: Optional[str] = None
    end_session_endpoint: Optional[str] = None
    iss_in_redirect: bool = False
    """Whether the provider puts ``iss`` into every redirect (RFC 9207)."""


@dataclass(frozen=True)
class OAuthConfiguration:
    """Settings of a client; ``client_id``, ``redirect_uri``, and either ``issuer`` or ``endpoints`` are required.

    Nothing is checked here: :class:`versola.OAuthClient` does, and raises :class:`versola.ConfigurationError`.
    """

    issuer: Optional[str] = None
    """An https URL (http only on loopback)."""
    client_id: Optional[str] = None
    redirect_uri: Optional[str] = None
    """Loopback (``http://127.0.0.1/callback``; without a port any free one is taken), ``https://…`` or a private-use
    scheme (``com.example.app:/callback``); the latter two reach the program, which calls ``handle_redirect()``."""
    post_logout_redirect_uri: Optional[str] = None
    """Where the provider sends the browser after it has ended its own session; kinds as above. ``None``: ``logout()``
    opens no browser."""
    scopes: Union[str, Iterable[str]] = ()
    """``openid`` is always added."""
    session: str = "default"
    """Accounts of one issuer and client live side by side under different names."""
    store: "Union[Literal['auto', 'memory'], KeyFile]" = "auto"
    """``"auto"``: the user's state directory; ``"memory"``: the session ends with the client; or a :class:`KeyFile`."""
    access_token_cache: "Literal['memory', 'sealed']" = "memory"
    """``"sealed"``: the access token is kept in the store too, for programs that run often and shortly."""
    endpoints: Optional[ProviderEndpoints] = None
    ca_file: Optional[Union[str, "os.PathLike[str]"]] = None
    """PEM file with certificates trusted beside the system's."""
    proxy: Optional[str] = None
    """URL of an HTTP or SOCKS proxy, ``""`` = none; ``None`` = the environment's. Loopback never uses one."""
    request_timeout: Optional[float] = None
    """Seconds that one request to the provider may take, at most 300; ``None`` = 15."""
    clock_skew: Optional[float] = None
    """Whole seconds of tolerance when the provider's times are judged, at most 300; ``None`` = 60."""
    retry_policy: RetryPolicy = RetryPolicy()
    browser: "Union[Literal['system'], None, Callable[[str], object]]" = "system"
    """``"system"``: ``$BROWSER`` or ``xdg-open``; ``None``: the URL is in ``authorization_url`` only; or a function
    that shows the URL to the person, for instance ``print``. It is called in a thread of its own; when it returns
    ``False`` or raises, the person did not get to see it: that is logged, and the login goes on waiting. A coroutine
    function, or one that returns another awaitable, is for :class:`versola.aio.OAuthClient` only, whose loop awaits
    it: it is not cancelled when the login ends."""


@contextmanager
def native_config(
    library: Any, settings: OAuthConfiguration, queue: Handle, log: logging.Logger
) -> Iterator[Optional[int]]:
    """A builder with all the settings. It remembers what it refuses, and creating the client then tells."""
    config = library.versola_config_new(encoded("issuer", settings.issuer), encoded("client_id", settings.client_id))
    try:
        library.versola_config_set_redirect_uri(config, encoded("redirect_uri", settings.redirect_uri))
        if settings.post_logout_redirect_uri is not None:
            uri = encoded("post_logout_redirect_uri", settings.post_logout_redirect_uri)
            library.versola_config_set_post_logout_redirect_uri(config, uri)
        scope = _joined(settings.scopes)
        if scope:
            library.versola_config_set_scope(config, encoded("scopes", scope))
        library.versola_config_set_session(config, encoded("session", settings.session))
        if settings.endpoints is not None:
            with _native_endpoints(library, settings.endpoints) as endpoints:
                library.versola_config_set_endpoints(config, endpoints)
        if isinstance(settings.store, KeyFile):
            library.versola_config_set_store_key_file(config, encoded("store", os.fspath(settings.store.path)))
        elif settings.store == "memory":
            library.versola_config_set_store_memory(config)
        elif settings.store != "auto":
            raise invalid('store must be "auto", "memory" or a KeyFile')
        library.versola_config_set_access_token_cache(config, _access_token_cache(settings.access_token_cache))
        if settings.ca_file is not None:
            library.versola_config_set_ca_file(config, encoded("ca_file", os.fspath(settings.ca_file)))
        if settings.proxy is not None:
            library.versola_config_set_proxy(config, encoded("proxy", settings.proxy))
        if settings.request_timeout is not None:
            timeout_ms = scaled("request_timeout", settings.request_timeout, 1000)
            library.versola_config_set_request_timeout_ms(config, timeout_ms)
        if settings.clock_skew is not None:
            library.versola_config_set_clock_skew_s(config, scaled("clock_skew", settings.clock_skew, 1))
        if not isinstance(settings.retry_policy, RetryPolicy):
            raise invalid("retry_policy must be a RetryPolicy")
        set_retry_policy(library, config, settings.retry_policy)
        library.versola_config_set_browser(config, _browser(settings.browser))
        library.versola_config_set_log_level(config, _log_level(log))
        library.versola_config_set_queue(config, queue)
        yield config
    finally:
        library.versola_config_release(config)


@contextmanager
def _native_endpoints(library: Any, endpoints: ProviderEndpoints) -> Iterator[Optional[int]]:
    required = ("issuer", "authorization_endpoint", "token_endpoint", "jwks_uri")
    urls = [encoded(f"endpoints.{name}", getattr(endpoints, name)) for name in required]
    native = library.versola_endpoints_new(*urls)
    try:
        for name in ("revocation_endpoint", "user_info_endpoint", "end_session_endpoint"):
            url = encoded(f"endpoints.{name}", getattr(endpoints, name))
            if url is not None:
                getattr(library, f"versola_endpoints_set_{name}")(native, url)
        library.versola_endpoints_set_iss_in_redirect(native, endpoints.iss_in_redirect)
        yield native
    finally:
        library.versola_endpoints_release(native)


def _access_token_cache(cache: object) -> AccessTokenCache:
    if cache == "memory":
        return AccessTokenCache.MEMORY
    if cache == "sealed":
        return AccessTokenCache.SEALED
    raise invalid('access_token_cache must be "memory" or "sealed"')


def _browser(browser: object) -> Browser:
    if browser == "system":
        return Browser.SYSTEM
    if browser is None:
        return Browser.NONE
    if callable(browser):
        return Browser.APP
    raise invalid('browser must be "system", None or a function')


def _log_level(log: logging.Logger) -> LogLevel:
    """The library's level for what the logger would let through now."""
    for level, native in _LEVELS:
        if log.isEnabledFor(level):
            return native
    return LogLevel.OFF


_LEVELS = (
    (logging.DEBUG, LogLevel.DEBUG),
    (logging.INFO, LogLevel.INFO),
    (logging.WARNING, LogLevel.WARNING),
    (logging.ERROR, LogLevel.ERROR),
)


@contextmanager
def native_login_options(library: Any, options: Mapping[str, Any]) -> Iterator[Optional[int]]:
    native = library.versola_login_options_new()
    try:
        for name, value in options.items():
            if name not in _LOGIN_OPTIONS:
                raise TypeError(f"login has no option {name!r}")
            if value is not None:
                function, arguments = _LOGIN_OPTIONS[name]
                for each in arguments(name, value):
                    getattr(library, f"versola_login_options_{function}")(native, *each)
        yield native
    finally:
        library.versola_login_options_release(native)


@contextmanager
def native_token_options(library: Any, min_valid: Optional[float], force: bool) -> Iterator[Optional[int]]:
    if min_valid is None and not force:
        yield None
        return
    native = library.versola_token_options_new()
    try:
        if min_valid is not None:
            library.versola_token_options_set_min_valid_ms(native, scaled("min_valid", min_valid, 1000))
        library.versola_token_options_set_force(native, force)
        yield native
    finally:
        library.versola_token_options_release(native)


def _joined(words: Union[str, Iterable[str]]) -> str:
    return words if isinstance(words, str) else " ".join(words)


_Arguments = Iterable[Tuple[Any, ...]]


def _one(name: str, value: Any) -> _Arguments:
    yield (encoded(name, value),)


def _words(name: str, value: Any) -> _Arguments:
    yield (encoded(name, _joined(value)),)


def _seconds(name: str, value: Any) -> _Arguments:
    yield (scaled(name, seconds(value), 1),)


def _json(name: str, value: Any) -> _Arguments:
    yield (encoded(name, json.dumps(value)),)


def _each(name: str, value: Any) -> _Arguments:
    for one in [value] if isinstance(value, str) else value:
        yield (encoded(name, one),)


def _pairs(name: str, value: Any) -> _Arguments:
    for key, one in value.items():
        yield (encoded(name, key), encoded(name, one))


_LOGIN_OPTIONS: Dict[str, Tuple[str, Callable[[str, Any], _Arguments]]] = {
    "scopes": ("set_scope", _words),
    "prompt": ("set_prompt", _one),
    "login_hint": ("set_login_hint", _one),
    "ui_locales": ("set_ui_locales", _words),
    "acr_values": ("set_acr_values", _words),
    "max_age": ("set_max_age_s", _seconds),
    "claims": ("set_claims", _json),
    "resource": ("add_resource", _each),
    "authorization_details": ("set_authorization_details", _json),
    "parameters": ("add_parameter", _pairs),
}

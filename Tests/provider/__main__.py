# SPDX-License-Identifier: Apache-2.0
"""`python -m provider [PORT]`: in the foreground until SIGTERM, steered over the control API."""

from __future__ import annotations

import argparse
import signal

from .control import Control
from .provider import Provider
from .server import Server
from .tls import CertificateAuthority


def main() -> None:
    parser = argparse.ArgumentParser(prog="provider", description="A scripted OpenID Provider on loopback.")
    parser.add_argument("port", nargs="?", type=int, default=0, help="0: any free port")
    parser.add_argument("--control-port", type=int, default=0, help="0: any free port")
    parser.add_argument("--path", default="", help="path of the issuer")
    parser.add_argument("--trailing-slash", action="store_true", help="the issuer ends in a slash")
    parser.add_argument("--tls", action="store_true", help="https, with a throw-away authority")
    arguments = parser.parse_args()

    # Blocked before any thread starts, so that every thread inherits it and sigwait alone takes the signal.
    ended_by = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ended_by)

    authority = CertificateAuthority() if arguments.tls else None
    provider = Provider(
        port=arguments.port,
        path=arguments.path,
        trailing_slash=arguments.trailing_slash,
        tls=authority.context() if authority else None,
    )
    control = Server(Control(provider), port=arguments.control_port)
    with provider:
        control.start()
        trust = f" ca {authority.ca_file}" if authority else ""
        print(f"provider: issuer {provider.issuer} control http://127.0.0.1:{control.port}{trust}", flush=True)
        signal.sigwait(ended_by)
        control.close()


main()

# SPDX-License-Identifier: Apache-2.0
"""A throw-away certificate authority and the certificates a test needs, right and wrong."""

from __future__ import annotations

import datetime
import ipaddress
import shutil
import ssl
import tempfile
import weakref
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class CertificateAuthority:
    """Its certificate is the file `ca_file`; nothing else ever trusts it."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="provider-ca-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Throw-away test authority")])
        self._certificate = (
            self._builder(self._name, self._key, datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(self._usage(sign=True), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.ca_file = self._folder / "ca.pem"
        self.ca_file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def context(self, *, host: str = "127.0.0.1", expired: bool = False) -> ssl.SSLContext:
        """A server's context with a fresh certificate for this host, by IP address or by name."""
        key = ec.generate_private_key(ec.SECP256R1())
        lifetime = datetime.timedelta(hours=-1 if expired else 24)
        certificate = (
            self._builder(x509.Name([]), key, lifetime)
            .add_extension(x509.SubjectAlternativeName([self._alternative_name(host)]), critical=True)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(self._usage(sign=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        chain = self._folder / f"server-{certificate.serial_number}.pem"
        chain.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
            + certificate.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)
        return context

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, lifetime: datetime.timedelta
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=2))
            .not_valid_after(now + lifetime)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )

    @staticmethod
    def _alternative_name(host: str) -> x509.GeneralName:
        try:
            return x509.IPAddress(ipaddress.ip_address(host))
        except ValueError:
            return x509.DNSName(host)

    @staticmethod
    def _usage(*, sign: bool) -> x509.KeyUsage:
        return x509.KeyUsage(
            digital_signature=not sign,
            key_cert_sign=sign,
            crl_sign=sign,
            content_commitment=False,
            key_encipherment=False,
            data_encipherment=False,
            key_agreement=False,
            encipher_only=False,
            decipher_only=False,
        )

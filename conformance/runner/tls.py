"""Certificates of a private CA, connections that speak TLS, and a server with both."""

import contextlib
import datetime
import ipaddress
import signal
import ssl
from dataclasses import dataclass
from functools import cache

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import NameOID

from .process import PATIENCE, until
from .responses import WireError
from .wire import Connection

CERT, KEY = "x.pem", "x.key"
TLS = ("--tls-cert", CERT, "--tls-key", KEY)
NAMES = ("localhost", "127.0.0.1")
STAYS = "; the last good certificate stays"
KINDS = {
    "P-256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "P-384": lambda: ec.generate_private_key(ec.SECP384R1()),
    "P-521": lambda: ec.generate_private_key(ec.SECP521R1()),
    "RSA": lambda: rsa.generate_private_key(65537, 2048),
    "RSA-1024": lambda: rsa.generate_private_key(65537, 1024),
    "Ed25519": ed25519.Ed25519PrivateKey.generate,
}


@dataclass(frozen=True)
class Issuer:
    """A certificate that signs others, and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def pem(self):
        return self.certificate.public_bytes(serialization.Encoding.PEM)


@dataclass(frozen=True)
class Pair:
    """The contents of both files: a certificate and its issuer's, and a key."""

    chain: bytes
    key: bytes
    until: datetime.datetime
    private: object = None

    @property
    def files(self):
        return [(CERT, self.chain, 784111777), (KEY, self.key, 784111777)]

    @property
    def der(self):
        return ssl.PEM_cert_to_DER_cert(self.chain.decode().partition("-----END")[0] + "-----END CERTIFICATE-----\n")

    @property
    def end(self):
        return f"{self.until:%Y-%m-%dT%H:%M:%SZ}"


def now():
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0)


def certificate(name, key, issuer, names, begin, end):
    """Signed by an issuer, or by itself; it is a CA's if it has no names."""
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.certificate.subject if issuer else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.BasicConstraints(names is None, None), critical=True)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName([general(name) for name in names]), critical=False)
    return builder.sign(issuer.key if issuer else key, hashes.SHA256())


def general(name):
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


@cache
def issuer(above=None):
    """The private CA or, below it, the CA that issues the servers' certificates."""
    key, begin = KINDS["P-256"](), now() - datetime.timedelta(days=3650)
    name = "an issuer" if above else "the root"
    return Issuer(certificate(name, key, above, None, begin, now() + datetime.timedelta(days=3650)), key)


def make_pair(names=NAMES, kind="P-256", form="PKCS8", key=None, **left):
    """A new pair, which is valid for 90 days unless it says how long: days=1, seconds=-1."""
    private = key or KINDS[kind]()
    below = issuer(issuer())
    begin, end = now() - datetime.timedelta(days=100), now() + datetime.timedelta(**left or {"days": 90})
    own = certificate("localhost", private, below, names, begin, end)
    chain = own.public_bytes(serialization.Encoding.PEM) + below.pem
    how = {"PKCS8": "PKCS8", "PKCS1": "TraditionalOpenSSL", "SEC1": "TraditionalOpenSSL"}[form]
    return Pair(chain, pem_of(private, how), end, private)


def pem_of(key, how):
    form = getattr(serialization.PrivateFormat, how)
    return key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())


@cache
def pair(kind="P-256"):
    """The same one for all tests that do not mind which."""
    return make_pair(kind=kind)


pair()  # now, since tests may ask for it from several threads at once, and each would make another one


def trusting(verify=True, **settings):
    """What a client expects: certificates of the private CA. Settings are attributes of Python's context."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=issuer().pem.decode())
    if not verify:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    for name, value in settings.items():
        setattr(context, name, value)
    return context


def hello(context=None):
    """The first message of a client."""
    outgoing = ssl.MemoryBIO()
    client = (context or trusting()).wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


class TlsConnection(Connection):
    """A connection that speaks TLS. Its records pass through buffers of ours, which OpenSSL knows nothing beyond."""

    def __init__(self, address, context=None, session=None, **options):
        super().__init__(address, **options)
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        context = context or trusting()
        self.tls = context.wrap_bio(self.incoming, self.outgoing, server_hostname="localhost", session=session)
        self.ended_well = False
        self.complete(self.tls.do_handshake)

    def complete(self, act):
        """Does what may need more records than have arrived."""
        while True:
            try:
                return act()
            except ssl.SSLWantReadError:
                self.flush()
                data = super().receive()
                if data:
                    self.incoming.write(data)
                else:
                    self.incoming.write_eof()
            finally:
                self.flush()

    def flush(self):
        if data := self.outgoing.read():
            super().send(data)

    def send(self, data, piece=None):
        """In records of this many bytes."""
        for start in range(0, len(data), piece or max(1, len(data))):
            self.tls.write(data[start : start + (piece or len(data))])
            self.flush()

    def half_close(self):
        """Sends close_notify, and can still receive."""
        with contextlib.suppress(ssl.SSLError):  # it wants to read the answer, which comes last
            self.tls.unwrap()
        self.flush()

    def cut(self):
        """Ends our side without close_notify."""
        super().half_close()

    def receive(self, limit=65536):
        """The next bytes; empty after close_notify, without which the end is a fault."""
        if self.pending:
            data, self.pending = self.pending[:limit], self.pending[limit:]
            return data
        try:
            return self.complete(lambda: self.tls.read(limit))
        except ssl.SSLZeroReturnError:
            return b""
        except ssl.SSLEOFError:
            raise WireError("the connection ended without close_notify") from None


def get(address, **options):
    """The response to a request over TLS."""
    with TlsConnection(address, **options) as connection:
        connection.send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        return connection.response()


def shown(address):
    """The certificate that a new connection gets, whoever signed it."""
    with TlsConnection(address, context=trusting(verify=False)) as connection:
        return connection.tls.getpeercert(binary_form=True)


def renew(server, new):
    """Puts another pair in the place of the files, has it loaded, and waits for that."""
    (server.directory / KEY).write_bytes(new.key)
    (server.directory / CERT).write_bytes(new.chain)
    server.signal(signal.SIGHUP)
    until(lambda: shown(server.address) == new.der, PATIENCE)

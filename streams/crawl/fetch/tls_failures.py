"""Why a TLS connection failed, in words for the people of a site, and whether another attempt may succeed. Pure.

Sources: the results of OpenSSL's check of certificates (`x509_vfy.h`), and the alerts of TLS (RFC 8446, section 6).
"""

import ssl
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TlsFailure:
    """Why a TLS connection failed."""

    reason: str
    retryable: bool = False


HTTP_ALONE = "a site with http alone needs RIFFLE_CRAWL__ALLOWED_ORIGINS"
"""The advice for a host that is asked for https and has only http: its port for https is closed, dropped or plain."""
_NO_TLS = TlsFailure(f"the server does not speak TLS on this port; {HTTP_ALONE}")
_INCOMPLETE = (
    "the chain of certificates is incomplete: the server must also send the intermediate certificate of its authority "
    "(or the authority is not known here)"
)
_CHECKS = {
    9: "the certificate is not valid yet",
    10: "the certificate has expired",
    18: "the certificate is signed by itself, by no authority",
    19: "the authority at the end of the chain of certificates is not known here",
    20: _INCOMPLETE,
    21: _INCOMPLETE,
    23: "the certificate is revoked",
    62: "the certificate is for other names",
    64: "the certificate is for other addresses",
}
"""Results of the check of a certificate (X509_V_ERR)."""
_OTHERS: tuple[tuple[str, TlsFailure], ...] = (
    ("INTERNAL_ERROR", TlsFailure("the server reports an internal error", retryable=True)),
    ("USER_CANCELLED", TlsFailure("the server broke off the handshake", retryable=True)),
    ("UNRECOGNIZED_NAME", TlsFailure("the server does not know this name")),
    ("WRONG_VERSION_NUMBER", _NO_TLS),
    ("HTTP_REQUEST", _NO_TLS),
    ("PROTOCOL_VERSION", TlsFailure("the server has only versions of TLS before 1.2")),
    ("UNSUPPORTED_PROTOCOL", TlsFailure("the server has only versions of TLS before 1.2")),
    ("HANDSHAKE_FAILURE", TlsFailure("the server and the crawler have no cipher in common")),
    ("INSUFFICIENT_SECURITY", TlsFailure("the server asks for stronger ciphers")),
    ("CERTIFICATE_REQUIRED", TlsFailure("the server asks for a certificate of the crawler")),
    ("ACCESS_DENIED", TlsFailure("the server denies access")),
    ("TOO_SMALL", TlsFailure("the server's key is too short")),
    ("TOO_WEAK", TlsFailure("the server's certificate is signed with a weak hash")),
)
"""Parts of OpenSSL's names of errors and alerts."""


def explain_tls(error: BaseException | None, text: str) -> TlsFailure:
    """Explain an error of the ssl module. `text` is its own message, for errors without a name."""
    if isinstance(error, ssl.SSLCertVerificationError):
        reason = _CHECKS.get(error.verify_code) or error.verify_message or text
        return TlsFailure(str(reason))
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return TlsFailure("the server closed the connection within the handshake", retryable=True)
    name = getattr(error, "reason", None) or ""
    known = (failure for part, failure in _OTHERS if part in name)
    return next(known, TlsFailure(name.replace("_", " ").lower() or text))

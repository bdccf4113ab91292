"""The wrong setting, by the reasons that librdkafka gives for a connection that fails. Pure."""

import re
from collections.abc import Sequence

from streams.settings import KafkaSettings

_MECHANISM = re.compile(r"supported mechanisms: ([A-Z0-9,-]{1,200})")
_REASON = re.compile(r"(?:authentication error|OAUTHBEARER token): ([^(]{1,300})")


def explain_refusal(settings: KafkaSettings, errors: Sequence[str]) -> tuple[str, str]:
    """Return what the brokers refuse, and what to do, by librdkafka's messages. Pure."""
    text = next((each for each in errors if "SASL" in each), next((each for each in errors if "SSL" in each), ""))
    reason = found[1].strip() if (found := _REASON.search(text)) else text
    protocol = settings.security_protocol
    if "OAUTHBEARER token" in text:
        return (
            f"There is no token from {settings.sasl_token_url} ({reason})",
            "Check RIFFLE_KAFKA__SASL_TOKEN_URL, and that its server knows the client of RIFFLE_KAFKA__SASL_USERNAME "
            "with this secret and scope.",
        )
    if offered := _MECHANISM.search(text):
        return (
            f"The brokers don't offer {settings.sasl_mechanism}. They offer {offered[1].replace(',', ', ')}",
            "Set RIFFLE_KAFKA__SASL_MECHANISM to one of these.",
        )
    if "not valid in current SASL state" in text:
        return (
            "This listener has no sign-in by user name",
            "Set RIFFLE_KAFKA__BOOTSTRAP to a listener with SASL, or RIFFLE_KAFKA__SECURITY_PROTOCOL to "
            f"{'SSL' if settings.is_encrypted else 'PLAINTEXT'}.",
        )
    if "authentication error" in text:
        return (
            f"The brokers refuse the user {settings.sasl_username} ({reason})",
            "Check RIFFLE_KAFKA__SASL_USERNAME, the password and RIFFLE_KAFKA__SASL_MECHANISM: a user of SCRAM has a "
            "password for each mechanism.",
        )
    return _explain_encryption(text, protocol)


def _explain_encryption(text: str, protocol: str) -> tuple[str, str]:
    if "certificate verify failed" in text:
        return (
            "An authority that is not trusted here signed the brokers' certificate",
            "Set RIFFLE_KAFKA__CA_FILE to the PEM file of their authority, and RIFFLE_KAFKA__BOOTSTRAP to the names in "
            "the certificate.",
        )
    if "PLAINTEXT broker listener" in text:
        return (
            "This listener is not encrypted",
            "Set RIFFLE_KAFKA__BOOTSTRAP to a listener with TLS, or RIFFLE_KAFKA__SECURITY_PROTOCOL to "
            f"{'SASL_PLAINTEXT (only the local profile)' if protocol == 'SASL_SSL' else 'PLAINTEXT'}.",
        )
    if text:
        return (
            f"The encrypted connection fails ({text})",
            "Check RIFFLE_KAFKA__CA_FILE, and whether the brokers want a certificate of the client "
            "(RIFFLE_KAFKA__CERT_FILE, RIFFLE_KAFKA__KEY_FILE).",
        )
    return (
        f"The brokers accept connections and close them: this listener does not speak {protocol}",
        "Set RIFFLE_KAFKA__SECURITY_PROTOCOL to the listener's protocol: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL.",
    )

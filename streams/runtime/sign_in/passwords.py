"""aiokafka's connections read a password again when they sign in."""

from aiokafka import conn

from streams.credentials import FollowingSecret


class CurrentConnection(conn.AIOKafkaConnection):  # type: ignore[misc]  # aiokafka ships no types
    """A connection that signs in with the password that its file has at that moment."""

    async def _do_sasl_handshake(self) -> None:
        given: object = self._sasl_plain_password  # type: ignore[has-type]  # aiokafka ships no types
        if isinstance(given, FollowingSecret):
            self._sasl_plain_password = given.renewed()
        await super()._do_sasl_handshake()


def sign_in_with_current_passwords() -> None:
    """Let aiokafka's clients of this process read a password again for each connection. It has no option for it."""
    conn.AIOKafkaConnection = CurrentConnection

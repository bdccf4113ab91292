"""TLS sessions are resumed with the host that they came from, once each, and never without a check of its certificate.

Client and server are in memory, with real TLS between them.
"""

import ssl
from pathlib import Path

import pytest

from streams.crawl.fetch import tls_sessions
from streams.crawl.fetch.http import make_context
from streams.crawl.fetch.tls_sessions import MAX_AGE_SECONDS, MAX_HOSTS, ResumingObject, Tickets, resume_sessions
from tests.hostile.servers import make_certificate

HOST, OTHER = "one.example", "two.example"
VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Client:
    """A client's context with its tickets. It trusts the first server's authority."""

    def __init__(self, folder: Path, version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3) -> None:
        self.clock = Clock()
        self.certificate, self.key, authority = make_certificate(folder, HOST, OTHER)
        self.renew_server()
        self.context = make_context(authority)
        self.context.maximum_version = version
        self.tickets = resume_sessions(self.context, self.clock)

    def renew_server(self) -> None:
        """Replace the server by one with the certificate's files, and ticket keys of its own."""
        self.server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.server.load_cert_chain(self.certificate, self.key)

    def begin(self, host: str = HOST) -> "Connection":
        return Connection(self, host)

    def connect(self, host: str = HOST) -> bool:
        """Connect and read an answer. Return whether the session was resumed. Raises ssl.SSLError."""
        return self.begin(host).finish()


class Connection:
    def __init__(self, client: Client, host: str) -> None:
        up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.server = client.server.wrap_bio(up, down, server_side=True)
        own = client.context.wrap_bio(down, up, server_hostname=host)
        assert isinstance(own, ResumingObject)
        self.own = own
        self._step(self.own)

    def finish(self, *, with_answer: bool = True) -> bool:
        for _ in range(3):
            self._step(self.server)
            self._step(self.own)
        self.server.write(b"an answer")
        if with_answer:
            assert self.own.read(100) == b"an answer"
            self.own.keep_session()
        assert self.own.session_reused == self.server.session_reused
        return bool(self.server.session_reused)

    @staticmethod
    def _step(side: ssl.SSLObject) -> None:
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            return


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_connection_to_a_known_host_resumes_its_session(tmp_path: Path, version: ssl.TLSVersion) -> None:
    client = Client(tmp_path, version)
    assert [client.connect() for _ in range(3)] == [False, True, True]


def test_a_ticket_is_offered_to_its_own_host_only(tmp_path: Path) -> None:
    client = Client(tmp_path)
    assert [client.connect(host) for host in (HOST, OTHER, HOST, OTHER)] == [False, False, True, True]


def test_a_ticket_is_offered_once(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.connect()
    first, second = client.begin(), client.begin()
    assert [first.finish(), second.finish()] == [True, False]


def test_a_connection_without_an_answer_leaves_no_ticket(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.begin().finish(with_answer=False)
    assert len(client.tickets) == 0


def test_a_server_that_forgot_its_tickets_makes_a_whole_handshake(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.connect()
    client.renew_server()
    assert [client.connect(), client.connect()] == [False, True]


def test_a_ticket_does_not_replace_the_check_of_another_certificate(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.connect()
    client.certificate, client.key, _ = make_certificate(tmp_path, HOST)
    client.renew_server()
    with pytest.raises(ssl.SSLCertVerificationError):
        client.connect()
    assert len(client.tickets) == 0


def test_a_certificate_is_checked_again_after_an_hour_however_often_its_session_is_resumed(tmp_path: Path) -> None:
    client, step = Client(tmp_path), MAX_AGE_SECONDS * 0.4
    resumed = []
    for _ in range(5):
        resumed.append(client.connect())
        client.clock.now += step
    assert resumed == [False, True, True, False, True]


def test_the_number_of_tickets_is_bounded_and_the_oldest_go_first(tmp_path: Path) -> None:
    client = Client(tmp_path)
    client.connect()
    _, session = client.tickets.take(HOST) or pytest.fail("there is no ticket")
    tickets = Tickets(client.clock)
    for number in range(MAX_HOSTS + 2):
        tickets.put(f"{number}", session, client.clock())
    assert len(tickets) == MAX_HOSTS
    assert [tickets.take(name) is None for name in ("0", "1", "2")] == [True, True, False]


def test_so_many_sessions_are_read_since_python_loses_the_memory_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tls_sessions, "MAX_READ", 2)
    client = Client(tmp_path)
    assert [client.connect() for _ in range(5)] == [False, True, True, False, False]

"""The errors for the driver's errors: each is retryable or not, and names the server's address."""

import ssl

import pytest
from cassandra import (
    AuthenticationFailed,
    ConsistencyLevel,
    InvalidRequest,
    OperationTimedOut,
    ReadTimeout,
    Unauthorized,
    Unavailable,
    WriteFailure,
    WriteTimeout,
)
from cassandra.cluster import NoHostAvailable
from cassandra.connection import ConnectionShutdown
from cassandra.protocol import IsBootstrappingErrorMessage, OverloadedErrorMessage, ServerError, SyntaxException

from streams.errors import DeadlineExceeded, MissingBlob, PoisonError, StoreUnavailable, UsageError
from streams.settings import CassandraSettings
from streams.stores.cassandra.session import translate_error

SETTINGS = CassandraSettings(hosts=("cass-1", "cass-2"), port=9000, keyspace="riffle")
ONE = {"consistency": ConsistencyLevel.ONE, "required_responses": 1, "received_responses": 0}

CASES: dict[str, tuple[Exception, type[Exception]]] = {
    "the deadline of a request, waiting included": (TimeoutError(), DeadlineExceeded),
    "no answer": (OperationTimedOut({"cass-1": "timeout"}), DeadlineExceeded),
    "a replica's answer to a read is late": (ReadTimeout("late", data_retrieved=False, **ONE), DeadlineExceeded),
    "a replica's answer to a write is late": (WriteTimeout("late", write_type=0, **ONE), DeadlineExceeded),
    "too few replicas": (Unavailable("few", ConsistencyLevel.QUORUM, 2, 1), StoreUnavailable),
    "a replica failed": (WriteFailure("disk", write_type=0, **ONE), StoreUnavailable),
    "nobody there": (NoHostAvailable("none", {"cass-1": OSError("refused")}), StoreUnavailable),
    "cut": (ConnectionShutdown("closed"), StoreUnavailable),
    "reset": (ConnectionResetError("reset"), StoreUnavailable),
    "the server has too much to do": (OverloadedErrorMessage(0x1001, "overloaded", None), StoreUnavailable),
    "the server is starting": (IsBootstrappingErrorMessage(0x1002, "starting", None), StoreUnavailable),
    "the server's own error": (ServerError(0x0000, "null pointer", None), StoreUnavailable),
    "wrong password": (
        NoHostAvailable("none", {"cass-1": AuthenticationFailed("Provided username and/or password are incorrect")}),
        UsageError,
    ),
    "no right": (Unauthorized("User has no MODIFY permission"), UsageError),
    "no table": (InvalidRequest('message="table pages does not exist"'), UsageError),
    "a statement that can't be": (InvalidRequest("Undefined column name"), PoisonError),
    "no CQL": (SyntaxException(0x2000, "line 1:0 no viable alternative", None), PoisonError),
}


@pytest.mark.parametrize(("error", "becomes"), CASES.values(), ids=CASES.keys())
def test_an_error_of_the_driver_is_one_of_ours_and_says_where(error: Exception, becomes: type[Exception]) -> None:
    found = translate_error(error, SETTINGS, "SELECT 1")
    assert type(found) is becomes
    assert "cass-1:9000, cass-2:9000" in str(found)


def test_ours_and_the_unforeseen_stay_as_they_are() -> None:
    for error in (MissingBlob("gone"), ZeroDivisionError("a bug")):
        assert translate_error(error, SETTINGS) is error


REFUSED = ConnectionRefusedError(111, "Tried connecting to [('127.0.0.1', 9042)]. Last error: Connection refused")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        pytest.param(NoHostAvailable("none", {"a": REFUSED}), "(Connection refused)", id="nobody listens"),
        pytest.param(
            NoHostAvailable("none", {"a": REFUSED, "b": REFUSED, "c": OSError("TLS is needed")}),
            "(Connection refused; TLS is needed)",
            id="each reason once",
        ),
        pytest.param(
            NoHostAvailable("none", {"a": AuthenticationFailed("The password is wrong")}),
            "(The password is wrong)",
            id="signing in",
        ),
        pytest.param(
            NoHostAvailable("none", {"a": ssl.SSLError(1, "certificate verify failed")}),
            "certificate verify failed",
            id="TLS numbers its errors otherwise than the system",
        ),
        pytest.param(NoHostAvailable("no node is known", {}), "no node is known", id="no node"),
    ],
)
def test_the_reason_is_for_people(error: Exception, reason: str) -> None:
    says = str(translate_error(error, SETTINGS))
    assert reason in says
    assert "Error(" not in says, "no objects of the driver"

"""Requests in progress to a host, as the politeness alert counts them."""

import pytest

from streams.crawl.fetch.pace import HostLoad


@pytest.mark.parametrize(("at_once", "violations"), [(1, 0), (2, 1), (4, 3)])
def test_requests_beyond_what_a_host_may_have_are_counted(at_once: int, violations: int) -> None:
    load = HostLoad()
    requests = [load.request("a.example") for _ in range(at_once)]
    for request in requests:
        request.__enter__()
    assert load.violations == violations
    for request in requests:
        request.__exit__(None, None, None)
    with load.request("a.example"):
        assert load.violations == violations, "the host is free again"


def test_hosts_are_counted_apart_and_a_failed_request_ends() -> None:
    load = HostLoad()
    with pytest.raises(TimeoutError), load.request("a.example"):
        raise TimeoutError
    with load.request("a.example"), load.request("b.example"):
        pass
    assert load.violations == 0

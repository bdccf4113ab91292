"""The page with the faults in which each alert fires is that of the tests."""

from tests.chart.alert_table import PAGE, rows, table
from tests.chart.test_monitoring import ALERTS


def test_the_table_of_alerts_is_up_to_date() -> None:
    assert PAGE.read_text() == table(), "python -m tests.chart.alert_table"


def test_each_alert_has_a_fault_in_the_table() -> None:
    assert {alert for alert, _, _ in rows()} == {alert["alert"] for alert in ALERTS}

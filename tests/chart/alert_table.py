"""The table of alerts, with the faults that made each of them fire: `python -m tests.chart.alert_table` writes it.

Some faults were recorded on a real stack (`record_metrics`); all others are series, argued in `test_alerts`.
Prometheus' own program evaluates the rules on both.
"""

from pathlib import Path

from tests.chart.test_alerts import FAULTS
from tests.chart.test_recorded_metrics import EXPECTED

PAGE = Path(__file__).with_name("alerts.md")
HEAD = """# Alerts, and the faults in which each fires

`python -m tests.chart.alert_table` writes this page; a test compares it. `test_recorded_metrics.py` plays what a real
stack exported during a fault, and `test_alerts.py` series that are argued there, with a near miss for each alert.

| alert | fault | seen by |
|---|---|---|
"""
RECORDED, SERIES = "a real stack, recorded", "series"


def rows() -> list[tuple[str, str, str]]:
    """Return each alert with each fault in which it fires."""
    found = [(alert, fault, RECORDED) for fault, alerts in EXPECTED.items() for alert in alerts]
    found += [(alert, fault, SERIES) for fault, (_, alerts) in FAULTS.items() for alert in alerts]
    return sorted([*found, ("RiffleScheduledCommandFails", "a scheduled command fails", SERIES)])


def table() -> str:
    """Return the page."""
    return HEAD + "\n".join(f"| {alert} | {fault} | {by} |" for alert, fault, by in rows()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(table())

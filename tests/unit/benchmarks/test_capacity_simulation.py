"""The simulation of an installation: pages are conserved, faults are survived, backpressure bounds what waits."""

import pytest

from benchmarks.stack.capacity_simulation import CHECK_SECONDS, SCENARIOS, Result, Scenario, simulate
from streams.planning.capacity import Workload, plan
from streams.planning.costs import load_unit_costs

COSTS = load_unit_costs()
PLAN = plan(Workload(pages=1e9, regions=2), COSTS)
MAX_LAG_SECONDS = 300.0


def run(scenario: Scenario) -> Result:
    return simulate(scenario, PLAN, COSTS, MAX_LAG_SECONDS)


@pytest.mark.night
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_every_scenario_is_recovered_from(scenario: Scenario) -> None:
    result = run(scenario)
    figures = result.figures(PLAN, COSTS)
    assert figures["recovered_hours_after_the_fault"] < scenario.hours - scenario.ends
    waiting_at_the_end = sum(samples[-1] for samples in result.waiting.values())
    assert waiting_at_the_end < 60 * PLAN.rates.fetch


@pytest.mark.night
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.name)
def test_backpressure_bounds_what_waits_at_a_stage(scenario: Scenario) -> None:
    # What the frontier schedules at twice the mean between two looks, and what is on its way, comes on top.
    bound = (MAX_LAG_SECONDS + 2 * CHECK_SECONDS) * PLAN.rates.fetch
    on_the_way = MAX_LAG_SECONDS * PLAN.rates.fetch
    for stage, samples in run(scenario).waiting.items():
        assert max(samples) <= bound + on_the_way, stage


def test_without_a_fault_nothing_waits_and_the_rate_is_the_planned_one() -> None:
    result = run(Scenario("none", "nothing happens", hours=4))
    assert result.paused_seconds == 0
    assert max(result.postponed_pages) <= 2 * PLAN.rates.fetch * 2
    hour = result.searchable_rate[-120:]
    assert sum(hour) / len(hour) == pytest.approx(PLAN.rates.unique_page, rel=0.02)


def test_a_fault_without_spare_capacity_does_not_recover() -> None:
    lost = Scenario("lost", "nine of ten GPUs are lost", ends=7.9, capacity=(("embed", 0.1),))
    result = run(lost)
    assert result.paused_seconds > 3_600
    assert result.postponed_pages[-1] > 3_600 * PLAN.rates.fetch

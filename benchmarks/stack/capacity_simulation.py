"""Simulation of the stages under load: a burst, the loss of half of the GPUs, the loss of a region.

    python -m benchmarks simulate --pages 1e10 --plots docs/images

A discrete-event simulation (simpy) of the journey with the capacity that `riffle plan` computes: each stage is a queue
(its topics) and a number of busy cores (its workers), which serves batches of pages at the measured cost. The frontier
schedules what is due, and pauses while a later stage is behind by more than the bound, which it looks at every ten
seconds, as the program does. An autoscaler adds workers, slowly, up to the partitions. A simulation is no measurement:
it shows whether the rules lead out of a fault, how long that takes, and how much waits in Kafka meanwhile.
"""

from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import simpy
import typer

from benchmarks.machine import table
from streams.commands.console import AsJson, command, out, print_json
from streams.planning.capacity import REPLICAS, Plan, Workload, plan
from streams.planning.costs import UnitCosts, load_unit_costs, number
from streams.topology import stage as topology_stage

BATCH_SECONDS = 2.0
"""Seconds of demanded fetches in one simulated batch: the resolution."""
SAMPLE_SECONDS = 30.0
CHECK_SECONDS = 10.0
"""Seconds between two looks of the frontier at the lag."""
SCALE_SECONDS = 60.0
"""Seconds between two decisions of the autoscaler: it also takes that long until a worker is ready."""
MAX_SCALE = 2.0
"""Maximum workers of a stage over the planned ones: not more than the partitions."""
HOUR = 3_600.0
GPU_STAGE = "embed"
FREE_SHARE = 0.9
"""An autoscaled stage is made larger when it is busier than this, or behind."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One fault from `begins` to `ends` (hours), as factors of what is normal."""

    name: str
    says: str
    begins: float = 1.0
    ends: float = 3.0
    demand: float = 1.0
    capacity: tuple[tuple[str, float], ...] = ()
    hours: float = 8.0


SCENARIOS: tuple[Scenario, ...] = (
    Scenario("burst", "three times as many pages are due, for one hour", ends=2.0, demand=3.0),
    Scenario("half of the GPUs", "half of the GPUs are lost, for two hours", capacity=((GPU_STAGE, 0.5),)),
    Scenario(
        "a region",
        "one of two regions is lost, with its half of every stage, for two hours",
        capacity=(("*", 0.5),),
    ),
)


@dataclass(slots=True)
class StageState:
    """A stage in the simulation. Rates are in pages per second."""

    name: str
    planned_rate: float
    share: float
    """Share of the fetched pages that reach the stage."""
    autoscaled: bool
    queue: simpy.Store
    waiting_pages: float = 0.0
    scale: float = 1.0
    fault: float = 1.0
    busy_seconds: float = 0.0
    done_pages: float = 0.0

    @property
    def rate(self) -> float:
        return self.planned_rate * self.scale * self.fault


@dataclass(slots=True)
class Result:
    """Samples of one scenario: the pages that wait at each stage, and the rate of pages made searchable."""

    scenario: Scenario
    seconds: list[float] = field(default_factory=list)
    waiting: dict[str, list[float]] = field(default_factory=dict)
    searchable_rate: list[float] = field(default_factory=list)
    paused_seconds: float = 0.0
    postponed_pages: list[float] = field(default_factory=list)
    """Pages that are due and wait in the frontier's own queue, in Cassandra."""

    def figures(self, found: Plan, costs: UnitCosts) -> dict[str, Any]:
        """The scenario in numbers."""
        peak_stage = max(self.waiting, key=lambda name: max(self.waiting[name]))
        peak_pages = max(map(sum, zip(*self.waiting.values(), strict=True)))
        normal = self.searchable_rate[int(0.9 * HOUR / SAMPLE_SECONDS)]
        over = [
            seconds / HOUR
            for seconds, pages, *waits in zip(self.seconds, self.postponed_pages, *self.waiting.values(), strict=True)
            if pages + sum(waits) > 120 * found.rates.fetch
        ]
        return {
            "scenario": self.scenario.name,
            "says": self.scenario.says,
            "lowest_searchable_rate": round(min(self.searchable_rate[int(HOUR / SAMPLE_SECONDS) :]) / normal, 2),
            "most_waiting_stage": peak_stage,
            "most_waiting_pages": round(peak_pages),
            "most_waiting_tb_in_kafka": round(peak_pages * costs.kafka.bytes_per_fetch * REPLICAS / 1e12, 3),
            "longest_wait_minutes": round(max(self.waiting[peak_stage]) / (normal or 1) / 60, 1),
            "paused_minutes": round(self.paused_seconds / 60),
            "recovered_hours_after_the_fault": round(max(over, default=self.scenario.ends) - self.scenario.ends, 2),
        }


def stage_states(env: simpy.Environment, found: Plan, costs: UnitCosts) -> list[StageState]:
    """The stages in the order of the journey, each with its planned capacity in pages per second."""
    utilization, peak = costs.assumed.headroom.utilization, costs.assumed.headroom.peak
    shares = {
        "fetch": 1.0,
        "changed_page": found.workload.changed_share,
        "unique_page": found.rates.unique_page / found.rates.fetch,
        "statement": found.rates.unique_page / found.rates.fetch,
    }
    states = []
    for stage in found.stages:
        each = topology_stage(stage.name)
        if each.source or each.beside_journey:  # no page waits for it
            continue
        share = shares[costs.stages[stage.name].per]
        at_mean = found.rates.fetch * share
        # The embedding is bound by its GPUs, which are planned for the mean; other stages for the peak.
        rate = at_mean / utilization * (1 if stage.name == GPU_STAGE else peak)
        states.append(StageState(stage.name, rate, share, stage.name != GPU_STAGE, simpy.Store(env)))
    return states


def simulate(scenario: Scenario, found: Plan, costs: UnitCosts, max_lag_seconds: float) -> Result:
    """Run one scenario. `max_lag_seconds`: the frontier's bound of lag, in seconds of the mean rate."""
    env = simpy.Environment()
    stages = stage_states(env, found, costs)
    run = _Run(env, stages, found, scenario, max_lag_seconds * found.rates.fetch)
    run.start()
    env.run(until=scenario.hours * HOUR)
    return run.result


@dataclass(slots=True)
class _Run:
    env: simpy.Environment
    stages: list[StageState]
    found: Plan
    scenario: Scenario
    max_lag_pages: float
    postponed: float = 0.0
    paused: bool = False
    searchable: float = 0.0
    result: Result = field(init=False)

    def __post_init__(self) -> None:
        self.result = Result(self.scenario, waiting={stage.name: [] for stage in self.stages})

    def start(self) -> None:
        for number_, stage in enumerate(self.stages):
            self.env.process(self.serve(stage, self.stages[number_ + 1] if number_ + 1 < len(self.stages) else None))
        for process in (self.schedule(), self.watch(), self.autoscale(), self.break_and_mend(), self.sample()):
            self.env.process(process)

    def schedule(self) -> Generator[Any, Any, None]:
        """The frontier schedules what is due, at twice the mean rate at most, unless it pauses."""
        mean = self.found.rates.fetch
        while True:
            self.postponed += mean * self.demand * BATCH_SECONDS
            if not self.paused:
                pages = min(self.postponed, 2 * mean * BATCH_SECONDS)
                self.postponed -= pages
                self._put(self.stages[0], pages)
            yield self.env.timeout(BATCH_SECONDS)

    @property
    def faulty(self) -> bool:
        return self.scenario.begins * HOUR <= self.env.now < self.scenario.ends * HOUR

    @property
    def demand(self) -> float:
        return self.scenario.demand if self.faulty else 1.0

    def serve(self, stage: StageState, following: StageState | None) -> Generator[Any, Any, None]:
        """One stage: it takes a batch, is busy for its time, and gives the next stage its share of the batch."""
        while True:
            pages = yield stage.queue.get()
            remaining = pages
            while remaining > 0:
                # In slices, so that a fault or a new worker counts at once and not after the batch.
                step = min(1.0, remaining / stage.rate)
                yield self.env.timeout(step)
                stage.busy_seconds += step
                remaining -= step * stage.rate
                if remaining < 1e-6 * pages:
                    break
            stage.waiting_pages -= pages
            stage.done_pages += pages
            if following is None:
                self.searchable += pages
            else:
                self._put(following, pages * following.share / stage.share)

    def _put(self, stage: StageState, pages: float) -> None:
        if pages > 0:
            stage.waiting_pages += pages
            stage.queue.put(pages)

    def watch(self) -> Generator[Any, Any, None]:
        """Backpressure: the frontier pauses while a stage is behind by more than the bound."""
        while True:
            self.paused = any(stage.waiting_pages > self.max_lag_pages for stage in self.stages)
            yield self.env.timeout(CHECK_SECONDS)
            self.result.paused_seconds += CHECK_SECONDS * self.paused

    def autoscale(self) -> Generator[Any, Any, None]:
        """Workers by lag: one step up while a stage is behind, one step down while it is idle."""
        while True:
            yield self.env.timeout(SCALE_SECONDS)
            for stage in self.stages:
                behind = stage.waiting_pages > SCALE_SECONDS * stage.planned_rate * 0.5
                busy, stage.busy_seconds = stage.busy_seconds / SCALE_SECONDS, 0.0
                if stage.autoscaled and (behind or busy > FREE_SHARE):
                    stage.scale = min(MAX_SCALE, stage.scale + 0.25)
                elif stage.autoscaled and busy < 0.5:
                    stage.scale = max(1.0, stage.scale - 0.25)

    def break_and_mend(self) -> Generator[Any, Any, None]:
        yield self.env.timeout(self.scenario.begins * HOUR)
        faults = dict(self.scenario.capacity)
        for stage in self.stages:
            stage.fault = faults.get(stage.name, faults.get("*", 1.0))
        yield self.env.timeout((self.scenario.ends - self.scenario.begins) * HOUR)
        for stage in self.stages:
            stage.fault = 1.0

    def sample(self) -> Generator[Any, Any, None]:
        before = 0.0
        while True:
            self.result.seconds.append(self.env.now)
            for stage in self.stages:
                self.result.waiting[stage.name].append(stage.waiting_pages)
            self.result.searchable_rate.append((self.searchable - before) / SAMPLE_SECONDS)
            self.result.postponed_pages.append(self.postponed)
            before = self.searchable
            yield self.env.timeout(SAMPLE_SECONDS)


@command
def run(
    pages: Annotated[float, typer.Option(min=1, help="Number of pages of the installation, such as 1e10.")] = 1e10,
    max_lag_seconds: Annotated[
        float, typer.Option(min=1, help="Lag at which the frontier pauses, in seconds of the mean rate.")
    ] = 300,
    plots: Annotated[Path | None, typer.Option(file_okay=False, help="A folder for a plot of each scenario.")] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate an installation as `riffle plan` sizes it: a burst, the loss of half of the GPUs, the loss of a region.

    Example:  python -m benchmarks simulate --pages 1e9 --plots plots/
    """
    costs = load_unit_costs()
    found = plan(Workload(pages=pages, regions=2), costs)
    results = [simulate(scenario, found, costs, max_lag_seconds) for scenario in SCENARIOS]
    figures = [result.figures(found, costs) for result in results]
    for result in results if plots else ():
        draw(result, found, plots)
    if as_json:
        print_json({"pages": pages, "simulated": True, "scenarios": figures})
    else:
        show(figures, found)


def show(figures: list[dict[str, Any]], found: Plan) -> None:
    shown = table(
        f"Simulated: {number(found.workload.pages)} pages, {number(found.rates.fetch)} fetches/s",
        "scenario", "lowest rate", "most waiting", "at", "in Kafka", "paused", "recovered after",
    )  # fmt: skip
    for row in figures:
        shown.add_row(
            row["scenario"],
            f"{row['lowest_searchable_rate']:.0%}",
            f"{number(row['most_waiting_pages'])} pages",
            row["most_waiting_stage"],
            f"{row['most_waiting_tb_in_kafka']} TB",
            f"{row['paused_minutes']} min",
            f"{row['recovered_hours_after_the_fault']} h",
        )
    out.print(shown)


def draw(result: Result, found: Plan, folder: Path | None) -> None:
    """One picture for a scenario: what waits where, and how many pages become searchable."""
    import matplotlib as mpl

    assert folder is not None
    mpl.use("agg")
    mpl.rcParams.update({"font.size": 9})
    import matplotlib.pyplot as plt

    hours = [seconds / HOUR for seconds in result.seconds]
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.2, 4.6), sharex=True, layout="constrained")
    waits = {"frontier (not yet scheduled)": result.postponed_pages, **result.waiting}
    scale = 1e6 if found.rates.fetch > 100 else 1.0
    above.stackplot(hours, *([v / scale for v in values] for values in waits.values()), labels=list(waits))
    above.set_ylabel("pages that wait" + (" (million)" if scale > 1 else ""))
    above.legend(loc="upper right", fontsize=7, ncols=2)
    below.plot(hours[1:], _smooth(result.searchable_rate)[1:], color="black")
    below.set_ylabel("pages made searchable/s")
    below.set_ylim(bottom=0)
    below.set_xlabel("hours")
    for axes in (above, below):
        axes.axvspan(result.scenario.begins, result.scenario.ends, color="tab:red", alpha=0.12, lw=0)
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"Simulated: {result.scenario.says}", fontsize=10)
    folder.mkdir(parents=True, exist_ok=True)
    figure.savefig(folder / f"simulated-{result.scenario.name.replace(' ', '-')}.png", dpi=110)
    plt.close(figure)


def _smooth(values: list[float], width: int = 10) -> list[float]:
    return [sum(values[max(0, i - width + 1) : i + 1]) / min(width, i + 1) for i in range(len(values))]

"""The stages for the Helm chart: what its templates read of the topology, and the stages' names in its schema."""

import json
from functools import cache
from typing import Any

from streams.planning.capacity import Workload
from streams.planning.costs import load_unit_costs
from streams.servers import server_of
from streams.topology import STAGES, Stage


def chart_topology() -> dict[str, Any]:
    """helm/riffle/files/topology.json: each stage with its consumer group, topics, stores, concurrency and speed."""
    return {
        "generated": "from streams/topology.py by `make schemas`",
        "stages": [_stage(stage) for stage in STAGES],
    }


def _stage(stage: Stage) -> dict[str, Any]:
    return {
        "name": stage.name,
        "purpose": stage.says,
        "group": stage.group,
        "inputs": [event.topic for event in stage.inputs],
        "outputs": [event.topic for event in stage.outputs],
        "ownTopics": list(stage.own_topics),
        "deadTopic": stage.dead_topic,
        "stores": [server_of(store).name for store in stage.stores],
        "concurrency": stage.concurrency,
        "source": stage.source,
        "regional": stage.regional,
        "eventsPerSecond": events_per_second(stage),
    }


def events_per_second(stage: Stage) -> float:
    """The number of events that one worker handles in a second, by the unit costs and with one core.

    An event counts as all the work of the stage for a page. Where a page has several events in the stage (frontier,
    ledger), the true number is higher, so workers are added early.
    """
    cost = _unit_costs().stages[stage.name]
    units = Workload(pages=1).statements_per_page if cost.per == "statement" else 1
    return round(1 / (cost.cpu_seconds * units), 1)


_unit_costs = cache(load_unit_costs)


def with_stage_names(schema_text: str) -> str:
    """values.schema.json with one property for each stage, all of the same form. The rest is written by hand."""
    schema: dict[str, Any] = json.loads(schema_text)
    schema["properties"]["stages"]["properties"] = {
        stage.name: {"$ref": "#/$defs/stage", "description": f"The stage {stage.name}: {stage.says}."}
        for stage in STAGES
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"

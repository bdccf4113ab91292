"""The map of the stages is true about itself."""

from uuid import UUID

from schemas import EVENTS, LinkFound, PageIndexed
from streams.settings import Settings
from streams.topology import PAGE_EVENTS, STAGES, WHEN_SENT, Stage


def lead_to_the_index() -> set[str]:
    """The names of the stages with a way from their outputs to the event that makes a page searchable."""
    found = {stage.name for stage in STAGES if PageIndexed in stage.outputs}
    while True:
        read = {event for stage in STAGES if stage.name in found for event in stage.inputs}
        further = {stage.name for stage in STAGES if read.intersection(stage.outputs)} | found
        if further == found:
            return found
        found = further


def test_a_stage_that_leads_to_no_index_is_beside_the_journey() -> None:
    leading = lead_to_the_index()
    assert {"fetch", "normalize", "embed"} <= leading
    aside = [stage.name for stage in STAGES if stage.name not in leading and not stage.beside_journey]
    assert not aside, "set beside_journey=True: no page waits for it"


def test_the_journey_itself_leads_to_the_index() -> None:
    assert all(stage.name in lead_to_the_index() for stage in STAGES if not stage.beside_journey)


def test_every_event_of_a_history_is_about_a_page() -> None:
    without = [event for event in PAGE_EVENTS if not _is_about_a_page(event)]
    assert not without, "an event with a topic pages.* has the field page_id"


def _is_about_a_page(event: type) -> bool:
    return event is LinkFound or event.model_fields["page_id"].annotation is UUID  # type: ignore[attr-defined]  # pages' events have it


def test_every_topic_has_one_event_and_every_stage_one_name() -> None:
    assert len({event.topic for event in EVENTS}) == len(EVENTS)
    assert len({stage.name for stage in STAGES}) == len(STAGES)


def test_the_ledger_reads_every_event_of_a_page() -> None:
    (ledger,) = (stage for stage in STAGES if stage.name == "ledger")
    assert isinstance(ledger, Stage)
    assert ledger.inputs == PAGE_EVENTS


def test_events_that_nobody_sends_by_default_have_a_setting_that_is_off() -> None:
    own = Settings()
    for event, variable in WHEN_SENT.items():
        group, name = variable.removeprefix("RIFFLE_").lower().split("__")
        assert getattr(getattr(own, group), name) is False, event.topic

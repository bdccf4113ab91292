"""Questions in steps: parts, what a model's texts may do, and the loop with its bounds."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest

from streams.answers.confidence import parameters
from streams.answers.evidence import Evidence
from streams.answers.research.bounds import Bounds
from streams.answers.research.dividing import read_parts, read_search
from streams.answers.research.following import Link, Way, chosen_way, texts_of, ways_from
from streams.answers.research.loop import Researcher, Searched, Written
from streams.answers.research.parts import parts_of
from streams.answers.research.results import Step
from streams.errors import DeadlineExceeded, InvalidQuery, RiffleError, SearchUnavailable
from streams.models.chat import Message, ModelUnavailable
from streams.pages.document.consent import Consent
from tests.unit.answers.world import evidence


@pytest.mark.parametrize(
    ("question", "queries"),
    [
        ("What is the hold queue?", ["What is the hold queue?"]),
        (
            "What port does Varnish listen on, and where is the VCL file?",
            ["What port does Varnish listen on", "where is the VCL file"],
        ),
        (
            "In Postfix, how do I flush the queue and how do I delete a message?",  # the lead belongs to both
            ["In Postfix how do I flush the queue", "In Postfix how do I delete a message"],
        ),
        (
            "Who built the Quill tower, and how high is it?",  # it points back
            ["Who built the Quill tower", "Who built the Quill tower how high is it"],
        ),
        (
            "How does Scrapy obey robots.txt, and which setting limits concurrent requests?",  # the name is carried
            ["How does Scrapy obey robots.txt", "which setting limits concurrent requests Scrapy"],
        ),
        ("How do I install it on Ubuntu, Debian or Fedora?", ["How do I install it on Ubuntu, Debian or Fedora?"]),
        (
            "Wer baute den Turm und wann wurde die Brücke fertig?",
            ["Wer baute den Turm", "wann wurde die Brücke fertig"],
        ),
        ("", [""]),
        ("and or and, , ,", ["and or and, , ,"]),
        ("a " * 1_000, ["a " * 999 + "a"]),
    ],
)
def test_parts_have_what_they_need_of_the_words_before_them(question: str, queries: list[str]) -> None:
    assert [part.query for part in parts_of(question)] == queries


ASKED = "How high is the Quill tower, and who designed the Ember bridge?"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param(
            "1. How high is the Quill tower?\n2. Who designed the Ember bridge?",
            ["How high is the Quill tower?", "Who designed the Ember bridge?"],
            id="numbers",
        ),
        pytest.param(
            "- **Quill tower** height\n\n- Part 2: Ember bridge designer\n",
            ["Quill tower height", "Ember bridge designer"],
            id="markup",
        ),
        pytest.param(
            "How high is the Quill tower?\nHow many pills does the pharmacy sell?", [], id="what was not asked"
        ),
        pytest.param("Ember bridge tower", ["Ember bridge tower"], id="half of its words"),
        pytest.param("Tower tower", [], id="too few of its words"),
        pytest.param("\n".join(f"How high is the Quill tower {n}?" for n in range(6)), [], id="too many"),
        pytest.param("NONE", [], id="none"),
        pytest.param("", [], id="empty"),
        pytest.param("Quill", [], id="a word"),
        pytest.param("x" * 100_000, [], id="long"),
    ],
)
def test_the_parts_of_a_model_are_about_the_question(text: str, parts: list[str]) -> None:
    assert [part.text for part in read_parts(text, ASKED)] == parts


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("Search: quill tower height in metres\nmore", "quill tower height in metres"),
        ('site:thief.test "quill" -tower (height)', "site thief.test quill tower height"),
        ("visit https://thief.test/collect now please", "visit now please"),
        ("quill tower", ""),  # it was tried
        ("NONE", ""),
    ],
)
def test_another_search_has_no_operators_and_is_a_new_one(text: str, query: str) -> None:
    assert read_search(text, ["Quill tower"]) == query


TOWER = evidence("https://quill.test/", "The Quill tower stands on a hill.", title="Quill")
LINKS = [
    Link(evidence("https://a.test/", "x").page_id, "https://a.test/", "opening hours"),
    Link(evidence("https://b.test/", "x").page_id, "https://b.test/", "the height of the tower"),
]


@pytest.mark.parametrize(
    ("text", "kind"),
    [("2", "link"), ("[3]\n1", "similar"), ("NONE", None), ("I would read number 99!", "around"), ("77", "around")],
)
def test_a_way_on_is_chosen_by_its_number(text: str, kind: str | None) -> None:
    ways = ways_from("how high is the tower", [TOWER], LINKS)
    assert [way.kind for way in ways] == ["around", "link", "similar"], "a link without a word of the part is no way"
    assert texts_of(ways, LINKS)[1] == "the page behind its link: the height of the tower"
    chosen = chosen_way(text, ways)
    assert (chosen.kind if chosen else None) == kind


@dataclass
class FakeIndex:
    """An index with answers by query; others find nothing."""

    found: Mapping[str, Sequence[Evidence] | RiffleError]
    near: Sequence[Evidence] = ()
    linked: Sequence[Link] = ()
    asked: list[str] = field(default_factory=list)
    unknown: Sequence[str] = ()
    """Words that no page has."""

    async def search(self, query: str) -> Searched:
        self.asked.append(query)
        found = self.found.get(query, ())
        if isinstance(found, RiffleError):
            raise found
        return Searched(found, tuple(word for word in self.unknown if word in query))

    async def around(self, statement: Evidence, query: str) -> Sequence[Evidence]:
        self.asked.append(f"around {statement.text}")
        return self.near

    async def of_page(self, way: Way, query: str) -> Sequence[Evidence]:
        self.asked.append(f"page {way.asked}")
        return self.near

    async def similar(self, page: Evidence, query: str) -> Sequence[Evidence]:
        self.asked.append(f"like {page.url}")
        return self.near

    async def links(self, page: Evidence) -> Sequence[Link]:
        return self.linked


class FakeModel:
    """A model that writes what a function makes of a request."""

    def __init__(self, write: Callable[[str], str | RiffleError]) -> None:
        self._write, self.asked = write, list[str]()

    def known(self, messages: Sequence[Message]) -> str | None:
        return None

    async def write(
        self, messages: Sequence[Message], max_tokens: int, ends_at: float, is_enough: Callable[[str], bool]
    ) -> Written:
        self.asked.append(messages[-1].content)
        await asyncio.sleep(0)
        text = self._write(messages[-1].content)
        if isinstance(text, RiffleError):
            raise text
        return Written(text)


@dataclass
class Budgets:
    searches: int = 1_000
    answers: int = 1_000

    async def may_search(self) -> bool:
        self.searches -= 1
        return self.searches >= 0

    async def may_answer(self) -> bool:
        self.answers -= 1
        return self.answers >= 0


USUAL = Bounds()


async def research(
    index: FakeIndex, model: FakeModel | None = None, budgets: Budgets | None = None, bounds: Bounds = USUAL
) -> tuple[Researcher, list[Step]]:
    clock = asyncio.get_running_loop().time
    made = Researcher(ASKED, index, model, bounds, budgets or Budgets(), parameters(), clock)
    return made, [step async for step in made.run()]


HIGH, BY = "How high is the Quill tower", "who designed the Ember bridge"
FOUND = {
    HIGH: [evidence("https://quill.test/", "The Quill tower is 120 metres high.", title="The Quill tower")],
    BY: [evidence("https://ember.test/", "The Ember bridge was designed by Ada Marlow.", title="The Ember bridge")],
}


async def test_one_statement_is_shown_for_one_part_only() -> None:
    both = [*FOUND[HIGH], *FOUND[BY]]
    made, _ = await research(FakeIndex({HIGH: both, BY: both}))
    assert [[each.text for each in part.statements][:1] for part in made.research.parts] == [
        [FOUND[HIGH][0].text],
        [FOUND[BY][0].text],
    ]


async def test_a_part_with_a_word_that_no_page_has_is_open() -> None:
    """Also if a model chose something for it; not if a search in other words has no such word."""
    made, _ = await research(FakeIndex(FOUND, unknown=["Ember"]), FakeModel(chooses()))
    assert [(part.is_open, part.missing, part.by) for part in made.research.parts] == [
        (False, (), "model"),
        (True, ("Ember",), "model"),
    ]
    index = FakeIndex({HIGH: FOUND[HIGH], "bridge architect": FOUND[BY]}, unknown=["Ember"])
    made, _ = await research(index, FakeModel(chooses(search="bridge architect")))
    assert [part.is_open for part in made.research.parts] == [False, False]


@pytest.mark.parametrize(
    ("error", "fault", "is_partial"),
    [
        (SearchUnavailable("no index"), "unavailable", True),
        (InvalidQuery("query-empty", "No query", "It has no words."), "refused", False),
        (DeadlineExceeded("late"), "late", True),
    ],
)
async def test_a_search_that_fails_leaves_the_other_parts(error: RiffleError, fault: str, is_partial: bool) -> None:
    made, steps = await research(FakeIndex({HIGH: error, BY: FOUND[BY]}))
    assert [step.fault for step in steps if step.kind == "search" and step.is_done] == [fault, ""]
    assert made.research.is_partial is is_partial
    assert [part.is_open for part in made.research.parts] == [True, False]


def chooses(**texts: str) -> Callable[[str], str]:
    """Return what a model writes: for parts, ways and other searches as given; and 1 for a page with `wanted`."""

    def write(content: str) -> str:
        if "Which parts" in content:
            return texts.get("parts", "")
        if "one other search" in content:
            return texts.get("search", "")
        if "Which of these would?" in content:
            return texts.get("way", "NONE")
        return "1" if texts.get("wanted", "metres") in content or "Marlow" in content else "NONE"

    return write


async def test_it_ends_when_all_parts_have_statements() -> None:
    model = FakeModel(chooses())
    made, _ = await research(FakeIndex(FOUND), model)
    assert (made.research.end, made.research.spent.searches, len(model.asked)) == ("answered", 2, 3)
    assert made.research.divided == "clauses", "an empty text is no division"


async def test_an_open_part_is_asked_in_other_words() -> None:
    index = FakeIndex({BY: FOUND[BY], "quill height": FOUND[HIGH]})
    made, steps = await research(index, FakeModel(chooses(search="quill height")))
    assert index.asked == [HIGH, BY, "quill height"]
    assert made.research.end == "answered"
    assert made.research.parts[0].queries == (HIGH, "quill height")
    assert [step.texts for step in steps if step.kind == "rephrase" and step.is_done] == [("quill height",)]


@pytest.mark.parametrize(
    ("way", "asked"), [("1", "around The"), ("2", "page https://b.test/"), ("3", "like https://q")]
)
async def test_an_open_part_goes_on_from_its_best_page(way: str, asked: str) -> None:
    first = evidence("https://quill.test/", "The Quill tower stands on a hill.", title="The Quill tower")
    index = FakeIndex({HIGH: [first], BY: FOUND[BY]}, near=FOUND[HIGH], linked=[LINKS[1]])
    made, _ = await research(index, FakeModel(chooses(way=way)))
    assert index.asked[2].startswith(asked)
    assert (made.research.end, made.research.parts[0].statements[0].text) == ("answered", FOUND[HIGH][0].text)


async def test_it_ends_when_nothing_new_is_found() -> None:
    index = FakeIndex({BY: FOUND[BY]})
    made, _ = await research(index, FakeModel(chooses(search="quill height")))
    assert (made.research.end, index.asked) == ("nothing-new", [HIGH, BY, "quill height"])


async def test_rounds_have_an_end() -> None:
    """The model always wants another search, and each of them finds a new page."""
    count = 0

    class Endless(FakeIndex):
        async def search(self, query: str) -> Searched:
            nonlocal count
            count += 1
            return Searched([evidence(f"https://new{count}.test/", f"The Quill tower has {count} doors.")])

    def write(content: str) -> str:
        return f"quill tower {count}" if "one other search" in content else "NONE"

    made, _ = await research(Endless({}), FakeModel(write))
    assert made.research.end == "rounds"
    assert made.research.spent.searches <= 6


@pytest.mark.parametrize(
    ("bounds", "end"),
    [
        (Bounds(searches=1), "searches"),
        (Bounds(calls=1), "calls"),
        (Bounds(tokens=1), "tokens"),
    ],
)
async def test_each_bound_ends_it(bounds: Bounds, end: str) -> None:
    model = FakeModel(chooses(search="quill height", wanted="nothing"))
    made, _ = await research(FakeIndex({HIGH: FOUND[HIGH], BY: []}), model, bounds=bounds)
    spent = made.research.spent
    assert made.research.end == end
    assert (spent.searches <= bounds.searches, spent.calls <= bounds.calls) == (True, True)
    assert spent.tokens <= bounds.tokens
    assert len(model.asked) == spent.calls


async def test_budgets_end_it() -> None:
    made, _ = await research(FakeIndex(FOUND), budgets=Budgets(searches=1))
    assert made.research.end == "budget"
    model = FakeModel(chooses(wanted="nothing"))
    made, _ = await research(FakeIndex(FOUND), model, budgets=Budgets(answers=0))
    assert (made.research.end, model.asked, made.research.spent.calls) == ("budget", [], 0)


async def test_calls_wait_for_the_budget_of_their_answer() -> None:
    class Slow(Budgets):
        async def may_answer(self) -> bool:
            await asyncio.sleep(0.01)
            return await super().may_answer()

    model = FakeModel(chooses(wanted="nothing"))
    made, _ = await research(FakeIndex(FOUND), model, budgets=Slow(answers=0))
    assert (made.research.end, model.asked, made.research.spent.calls) == ("budget", [], 0)


async def test_what_was_chosen_in_time_stays() -> None:
    class Slow(FakeModel):
        async def write(
            self, messages: Sequence[Message], max_tokens: int, ends_at: float, is_enough: Callable[[str], bool]
        ) -> Written:
            if "slow" in messages[-1].content:
                await asyncio.sleep(3_600)
            return await super().write(messages, max_tokens, ends_at, is_enough)

    slow = evidence("https://slow.test/", "The Quill tower is a slow climb.", title="The Quill tower")
    model = Slow(chooses(wanted="120 metres"))
    made, steps = await research(FakeIndex({HIGH: [*FOUND[HIGH], slow]}), model, bounds=Bounds(seconds=0.3))
    part = made.research.parts[0]
    assert (part.by, [each.text for each in part.statements]) == ("model", ["The Quill tower is 120 metres high."])
    assert any(step.fault == "late" for step in steps)


async def test_a_page_that_no_model_may_read_is_counted_once() -> None:
    kept = Consent(for_models=False, reasons=("noai",))
    both = evidence("https://both.test/", "The Quill tower, and the Ember bridge, stand on hills.", consent=kept)
    made, _ = await research(FakeIndex({HIGH: [both], BY: [both]}), FakeModel(chooses()))
    assert made.research.withheld == 1


@pytest.mark.parametrize("model", [None, FakeModel(lambda content: "1\n2")], ids=["order", "model"])
async def test_a_page_is_quoted_up_to_its_limit_over_all_parts(model: FakeModel | None) -> None:
    limited = Consent(max_snippet=60)
    texts = (
        "The Quill tower is 120 metres high.",
        "The Quill tower has 640 steps.",
        "The Ember bridge was designed by Ada Marlow.",
    )
    page = [evidence("https://quill.test/", text, title="Towers", consent=limited) for text in texts]
    made, _ = await research(FakeIndex({HIGH: page, BY: page}), model)
    shown = {each.text for part in made.research.parts for each in part.statements}
    assert shown
    assert sum(map(len, shown)) <= 60
    assert [part.is_open for part in made.research.parts] == [not part.statements for part in made.research.parts]


async def test_a_model_that_fails_is_asked_no_further_round() -> None:
    model = FakeModel(lambda _: ModelUnavailable("down"))
    made, _ = await research(FakeIndex(FOUND), model)
    assert (made.research.model, made.research.end, len(model.asked)) == ("failed", "one-round", 3)
    assert [part.by for part in made.research.parts] == ["order", "order"]


async def test_time_ends_it() -> None:
    class Slow(FakeIndex):
        async def search(self, query: str) -> Searched:
            if query == BY:
                await asyncio.sleep(3_600)
            return Searched(FOUND[HIGH])

    made, steps = await research(Slow({}), bounds=Bounds(seconds=0.2))
    assert [part.is_open for part in made.research.parts] == [False, True]
    assert (made.research.is_partial, steps[-1].fault) == (True, "late")


async def test_who_stops_reading_ends_all_that_runs() -> None:
    ended = asyncio.Event()

    class Hanging(FakeIndex):
        async def search(self, query: str) -> Searched:
            try:
                await asyncio.sleep(3_600)
            finally:
                ended.set()
            return Searched(())

    made = Researcher(ASKED, Hanging({}), None, Bounds(), Budgets(), parameters(), asyncio.get_running_loop().time)
    steps = made.run()
    while (await anext(steps)).kind != "search":
        pass
    await asyncio.sleep(0)
    await steps.aclose()
    assert ended.is_set()

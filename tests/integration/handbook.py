"""A handbook of some forty short pages, each about something else: real stages index it for the tests of programs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from uuid import UUID

from schemas.ids import page_id
from streams.pages.sandbox.pool import ParsePool
from streams.stores.opener import Stores
from tests.stages.whole_journey import SECOND, START, WholeJourney

TEXTS = {
    "otters": "Sea otters hold hands while they sleep, so that the current does not carry them apart.",
    "logs": "A write-ahead log keeps a database whole when the power fails in the middle of a write.",
    "bread": "Sourdough rises slowly, because wild yeast needs a night to fill the dough with bubbles.",
    "bridges": "A suspension bridge hangs its deck from cables that two high towers carry across the water.",
    "lighthouses": "Lighthouses flash in a rhythm of their own, so that sailors know which one they see.",
    "gnomons": "A gnomon is the part of a sundial that casts the shadow.",
    "bees": "Honey bees dance in a figure of eight to say how far away the flowers are.",
    "glass": "Molten glass is gathered on an iron pipe and blown before it stiffens.",
    "tides": "Spring tides come when sun and moon pull along one line.",
    "silk": "Silkworms spin one thread of almost a kilometre around themselves.",
    "kites": "A kite climbs steeply when its bridle is tied nearer to the nose.",
    "clocks": "A pendulum of one metre needs two seconds for a full swing.",
    "salt": "Sea salt is raked from shallow ponds after the summer sun has dried them.",
    "owls": "Owls turn their heads because their eyes cannot move.",
    "paper": "Old rags were beaten to pulp and lifted from the vat on a wire mould.",
    "violins": "Violin makers prefer spruce for the belly and maple for the back.",
    "volcanoes": "Basalt lava runs far before it sets, and rhyolite piles up near the vent.",
    "maps": "Contour lines that lie close together mean a steep slope.",
    "tea": "Green leaves are steamed at once, black ones wither and oxidise first.",
    "canals": "A lock lifts barges by filling its chamber from the upper level.",
    "cheese": "Rennet curdles milk, and the whey drains through the cloth.",
    "comets": "The tail of a comet always points away from our star.",
    "ink": "Oak galls and iron sulphate give a black that bites into parchment.",
    "penguins": "Emperor penguins take turns at the cold edge of the huddle.",
    "wells": "An artesian well flows without a pump, as the aquifer is under pressure.",
    "chess": "Castling is forbidden while the king stands in check.",
    "mushrooms": "Chanterelles grow together with the roots of birch and pine.",
    "anchors": "A fluke buries itself deeper the harder the chain pulls.",
    "windmills": "The miller turns the cap so that the sails face the breeze.",
    "amber": "Amber is resin of ancient conifers, and floats in brine.",
    "saddles": "A saddle tree spreads the weight of the rider over the horse's ribs.",
    "fog": "Fog forms in valleys on clear nights, once the ground has lost its warmth.",
    "bells": "Bell founders tune bronze by turning metal from the inside of the rim.",
    "ferns": "Ferns shed spores from the underside of their fronds.",
    "barrels": "Coopers bend staves over a fire of their own shavings.",
    "glaciers": "Glaciers carve round valleys where rivers had cut narrow ones.",
    "falcons": "A peregrine folds its wings and dives at three hundred kilometres an hour.",
    "candles": "Beeswax burns cleaner than tallow and hardly smokes.",
    "looms": "The shuttle carries the weft between the raised and lowered warp.",
    "radios": "Long waves follow the curve of the earth, short ones bounce from the ionosphere.",
    "quarries": "Granite splits along rows of drilled holes when wedges are driven in.",
}
"""The topic of each page, and what it says."""


@dataclass(frozen=True, slots=True)
class Handbook:
    """The indexed pages on one host. Indexed again on one stack, they are as they were."""

    host: str = "handbook.test"

    def url(self, topic: str) -> str:
        return f"https://{self.host}/{topic}"

    def page(self, topic: str) -> UUID:
        return page_id(self.url(topic))

    @property
    def urls(self) -> set[str]:
        return {self.url(topic) for topic in TEXTS}

    async def index(self, stores: Stores, topics: Sequence[str] = tuple(TEXTS)) -> None:
        """Let all stages handle the fetched pages."""
        async with ParsePool(1) as pool:
            journey = WholeJourney(pool, stores)
            for at, topic in enumerate(topics):
                await journey.fetch(self.url(topic), html(topic, TEXTS[topic], at), at)

    async def change(self, stores: Stores, topic: str, text: str) -> None:
        """The page is fetched again now, with another text."""
        async with ParsePool(1) as pool:
            seconds = int(time.time()) - START // SECOND
            await WholeJourney(pool, stores).fetch(self.url(topic), html(topic, text, 0), seconds)


def html(topic: str, text: str, at: int) -> str:
    """Return the page. The first page is the newest."""
    day = date(2025, 6, 30) - timedelta(days=at)
    return (
        f"<!doctype html><html lang=en><title>Handbook of {topic}</title>"
        f"<meta property='article:published_time' content='{day}'>"
        f"<main><h1>Handbook of {topic}</h1><p>{text}</p><p>This handbook has more to say about {topic}.</p></main>"
    )

"""Adult pages, recognized by their words: a filter for people who don't look for them, not a protection of minors.

A host with an adult name is enough. Otherwise two different words of the list must occur in the title and the found
statements, so that a page about laws or health stays.
"""

import re

from streams.stores.protocols import PageHits

_WORDS = (
    "xxx porn porno pornos pornstar pornstars pornhub xvideos xhamster xnxx redtube youporn hentai milf milfs blowjob "
    "blowjobs handjob cumshot cumshots creampie gangbang threesome deepthroat camgirl camgirls livesex sexcam sexcams "
    "fetish bdsm bukkake upskirt nsfw hardcore escorts shemale shemales"
)
_HOST_PARTS = (
    r"porn(?!ic(?:\b|het)) xxx xvideos xhamster xnxx redtube hentai camgirl sexcam(?!p) (?<!o)livesex milf(?!ord|ield)"
)
"""Parts of names of hosts, but not of towns (Pornic, Milford), of a Sussex campus, or of an olives express."""
ADULT_WORDS = frozenset(_WORDS.split())
_WORD = re.compile(r"\w+")
_DISGUISED = str.maketrans("İıſ", "iis")
"""Letters that equal an ASCII letter where case does not count, although `lower` keeps them."""
_IN_HOST = re.compile("|".join(_HOST_PARTS.split()))
_MIN_WORDS = 2
MAX_CHARS = 2_000
"""Maximum length of a page's title and statements that is read (characters): three statements of usual length."""
_ADULT_DOMAINS = (".xxx", ".porn", ".adult", ".sex")


def is_adult(page: PageHits) -> bool:
    """Return True if the host, or two words of the page, are words of adult content."""
    payload = page.hits[0].payload
    host = payload.host.lower().partition(":")[0]
    if host.endswith(_ADULT_DOMAINS) or _IN_HOST.search(host):
        return True
    text = " ".join([payload.title, *(hit.payload.text for hit in page.hits[:3])])[:MAX_CHARS]
    plain = text if text.isascii() else text.translate(_DISGUISED)
    return len(ADULT_WORDS.intersection(_WORD.findall(plain.lower()))) >= _MIN_WORDS

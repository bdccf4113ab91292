"""What is known of each segment, as numbers: the input of the content model. Texts and markup alone; never a host or
URL.

Three sources: the text itself, the elements around it (what they are, what their classes say, how much text and how
many links they hold), and the page as a whole. Everything is computed for all segments at once where numpy can.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from streams.pages.tags import HEADINGS
from streams.pages.walk import Attributes, Walk

Matrix = NDArray[np.float32]

# Elements and roles that say what they are. Bits 0..
_ELEMENT_GROUPS = (
    "nav menu navigation menubar",
    "header banner",
    "footer contentinfo",
    "aside complementary",
    "form search dialog alertdialog",
    "main",
    "article",
    "section",
    "table grid",
    "ul ol list",
    "li listitem",
    "dl dd dt",
    "figure figcaption caption",
    "noscript",
    "blockquote",
    "details summary",
    "button tab option tablist legend",
    "p",
    "td th",
    "address",
)
# What authors call things: words of `class` and `id`.
_WORD_GROUPS = (
    "nav navbar navigation menu submenu megamenu dropdown topbar topnav subnav sitenav mainmenu "
    "breadcrumb breadcrumbs crumb "
    "pagination pager skip toolbar",
    "footer foot colophon copyright bottom legal",
    "header masthead head banner top logo branding brand",
    "sidebar aside rail secondary widget sidenav left right side toc sticky",
    "comment disqus respond commentlist discussion",
    "share sharing social sharethis addthis facebook twitter linkedin whatsapp follow sharedaddy",
    "related recommend recommended recommendation recommendations similar suggested upsell crosssell "
    "trending popular latest "
    "recent also next prev previous recirc readmore",
    "ad advert advertisement sponsor sponsored promo promotion promoted outbrain taboola adsense",
    "cookie consent gdpr modal popup overlay dialog notice alert toast banner privacy",
    "newsletter subscribe signup subscription optin email form mailchimp login signin register account user",
    "meta byline author date time published postmeta timestamp info details tag category categories taxonomy label",
    "content article post entry body main text story prose richtext rte wysiwyg copy articlebody "
    "maincontent wrapper markdown "
    "longform",
    "title heading headline subtitle lead intro summary excerpt abstract hero teaser",
    "product price cart sku buy shop wishlist stock checkout variant quantity basket shipping delivery",
    "review rating star testimonial feedback quote",
    "description desc specification spec feature detail attribute about overview",
    "message reply thread topic forum postbody answer question bbcode cooked comment post",
    "hidden hide invisible sr only screen visually offscreen visuallyhidden noprint print",
    "list grid card item tile collection listing result gallery carousel slider slide swiper",
    "faq accordion tab panel toggle collapse expand collapsible",
    "search filter sort facet refine",
    "cta btn button action link",
    "caption image img media figure photo video",
    "code highlight pre syntax example snippet docs documentation doc reference api",
    "bio profile avatar contributor",
    "table row cell",
    "step process benefit service team client partner faq contact location hours",
)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_HIDDEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
HIDDEN_BIT = len(_ELEMENT_GROUPS) + len(_WORD_GROUPS)
BITS = HIDDEN_BIT + 1


def _bits(groups: tuple[str, ...], offset: int) -> dict[str, int]:
    found: dict[str, int] = {}
    for number, group in enumerate(groups):
        for word in group.split():
            found[word] = found.get(word, 0) | 1 << (offset + number)
    return found


_ELEMENT_BITS = _bits(_ELEMENT_GROUPS, 0)
_WORD_BITS = _bits(_WORD_GROUPS, len(_ELEMENT_GROUPS))
_WORD_BITS |= {word + "s": bits for word, bits in _WORD_BITS.items() if not word.endswith("s")}

# What short texts of chrome, of bylines and of controls are made of.
_CHROME_WORDS = frozenset(
    [
        "cookie",
        "cookies",
        "subscribe",
        "sign",
        "login",
        "newsletter",
        "privacy",
        "terms",
        "copyright",
        "©",
        "rights",
        "reserved",
        "share",
        "tweet",
        "follow",
        "related",
        "recommended",
        "advertisement",
        "sponsored",
        "policy",
        "facebook",
        "twitter",
        "instagram",
        "linkedin",
        "youtube",
        "pinterest",
        "whatsapp",
        "email",
        "account",
        "register",
        "unsubscribe",
    ]
)
_BYLINE_WORDS = frozenset(
    [
        "by",
        "posted",
        "published",
        "updated",
        "ago",
        "min",
        "mins",
        "minutes",
        "comments",
        "comment",
        "reply",
        "replies",
        "views",
        "likes",
        "votes",
        "points",
        "joined",
        "posts",
        "edited",
        "author",
        "written",
        "tags",
        "category",
        "categories",
        "last",
        "modified",
        "reviewed",
        "jan",
        "feb",
        "mar",
        "apr",
        "may",
        "jun",
        "jul",
        "aug",
        "sep",
        "oct",
        "nov",
        "dec",
        "january",
        "february",
        "march",
        "april",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ]
)
_CONTROL_WORDS = frozenset(
    [
        "read",
        "more",
        "see",
        "view",
        "all",
        "show",
        "less",
        "load",
        "next",
        "previous",
        "prev",
        "back",
        "skip",
        "home",
        "menu",
        "search",
        "loading",
        "click",
        "learn",
        "shop",
        "now",
        "contact",
        "us",
        "get",
        "started",
        "add",
        "to",
        "cart",
        "buy",
        "wishlist",
        "sort",
        "filter",
        "close",
        "open",
        "toggle",
        "expand",
        "download",
        "print",
        "report",
        "edit",
        "select",
        "choose",
        "here",
        "quick",
    ]
)
_SENTENCE_END = (".", "!", "?", "。", "！", "？", '."', ".”", "…")
_DIGIT = re.compile("[0-9]")

_masks: dict[str, int] = {}
_MAX_KNOWN_MASKS = 50_000


def word_mask(names: str) -> int:
    """Which groups the words of a class or id belong to. Sites repeat their classes, so answers are kept."""
    mask = _masks.get(names)
    if mask is None:
        mask = 0
        for word in _WORDS.findall(names[:200]):
            mask |= _WORD_BITS.get(word.lower(), 0)
        if len(_masks) >= _MAX_KNOWN_MASKS:
            _masks.clear()
        _masks[names] = mask
    return mask


def _own_mask(tag: str, attributes: Attributes) -> int:
    mask = _ELEMENT_BITS.get(tag, 0)
    for attribute, value in attributes.items():
        if attribute == "class" or attribute == "id":
            if value:
                known = _masks.get(value)
                mask |= word_mask(value) if known is None else known
        elif attribute == "role":
            mask |= _ELEMENT_BITS.get(value, 0)
        elif attribute == "style":
            if value and _HIDDEN_STYLE.search(value):
                mask |= 1 << HIDDEN_BIT
        elif attribute == "hidden" or (attribute == "aria-hidden" and value == "true"):
            mask |= 1 << HIDDEN_BIT
    return mask


_LEVELS = (0, 1, 2, 3, 5, 7)
_TAGS = tuple("p li td th div pre dd dt button section article body h1 h2 h3 h4 other".split())  # noqa: SIM905
_TAG_NUMBERS = {tag: number for number, tag in enumerate(_TAGS[:-1])}
_ONE_HOT = np.eye(len(_TAGS), dtype=np.float32)
_TAG_FLAGS = dict.fromkeys(HEADINGS, 1) | {"h1": 3, "li": 4}
_OTHER_TAG = len(_TAGS) - 1
_SHIFTS = (-3, -2, -1, 1, 2, 3)

PAGE_KINDS = (
    "article newsarticle blogposting techarticle reportagenewsarticle",
    "product productgroup offer",
    "qapage discussionforumposting question",
    "collectionpage itemlist",
    "faqpage howto recipe",
    "webpage aboutpage contactpage",
    "organization localbusiness service professionalservice",
    "website",
)
"""Words that structured data and OpenGraph use for what a page is."""
_KIND_NUMBERS = {word: number for number, words in enumerate(PAGE_KINDS) for word in words.split()}


def features(
    page: Walk, groups: NDArray[np.int64], title: str = "", kinds: Iterable[str] = (), names: str = ""
) -> Matrix:
    """Shape (segments, features), float32.

    `groups`: of `group_numbers`; `kinds`: the types that the page's metadata names; `names`: the classes of its body.
    """
    segments = page.segments
    count = len(segments)
    elements = np.array([segment.element for segment in segments], np.int32)
    text, length = _text_features(page, title)
    chars, link_share, heading = text[:, 0], text[:, 2], text[:, 5]
    good = np.where((length > 80) & (link_share < 0.3), length, 0).astype(np.float32)

    parents = np.array(page.parents, np.int32)
    sums = _subtree_sums(
        page.parents, elements, np.stack([length, length * link_share, good, np.ones_like(length)], axis=1)
    )
    total = np.maximum(sums[0], 1.0)
    near, inherited, depth = _masks_of(page, elements, sums)

    shares = np.stack(
        [
            np.log1p(sums[:, 0]) * 0.2,
            sums[:, 1] / np.maximum(sums[:, 0], 1.0),
            sums[:, 2] / np.maximum(sums[:, 0], 1.0),
            sums[:, 2] / total[2],
            np.log1p(sums[:, 3]) * 0.3,
        ],
        axis=1,
    ).astype(np.float32)
    around = []
    at = elements
    for level in range(_LEVELS[-1] + 1):
        if level in _LEVELS:
            around.append(shares[at])
        at = np.maximum(parents[at], 0)

    number = np.arange(count, dtype=np.float32)
    before = np.cumsum(length) - length
    good_before = np.cumsum(good) - good
    titles = np.flatnonzero(text[:, 6])
    first_title = float(titles[0]) if len(titles) else -1.0
    position = [
        number / max(count, 1),
        before / total[0],
        good_before / total[2],
        good_before > 0,
        good_before + good >= total[2],
        number >= first_title if first_title >= 0 else np.full(count, 0.5, np.float32),
        np.clip((number - first_title) / 30.0, -1, 1) if first_title >= 0 else np.zeros(count, np.float32),
        depth * 0.05,
    ]
    basis = np.stack([chars, link_share, heading, good > 0, text[:, 7], text[:, 8], good * 0.003], axis=1).astype(
        np.float32
    )
    whole = _page_features(page, sums[0], count, good, text, kinds, names)
    columns = [
        text,
        near,
        inherited,
        *around,
        np.stack(position, axis=1),
        _window(basis[:, [0, 1, 6]], 3),
        _window(basis[:, [0, 1, 6]], 10),
        *_shifted(basis[:, :6]),
        _group_features(groups, length, link_share),
        np.broadcast_to(whole, (count, len(whole))),
    ]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def _text_features(page: Walk, title: str) -> tuple[Matrix, Matrix]:
    """What each text is like, and its length. Columns: five measures, flags, then the kind of its element."""
    tags = page.tags
    texts = [segment.text for segment in page.segments]
    seen = Counter(texts)
    repeated = len(seen) < len(texts)
    lowered = title.lower()
    measures: list[int] = []
    flags: list[int] = []
    digit = _DIGIT.search
    for segment, text in zip(page.segments, texts, strict=True):
        size = len(text)
        bits = _TAG_FLAGS.get(tags[segment.element], 0)
        if text.endswith(_SENTENCE_END):
            bits |= 8
        if segment.images:
            bits |= 16
        if repeated and seen[text] > 1:
            bits |= 32
        if text[0].isupper():
            bits |= 64
        if text[-1] == ":":
            bits |= 128
        if segment.marked:
            bits |= 256
        if size < 120:
            low = text.lower()
            parts = low.split()
            if not _CHROME_WORDS.isdisjoint(parts):
                bits |= 1 << 9
            if not _BYLINE_WORDS.isdisjoint(parts):
                bits |= 1 << 10
            if not _CONTROL_WORDS.isdisjoint(parts):
                bits |= 1 << 11
            if digit(text):
                bits |= 1 << 12
            if not text.isascii() or "$" in text or "|" in text:
                if "$" in text or "€" in text or "£" in text:
                    bits |= 1 << 13
                if "|" in text or "»" in text or "›" in text or "•" in text:
                    bits |= 1 << 15
            if size > 3 and low in lowered:
                bits |= 1 << 14
            words = len(parts)
        else:
            words = text.count(" ") + 1
        flags.append(bits)
        if size > 40:
            measures += (size, segment.link_chars, words, text.count(","), text.count(". "), segment.links)
        else:
            measures += (size, segment.link_chars, words, 0, 0, segment.links)
    kinds = [_TAG_NUMBERS.get(tags[segment.element], _OTHER_TAG) for segment in page.segments]
    counted = np.array(measures, np.float32).reshape(-1, 6)
    length, counted = counted[:, 0], counted[:, 1:]
    counts = counted[:, 1]
    made = [
        np.log1p(length) * 0.2,
        np.minimum(length, 400) / 400,
        np.minimum(counted[:, 0] / length, 1.0),
        np.where(counts > 1, np.minimum(length / counts, 15) * 0.1, 0.5),
        np.minimum(counts, 4) * 0.25,
    ]
    unpacked = np.unpackbits(np.array(flags, np.uint16).view(np.uint8).reshape(-1, 2), axis=1, bitorder="little")
    rest = np.minimum(counted[:, 2:], 10) * 0.1
    return np.concatenate([np.stack(made, axis=1), unpacked, rest, _ONE_HOT[kinds]], axis=1, dtype=np.float32), length


def _subtree_sums(parents: list[int], elements: NDArray[np.int32], values: Matrix) -> Matrix:
    """Per element, the sums of `values` over the segments in it and below it. Shape (elements, 4)."""
    # Elements are numbered in document order, so what is below one is the run of numbers behind it.
    sizes = [1] * len(parents)
    for index in range(len(parents) - 1, 0, -1):
        sizes[parents[index]] += sizes[index]
    running = np.zeros((len(parents) + 1, values.shape[1]))
    for column in range(values.shape[1]):
        np.cumsum(np.bincount(elements, values[:, column], len(parents)), out=running[1:, column])
    at = np.arange(len(parents))
    sums: Matrix = (running[at + np.array(sizes)] - running[at]).astype(np.float32)
    return sums


def _masks_of(page: Walk, elements: NDArray[np.int32], sums: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Groups of the three nearest elements, groups of any element around, and the depth; all per segment.

    An element around nearly the whole page says nothing of a part of it (`class="with-sidebar"`).
    """
    own_masks, all_masks, depths = [0], [0], [0]
    parents, tags, attributes = page.parents, page.tags, page.attributes
    held = sums[:, 0].tolist()
    wide = held[0] * 0.75
    for index in range(1, len(tags)):
        parent = parents[index]
        own = _own_mask(tags[index], attributes[index]) if 0 < held[index] <= wide else 0
        own_masks.append(own)
        all_masks.append(own | all_masks[parent])
        depths.append(depths[parent] + 1)
    own_array = np.array(own_masks, np.uint64)
    above = np.maximum(np.array(parents, np.int64), 0)
    first, second = above[elements], above[above[elements]]
    return (
        _unpacked(own_array[elements] | own_array[first] | own_array[second]),
        _unpacked(np.array(all_masks, np.uint64)[elements]),
        np.array(depths, np.float32)[elements],
    )


def _unpacked(masks: NDArray[np.uint64]) -> Matrix:
    bits = np.unpackbits(masks.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    return bits[:, :BITS].astype(np.float32)


def _window(values: Matrix, reach: int) -> Matrix:
    """The mean over the segments at most `reach` away."""
    sums = np.concatenate([np.zeros((1, values.shape[1])), np.cumsum(values, axis=0, dtype=np.float64)])
    at = np.arange(len(values))
    low, high = np.maximum(at - reach, 0), np.minimum(at + reach + 1, len(values))
    means: Matrix = ((sums[high] - sums[low]) / (high - low)[:, None]).astype(np.float32)
    return means


def _shifted(values: Matrix) -> list[Matrix]:
    """The rows before and behind each row; zeros beyond the ends."""
    reach = max(_SHIFTS)
    padded = np.zeros((len(values) + 2 * reach, values.shape[1]), np.float32)
    padded[reach : reach + len(values)] = values
    return [padded[reach + by : reach + by + len(values)] for by in _SHIFTS]


def group_numbers(page: Walk) -> NDArray[np.int64]:
    """Segments in elements alike (tag and class, and their parents') have the same number."""
    tags, parents, attributes = page.tags, page.parents, page.attributes
    known: dict[int, int] = {}
    keys: dict[Any, int] = {}
    numbers = []
    for segment in page.segments:
        element = segment.element
        number = known.get(element, -1)
        if number < 0:
            parent = max(parents[element], 0)
            key = (tags[element], attributes[element].get("class"), tags[parent], attributes[parent].get("class"))
            number = known[element] = keys.setdefault(key, len(keys))
        numbers.append(number)
    return np.array(numbers, np.int64)


def _group_features(group: NDArray[np.int64], length: Matrix, link_share: Matrix) -> Matrix:
    """Of the segments in elements alike: how many, how long, how linked."""
    size = np.maximum(np.bincount(group), 1).astype(np.float32)
    mean_length = np.bincount(group, length) / size
    mean_links = np.bincount(group, link_share) / size
    made: Matrix = np.stack([np.log1p(size) * 0.3, np.log1p(mean_length) * 0.2, mean_links], axis=1)[group]
    return made.astype(np.float32)


def _page_features(
    page: Walk, total: Matrix, count: int, good: Matrix, text: Matrix, kinds: Iterable[str], names: str
) -> Matrix:
    tags = Counter(page.tags)
    chars = max(float(total[0]), 1.0)
    named = [0.0] * len(PAGE_KINDS)
    for kind in kinds:
        if (number := _KIND_NUMBERS.get(kind.lower())) is not None:
            named[number] = 1.0
    mask = word_mask(names) >> len(_ELEMENT_GROUPS)
    return np.array(
        [
            math.log1p(chars) * 0.1,
            math.log1p(count) * 0.2,
            float(total[1]) / chars,
            float(total[2]) / chars,
            math.log1p(float(np.count_nonzero(good))) * 0.2,
            float("main" in tags),
            min(tags["article"], 10) * 0.1,
            min(tags["h1"], 4) * 0.25,
            min(tags["table"], 5) * 0.2,
            min(tags["form"], 5) * 0.2,
            min(tags["pre"], 5) * 0.2,
            math.log1p(tags["li"]) * 0.2,
            math.log1p(tags["p"]) * 0.2,
            *text[:, 14:19].mean(axis=0).tolist(),
            *named,
            *((mask >> bit) & 1 for bit in range(len(_WORD_GROUPS))),
        ],
        np.float32,
    )

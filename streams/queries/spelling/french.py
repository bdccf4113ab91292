"""Regular forms of French words that no list has: verbs in all tenses, plurals and feminine forms. Pure.

Lists of words have `parler` and `parlons`, but of most verbs few of the forty forms. The rules follow the spelling of
verbs in -cer, -ger, -yer, and of those with e or é before the last consonant; a missing form would be "corrected" to
another one.
"""

from collections.abc import Iterator, Mapping

MIN_STEM = 3
VERB, PLURAL = 0.02, 0.1
"""The frequency of a form, as a share of the frequency of its word."""
_SOFT = ("ai", "as", "a", "âmes", "âtes", "ait", "ais", "aient", "asse", "asses", "ât", "assions", "assiez", "assent",
         "ant", "ante", "antes", "ants", "ons")  # fmt: skip
"""Endings before which c is spelt ç, and g is spelt ge."""
_PLAIN = ("ez", "ions", "iez", "èrent", "é", "ée", "és", "ées", "age", "ages", "eur", "eurs", "euse", "euses")
_MUTE = ("e", "es", "ent")
"""Endings that aren't heard: é and e before them become è, and y becomes i."""
_FUTURE = ("erai", "eras", "era", "erons", "erez", "eront", "erais", "erait", "erions", "eriez", "eraient")
_SECOND = ("is", "it", "issons", "issez", "issent", "issais", "issait", "issions", "issiez", "issaient", "irai", "iras",
           "ira", "irons", "irez", "iront", "irais", "irait", "irions", "iriez", "iraient", "îmes", "îtes", "irent",
           "isse", "isses", "ît", "issant", "issante", "issants", "i", "ie", "ies", "issement",
           "issements")  # fmt: skip
_CONSONANTS = frozenset("bcdfghjklmnpqrstvwxz")
_INVARIABLE = ("s", "x", "z", "er", "ir", "ons", "ez", "ent", "ant", "ment", "à", "â", "it", "ut", "int", "dre")


def add_french_forms(counts: Mapping[str, float]) -> dict[str, float]:
    """Return the vocabulary with regular forms of its words. A word that is in it keeps its count."""
    found = dict(counts)
    for word, count in counts.items():
        if not word.isalpha():
            continue
        for form, share in _forms(word, counts):
            found.setdefault(form, count * share)
    return found


def _forms(word: str, counts: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    stem = word[:-2]
    if word.endswith("er") and len(stem) >= MIN_STEM:
        yield from ((form, VERB) for form in first_group(stem))
    elif word.endswith("ir") and len(stem) >= MIN_STEM and _is_regular(stem, counts):
        yield from ((stem + ending, VERB) for ending in _SECOND)
    elif len(word) > MIN_STEM and not word.endswith(_INVARIABLE):
        yield plural(word), PLURAL


def _is_regular(stem: str, counts: Mapping[str, float]) -> bool:
    """Return True if a verb in -ir is one like `finir`. `partir` has `partant`, and no `partissant`."""
    return stem + "ant" not in counts and stem[:-1] + "ert" not in counts


def first_group(stem: str) -> Iterator[str]:
    """Yield the forms of a verb in -er, without the infinitive."""
    soft = stem[:-1] + "ç" if stem.endswith("c") else stem + "e" if stem.endswith("g") else stem
    yield from (soft + ending for ending in _SOFT)
    yield from (stem + ending for ending in _PLAIN)
    stems = list(_mute_stems(stem))
    yield from (each + ending for each in stems for ending in _MUTE)
    # `cédera` and `cèdera` are both right.
    yield from (each + ending for each in dict.fromkeys([*stems, stem] if "é" in stem[-3:] else stems)
                for ending in _FUTURE)  # fmt: skip


def _mute_stems(stem: str) -> Iterator[str]:
    """Yield the stem as it is spelt before an ending that isn't heard."""
    if stem.endswith(("oy", "uy", "ay")):
        yield stem[:-1] + "i"
        if stem.endswith("ay"):
            yield stem
        return
    vowel = max(stem.rfind("e"), stem.rfind("é"))
    rest = stem[vowel + 1 :]
    is_open = vowel > 0 and 0 < len(rest) <= 2 and set(rest) <= _CONSONANTS | {"u"}
    is_open = is_open and (len(rest) == 1 or rest in ("gu", "qu", "ch", "gn", "br", "gr", "vr", "tr", "gl", "cr"))
    if not is_open:
        yield stem
        return
    yield stem[:vowel] + "è" + rest
    if stem[vowel] == "e" and rest in ("l", "t"):
        yield stem + rest  # `appelle`, `jette`


def plural(word: str) -> str:
    """Return the plural of a noun or adjective."""
    if word.endswith("al"):
        return word[:-1] + "ux"
    return word + ("x" if word.endswith(("au", "eu")) else "s")

"""Words of runs without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) by the dictionaries of ICU. Pure.

ICU finds the most likely words of Chinese and Japanese by Viterbi's algorithm over one dictionary with frequencies, and
words of Thai, Lao, Khmer and Burmese by the longest sequences of known words. The package `icu4py` brings its own ICU
with its dictionaries, so that all machines cut alike. No language is given, so documents and queries are cut alike.
Another version of ICU may cut otherwise: pages must then be indexed again. Measured in docs/decisions/0006.
"""

import re

MAX_RUN_CHARS = 10_000
"""Maximum length of a run that is cut at once (characters): a stranger's run takes little memory beside the text."""
_VOWEL_AM = re.compile("\u0e4d([\u0e48-\u0e4b]?)\u0e32|\u0ecd([\u0ec8-\u0ecb]?)\u0eb2")
"""The vowel AM of Thai and Lao in two letters, as normal form KC has it, with a tone mark between them or none."""


def cut_words(run: str) -> list[str]:
    """Return the words of a run of letters without spaces, in order. Together they are the run.

    The vowel AM is one letter in them, as in the dictionaries: in two letters, ICU finds no word with it.
    """
    # Imported late: the library's data are 33 MB, and most processes and texts need none of it.
    from icu4py.breakers import WordBreaker

    run = _VOWEL_AM.sub(lambda am: f"{am[1]}\u0e33" if am[1] is not None else f"{am[2]}\u0eb3", run)
    return [
        word
        for start in range(0, len(run), MAX_RUN_CHARS)
        for word in WordBreaker(run[start : start + MAX_RUN_CHARS], "und")
    ]

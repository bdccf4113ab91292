"""Words of runs without spaces (Chinese, Japanese, Thai, Lao, Khmer, Burmese) by the dictionaries of ICU. Pure.

ICU finds the most likely words of Chinese and Japanese by Viterbi's algorithm over one dictionary with frequencies, and
words of Thai, Lao, Khmer and Burmese by the longest sequences of known words. The package `icu4py` brings its own ICU
with its dictionaries, so that all machines cut alike. No language is given, so documents and queries are cut alike.
Another version of ICU may cut otherwise: pages must then be indexed again. Measured in docs/decisions/0006.
"""

MAX_RUN_CHARS = 10_000
"""Maximum length of a run that is cut at once (characters): a stranger's run takes little memory beside the text."""


def cut_words(run: str) -> list[str]:
    """Return the words of a run of letters without spaces, in order. Together they are the run."""
    # Imported late: the library's data are 33 MB, and most processes and texts need none of it.
    from icu4py.breakers import WordBreaker

    return [
        word
        for start in range(0, len(run), MAX_RUN_CHARS)
        for word in WordBreaker(run[start : start + MAX_RUN_CHARS], "und")
    ]

"""Light stemming: the plural and its singular are one term, in documents and queries alike.

Harman's "S" stemmer ("How effective is suffixing?", 1991), three rules. It is English, and applied to every language,
since a query's language isn't known: what it does to others is the same on both sides.
"""


def stem(word: str) -> str:
    """The word without its plural ending. Words of other shapes, short words and numbers stay as they are."""
    if len(word) < 4 or not word.endswith("s"):
        return word
    if word.endswith("ies"):
        return word if word.endswith(("eies", "aies")) else word[:-3] + "y"
    if word.endswith("es"):
        return word if word.endswith(("aes", "ees", "oes")) else word[:-1]
    return word if word.endswith(("us", "ss", "is")) else word[:-1]

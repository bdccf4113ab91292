"""The signals of publishers about their content, as robots.txt and headers state them. Pure.

They have a module of their own, since the processes that parse pages read them, too, and load nothing that they don't
need.
"""

MAX_SIGNALS = 32
"""Maximum number of signals in one line."""
_ANSWERS = {"yes": True, "y": True, "no": False, "n": False}
_SAME_SIGNALS = {"train-ai": "ai-train"}


def parse_signals(text: str) -> dict[str, bool]:
    """Return the signals of `search=yes, ai-train=no`. Of two answers to one question `no` holds.

    Content-Signal and Content-Usage (IETF, AI preferences) have other names for training: both become `ai-train`.
    """
    found: dict[str, bool] = {}
    for part in text.lower().replace(";", ",").split(",", MAX_SIGNALS):
        name, _, says = (each.strip() for each in part.partition("="))
        if says in _ANSWERS:
            name = _SAME_SIGNALS.get(name, name)[:40]
            found[name] = found.get(name, True) and _ANSWERS[says]
    return found

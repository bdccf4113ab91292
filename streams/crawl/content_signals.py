"""The signals of publishers about their content, as robots.txt, tdmrep.json and headers state them. Pure.

They have a module of their own, since the processes that parse pages read them, too, and load nothing that they don't
need.
"""

from collections.abc import Mapping

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


def format_signals(signals: Mapping[str, bool]) -> str:
    """Return signals as the value of a header, `ai-input=no, search=yes`. Empty without signals."""
    return ", ".join(f"{name}={'yes' if allowed else 'no'}" for name, allowed in sorted(signals.items()))


def with_signals_of_host(headers: Mapping[str, str], of_robots: str, *, tdm_reserved: bool) -> dict[str, str]:
    """Return a page's headers with the signals of its host's robots.txt. Where they differ, `no` holds.

    A reservation in the host's tdmrep.json holds unless the page has a reservation header of its own.
    """
    if tdm_reserved:
        headers = {"tdm-reservation": "1", **headers}
    if not of_robots:
        return dict(headers)
    own = headers.get("content-signal")
    return {**headers, "content-signal": f"{own}, {of_robots}" if own else of_robots}

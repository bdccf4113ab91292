"""Dates as a reader sees them. Pure."""

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def date_words(year: int, month: int = 0, day: int = 0) -> str:
    """Return `2 January 1990`, `January 1990` or `1990`: a part that is 0 is not known."""
    known = (str(day) if day else "", MONTHS[month - 1] if month else "", str(year))
    return " ".join(filter(None, known))

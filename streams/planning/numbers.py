"""Numbers of a plan as text."""


def number(value: float) -> str:
    """Return a number with two or three significant digits, and a name for thousands and more."""
    for size, name in ((1e12, " T"), (1e9, " G"), (1e6, " M")):
        if value >= size:
            return f"{value / size:.3g}{name}"
    if value >= 1_000:
        return f"{round(value, -1):,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"

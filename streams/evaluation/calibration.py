"""The calibration of probabilities: how often the events happen that were given them. Pure.

Naeini, Cooper and Hauskrecht, "Obtaining Well Calibrated Probabilities Using Bayesian Binning", 2015 (the expected
calibration error).
"""

from collections.abc import Sequence

BINS = 10
"""Number of bins of equal width."""

Judgement = tuple[float, bool]
"""A probability from 0 to 1, and whether the event happened."""


def reliability(judgements: Sequence[Judgement], bins: int = BINS) -> list[dict[str, float]]:
    """Return the rows of a reliability diagram: for each bin with judgements its mean probability and its share."""
    rows = []
    for number in range(bins):
        of_bin = [each for each in judgements if _bin(each[0], bins) == number]
        if of_bin:
            rows.append(
                {
                    "from": number / bins,
                    "to": (number + 1) / bins,
                    "count": len(of_bin),
                    "confidence": round(sum(probability for probability, _ in of_bin) / len(of_bin), 4),
                    "right": round(sum(happened for _, happened in of_bin) / len(of_bin), 4),
                }
            )
    return rows


def expected_calibration_error(judgements: Sequence[Judgement], bins: int = BINS) -> float | None:
    """Return the mean distance of probability and share over the bins, by their counts; None without judgements."""
    if not judgements:
        return None
    distances = (row["count"] * abs(row["confidence"] - row["right"]) for row in reliability(judgements, bins))
    return round(sum(distances) / len(judgements), 4)


def _bin(probability: float, bins: int) -> int:
    return min(int(probability * bins), bins - 1)

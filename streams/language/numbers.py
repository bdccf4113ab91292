"""English words of numbers, with their values."""

from decimal import Decimal

_UP_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_IN_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IN_ORDER = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
)
ONES, ORDINALS = _UP_TO_NINETEEN.split(), _IN_ORDER.split()
CARDINALS = {
    **{word: Decimal(value) for value, word in enumerate(ONES)},
    **{word: Decimal(20 + 10 * place) for place, word in enumerate(_IN_TENS.split())},
}
"""The words from which the numbers below a hundred are made."""
SCALES = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12, "quadrillion": 10**15,
    "dozen": 12, "lakh": 10**5, "crore": 10**7,
}  # fmt: skip
"""Words behind a number that multiply it. Each may have an `s`."""
MULTIPLES = {
    "half": Decimal("0.5"),
    "twice": Decimal(2),
    "double": Decimal(2),
    "triple": Decimal(3),
    "thrice": Decimal(3),
}
ORDINAL_VALUES = {word: value for value, word in enumerate(ORDINALS, start=1)} | {"twentieth": 20, "thirtieth": 30}
SHORT_SCALES = {"k": 1_000, "m": 10**6, "mn": 10**6, "bn": 10**9, "b": 10**9, "tn": 10**12}
"""Letters directly behind the digits of a number."""

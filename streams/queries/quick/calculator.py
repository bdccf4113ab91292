"""A calculator for queries such as `2^10`, `15% of 80` and `sqrt(2) * 3`. Pure.

Python's own parser reads the expression; only the nodes of this module are evaluated. Each step has at most 30 digits
and a limited exponent, and the text is short, so the time of a calculation is bounded: a tower of powers ends at the
first result that is too large.

Not every text that could be an expression is one: dates, telephone numbers, ranges of years and "24/7" are words.
"""

import ast
import math
import re
from collections.abc import Callable
from decimal import Context, Decimal, DivisionByZero, InvalidOperation, Overflow, Underflow, localcontext

from streams.plain_text import Amount, message
from streams.queries.quick.model import QuickCheck

MAX_CHARS = 120
"""Maximum length of an expression."""
MAX_FACTORIAL = 400
MAX_DIGITS = 60
"""Maximum digits of a number in an expression."""
PRECISION = 30
"""Digits of each step of a calculation."""
SHOWN_DIGITS = 12
"""Maximum digits that people see of a number that is not whole."""
MAX_EXPONENT = 999
"""Maximum power of ten of a result. A larger number ends the calculation at once: no step has more than 30 digits."""
_PLAIN_BELOW = Decimal(10) ** 21
_PLAIN_FROM = Decimal(10) ** -7


_NUMBER = r"(?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]+)?|\.[0-9]+"
_TOKEN = re.compile(
    rf"\s*(?:(?P<number>{_NUMBER})(?P<behind>!(?!=)|%)?|(?P<name>[a-zA-Zπ]+)|(?P<sign>\*\*|[-+*/^()%]))"
)
_STARTS = frozenset("0123456789.(")
"""Characters that begin the second part of a remainder, as in `17 % 5`."""
_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_OF = re.compile(r"(%)\s+of\s+", re.IGNORECASE)
_LEAD = re.compile(r"^(?:what(?:'s| is)|calculate|compute)\s+", re.IGNORECASE)
_NO_SUM = re.compile(
    r"""[-+(]?\s*[0-9.,() ]+                # one number, a year, a telephone number
    | \+?[0-9().\ ]+(?:-[0-9().]+)+         # numbers joined by hyphens: dates, ranges, telephone numbers
    | [0-9]+(?:/[0-9]+)+                    # 24/7, 9/11, dates
    | [12][0-9]{3}\s*-\s*[12][0-9]{3}       # a range of years
    | [0-9,.]+\s*[%!]                       # a share, an exclamation""",
    re.VERBOSE,
)
_CONSTANTS = {
    "pi": Decimal("3.141592653589793238462643383280"),
    "π": Decimal("3.141592653589793238462643383280"),
    "e": Decimal("2.718281828459045235360287471353"),
}


def calculate(text: str) -> QuickCheck | None:
    """Return the result if the text is an expression, else None. An expression without a result has none either."""
    asked = _LEAD.sub("", text.rstrip("? ")).strip()
    is_sum = asked.endswith("=")
    asked = asked.rstrip("= ").translate(_SIGNS)
    if not asked or len(asked) > MAX_CHARS or (not is_sum and _NO_SUM.fullmatch(asked)):
        return None
    try:
        with localcontext(calculation_context()):
            value = _evaluate(asked)
            if value is None:
                return None
            is_exact = is_shown_exactly(value)
            number = format_number(value)
    except (ArithmeticError, ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    answer = message("%(amount)s", amount=number) if is_exact else message("≈ %(amount)s", amount=number)
    return QuickCheck(kind="calculation", asked=" ".join(asked.split()), answer=answer, value=plain_number(value))


def _evaluate(text: str) -> Decimal | None:
    """Return the value, or None if the text only has one number. Raises SyntaxError, ValueError or ArithmeticError."""
    python, numbers = _to_python(_OF.sub(r"\1 * ", text))
    root = ast.parse(python, mode="eval").body
    if isinstance(root, ast.Name | ast.UnaryOp):
        return None
    return _value(root, numbers)


def _to_python(text: str) -> tuple[str, dict[str, Decimal]]:
    """Return the expression in Python's notation, with a name for each number, and the numbers by their names."""
    found: list[str] = []
    numbers: dict[str, Decimal] = {}
    place = 0
    while place < len(text):
        token = _TOKEN.match(text, place)
        if token is None:
            raise ValueError("not an expression")
        if number := token["number"]:
            if len(number) > MAX_DIGITS:
                raise ValueError("too many digits")
            name = f"n{len(numbers)}"
            numbers[name] = Decimal(number.replace(",", ""))
            after = text[token.end() :].lstrip()
            is_remainder = token["behind"] == "%" and after[:1] in _STARTS
            function = "" if is_remainder else _MARKS.get(token["behind"] or "", "")
            found.append(f"{name}%" if is_remainder else f"{function}({name})" if function else name)
        else:
            found.append({"^": "**", "mod": "%"}.get(token["name"] or token["sign"], token.group().strip()))
        place = token.end()
    return " ".join(found), numbers


_MARKS = {"!": "factorial", "%": "percent"}


def _value(node: ast.expr, numbers: dict[str, Decimal]) -> Decimal:
    """Return the value of a node. Raises ValueError for a node that is no part of an expression."""
    match node:
        case ast.Name(id=name) if name in numbers:
            return numbers[name]
        case ast.Name(id=name) if name.lower() in _CONSTANTS:
            return _CONSTANTS[name.lower()]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, numbers)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _value(operand, numbers)
        case ast.BinOp(
            left=left, op=ast.Add() | ast.Sub() as sign, right=ast.Call(func=ast.Name(id="percent")) as share
        ):
            first, part = _value(left, numbers), _value(share, numbers)
            return first + first * part if isinstance(sign, ast.Add) else first - first * part
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _OPERATORS[type(operator)](_value(left, numbers), _value(right, numbers))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name.lower() in _FUNCTIONS:
            return +_FUNCTIONS[name.lower()](_value(argument, numbers))
    raise ValueError("not a part of an expression")


_OPERATORS: dict[type[ast.operator], Callable[[Decimal, Decimal], Decimal]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.Mod: lambda left, right: left - right * (left / right).to_integral_value("ROUND_FLOOR"),
    ast.Pow: lambda left, right: left**right,
}


def _factorial(number: Decimal) -> Decimal:
    if number != number.to_integral_value() or not 0 <= number <= MAX_FACTORIAL:
        raise ValueError("no factorial")
    return Decimal(math.factorial(int(number)))


def _by_float(function: Callable[[float], float]) -> Callable[[Decimal], Decimal]:
    """Return the function of decimal numbers, with the 15 digits of a float."""
    return lambda number: Decimal(f"{function(float(number)):.15g}")


_FUNCTIONS: dict[str, Callable[[Decimal], Decimal]] = {
    "sqrt": Decimal.sqrt,
    "ln": Decimal.ln,
    "log": Decimal.log10,
    "exp": Decimal.exp,
    "abs": abs,
    "percent": lambda number: number / 100,
    "factorial": _factorial,
    "sin": _by_float(math.sin),
    "cos": _by_float(math.cos),
    "tan": _by_float(math.tan),
}


def calculation_context() -> Context:
    """Return the context of all calculations. Results beyond its limits raise ArithmeticError."""
    traps = [InvalidOperation, DivisionByZero, Overflow, Underflow]
    return Context(prec=PRECISION, Emax=MAX_EXPONENT, Emin=-MAX_EXPONENT, traps=traps)


def format_number(number: Decimal) -> Amount:
    """Return the number for people: `1,234.5`, or `1.5 × 10^24` if it is very large or small."""
    rounded = round_number(number)
    if rounded == 0:
        return Amount("0", rounded)
    if _PLAIN_FROM <= abs(rounded) < _PLAIN_BELOW:
        return Amount(f"{rounded:,f}".replace("-", "−"), rounded)
    digits, _, exponent = f"{rounded:E}".partition("E")
    if "." in digits:
        digits = digits.rstrip("0").rstrip(".")
    return Amount(f"{digits} × 10^{int(exponent)}".replace("-", "−"), rounded, is_scientific=True)


def plain_number(number: Decimal) -> str:
    """Return the number for programs: `1234.5`, or `1.5E+24` if it is very large or small."""
    rounded = round_number(number)
    if rounded == 0:
        return "0"
    return f"{rounded:f}" if _PLAIN_FROM <= abs(rounded) < _PLAIN_BELOW else str(rounded)


def round_number(number: Decimal) -> Decimal:
    """Return the number with the digits that people see, without zeros at its end. A whole number keeps its digits."""
    if number == number.to_integral_value() and abs(number) < _PLAIN_BELOW:
        return number.to_integral_value()
    return number.normalize(Context(prec=SHOWN_DIGITS))


def is_shown_exactly(number: Decimal) -> bool:
    """Return True if no digit of the number is left out."""
    return round_number(number) == number and len(number.as_tuple().digits) < PRECISION

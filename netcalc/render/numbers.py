"""Numbers and shapes as text: ``21,797,672``, ``21.8 M``, ``3.664 GMAC``, ``83.2 MiB``, ``112×112×64``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from math import gcd
from typing import NamedTuple

from netcalc.dims import Dim, Poly
from netcalc.dims.formulas import formula
from netcalc.dtypes import DType
from netcalc.tensor_type import TensorType

_THOUSANDS = ("", "k", "M", "G", "T", "P", "E", "Z", "Y")
#: Units in which parameters are counted in papers and names of models: 70 B, not 70 G.
_ELEMENTS = ("", "k", "M", "B", "T")
#: Length that no formula exceeds.
WHOLE = 1 << 32
#: Length of a formula in a line of text, which is broken where it is too long.
_TWO_LINES = 160
#: Beginning of a formula of which no term has room.
NO_TERM = "… ("
#: Most terms of a formula that a report shows.
_TERMS = 4
#: Units of times: least time that is written in them, and their size in seconds.
_TIMES = (
    (2 * 86400, 86400, "days"),
    (2 * 3600, 3600, "h"),
    (120, 60, "min"),
    (0.9995, 1, "s"),
    (0.9995e-3, 1e-3, "ms"),
    (0.9995e-6, 1e-6, "µs"),
)
_BINARY = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")


def exact(value: Dim, length: int = 72, order: Sequence[str] = ()) -> str:
    """Write every digit: ``21,797,672``; a symbolic size as its formula, shortened to about ``length`` characters.

    The names in ``order`` come first in a term.

    >>> from netcalc.dims import symbol
    >>> exact(21797672), exact(symbol("n") ** 2 * 12345 - 1)
    ('21,797,672', '12,345·n² − 1')
    """
    return f"{value:,}" if isinstance(value, int) else _formula(value, length, order)


def repeated(label: str, times: int) -> str:
    """Append the number of instances: ``label ×3``."""
    return f"{label} ×{times:,}" if times > 1 else label


def short(value: Dim, digits: int = 3, *, elements: bool = False) -> str:
    """Write a few digits and the prefix of a power of a thousand, or the unit of ``elements`` such as parameters.

    >>> short(21797672), short(999_999), short(999)
    ('21.8 M', '1.00 M', '999')
    >>> short(70_553_706_496), short(70_553_706_496, elements=True)
    ('70.6 G', '70.6 B')
    """
    units = _ELEMENTS if elements else _THOUSANDS
    if not isinstance(value, int):
        text, prefix = _scaled(value)
        return f"({text}) {prefix}" if prefix else text
    if abs(value) < 1000:
        return str(value)
    power = min((len(str(abs(value))) - 1) // 3, len(units) - 1)
    text = _digits(value, 1000**power, digits)
    if len(text.lstrip("-").partition(".")[0]) > 3 and power < len(units) - 1:  # 999.96 became 1000
        power += 1
        text = _digits(value, 1000**power, digits)
    return f"{text} {units[power]}"


def work(value: Dim, unit: str, order: Sequence[str] = ()) -> str:
    """Write an amount of work in four digits, with its unit; of a symbolic one the formula, as :func:`exact` does.

    >>> work(3663761408, "MAC"), work(12, "FLOP")
    ('3.664 GMAC', '12 FLOP')
    """
    if not isinstance(value, int):
        text, prefix = _scaled(value, order)
        return f"({text}) {prefix}{unit}"
    text = short(value, 4)
    return f"{text}{unit}" if " " in text else f"{text} {unit}"


def bytes_text(value: Dim, order: Sequence[str] = ()) -> str:
    """Write bytes in units of powers of 1024; of a symbolic size the formula, as :func:`exact` does.

    >>> bytes_text(87190688), bytes_text(512)
    ('83.2 MiB', '512 B')
    """
    if not isinstance(value, int):
        return f"({exact(value, order=order)}) B"
    power = 0
    while abs(value) >= 1024 ** (power + 1) and power < len(_BINARY) - 1:
        power += 1
    if power == 0:
        return f"{value} B"
    if value * 2 >= 1999 * 1024**power and power < len(_BINARY) - 1:  # would be written as 1000 or more
        power += 1
    return f"{_digits(value, 1024**power, 3)} {_BINARY[power]}"


def seconds_text(value: float) -> str:
    """Write a time in three digits, from nanoseconds to days.

    >>> seconds_text(0.00463844), seconds_text(90), seconds_text(4.2e-8), seconds_text(3e6)
    ('4.64 ms', '90.0 s', '42.0 ns', '34.7 days')
    """
    for least, size, unit in _TIMES:
        if abs(value) >= least:
            return f"{_three(value / size)} {unit}"
    return f"{_three(value * 1e9)} ns"


def _three(value: float) -> str:
    """Write a number in three digits, or all those before the point."""
    return f"{value:,.{max(0, 3 - len(str(int(abs(value)))))}f}" if abs(value) >= 1 else f"{value:.3g}"


def measured(value: Dim, order: Sequence[str] = ()) -> str:
    """Write every digit of a number of elements, and for large numbers a short form: ``21,797,672 (21.8 M)``."""
    if not isinstance(value, int) or abs(value) < 10_000:
        return exact(value, order=order)
    return f"{exact(value)} ({short(value, elements=True)})"


def share(part: Dim, whole: Dim) -> str:
    """Write a part of a whole in per cent; an empty text if the part or the whole is zero or symbolic.

    >>> share(1, 3), share(0, 3), share(1, 100000)
    ('33.3 %', '', '<0.1 %')
    """
    if not isinstance(part, int) or not isinstance(whole, int) or whole == 0 or part == 0:
        return ""
    tenths = (part * 2000 + whole) // (whole * 2)
    return f"{tenths // 10}.{tenths % 10} %" if tenths else "<0.1 %"


class Ordered(NamedTuple):
    """Shape with its axes in another order; ``mark`` is written behind it."""

    shape: tuple[Dim, ...]
    dtype: DType
    mark: str = ""


def shape_text(shape: Sequence[Dim], length: int = 48, mark: str = "") -> str:
    """Write a shape: ``1×64×112×112``, symbolic sizes in about ``length`` characters, and a mark behind it.

    >>> shape_text((1, 64, 112, 112)), shape_text(())
    ('1×64×112×112', 'scalar')
    """
    return ("×".join(_size(size, length) for size in shape) if shape else "scalar") + mark


def plain_shape(shape: Sequence[Dim], mark: str = "") -> str:
    """Write a shape for programs: ``1x64x(2*n)``, and ``scalar`` for none."""
    sizes = (str(size) for size in shape)
    return (
        "x".join(size if size.isidentifier() or size.isalnum() else f"({size})" for size in sizes) or "scalar"
    ) + mark


def shapes_text(types: Iterable[TensorType | Ordered | None]) -> str:
    """Write a list of shapes; equal neighbours are written once with their number."""
    texts = ("?" if type_ is None else shape_text(type_.shape, mark=mark_of(type_)) for type_ in types)
    groups = ((text, sum(1 for _ in equal)) for text, equal in groupby(texts))
    return ", ".join(text if count == 1 else f"{count} of {text}" for text, count in groups)


def mark_of(type_: TensorType | Ordered) -> str:
    """Return the mark of a shape in another order."""
    return type_.mark if isinstance(type_, Ordered) else ""


def plain_numbers(title: str) -> str:
    """Write the numbers in a path in ASCII, for CSV.

    >>> plain_numbers("layers.0–4,6–10,…,24–25.mlp")
    'layers.0-4,6-10,...,24-25.mlp'
    """
    return title.replace("–", "-").replace("…", "...")


def _formula(value: Poly, length: int = 72, order: Sequence[str] = ()) -> str:
    """Write the first terms of a formula, as many as fit a line, and the number of all of them."""
    terms = list(value.monomials())
    count = len(terms)
    for shown in range(count if length == WHOLE else min(count, _TERMS), 0, -1):
        text = formula(Poly(dict(islice(terms, shown))), order=order)
        text = text if shown == count else f"{text} + … ({count:,} terms)"
        if len(text) <= length:
            return text
    return f"{NO_TERM}{count:,} term{'s' if count > 1 else ''})"


def _scaled(value: Poly, order: Sequence[str] = ()) -> tuple[str, str]:
    """Return the formula with coefficients in the largest unit in which all are whole, and its prefix."""
    unit = gcd(*(coefficient for _, coefficient in value.monomials()))
    power = next(power for power in reversed(range(len(_THOUSANDS))) if unit % 1000**power == 0)
    scaled = Poly({monomial: coefficient // 1000**power for monomial, coefficient in value.monomials()})
    return _formula(scaled, _TWO_LINES, order), _THOUSANDS[power]


def _size(size: Dim, length: int) -> str:
    text = str(size) if isinstance(size, int) else _formula(size, length)
    plain = isinstance(size, int) or text.isidentifier() or text.isalnum() or text[0] + text[-1] in ("()", "⌊⌋")
    return text if plain and not any(mark in text[1:-1] for mark in "(⌊") else f"({text})"


def _digits(value: int, unit: int, digits: int) -> str:
    """Write ``value / unit`` with that many significant digits, rounded half up in integer arithmetic."""
    places = max(digits - len(str(abs(value) // unit)), 0)
    scaled = _rounded(abs(value), unit, places)
    if places and len(str(scaled)) > max(digits, places + 1):  # 99.96 became 100.0
        places -= 1
        scaled = _rounded(abs(value), unit, places)
    text = str(scaled).rjust(places + 1, "0")
    return ("-" if value < 0 else "") + (f"{text[:-places]}.{text[-places:]}" if places else text)


def _rounded(value: int, unit: int, places: int) -> int:
    """Return ``value / unit`` in units of the last decimal place, rounded half up."""
    scale: int = 10**places
    return (value * scale * 2 + unit) // (unit * 2)

"""Real numbers that follow from symbolic sizes, such as √d_model: known at an example only, and not to be looked at."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from netcalc.dims.atoms import Symbol, UndecidedError
from netcalc.dims.functions import default_of
from netcalc.dims.order import Assumption, has_symbolic_values, in_sketch, note_difference, record
from netcalc.dims.polynomial import Dim, Poly

#: Products of two whole numbers below this are floats without rounding.
_EXACT = 1 << 26
#: Names of the indices of two iterations of a symbolic number, which have to be alike but for real numbers.
INDICES = ("index_of_one", "index_of_another")


class SymbolicReal(float):
    """A finite real number that a function gives for a symbolic size, with the number at an example as its value.

    It may be passed on, as an attribute that changes values only.  Everything that asks for the number raises
    UndecidedError, so that nothing follows from the example.
    """

    size: Poly
    function: str
    ratio: tuple[int, int] | None = None  # the number is the size times this, without rounding

    @classmethod
    def of(cls, function: str, size: Poly, example: float) -> SymbolicReal:
        """Return the value of a function of a size, with an example of it."""
        real = cls(example)
        real.function, real.size = function, size
        return real

    @classmethod
    def product(cls, size: Poly, factor: float) -> SymbolicReal | None:
        """Return a size times a number, None unless floats hold the product exactly, whatever the size."""
        example = default_of(size)
        if example is None or not 0 < factor < _EXACT or not 0 <= size < _EXACT:
            return None
        over, under = factor.as_integer_ratio()
        if over >= _EXACT or under >= _EXACT:
            return None
        real = cls.of(f"{factor!r}·", size, example * factor)
        real.ratio = over, under
        return real

    def whole(self) -> Dim:
        """Return the number without its fraction."""
        if self.ratio is None:
            self._refuse()
        over, under = self.ratio
        return self.size * over // under

    @property
    def example(self) -> float:
        """The number at the example."""
        return float.__pos__(self)

    def __repr__(self) -> str:
        return f"{self.function}({self.size})"

    def __hash__(self) -> int:
        return hash((self.function, self.size))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SymbolicReal) or other.function != self.function:
            self._refuse()
        return self.size == other.size or note_difference(self.size, other.size)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def _refuse(self, *_: Any) -> NoReturn:
        raise UndecidedError(f"{self!r} is symbolic, and a number is needed here")

    _refused: Any = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = _refused
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refused
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _refused
    __neg__ = __pos__ = __abs__ = __round__ = __trunc__ = __floor__ = __ceil__ = __str__ = __format__ = _refused
    as_integer_ratio = is_integer = hex = _refused


class RealFormula(SymbolicReal):
    """A real number that functions give for symbolic sizes, with the formula by which it is computed.

    A comparison is decided by the example, and recorded as an assumption.
    """

    parts: tuple[Any, ...]  # the operands of the function: numbers, sizes and formulas
    compute: Callable[..., float]

    @classmethod
    def made(cls, function: str, compute: Callable[..., float], *parts: Any) -> RealFormula:
        """Return the value of a function of numbers, sizes with defaults, and formulas.

        Raises:
            UndecidedError: a size has no default.
        """
        real = cls(compute(*map(_example, parts)))
        real.function, real.parts, real.compute = function, parts, compute
        return real

    def at(self, sizes: Mapping[str, int]) -> float:
        """Return the number at the given sizes; a name that is missing takes its default."""
        return self.compute(*(part.at(sizes) if isinstance(part, (Poly, RealFormula)) else part for part in self.parts))

    def symbols(self) -> set[Symbol]:
        """Return the named sizes that occur."""
        return set[Symbol]().union(*(part.symbols() for part in self.parts if isinstance(part, (Poly, RealFormula))))

    def whole(self) -> Dim:
        """Return the number without its fraction: of a sum, product or quotient of sizes and short binary fractions.

        Below 2**53 floats hold such numbers without rounding.
        """
        ratio = _ratio(self)
        if ratio is None or not ratio[0] >= 0:
            self._refuse()
        return ratio[0] // ratio[1]

    def __repr__(self) -> str:
        texts = [
            text if text.replace(".", "").replace("_", "").isalnum() else f"({text})" for text in map(str, self.parts)
        ]
        if self.function in _ARITHMETIC and len(texts) == 2:
            return f"{texts[0]}{self.function}{texts[1]}"
        return f"{self.function}({', '.join(map(str, self.parts))})"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return hash(self._form)

    @property
    def _form(self) -> str:
        """The formula, in which the index of one iteration of a repeat is like that of another one."""
        return repr(self).replace(INDICES[1], INDICES[0])

    def _is(self, relation: str, other: Any) -> bool:
        holds = _COMPARISONS[relation](self.example, _example(other))
        record([Assumption(self, relation if holds else _NEGATED[relation], other)])  # type: ignore[arg-type]
        return holds

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (int, float, Poly)):
            return False
        if isinstance(other, RealFormula):  # forms are compared, as those of sizes are
            return self._form == other._form
        return self.equals(other)

    def equals(self, other: Any) -> bool:
        """Return True if the number has a value at the example; that is an assumption then."""
        return self._is("==", other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self._is("<", other)

    def __le__(self, other: Any) -> bool:
        return self._is("<=", other)

    def __gt__(self, other: Any) -> bool:
        return self._is(">", other)

    def __ge__(self, other: Any) -> bool:
        return self._is(">=", other)

    def __bool__(self) -> bool:
        return self != 0

    def __add__(self, other: Any) -> Any:
        return real_arithmetic("+", self, other)

    def __radd__(self, other: Any) -> Any:
        return real_arithmetic("+", other, self)

    def __sub__(self, other: Any) -> Any:
        return real_arithmetic("-", self, other)

    def __rsub__(self, other: Any) -> Any:
        return real_arithmetic("-", other, self)

    def __mul__(self, other: Any) -> Any:
        return real_arithmetic("*", self, other)

    def __rmul__(self, other: Any) -> Any:
        return real_arithmetic("*", other, self)

    def __truediv__(self, other: Any) -> Any:
        return real_arithmetic("/", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return real_arithmetic("/", other, self)

    def __pow__(self, other: Any) -> Any:  # type: ignore[override]
        return real_arithmetic("**", self, other)

    def __rpow__(self, other: Any) -> Any:  # type: ignore[override]
        return real_arithmetic("**", other, self)

    def __neg__(self) -> Any:
        return real_arithmetic("-", 0, self)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return RealFormula.made("abs", abs, self)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}
_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!="}


def _ratio(part: Any) -> tuple[Dim, int] | None:
    """Return the exact value of a formula as a size and a positive whole divisor; None if it has none."""
    if isinstance(part, RealFormula):
        ratios = [_ratio(each) for each in part.parts]
        if part.function not in _ARITHMETIC or len(ratios) != 2 or None in ratios:
            return None
        (a, b), (c, d) = ratios  # type: ignore[misc]
        if part.function in ("+", "-"):
            return _ARITHMETIC[part.function](a * d, c * b), b * d
        if part.function == "*":
            return a * c, b * d
        return (a * d, b * c) if part.function == "/" and isinstance(c, int) and c > 0 else None
    if isinstance(part, (int, Poly)):
        return part, 1
    over, under = float(part).as_integer_ratio()
    return (over, under) if abs(over) < _EXACT and under < _EXACT else None


def keeps_formulas() -> bool:
    """Return True where real numbers that follow from symbolic sizes are kept as formulas."""
    return has_symbolic_values() and not in_sketch()


def real_arithmetic(function: str, left: Any, right: Any) -> RealFormula:
    """Return the result of an arithmetic operator on numbers, sizes and formulas that is no whole number."""
    return RealFormula.made(function, _ARITHMETIC[function], left, right)


def _example(part: Any) -> Any:
    if isinstance(part, RealFormula):
        return part.example
    if not isinstance(part, Poly):
        return part
    value = default_of(part)
    if value is None:
        raise UndecidedError(f"{part} is symbolic, and a number is needed here")
    return value


def refuse_symbols(value: Any) -> Any:
    """Return a value that becomes part of a text; UndecidedError if a sketch would have the text of a symbol."""
    if has_symbolic_values() and _has(value, (Poly, SymbolicReal)):
        raise UndecidedError("a text with a symbolic number")
    return value


def has_reals(value: Any) -> bool:
    """Return True if a value holds a symbolic real number."""
    return _has(value, SymbolicReal)


def symbolic_names(value: Any) -> list[str]:
    """Return the names of all sizes in a value, which may be a list or a mapping."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return list(dict.fromkeys(name for item in value for name in symbolic_names(item)))
    return sorted({symbol.name for symbol in value.symbols()}) if isinstance(value, (Poly, RealFormula)) else []


def _has(value: Any, kinds: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return any(_has(item, kinds) for item in value) if isinstance(value, (list, tuple)) else isinstance(value, kinds)

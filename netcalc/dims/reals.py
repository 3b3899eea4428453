"""Real numbers that follow from symbolic sizes, such as √d_model: known at an example only, and not to be looked at."""

from __future__ import annotations

from typing import Any, NoReturn

from netcalc.dims.atoms import UndecidedError
from netcalc.dims.functions import default_of
from netcalc.dims.order import in_sketch, note_difference
from netcalc.dims.polynomial import Dim, Poly

#: Products of two whole numbers below this are floats without rounding.
_EXACT = 1 << 26


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

    __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __float__ = __int__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __divmod__ = __rdivmod__ = __pow__ = __rpow__ = _refuse
    __neg__ = __pos__ = __abs__ = __round__ = __trunc__ = __floor__ = __ceil__ = __str__ = __format__ = _refuse
    as_integer_ratio = is_integer = hex = _refuse


def refuse_symbols(value: Any) -> Any:
    """Return a value that becomes part of a text; UndecidedError if a sketch would have the text of a symbol."""
    if in_sketch() and _has(value, (Poly, SymbolicReal)):
        raise UndecidedError("a text with a symbolic number")
    return value


def has_reals(value: Any) -> bool:
    """Return True if a value holds a symbolic real number."""
    return _has(value, SymbolicReal)


def _has(value: Any, kinds: Any) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    return any(_has(item, kinds) for item in value) if isinstance(value, (list, tuple)) else isinstance(value, kinds)

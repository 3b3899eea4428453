"""Attention masks among constant tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netcalc.dims import Dim
from netcalc.formats.graph.constants.expressions import Call, Expression, Number, axes_of, call, index, truth, whole

#: Largest additive number of a mask that hides a key whatever its score: the limit of float16, the smallest type.
_HIDDEN = {"float16": -65504.0, "bfloat16": -3.3e38, "float32": -3.4e38, "float64": -1.7e308}


class Mask(NamedTuple):
    """The keys that a query sees: those from ``left`` before to ``right`` after the position ``query + shift``.

    None is no bound; ``shift`` is 0 where both sides are None.
    """

    shift: Dim = 0
    left: int | None = None
    right: int | None = None

    @property
    def everything(self) -> bool:
        """Report that nothing is hidden."""
        return self.left is None and self.right is None


def visible(expression: Expression, dtype: str) -> Expression | None:
    """Return the truth of "this key is visible" of an attention mask, boolean or added to the scores."""
    if dtype == "bool":
        return expression
    if isinstance(expression, Number):
        return truth(True) if expression.value == 0 else None
    if not isinstance(expression, Call) or expression.function != "where":
        return None
    condition, shown, other = expression.operands
    if _hides(shown, dtype):
        condition, shown, other = call("not", (condition,)), other, shown
    inner = visible(shown, dtype)
    if inner is None or not _hides(other, dtype):
        return None
    return call("and", (condition, inner))


def _hides(expression: Expression, dtype: str) -> bool:
    return isinstance(expression, Number) and expression.value <= _HIDDEN.get(dtype, float("-inf"))


def mask_of(expression: Expression, sizes: Sequence[Dim]) -> Mask | None:
    """Return the mask that a truth value of (…, queries, keys) is, None if it is none of these."""
    if expression == truth(True):
        return Mask()
    row, column = len(sizes) - 2, len(sizes) - 1
    if row < 0 or not isinstance(expression, Call):
        return None
    apart = index(row, sizes) - index(column, sizes)
    parts = expression.operands if expression.function == "and" else (expression,)
    mask: Mask | None = Mask()
    for part in parts:
        band = _band(part, apart)
        mask = None if band is None or mask is None else _both_masks(mask, band)
    return mask


def _band(part: Expression, apart: Dim) -> Mask | None:
    """Return the mask of a comparison of a number with the positions between query and key."""
    if not isinstance(part, Call) or part.function != "nonnegative" or len(axes_of(apart)) < 2:
        return None
    x = whole(part.operands[0])
    for side, distance in (("right", apart), ("left", -apart)):
        if not axes_of(x - distance):
            return _one_sided(x - distance, side)
    near = x + abs(apart)
    return Mask(0, near, near) if isinstance(near, int) and near >= 0 else None


def _one_sided(constant: Dim, side: str) -> Mask | None:
    """Return the mask of ``±(query − key) + constant ≥ 0``; a symbolic constant is the shift of the positions."""
    if not isinstance(constant, int):
        return Mask(constant, None, 0) if side == "right" else None
    if constant < 0:
        return None
    return Mask(0, None, constant) if side == "right" else Mask(0, constant, None)


def _both_masks(a: Mask, b: Mask) -> Mask | None:
    if a.everything or b.everything:
        return b if a.everything else a
    if a.shift != b.shift:
        return None
    left = min((side for side in (a.left, b.left) if side is not None), default=None)
    right = min((side for side in (a.right, b.right) if side is not None), default=None)
    return Mask(a.shift, left, right)

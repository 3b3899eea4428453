"""Work of summing gradients over the axes along which an operand was broadcast."""

from __future__ import annotations

from netcalc.opdef import Term
from netcalc.tensor_type import TensorType


def summing(gradient: TensorType, operand: TensorType, role: str = "sum of gradient") -> tuple[Term, ...]:
    """Return the additions that reduce a gradient to the shape of an operand; none if the shapes are equal."""
    if gradient.shape == operand.shape or gradient.elements == 0:
        return ()
    return (Term.of("add", role, sums=gradient.elements - operand.elements),)

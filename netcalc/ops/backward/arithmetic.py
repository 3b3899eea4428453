"""Backward passes of :mod:`netcalc.ops.arithmetic`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from netcalc.opdef import Term
from netcalc.ops.arithmetic import Div, Pow
from netcalc.ops.backward import BackwardCall, Saved, backward
from netcalc.ops.backward._pairs import Pairs, Side, Stage


def negation(stage: Stage) -> Term:
    """Return the work of negating the gradient of the right operand, after it was summed."""
    assert stage.right is not None
    return Term.of("add", "negation", elements=stage.right.elements)


@backward("add")
class AddBackward(Pairs):
    """The gradient itself."""

    rule = ("∂L/∂a = ∂L/∂b = g, summed over the axes along which the operand was broadcast",)


@backward("sub")
class SubBackward(Pairs):
    """The gradient itself, and its negative."""

    rule = ("∂L/∂a = g", "∂L/∂b = −g, summed over the axes along which the operand was broadcast")

    def work(self, op: Any, stage: Stage) -> Sequence[Term]:
        return (negation(stage),) if stage.wants_right else ()


@backward("mul")
class MulBackward(Pairs):
    """The gradient times the other operand; from left to right for more than two."""

    rule = ("∂L/∂a = g·b", "∂L/∂b = g·a, summed over the axes along which the operand was broadcast")

    def kept(self, op: Any, stage: Stage) -> Sequence[Side]:
        sides: list[Side] = []
        if stage.wants_right:
            sides.append("left")
        if stage.wants_left:
            sides.append("right")
        return sides

    def work(self, op: Any, stage: Stage) -> Sequence[Term]:
        return (stage.each("mul", "gradient", stage.wants_left + stage.wants_right),)


@backward("div")
class DivBackward(Pairs):
    """The gradient over the divisor, and less the quotient times that."""

    rule = ("∂L/∂a = g/b", "∂L/∂b = −(g/b)·(a/b), summed over the axes along which the operand was broadcast")

    def derivatives(self, op: Div) -> tuple[str, ...]:
        return self.rule if op.rounding is None else ("∂L/∂a = ∂L/∂b = 0",)

    def saves(self, op: Div, call: BackwardCall) -> Sequence[Saved]:
        return super().saves(op, call) if op.rounding is None else ()

    def cost(self, op: Div, call: BackwardCall) -> Sequence[Term]:
        return super().cost(op, call) if op.rounding is None else ()

    def kept(self, op: Div, stage: Stage) -> Sequence[Side]:
        return ("left", "right") if stage.wants_right else ("right",)

    def work(self, op: Div, stage: Stage) -> Sequence[Term]:
        work = [stage.each("div", "gradient over divisor")]
        if stage.wants_right:
            work += [stage.each("div", "quotient"), stage.each("mul", "gradient of divisor"), negation(stage)]
        return work


@backward("pow")
class PowBackward(Pairs):
    """The power rule for the base, and the logarithm of the base for the exponent."""

    names = ("self", "exponent")
    rule = ("∂L/∂a = g·b·a^(b − 1), 0 where b = 0", "∂L/∂b = g·y·ln(a), 0 where a = 0 and b ≥ 0")

    def derivatives(self, op: Pow) -> tuple[str, ...]:
        if op.value is None:
            return self.rule
        return self.rule[1:] if op.reverse else self.rule[:1]

    def kept(self, op: Pow, stage: Stage) -> Sequence[Side]:
        if stage.wants_right:
            return ("left", "right")
        return () if op.value in (0, 1) else ("left", "right")

    def saves(self, op: Pow, call: BackwardCall) -> Sequence[Saved]:
        saved = list(super().saves(op, call))
        if op.value is None or op.reverse:  # also where the exponent needs no gradient, as in PyTorch
            saved.append(call.saved_output("result"))
        return saved

    def work(self, op: Pow, stage: Stage) -> Sequence[Term]:
        return (*_by_base(op, stage), *_by_exponent(op, stage))


def _by_base(op: Pow, stage: Stage) -> Sequence[Term]:
    if not stage.wants_left:
        return ()
    if stage.right is None and op.value in (0, 1, 2, 3):
        return (stage.each("mul", "gradient of base", int(op.value)),) if op.value > 1 else ()
    work = [stage.each("transcendental", "power"), stage.each("mul", "gradient of base", 2)]
    if stage.right is not None:
        elements = stage.right.elements
        work.append(Term.of("add", "exponent less one", elements=elements))
        work.append(Term.of("compare", "exponents of zero", elements=elements))
    return work


def _by_exponent(op: Pow, stage: Stage) -> Sequence[Term]:
    if not stage.wants_right:
        return ()
    product = stage.each("mul", "gradient of exponent", 2)
    if stage.left is None:
        return (product, stage.each("compare", "powers of zero")) if op.value == 0 else (product,)
    assert stage.right is not None
    return (
        Term.of("transcendental", "logarithm of base", elements=stage.left.elements),
        Term.of("compare", "bases of zero", elements=stage.left.elements),
        Term.of("compare", "exponents from zero", elements=stage.right.elements),
        stage.each("compare", "powers of zero"),
        product,
    )


@backward("minimum", "maximum")
class ExtremeBackward(Pairs):
    """The gradient for the operand that was taken, half of it for each at a tie."""

    rule = ("∂L/∂a = g where a was taken, g/2 where a = b, else 0",)

    def kept(self, op: Any, stage: Stage) -> Sequence[Side]:
        return ("left", "right")

    def work(self, op: Any, stage: Stage) -> Sequence[Term]:
        comparisons = 1 + stage.wants_left + stage.wants_right
        return (stage.each("div", "halves"), stage.each("compare", "ties and order", comparisons))

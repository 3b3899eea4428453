"""Einsum equations: parsing, and the sequence of pairwise contractions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, equal
from netcalc.ops._broadcast import broadcast_size

#: The label of each axis of an operand or result: a letter, or ``…0``, ``…1`` for the axes of an ellipsis.
Labels = tuple[str, ...]

_PART = re.compile(r"([A-Za-z]*)(?:(\.\.\.)([A-Za-z]*))?")


@dataclass(frozen=True, slots=True)
class Equation:
    """Labels of the operands and of the output, and the size of each label."""

    operands: tuple[Labels, ...]
    output: Labels
    sizes: dict[str, Dim]


@dataclass(frozen=True, slots=True)
class Pairing:
    """Contraction of two operands.

    ``left`` and ``right`` are labels that occur in one operand only and are summed in it first.  Of the others,
    ``batch`` labels are in both operands and in the result, ``summed`` labels are in both and not in the result,
    ``rows`` are in the left operand only, and ``columns`` in the right one only.
    """

    left: Labels
    right: Labels
    batch: Labels
    summed: Labels
    rows: Labels
    columns: Labels

    @property
    def result(self) -> Labels:
        """Labels of the result, in the order of its axes."""
        return self.batch + self.rows + self.columns


def read(equation: str, shapes: Sequence[Sequence[Dim]]) -> Equation:
    """Parse an equation as ``torch.einsum`` does, for operands of these shapes.

    Without an arrow the output has the axes of the ellipsis, then the letters that occur once, in ASCII order.

    Raises:
        RuleError: if the equation is invalid or does not fit the shapes.
    """
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    parts = inputs.split(",")
    if len(parts) != len(shapes):
        raise RuleError(f"einsum: {equation!r} names {len(parts)} inputs, and there are {len(shapes)}")
    operands = [_labels(part, len(shape), equation) for part, shape in zip(parts, shapes, strict=True)]
    sizes = _sizes(operands, shapes)
    dots = sorted((label for label in sizes if label.startswith("…")), key=lambda label: -int(label[1:]))
    if arrow:
        before, ellipsis, after = _split_part(output, equation)
        result = (*before, *(dots if ellipsis else ()), *after)
    else:
        every = [label for labels in operands for label in labels]
        result = (*dots, *sorted(x for x in sizes if every.count(x) == 1 and x not in dots))
    for label in result:
        if label not in sizes:
            raise RuleError(f"einsum: {label!r} is in the output of {equation!r}, and in no input")
        if result.count(label) > 1:
            raise RuleError(f"einsum: {label!r} is more than once in the output of {equation!r}")
    return Equation(tuple(operands), tuple(result), sizes)


def _split_part(part: str, equation: str) -> tuple[str, bool, str]:
    match = _PART.fullmatch(part)
    if not match:
        raise RuleError(
            f"einsum: {part!r} in {equation!r} is not letters with at most one ellipsis",
            hint="for example 'bij,bjk->bik'",
        )
    return match[1], match[2] is not None, match[3] or ""


def _labels(part: str, rank: int, equation: str) -> Labels:
    before, ellipsis, after = _split_part(part, equation)
    hidden = rank - len(before) - len(after)
    if hidden < 0 or (hidden and not ellipsis):
        raise RuleError(f"einsum: {part!r} in {equation!r} does not fit an input of {rank} dimensions")
    # numbered from the last axis, on which ellipses are aligned
    return (*before, *(f"…{n}" for n in reversed(range(hidden))), *after)


def _sizes(operands: Sequence[Labels], shapes: Sequence[Sequence[Dim]]) -> dict[str, Dim]:
    sizes: dict[str, Dim] = {}
    for labels, shape in zip(operands, shapes, strict=True):
        operand: dict[str, Dim] = {}
        for label, size in zip(labels, shape, strict=True):
            if not equal(operand.setdefault(label, size), size):
                raise RuleError(f"einsum: {label!r} is twice in one input, as {operand[label]} and as {size}")
        for label, size in operand.items():
            sizes[label] = _common_size(label, sizes.get(label, 1), size)
    return sizes


def _common_size(label: str, size_here: Dim, size_there: Dim) -> Dim:
    size = broadcast_size([size_here, size_there])
    if size is None:
        raise RuleError(f"einsum: {label!r} is {size_here} in one input and {size_there} in another")
    return size


def pairings(equation: Equation, shapes: Sequence[Sequence[Dim]]) -> tuple[list[Labels], list[Pairing], Labels]:
    """Return the labels of each operand, the contractions from left to right, and the labels summed at the end.

    A label of size 1 in an operand is left out of it: there is nothing to multiply or sum along it.
    """

    def is_one(label: str, size: Dim) -> bool:
        return size == 1 if label in equation.output else equal(size, 1)

    varying = [
        tuple(dict.fromkeys(x for x, size in zip(labels, shape, strict=True) if not is_one(x, size)))
        for labels, shape in zip(equation.operands, shapes, strict=True)
    ]
    steps: list[Pairing] = []
    so_far = varying[0]
    for number, other in enumerate(varying[1:], start=2):
        steps.append(_pairing(so_far, other, set(equation.output).union(*varying[number:])))
        so_far = steps[-1].result
    return varying, steps, tuple(x for x in so_far if x not in equation.output)


def _pairing(left: Labels, right: Labels, needed: set[str]) -> Pairing:
    """Return the contraction of two operands that keeps the labels in ``needed``."""

    def alone(labels: Labels, other: Labels, *, stays: bool) -> Labels:
        return tuple(x for x in labels if x not in other and (x in needed) == stays)

    return Pairing(
        left=alone(left, right, stays=False),
        right=alone(right, left, stays=False),
        batch=tuple(x for x in left if x in right and x in needed),
        summed=tuple(x for x in left if x in right and x not in needed),
        rows=alone(left, right, stays=True),
        columns=alone(right, left, stays=True),
    )

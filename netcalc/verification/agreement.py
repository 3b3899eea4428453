"""Agreement of a network with the module that it was imported from: outputs, FLOPs, and parameters by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from netcalc.results import Entry, Result, recorded
from netcalc.weights.report import WeightsReport

#: Differences that rounding explains, relative to the largest element of an output.
_TOLERANCES = {
    **dict.fromkeys(("float64", "complex128"), 1e-10),
    **dict.fromkeys(("float32", "complex64"), 1e-5),
    "float16": 1e-2,
    "bfloat16": 5e-2,
}


@recorded("name", "plan", Entry("difference", "known_difference"), "tolerance", "ok")
class OutputAgreement(NamedTuple):
    """An output of the network by a plan, compared with that of the module."""

    name: str
    plan: str
    """reference or fast."""
    difference: float
    """Largest difference, relative to the largest element; infinite where shapes or types differ."""
    tolerance: float

    @property
    def known_difference(self) -> float | None:
        """Largest difference, relative to the largest element; null if shapes, types or infinities differ."""
        return None if self.difference == float("inf") else self.difference

    @property
    def ok(self) -> bool:
        """True if rounding explains the difference."""
        return self.difference <= self.tolerance


@recorded("kind", "operations", "operators", "netcalc", "torch", "ok")
class FlopsAgreement(NamedTuple):
    """FLOPs of the operations of one kind, as netcalc and as PyTorch's counter count them."""

    kind: str
    operations: tuple[str, ...]
    """Operations of netcalc."""
    operators: tuple[str, ...]
    """Operators of PyTorch that its counter has formulas for."""
    netcalc: int
    torch: int

    @property
    def ok(self) -> bool:
        """True if the counts are equal."""
        return self.netcalc == self.torch


@recorded("operator", "calls")
class DrawnNumbers(NamedTuple):
    """An operator of PyTorch that draws random numbers, and the number of its calls."""

    operator: str
    calls: int


@recorded("spec", "ok", "outputs", "flops", "weights", "drawn", name="verify-module")
@dataclass(frozen=True, slots=True)
class Agreement(Result):
    """The comparison of a network with a PyTorch module."""

    spec: str
    """Name of the spec."""
    outputs: tuple[OutputAgreement, ...]
    flops: tuple[FlopsAgreement, ...]
    weights: WeightsReport
    """The audit of the module's state dict."""
    drawn: tuple[DrawnNumbers, ...] = ()
    """Operators of PyTorch that draw random numbers; both sides drew the same."""

    @property
    def ok(self) -> bool:
        """True if outputs, FLOPs and the names, shapes and types of all parameters agree."""
        return self.weights.ok and not self.differing

    @property
    def differing(self) -> tuple[OutputAgreement | FlopsAgreement, ...]:
        """The outputs and the FLOPs that do not agree."""
        outputs = tuple(output for output in self.outputs if not output.ok)
        return (*outputs, *(flops for flops in self.flops if not flops.ok))


def tolerance_of(dtype: str, computed: Iterable[str] = ()) -> float:
    """Return the difference that rounding explains, relative to the largest element; 0 for integers.

    ``computed`` are the element types of what the output is computed from, the least exact of which decides.
    """
    own = _TOLERANCES.get(dtype, 0.0)
    return max([own, *(_TOLERANCES.get(other, 0.0) for other in computed)]) if own else own


def difference(executed: Any, expected: Any) -> float:
    """Return the largest difference of two arrays, relative to the largest element of the second.

    It is infinite if shapes or element types differ, or if one has NaN or an infinity where the other has not.
    """
    if executed.shape != expected.shape or executed.dtype != expected.dtype:
        return float("inf")
    if executed.dtype.kind in "biu":
        return 0.0 if np.array_equal(executed, expected) else float("inf")
    double = np.complex128 if executed.dtype.kind == "c" else np.float64
    first, second = executed.astype(double), expected.astype(double)
    finite = np.isfinite(second)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True) or not np.isfinite(first[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = np.abs(second[finite]).max() or 1.0
    return float(np.abs(first[finite] - second[finite]).max() / scale)


def flops_agreement(ours: Mapping[str, int], theirs: Mapping[str, int]) -> tuple[FlopsAgreement, ...]:
    """Return the comparison of counts by operation with counts by operator: convolutions, and all other products."""
    agreements = []
    for kind, is_convolution in (("convolutions", True), ("matrix products", False)):
        operations = {
            name: count for name, count in ours.items() if count and name.startswith("conv") == is_convolution
        }
        operators = {name: count for name, count in theirs.items() if count and ("conv" in name) == is_convolution}
        if operations or operators:
            counts = sum(operations.values()), sum(operators.values())
            agreements.append(FlopsAgreement(kind, tuple(operations), tuple(operators), *counts))
    return tuple(agreements)

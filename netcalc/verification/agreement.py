"""Agreement of a network with the module that it was imported from: outputs, FLOPs, and parameters by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from netcalc.results import Result
from netcalc.weights.report import WeightsReport

__all__ = ["Agreement", "FlopsAgreement", "OutputAgreement", "difference", "flops_agreement", "tolerance_of"]

#: Differences that rounding explains, relative to the largest element of an output.
_TOLERANCES = {"float64": 1e-10, "float32": 1e-5, "float16": 1e-2, "bfloat16": 5e-2}


class OutputAgreement(NamedTuple):
    """An output of the network, by a plan, and that of the module.

    ``difference`` is the largest one, relative to the largest element; infinite where shapes or types differ.
    """

    name: str
    plan: str
    difference: float
    tolerance: float

    @property
    def ok(self) -> bool:
        """True if rounding explains the difference."""
        return self.difference <= self.tolerance


class FlopsAgreement(NamedTuple):
    """FLOPs of the operations of one kind, as netcalc and as PyTorch's counter count them.

    ``operations`` are names of netcalc's operations, ``operators`` those of PyTorch's.
    """

    kind: str
    operations: tuple[str, ...]
    operators: tuple[str, ...]
    netcalc: int
    torch: int

    @property
    def ok(self) -> bool:
        """True if the counts are equal."""
        return self.netcalc == self.torch


@dataclass(frozen=True, slots=True)
class Agreement(Result):
    """Result of :meth:`netcalc.Network.verify_against`.

    ``weights`` is the audit of the module's state dict.
    """

    spec: str
    outputs: tuple[OutputAgreement, ...]
    flops: tuple[FlopsAgreement, ...]
    weights: WeightsReport

    @property
    def ok(self) -> bool:
        """True if outputs, FLOPs and the names, shapes and types of all parameters agree."""
        return self.weights.ok and not self.differing

    @property
    def differing(self) -> tuple[OutputAgreement | FlopsAgreement, ...]:
        """The outputs and the FLOPs that do not agree."""
        outputs = tuple(output for output in self.outputs if not output.ok)
        return (*outputs, *(flops for flops in self.flops if not flops.ok))


def tolerance_of(dtype: str) -> float:
    """Return the difference that rounding explains, relative to the largest element; 0 for integers."""
    return _TOLERANCES.get(dtype, 0.0)


def difference(found: Any, expected: Any) -> float:
    """Return the largest difference of two arrays, relative to the largest element of the second.

    It is infinite if shapes or element types differ, or if one has NaN or an infinity where the other has not.
    """
    if found.shape != expected.shape or found.dtype != expected.dtype:
        return float("inf")
    if found.dtype.kind in "biu":
        return 0.0 if np.array_equal(found, expected) else float("inf")
    first, second = found.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(second)
    if not np.array_equal(first[~finite], second[~finite], equal_nan=True) or not np.isfinite(first[finite]).all():
        return float("inf")
    if not finite.any():
        return 0.0
    scale = np.abs(second[finite]).max() or 1.0
    return float(np.abs(first[finite] - second[finite]).max() / scale)


def flops_agreement(ours: Mapping[str, int], theirs: Mapping[str, int]) -> tuple[FlopsAgreement, ...]:
    """Return the comparison of counts by operation with counts by operator: convolutions, and all other products."""
    found = []
    for kind, is_convolution in (("convolutions", True), ("matrix products", False)):
        operations = {
            name: count for name, count in ours.items() if count and name.startswith("conv") == is_convolution
        }
        operators = {name: count for name, count in theirs.items() if count and ("conv" in name) == is_convolution}
        if operations or operators:
            counts = sum(operations.values()), sum(operators.values())
            found.append(FlopsAgreement(kind, tuple(operations), tuple(operators), *counts))
    return tuple(found)

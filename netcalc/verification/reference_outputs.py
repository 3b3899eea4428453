"""Outputs of a network beside those of another library, which executes the file that the network was loaded from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from netcalc.arrays import Array
from netcalc.results import Entry, Result, recorded
from netcalc.verification.agreement import difference, tolerance_of
from netcalc.weights.report import WeightsReport


@recorded("name", "dtype", "shape", "absolute", Entry("relative", "known_relative"), "tolerance", "ok")
class ReferenceOutput(NamedTuple):
    """An output of the network, compared with that of the library."""

    name: str
    dtype: str
    """Element type of the library's output."""
    shape: tuple[int, ...]
    """Shape of the library's output."""
    absolute: float | None
    """Largest difference; null if shapes, types or infinities differ."""
    relative: float
    """The same relative to the largest element; infinite where shapes, types or infinities differ."""
    tolerance: float
    """Largest relative difference that rounding explains."""

    @property
    def known_relative(self) -> float | None:
        """Largest difference, relative to the largest element; null if shapes, types or infinities differ."""
        return None if self.relative == float("inf") else self.relative

    @property
    def ok(self) -> bool:
        """True if rounding explains the difference."""
        return self.relative <= self.tolerance


@recorded("spec", "ok", "reference", "version", "seed", "outputs", "audit", name="verify-reference")
@dataclass(frozen=True, slots=True)
class ReferenceReport(Result):
    """The comparison of a network with another library that executes the same file."""

    spec: str
    """Name of the spec."""
    reference: str
    """The library: onnx or onnxruntime."""
    version: str | None
    """Version of the library; null if nothing was executed, since the audit failed."""
    seed: int
    """Seed of the inputs that were drawn."""
    outputs: tuple[ReferenceOutput, ...]
    audit: WeightsReport
    """The audit of the file's tensors."""

    @property
    def ok(self) -> bool:
        """True if all outputs agree, and the names, shapes and types of all tensors."""
        return self.audit.ok and all(output.ok for output in self.outputs)


def compared(computed: Mapping[str, Array], expected: Sequence[Array]) -> tuple[ReferenceOutput, ...]:
    """Return the comparison of a network's outputs with a library's, which are in the same order."""
    return tuple(
        ReferenceOutput(
            name,
            str(reference.dtype),
            tuple(reference.shape),
            _absolute(own, reference, relative := difference(own, reference)),
            relative,
            tolerance_of(str(reference.dtype)),
        )
        for (name, own), reference in zip(computed.items(), expected, strict=True)
    )


def _absolute(own: Array, reference: Array, relative: float) -> float | None:
    if relative == float("inf"):
        return None
    double = np.complex128 if reference.dtype.kind == "c" else np.float64
    first, second = own.astype(double), reference.astype(double)
    finite = np.isfinite(second)
    return float(np.abs(first[finite] - second[finite]).max(initial=0.0))

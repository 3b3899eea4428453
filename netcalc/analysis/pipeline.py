"""Figures of a pipeline: of each of its parts, and of all together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic
from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.results import Entry, Result, recorded
from netcalc.tensor_type import TensorType


class PartFigures(NamedTuple):
    """Figures of a network, or the sums of several."""

    params: Dim
    """Elements of parameters."""
    macs: Dim
    """Multiply-adds of a forward pass."""
    flops: Dim
    """Operations of a forward pass."""
    weight_bytes: Dim
    """Bytes of parameters."""


@recorded(
    *("name", "library", Entry("class", "kind"), "model", "dtype", "inputs"),
    *("params", "macs", "flops", "weight_bytes", "problem"),
)
@dataclass(frozen=True, slots=True)
class PipelinePart:
    """A part of a pipeline."""

    name: str
    """Name of the part, which is its folder."""
    library: str
    """Its library, or the module of diffusers' pipelines that has its class."""
    kind: str
    """Its class."""
    model: str | None = None
    """Text that names it as a model; null for a part without a network, such as a scheduler or a tokenizer."""
    dtype: DType | None = None
    """Element type of floating-point tensors, in which bytes are counted; null where there are none."""
    inputs: Mapping[str, TensorType] | None = None
    """Inputs of the forward pass that is counted; null where there is none."""
    figures: PartFigures | None = None
    problem: str | None = None
    """Reason why a network is not counted; null if it is, or if there is none."""

    @property
    def params(self) -> Dim | None:
        """Elements of parameters; null without a network, or if it is not counted."""
        return self.figures and self.figures.params

    @property
    def macs(self) -> Dim | None:
        """Multiply-adds of a forward pass; null without a network, or if it is not counted."""
        return self.figures and self.figures.macs

    @property
    def flops(self) -> Dim | None:
        """Operations of a forward pass; null without a network, or if it is not counted."""
        return self.figures and self.figures.flops

    @property
    def weight_bytes(self) -> Dim | None:
        """Bytes of parameters; null without a network, or if it is not counted."""
        return self.figures and self.figures.weight_bytes


@recorded(Entry("pipeline", "name"), Entry("class", "kind"), "convention", "totals", "parts", name="pipeline")
@dataclass(frozen=True, slots=True)
class PipelineSummary(Result):
    """Parts of a pipeline with their figures, created by :func:`netcalc.summarize_pipeline`."""

    name: str
    """Folder or repository of the pipeline."""
    kind: str
    """Its class."""
    convention: str
    """Counting convention of the work."""
    parts: tuple[PipelinePart, ...]
    #: Errors of the parts that are not counted.
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def totals(self) -> PartFigures:
        """Sums over the parts that are counted, each with one forward pass."""
        counted = [part.figures for part in self.parts if part.figures is not None]
        return (
            PartFigures(*(sum(values) for values in zip(*counted, strict=True))) if counted else PartFigures(0, 0, 0, 0)
        )

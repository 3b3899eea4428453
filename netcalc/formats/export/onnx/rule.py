"""Rules by which operations become nodes of a graph, one module for each family of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from netcalc.diagnostics import RuleError
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.ops import modules
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType


class UnsupportedError(RuleError):
    """An operation, or a setting of it, that ONNX cannot express."""

    def __init__(self, reason: str = "") -> None:
        super().__init__(reason, code="E010")


@dataclass(slots=True)
class Applied:
    """An operation with inputs as values of the graph, None for one that is absent, and types of results."""

    op: Any
    inputs: Sequence[Tensor | None]
    outputs: tuple[TensorType, ...]
    graph: Emitter
    types: Mapping[str, TensorType] = field(default_factory=dict)  # of the parameters
    owners: Mapping[str, str] = field(default_factory=dict)  # paths of the parameters

    @property
    def output(self) -> TensorType:
        """Type of the first result."""
        return self.outputs[0]

    @property
    def x(self) -> Tensor:
        """The first input."""
        return self.required(0)

    @property
    def given(self) -> list[Tensor]:
        """The inputs that are present."""
        return [value for value in self.inputs if value is not None]

    def required(self, index: int) -> Tensor:
        """Return an input that is always present."""
        value = self.inputs[index]
        assert value is not None
        return value

    def named(self, name: str) -> Tensor | None:
        """Return an input by the name of its port; None if it is absent."""
        value: Tensor | None = self.op.named(self.inputs).get(name)
        return value

    def param(self, name: str) -> Tensor:
        """Return a parameter, which the file then has."""
        return self.graph.parameter(self.owners[name], self.types[name])

    def has(self, name: str) -> bool:
        """Return True if the operation has a parameter of this name."""
        return name in self.types


Rule: TypeAlias = Callable[[Emitter, Applied], Tensor | Sequence[Tensor]]

#: The families with a module of rules.
WRITTEN = (
    *("linear", "conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_pool", "global_pool"),
    *("batch_norm", "norm", "rectifier", "activation", "softmax", "gated_units", "dropout"),
    *("attention", "position", "rotary", "position_bias", "embed"),
    *("arithmetic", "compare", "elementwise", "transcendental", "rounding", "matmul", "reduce", "sorting", "routing"),
    *("lp_pool", "blur_pool", "loss", "class_loss", "bits", "linalg"),
    *("recurrent", "scan", "chunked_scan", "indexing", "grid_sample", "roi_align", "fold", "fourier", "cache"),
    *("shape", "axes", "expand", "concat", "slicing", "pad", "resize", "shuffle", "creation", "mask"),
)
#: The rules by operation.
RULES: Registry[Rule] = Registry("ONNX rule", modules("netcalc.formats.export.onnx.rules", WRITTEN))
rule = RULES.register

"""Rules by which operations become nodes of a graph, one module for each family of operations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from netcalc.analysis.walk import Instance
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
    """An operation of the network with its inputs as values of the graph; None for one that is absent."""

    instance: Instance
    inputs: Sequence[Tensor | None]
    types: Mapping[str, TensorType]  # of the parameters
    graph: Emitter

    @property
    def op(self) -> Any:
        """The operation with its attributes."""
        return self.instance.node.op

    @property
    def outputs(self) -> tuple[TensorType, ...]:
        """Types of the results."""
        return self.instance.node.output_types

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
        return self.graph.parameter(self.instance.owners[name], self.types[name])

    def has(self, name: str) -> bool:
        """Return True if the operation has a parameter of this name."""
        return name in self.types


Rule: TypeAlias = Callable[[Emitter, Applied], Tensor | Sequence[Tensor]]

#: The families with a module of rules.
WRITTEN = (
    *("linear", "conv", "conv_transpose", "max_pool", "avg_pool", "adaptive_pool", "global_pool"),
    *("batch_norm", "norm", "rectifier", "activation", "softmax", "gated_units", "dropout"),
    *("arithmetic", "reduce", "shape", "axes"),
)
#: The rules by operation.
RULES: Registry[Rule] = Registry("ONNX rule", modules("netcalc.formats.export.onnx.rules", WRITTEN))
rule = RULES.register

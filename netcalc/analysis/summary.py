"""The summary of a network as typed data; :meth:`Summary.as_dict` is the stable JSON contract (docs/json.md).

A layer's figures are those of one instance and ``repeat`` says how many instances the row stands for, so that the
sum of ``figure * repeat`` over the layers is the total.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from netcalc.analysis.cost import Analysis, Cost, Row
from netcalc.dims import Dim, Poly
from netcalc.ir import Value
from netcalc.tensor_type import TensorType
from netcalc.version import __version__

__all__ = ["CONTRACT", "Layer", "Summary", "Totals", "number", "sizes", "summarise", "tensor"]


#: What a layer gives in the JSON contract.
CONTRACT = ("path", "op", "inputs", "outputs", "params", "buffers", "macs", "flops", "repeat")


@dataclass(frozen=True, slots=True)
class Layer:
    """One row: an operation, or at a given depth whatever stands there."""

    path: str
    op: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    params: Dim
    params_trainable: Dim
    params_tied: Dim
    buffers: Dim
    weight_bytes: Dim
    macs: Dim
    flops: Dim
    repeat: int = 1

    @classmethod
    def of(cls, row: Row) -> Layer:
        """The layer that a row of an analysis shows."""
        cost = row.cost
        return cls(
            row.path,
            row.op,
            _types(row.inputs),
            _types(row.outputs),
            cost.params,
            cost.params_trainable,
            cost.params_tied,
            cost.buffers,
            cost.weight_bytes,
            cost.macs,
            cost.flops,
            row.repeat,
        )

    def as_dict(self, fields: Iterable[str] = CONTRACT) -> dict[str, Any]:
        """These fields as JSON."""
        return {name: _plain(getattr(self, name)) for name in fields}


@dataclass(frozen=True, slots=True)
class Totals:
    """The whole network: elements, bytes and operations; see :class:`~netcalc.analysis.cost.Cost`."""

    params: Dim
    params_trainable: Dim
    buffers: Dim
    weight_bytes: Dim
    macs: Dim
    flops: Dim
    params_active: Dim
    macs_expected: Dim
    flops_expected: Dim

    @classmethod
    def of(cls, cost: Cost) -> Totals:
        """The totals that a cost comes to."""
        return cls(**{name: getattr(cost, name) for name in cls.__slots__})

    def as_dict(self) -> dict[str, Any]:
        """The totals as JSON; what is active or expected is there only where it is not all."""
        found = {name: number(getattr(self, name)) for name in self.__slots__}
        parts = {"params_active": "params", "macs_expected": "macs", "flops_expected": "flops"}
        return {name: value for name, value in found.items() if name not in parts or value != found[parts[name]]}


@dataclass(frozen=True, slots=True)
class Summary:
    """A network's inputs, outputs, totals and layers under one counting convention."""

    spec: str
    convention: str
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    totals: Totals
    layers: tuple[Layer, ...]

    def as_dict(self, fields: Iterable[str] = CONTRACT) -> dict[str, Any]:
        """The JSON contract; ``fields`` are what each layer gives."""
        fields = tuple(fields)
        return {
            "netcalc": __version__,
            "spec": self.spec,
            "convention": self.convention,
            "inputs": {name: tensor(type_) for name, type_ in self.inputs.items()},
            "outputs": {name: tensor(type_) for name, type_ in self.outputs.items()},
            "totals": self.totals.as_dict(),
            "layers": [layer.as_dict(fields) for layer in self.layers],
        }


def summarise(analysis: Analysis, *, depth: int | None = None, unroll: bool = False) -> Summary:
    """The summary of an analysed program, leaves only unless a depth is given."""
    program = analysis.program
    inputs = {spec.name: spec.type for spec in program.inputs}
    outputs = dict(zip(program.output_names, program.main.output_types, strict=True))
    layers = tuple(Layer.of(row) for row in analysis.rows(depth=depth, unroll=unroll))
    return Summary(program.name, analysis.convention.name, inputs, outputs, Totals.of(analysis.total), layers)


def sizes(shape: tuple[Dim, ...]) -> list[int | str]:
    """A shape as JSON: whole numbers, and symbolic sizes as text."""
    return [number(size) for size in shape]


def number(value: Dim) -> int | str:
    """A count as JSON: a whole number, or the formula of a symbolic one."""
    return value if isinstance(value, int) else str(value)


def tensor(type_: TensorType) -> dict[str, Any]:
    """A tensor's type as JSON."""
    return {"shape": sizes(type_.shape), "dtype": type_.dtype}


def _plain(value: Any) -> Any:
    """A field of a layer as JSON."""
    if isinstance(value, tuple):
        return [sizes(type_.shape) for type_ in value]
    return str(value) if isinstance(value, Poly) else value


def _types(values: Iterable[Value]) -> tuple[TensorType, ...]:
    return tuple(value.known_type for value in values)

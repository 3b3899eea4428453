"""The summary of a network as typed data; :meth:`Summary.as_dict` is the stable JSON contract (docs/json.md).

A layer's figures are those of one instance and ``repeat`` says how many instances the row stands for, so that the
sum of ``figure * repeat`` over the layers is the total.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.figures import FIGURES, Cost, Figures, View, shown_totals
from netcalc.dims import Dim, Poly
from netcalc.ir import Value
from netcalc.tensor_type import TensorType
from netcalc.version import __version__

__all__ = ["Layer", "Summary", "Totals", "layer_fields", "number", "sizes", "summarise", "tensor"]


class _LayerFields(NamedTuple):
    path: str
    op: str
    inputs: tuple[TensorType, ...]
    outputs: tuple[TensorType, ...]
    values: tuple[Dim, ...]
    repeat: int = 1


class Layer(_LayerFields, Figures):
    """A row of a report: an operation, or at a given depth the part of the network at a path.

    The figures (``params``, ``macs``, …) are those of one instance; ``repeat`` is the number of instances.
    """

    __slots__ = ()

    @classmethod
    def of(cls, row: Row) -> Layer:
        """The layer of a row of an analysis."""
        return cls(row.path, row.op, _types(row.inputs), _types(row.outputs), row.cost.values, row.repeat)

    def as_dict(self, fields: Iterable[str]) -> dict[str, Any]:
        """The layer as JSON, with these fields."""
        return {name: _plain(getattr(self, name)) for name in fields}


class Totals(Cost):
    """The figures of the whole network."""

    __slots__ = ()

    def as_dict(self, view: View = "summary") -> dict[str, Any]:
        """The totals of a view as JSON; a part is included only where it is not the whole."""
        return {figure.name: number(figure.of(self)) for figure in shown_totals(view, [self])}


def layer_fields(view: View) -> tuple[str, ...]:
    """The fields of a layer in the JSON and CSV of a view."""
    shapes = () if view == "params" else ("inputs", "outputs")
    return ("path", "op", *shapes, *(name for name, figure in FIGURES.items() if view in figure.fields), "repeat")


@dataclass(frozen=True, slots=True)
class Summary:
    """A network's inputs, outputs, totals and layers under one counting convention."""

    spec: str
    convention: str
    inputs: Mapping[str, TensorType]
    outputs: Mapping[str, TensorType]
    totals: Totals
    layers: tuple[Layer, ...]

    def as_dict(self, view: View = "summary") -> dict[str, Any]:
        """The JSON contract of a view."""
        fields = layer_fields(view)
        return {
            "netcalc": __version__,
            "spec": self.spec,
            "convention": self.convention,
            "inputs": {name: tensor(type_) for name, type_ in self.inputs.items()},
            "outputs": {name: tensor(type_) for name, type_ in self.outputs.items()},
            "totals": self.totals.as_dict(view),
            "layers": [layer.as_dict(fields) for layer in self.layers],
        }


def summarise(analysis: Analysis, *, depth: int | None = None, unroll: bool = False) -> Summary:
    """The summary of an analysed program, leaves only unless a depth is given."""
    program = analysis.program
    inputs = {spec.name: spec.type for spec in program.inputs}
    outputs = dict(zip(program.output_names, program.main.output_types, strict=True))
    layers = tuple(Layer.of(row) for row in analysis.rows(depth=depth, unroll=unroll))
    return Summary(program.name, analysis.convention.name, inputs, outputs, Totals(analysis.total.values), layers)


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

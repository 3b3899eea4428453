"""Types that a file declares for the values of its graph, beside those that the network has there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim
from netcalc.formats.onnx.call import Operand
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.messages import GraphProto, ValueInfo
from netcalc.tensor_type import TensorType
from netcalc.weights.report import Mismatch


class Declared(NamedTuple):
    """The number of values with a declared type, and those whose type is another one in the network."""

    compared: int = 0
    differing: tuple[Mismatch, ...] = ()


def declared(graph: GraphProto, values: Mapping[str, Operand | None]) -> Declared:
    """Return the comparison of all values whose types the file declares; sizes with names, or without, fit any."""
    count, differing = 0, []
    for info in (*graph.values, *graph.outputs):
        operand = values.get(info.name)
        if operand is None or info.kind is None:
            continue
        try:
            dtype = dtype_named(info.kind)
        except RuleError:
            continue
        count += 1
        own = operand.type
        if dtype != own.dtype or not _fits(info, own.shape):
            sizes = "" if info.shape is None else _text(info.shape)
            predicate = f"is declared as {dtype} {sizes}, and is {_type(own)} in the network"
            differing.append(Mismatch("value", info.name, predicate, "the value "))
    return Declared(count, tuple(differing))


def _fits(info: ValueInfo, shape: tuple[Dim, ...]) -> bool:
    if info.shape is None:
        return True
    if len(info.shape) != len(shape):
        return False
    pairs = zip(info.shape, shape, strict=True)
    return all(size == own for size, own in pairs if isinstance(size, int) and isinstance(own, int))


def _type(own: TensorType) -> str:
    return f"{own.dtype} {_text(own.shape)}"


def _text(sizes: tuple[Dim | str | None, ...]) -> str:
    return "×".join("?" if size is None else str(size) for size in sizes) or "scalar"

"""Forms in which a file stores the parameters of its model, as assignments of schemes to their paths."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from netcalc.formats.graph.model import Graph
from netcalc.formats.onnx.elements import dtype_named
from netcalc.formats.onnx.held import Held, is_single
from netcalc.formats.onnx.paths import Place
from netcalc.formats.stored_types import assignments_of_paths
from netcalc.ir.storage import OwnStorage
from netcalc.schemes.scheme import PLAIN, scheme_named


def own_storage(graph: Graph, tensors: Mapping[str, tuple[Held, Place]]) -> OwnStorage:
    """Return how a file stores the parameters of a graph whose document is written.

    Args:
        graph: the graph.
        tensors: the tensors of the file by their paths in the graph.
    """
    schemes: dict[str, str] = {}
    for stored, path in graph.places.items():
        if stored.path in tensors and not graph.tensors[stored.path].buffer:
            held, place = tensors[stored.path]
            turned = place.transpose != stored.transpose
            schemes[path] = PLAIN if held.scaling is None else scheme_of(held, turned=turned)
    described = dict.fromkeys(scheme_named(name).short for name in schemes.values() if name != PLAIN)
    if not described:
        return OwnStorage()
    return OwnStorage(assignments_of_paths(schemes), "; ".join(described), of_file=True)


def scheme_of(held: Held, *, turned: bool) -> str:
    """Return the name of the scheme of a quantized tensor; ``turned`` if a layer has its last two axes swapped."""
    scaling = held.scaling
    assert scaling is not None
    name = f"onnx-{dtype_named(held.tensor.kind)}"
    if scaling.shared:
        return name
    (scale,) = scaling.scales
    count, shape = prod(scale.shape), held.tensor.shape
    if is_single(scale, scaling):
        where = "tensor"
    elif count == prod(shape):
        where = "element"
    elif not scaling.block and _is_row(scaling.axis, len(shape), turned=turned):
        where = "row"
    else:
        where = f"s{count}"
    kind = dtype_named(scale.kind)
    zero = scaling.zero
    zeros = "" if zero is None or prod(zero.shape) != count else "-zp"
    return f"{name}-{where}{'' if kind == 'float32' else f'-{kind}'}{zeros}"


def _is_row(axis: int, rank: int, *, turned: bool) -> bool:
    """Return True if the vectors along an axis are the rows of the matrix that a layer has of a tensor."""
    return axis == 0 if rank != 2 else axis == (1 if turned else 0)

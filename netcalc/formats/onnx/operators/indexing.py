"""Elements by their indices: look-ups, gathering and scattering."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import product
from netcalc.formats.graph.lines.expand import expanded
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.weights import learned
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.call import Call
from netcalc.formats.onnx.operators import operator

_REDUCTIONS = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


@operator("Gather")
def gather(call: Call) -> Value:
    """Elements along an axis; of a stored table an embedding, by one number a selection."""
    rank = call.type(0).rank
    axis, x = call.axis(rank), call.x()
    index = call.known(1)
    if index is not None and not index.shape and isinstance(index.elements[0], int):
        return call.line("select", [x], {"axis": axis, "index": index.elements[0]})
    if index is not None and len(index.shape) == 1 and index.is_plain and x.stored is None:
        return call.line("index_select", [x], {"axis": axis, "indices": [int(i) for i in index.elements]})
    if axis == 0 and rank == 2 and learned(call.build, x, "float32"):
        rows, features = x.type.shape
        attributes = {"num_embeddings": rows, "embedding_dim": features}
        return call.build.line("embedding", [call.x(1)], attributes, {"weight": x})
    return call.line("index", [x, call.x(1)], {"axis": axis})


@operator("GatherElements")
def gather_elements(call: Call) -> Value:
    axis = call.axis(call.type(0).rank)
    return call.line("gather", [call.x(), _from_front(call, 1, axis)], {"axis": axis})


def _from_front(call: Call, place: int, axis: int) -> Value:
    """Return indices that are not negative: the size is added to those that count from the end."""
    size, index = call.shape(0)[axis], cast(call.build, call.x(place), "int64")
    known = call.known(place)
    if known is not None and all(isinstance(i, int) and i >= 0 for i in known.elements):
        return index
    return call.line("remainder", [index], {"value": size})


@operator("GatherND")
def gather_nd(call: Call) -> Value:
    """Elements, or slices, at rows of indices; the first axes may be those of a batch."""
    batch = call.attribute("batch_dims", 0)
    shape, places = call.shape(0), call.shape(1)
    depth = places[-1]
    if not isinstance(depth, int):
        raise RuleError("indices of a symbolic number of axes")
    parts = [call.line("select", [call.x(1)], {"axis": -1, "index": axis}) for axis in range(depth)]
    axes = list(range(batch, batch + depth))
    if not batch:
        return call.line("index", [call.x(), *parts], {"axis": axes if depth > 1 else axes[0]})
    rank = len(places) - 1
    before: list[Value] = []
    for axis in range(batch):
        count = call.line("arange", [], {"stop": shape[axis]})
        before.append(reshaped(call.build, count, [1] * axis + [shape[axis]] + [1] * (rank - axis - 1)))
    return call.line("index", [call.x(), *before, *parts], {"axis": list(range(batch + depth))})


@operator("ScatterElements", "Scatter")
def scatter_elements(call: Call) -> Value:
    axis = call.axis(call.type(0).rank)
    reduce = call.attribute("reduction", "none")
    attributes = {"axis": axis, "reduce": None if reduce == "none" else _REDUCTIONS[reduce]}
    return call.line("scatter", [call.x(), _from_front(call, 1, axis), call.x(2)], attributes)


@operator("ScatterND")
def scatter_nd(call: Call) -> Value:
    """The input with elements, or slices, at rows of indices replaced or added to."""
    reduce = call.attribute("reduction", "none")
    depth = call.shape(1)[-1]
    if not isinstance(depth, int):
        raise RuleError("indices of a symbolic number of axes")
    parts = [call.line("select", [call.x(1)], {"axis": -1, "index": axis}) for axis in range(depth)]
    if reduce in ("none", "add"):
        attributes = {"axis": list(range(depth)) if depth > 1 else 0, "accumulate": reduce == "add" or None}
        return call.line("index_put", [call.x(), call.x(2), *parts], attributes)
    return _reduced_slices(call, parts, _REDUCTIONS[reduce])


def _reduced_slices(call: Call, parts: list[Value], reduce: str) -> Value:
    """Combine slices with those at their places, as rows of a matrix."""
    shape, depth = call.shape(0), len(parts)
    rows, width = product(shape[:depth]), product(shape[depth:])
    place = None
    for axis, index in enumerate(parts):
        step = product(shape[axis + 1 : depth])
        index = call.line("remainder", [index], {"value": shape[axis]})
        term = index if step == 1 else call.line("mul", [index], {"value": step})
        place = term if place is None else call.line("add", [place, term])
    assert place is not None
    count = product(place.type.shape)
    flat = [reshaped(call.build, x, sizes) for x, sizes in ((call.x(), [rows, width]), (call.x(2), [count, width]))]
    index = expanded(call.build, reshaped(call.build, place, [count, 1]), [count, width])
    result = call.line("scatter", [flat[0], index, flat[1]], {"axis": 0, "reduce": reduce})
    return reshaped(call.build, result, shape)


@operator("OneHot")
def one_hot(call: Call) -> Value:
    """A number at the index of each element, and another one elsewhere."""
    depth = call.ints(1, "the number of classes")[0]
    index = cast(call.build, call.x(), "int64")
    rank = index.type.rank + 1
    axis = call.axis(rank, -1)
    if call.version >= 11:  # an index that counts from the end; one outside of both ranges is nowhere
        from_end = call.line("add", [index], {"value": depth})
        index = call.line("where", [call.line("less", [index], {"value": 0}), from_end, index])
    classes = call.line("arange", [], {"stop": depth})
    apart = call.line("unsqueeze", [index], {"axis": axis})
    result = call.line("equal", [apart, reshaped(call.build, classes, [-1, *[1] * (rank - axis - 1)])])
    values, dtype = call.known(2), call.type(2).dtype
    if values is not None and list(values.elements) == [0, 1]:
        return cast(call.build, result, dtype)
    off, on = (call.line("select", [call.x(2)], {"axis": 0, "index": place}) for place in (0, 1))
    return call.line("where", [cast(call.build, result, "bool"), on, off])


@operator("ReverseSequence")
def reverse_sequence(call: Call) -> Value:
    """The first elements of each sequence in reverse order: those at length − 1 − t for t below its length."""
    batch, time = call.attribute("batch_axis", 1), call.attribute("time_axis", 0)
    shape = call.shape(0)
    steps: Any = reshaped(call.build, call.line("arange", [], {"stop": shape[time]}), _apart(shape, time))
    lengths = reshaped(call.build, cast(call.build, call.x(1), "int64"), _apart(shape, batch))
    turned = call.line("sub", [call.line("sub", [lengths], {"value": 1}), steps])
    place = call.line("where", [call.line("less", [steps, lengths]), turned, steps])
    return call.line("gather", [call.x(), expanded(call.build, place, shape)], {"axis": time})


def _apart(shape: tuple[Any, ...], axis: int) -> list[Any]:
    return [size if place == axis else 1 for place, size in enumerate(shape)]

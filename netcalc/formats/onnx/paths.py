"""Paths of the tensors of a model, as the checkpoint of its source would have them.

PyTorch's exporters keep the names of most parameters, and number those that they change: weights of norms that are
folded into convolutions, and transposed matrices.  A numbered tensor gets the path of the layer that holds it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import NamedTuple

from netcalc.formats.graph.builder import declaration
from netcalc.formats.graph.model import Graph, Line, Stored, Value
from netcalc.formats.onnx.call import Rows
from netcalc.formats.onnx.contents import constant_lines, is_learned
from netcalc.formats.onnx.known import MOST, Known
from netcalc.formats.onnx.messages import TensorProto
from netcalc.formats.onnx.naming import around, is_numbered, is_path, is_reshaped

_PYTORCH = "pytorch"
_FOLDED = ".weight_bias"


class Held(NamedTuple):
    """A tensor of the file, or rows of it that are a tensor of a layer."""

    tensor: TensorProto
    rows: Rows | None = None


class Place(NamedTuple):
    """Path of a tensor in the checkpoint, and whether its last two axes are swapped there."""

    path: str
    transpose: bool = False


def give_paths(
    graph: Graph, tensors: Mapping[str, Held], producer: str, read: Callable[[TensorProto], Known]
) -> dict[str, Place]:
    """Give every stored tensor a path, and the lines that hold one the modules around it; return the paths by name.

    ``read`` reads small tensors.
    """
    uses: dict[str, list[tuple[Line, str, Stored]]] = {}
    for line in graph.lines:
        for name, stored in line.parameters.items():
            uses.setdefault(stored.path, []).append((line, name, stored))
    places: dict[str, Place] = {}
    taken = set(graph.tensors)
    for name in tensors:
        places[name] = _place(name, uses.get(name, []), taken)
        taken.add(places[name].path)
    for name, held in uses.items():
        place = places[name]
        for line, parameter, stored in held:
            line.parameters[parameter] = Stored(place.path, stored.part, stored.transpose != place.transpose)
    graph.tensors = {places[name].path: tensor for name, tensor in graph.tensors.items()}
    for path, place in zip([*graph.tensors], places.values(), strict=True):
        if place.transpose:
            type_ = graph.tensors[path].type
            graph.tensors[path] = replace(graph.tensors[path], type=type_.with_shape(*type_.shape[::-1]))
    _scopes(graph)
    if producer == _PYTORCH:
        numbered = {place.path: tensors[name].tensor for name, place in places.items() if is_numbered(name)}
        listed = _constants(graph, numbered, read)
        places = {name: place for name, place in places.items() if place.path not in listed}
    return places


def _place(name: str, held: list[tuple[Line, str, Stored]], taken: set[str]) -> Place:
    """Return the path of a tensor: its name where it is one, or one that the line which holds it gives."""
    if not held:
        return Place(name)
    line, parameter, _ = held[0]
    if name.endswith(_FOLDED) and is_path(name) and parameter == "bias":  # of a norm that is folded into a layer
        path = f"{name.removesuffix(_FOLDED)}.bias"
        return Place(name if path in taken else path)
    if is_path(name) or not is_numbered(name):
        return Place(name)
    owner = line.scope[-1].path if line.scope else ""
    if not parameter or not owner or any(other.part is not None for _, _, other in held):
        return Place(name)
    transpose = all(stored.transpose for _, _, stored in held)
    path = f"{owner}.{parameter}"
    number = 0
    while path in taken:
        number += 1
        path = f"{owner}.{parameter}_{number}"
    return Place(path, transpose)


def _scopes(graph: Graph) -> None:
    """Put every layer into the module whose tensors it holds."""
    for line in graph.lines:
        owners = {
            stored.path.rpartition(".")[0]
            for name, stored in line.parameters.items()
            if name and is_path(stored.path) and stored.path.rpartition(".")[2] == name
        }
        if len(owners) == 1:
            line.scope = around(line.scope, owners.pop())


def _constants(graph: Graph, numbered: Mapping[str, TensorProto], read: Callable[[TensorProto], Known]) -> set[str]:
    """Make tensors that are no weights of a layer, and have no path, constants, or buffers if they are long.

    Such tensors are what PyTorch computed when it exported, but for learned ones that it only gave another shape.  The
    paths of constants, which the network does not hold, are returned.
    """
    weights = {stored.path for line in graph.lines for name, stored in line.parameters.items() if name}
    lines, listed = [], set()
    for line in graph.lines:
        stored = line.parameters.get("")
        if line.operation != "parameter" or stored is None or stored.path in weights or stored.path not in numbered:
            lines.append(line)
            continue
        tensor = graph.tensors[stored.path]
        elements = None if tensor.type.elements > MOST else read(numbered[stored.path])
        if elements is not None and is_reshaped(numbered[stored.path].name) and is_learned(elements):
            lines.append(line)
            continue
        made = elements and constant_lines(elements, line, is_mask=_is_mask(graph, line.outputs[0]))
        if made is not None:
            lines += made
            listed.add(stored.path)
            continue
        tensor = replace(tensor, buffer=True, unknown=True, value=float("nan"))
        graph.tensors[stored.path] = tensor
        line.operation, line.attributes = "buffer", declaration(tensor)
        lines.append(line)
    graph.lines[:] = lines
    for path in listed:
        del graph.tensors[path]
    return listed


def _is_mask(graph: Graph, value: Value) -> bool:
    """Return True for a value that lines only add to what goes into a softmax."""
    users = [line for line in graph.lines if value in line.inputs]
    sums = {line.outputs[0] for line in users if line.operation == "add"}
    after = [line for line in graph.lines if not sums.isdisjoint(line.inputs)]
    is_float = value.type.is_float and value not in graph.results
    return is_float and len(sums) == len(users) and all(line.operation == "softmax" for line in after)

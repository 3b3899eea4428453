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
from netcalc.formats.onnx.contents import constant_lines, is_learned
from netcalc.formats.onnx.free_names import free_name
from netcalc.formats.onnx.held import Held, meant
from netcalc.formats.onnx.known import MOST, Known
from netcalc.formats.onnx.messages import TensorProto
from netcalc.formats.onnx.naming import around, is_factor, is_numbered, is_path, is_reshaped
from netcalc.formats.onnx.repeated_calls import number_calls
from netcalc.tensor_type import TensorType

_FOLDED = ".weight_bias"


class Place(NamedTuple):
    """Path of a tensor in the checkpoint, and whether its last two axes are swapped there."""

    path: str
    transpose: bool = False


def give_paths(
    graph: Graph,
    tensors: Mapping[str, Held],
    by_pytorch: bool,
    read: Callable[[TensorProto], Known],
    are_copies: Callable[[Held, Held], bool],
) -> dict[str, Place]:
    """Give every stored tensor a path, and the lines that hold one the modules around it; return the paths by name.

    PyTorch's exporter writes a copy of a changed weight for every call of its module.  Such tensors, which would have
    the same path, are one if their bytes are equal (``are_copies``).  ``read`` reads small tensors.  ``by_pytorch`` is
    True for a file of PyTorch's exporter.
    """
    uses: dict[str, list[tuple[Line, str, Stored]]] = {}
    for line in graph.lines:
        for name, stored in line.parameters.items():
            uses.setdefault(stored.path, []).append((line, name, stored))
    places: dict[str, Place] = {}
    taken = set(graph.tensors)
    firsts: dict[tuple[Place, TensorType], list[str]] = {}
    for name in tensors:
        place = _place(name, uses.get(name, []))
        alike = firsts.setdefault((place, graph.tensors[name].type), [])
        before = next((other for other in alike if are_copies(tensors[other], tensors[name])), None)
        if before is not None and by_pytorch:
            places[name] = places[before]
            continue
        alike.append(name)
        places[name] = place if place.path == name else place._replace(path=free_name(place.path, taken))
        taken.add(places[name].path)
    for name, held in uses.items():
        place = places[name]
        for line, parameter, stored in held:
            line.parameters[parameter] = Stored(place.path, stored.part, stored.transpose != place.transpose)
    held_before, graph.tensors = graph.tensors, {}
    for name, tensor in held_before.items():
        path, transpose = places[name]
        type_ = tensor.type.with_shape(*tensor.type.shape[::-1]) if transpose else tensor.type
        graph.tensors[path] = replace(tensor, type=type_)
    _scopes(graph)
    number_calls(graph)
    if by_pytorch:
        numbered = {place.path: tensors[name] for name, place in places.items() if is_numbered(name)}
        listed = _constants(graph, numbered, read)
        places = {name: place for name, place in places.items() if place.path not in listed}
    return places


def _place(name: str, held: list[tuple[Line, str, Stored]]) -> Place:
    """Return the path of a tensor: its name where it is one, or one that the line which holds it gives."""
    if not held:
        return Place(name)
    line, parameter, _ = held[0]
    if name.endswith(_FOLDED) and is_path(name) and parameter == "bias":  # of a norm that is folded into a layer
        return Place(f"{name.removesuffix(_FOLDED)}.bias")
    if is_path(name) or not (is_numbered(name) or is_factor(name)):
        return Place(name)
    owner = line.scope[-1].path if line.scope else ""
    if (is_reshaped(name) or is_factor(name)) and not parameter:
        parameter = "parameter"
    if not parameter or not owner or any(other.part is not None for _, _, other in held):
        return Place(name)
    return Place(f"{owner}.{parameter}", all(stored.transpose for _, _, stored in held))


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


def _constants(graph: Graph, numbered: Mapping[str, Held], read: Callable[[TensorProto], Known]) -> set[str]:
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
        elements = None if tensor.type.elements > MOST else meant(numbered[stored.path], read)
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

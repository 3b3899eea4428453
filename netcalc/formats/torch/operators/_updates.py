"""The input of a view after its elements were changed through the view: the inverse of each view."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, maximum, minimum
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.concat import concatenated
from netcalc.formats.graph.lines.shape import reshaped
from netcalc.formats.graph.lines.slicing import part
from netcalc.formats.graph.model import Graph, Value, operation_named
from netcalc.formats.torch.operators import Rule, rules
from netcalc.formats.torch.operators.concat import stack
from netcalc.formats.torch.operators.slicing import bounds, diagonal_places
from netcalc.tensor_type import TensorType

#: Views with the elements in the same order.
_SAME_ORDER = {
    *("view", "_unsafe_view", "reshape", "view_as", "reshape_as", "flatten", "ravel", "unflatten", "contiguous"),
    *("squeeze", "unsqueeze", "squeeze_", "unsqueeze_", "alias", "detach", "detach_", "to", "type_as", "dropout"),
    *("expand", "expand_as", "broadcast_to", "atleast_1d", "atleast_2d", "atleast_3d", "lift_fresh", "real"),
    *("requires_grad_", "positive", "resolve_conj", "resolve_neg", "feature_dropout", "alpha_dropout"),
    *("meshgrid", "broadcast_tensors", "sum_to_size"),
}
_PERMUTED = {
    *("transpose", "t", "permute", "numpy_T", "mT", "mH", "matrix_H", "adjoint", "movedim", "moveaxis", "swapaxes"),
    *("swapdims", "transpose_", "t_", "swapaxes_", "swapdims_"),
}
#: Complex numbers after a change of their parts or conjugates, and pairs after a change of the numbers that they are.
_OF_NUMBERS: Mapping[str, Callable[[Builder, Value, Value], Value]] = {
    "real": lambda build, input, value: build.line("complex", [value, build.line("imag", [input])]),
    "imag": lambda build, input, value: build.line("complex", [build.line("real", [input]), value]),
    "view_as_real": lambda build, input, value: build.line("view_as_complex", [value]),
    "view_as_complex": lambda build, input, value: build.line("view_as_real", [value]),
    **dict.fromkeys(("conj", "_conj"), lambda build, input, value: build.line("conj", [value])),
    **dict.fromkeys(
        ("mH", "adjoint", "matrix_H"),
        lambda build, input, value: build.line("transpose", [build.line("conj", [value])], {"axes": [-2, -1]}),
    ),
}
_SPLIT = {"split", "split_with_sizes", "chunk", "tensor_split", "unsafe_split", "unsafe_chunk"}


def updated(build: Builder, target: Any, arguments: Mapping[str, Any], input: Value, value: Any) -> Value:
    """Return the input of a view with its elements replaced by the elements of the view.

    Args:
        build: the builder.
        target: the operator that makes the view.
        arguments: its arguments by name.
        input: the present value of its input.
        value: the new value of the view, a list for an operator with several results.

    Raises:
        RuleError: the change cannot be expressed.
    """
    name = target._schema.name.partition("::")[2]
    if name in _OF_NUMBERS and (input.type.is_complex or value.type.is_complex):
        return _OF_NUMBERS[name](build, input, value)
    if name in _SAME_ORDER and value.type.elements == input.type.elements:
        return reshaped(build, value, input.type.shape)
    if name in _PERMUTED:
        return permuted(build, value, _inverse(rules()[str(target)], arguments, input.type.rank))
    if name in ("slice", "narrow"):
        return replaced(build, input, value, arguments["dim"], *bounds(**{**arguments, "input": input}))
    if name == "select":
        axis, index = arguments["dim"] % input.type.rank, arguments["index"]
        if isinstance(index, Value):
            return build.line("index_put", [input, value, index], {"axis": axis})
        start = index + input.type.shape[axis] if index < 0 else index
        return replaced(build, input, build.line("unsqueeze", [value], {"axis": axis}), axis, start, start + 1)
    if name in _SPLIT:
        return concatenated(build, value, arguments["dim"])
    if name == "unbind":
        return stack(build, value, arguments["dim"])
    if name == "diagonal":
        return with_diagonal(build, value=value, **{**arguments, "input": input})
    raise RuleError(f"a change in place through the view {name} cannot be expressed")


def _inverse(rule: Rule, arguments: Mapping[str, Any], rank: int) -> list[int]:
    """Return the order of axes that undoes the order of a rule, found from sizes that all differ."""
    probe = Value(TensorType(tuple(range(2, 2 + rank))))
    order = [size - 2 for size in rule(Builder(Graph("")), **{**arguments, "input": probe}).type.shape]
    return [order.index(axis) for axis in range(rank)]


def replaced(build: Builder, input: Value, value: Value, axis: int, start: Dim, stop: Dim, step: Dim = 1) -> Value:
    """Return the input with a range of an axis replaced."""
    size = input.type.shape[axis]
    if start == 0 and stop == size and step == 1:
        return value
    if value.type.shape[axis] == 0:
        return input
    if step != 1:
        places = build.line("arange", [], {"start": None if start == 0 else start, "stop": stop, "step": step})
        return build.line("index_put", [input, value, places], {"axis": axis})
    pieces = _pieces(build, input, axis % input.type.rank)
    return concatenated(
        build, [*_cut(build, pieces, axis, 0, start), value, *_cut(build, pieces, axis, stop, size)], axis
    )


def with_diagonal(build: Builder, input: Value, value: Value, offset: int, dim1: int, dim2: int) -> Value:
    """Return the input with a diagonal of two of its axes replaced."""
    order, places = diagonal_places(input, offset, dim1, dim2)
    last = permuted(build, input, order)
    flat = build.line("flatten", [last], {"start_axis": last.type.rank - 2})
    filled = reshaped(build, replaced(build, flat, value, -1, *places), last.type.shape)
    return permuted(build, filled, [order.index(axis) for axis in range(len(order))])


def _pieces(build: Builder, value: Value, axis: int) -> list[Value]:
    """Return the tensors that a value joins along an axis; the value itself if it is not joined, or used as a whole."""
    maker = build.maker(value)
    if (
        maker is None
        or _is_used(build, value)
        or maker.operation != "concat"
        or maker.attributes.get("axis", 1) % value.type.rank != axis
    ):
        return [value]
    return [piece for source in maker.inputs if source is not None for piece in _pieces(build, source, axis)]


def _is_used(build: Builder, value: Value) -> bool:
    """Return True if the lines so far use a value in more than views that none of them uses."""
    needed: set[Value | None] = set()
    for line in reversed(build.graph.lines):
        if value in line.outputs:
            break
        if not operation_named(line.operation).view or needed.intersection(line.outputs):
            needed.update(line.inputs)
    return value in needed


def _cut(build: Builder, pieces: Sequence[Value], axis: int, start: Dim, stop: Dim) -> list[Value]:
    """Return a range of joined tensors as pieces."""
    cut = []
    place: Dim = 0
    for piece in pieces:
        end = place + piece.type.shape[axis]
        if end > start and place < stop:
            first, last = maximum(start - place, 0), minimum(stop - place, piece.type.shape[axis])
            cut.append(part(build, piece, axis, first, last))
        place = end
    return cut

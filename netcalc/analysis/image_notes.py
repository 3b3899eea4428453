"""Remarks on images whose axes are probably not those that the operations take."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

from netcalc.dims import Dim
from netcalc.ir import Body, CallNode, InputSpec, OpNode, Program, Value, join

#: Origin of a value: an input whose last axis looks like channels, by its name, or an image with channels as axis 1.
_Origin: TypeAlias = "str | Literal[True] | None"


class ImageNote(NamedTuple):
    """An operation that probably reads an axis of an image as another one.

    ``source`` is the input whose last axis looks like channels; empty for a linear map along an axis of the image.
    ``axis`` is the axis that the operation takes as channels: 1, or 0 of an image without a batch.
    """

    path: str
    shape: tuple[Dim, ...]
    source: str = ""
    axis: int = 1


def image_notes(program: Program) -> Iterator[ImageNote]:
    """Yield the windowed operations on inputs that look channels-last, and linear maps along an axis of an image.

    An operation that keeps the channels and the number of axes of its input, such as a normalization, keeps its origin.
    Of the operations on one input the first is named.
    """
    notes: list[ImageNote] = []
    _visit(program.main, tuple(map(_origin, program.inputs)), "", notes, {})
    shapes = {spec.name: spec.type.shape for spec in program.inputs}
    for note in notes:
        if not note.source:
            yield note
        elif note.source in shapes:
            yield note._replace(shape=shapes.pop(note.source))


def _origin(declared: InputSpec) -> _Origin:
    """Return the origin of an input, which its sizes suggest."""
    if declared.type.looks_channels_last:
        return declared.name
    if declared.type.rank != 4:
        return None
    batch, channels, *axes = declared.type.shape
    return True if declared.type.with_shape(batch, *axes, channels).looks_channels_last else None


def _visit(
    body: Body,
    inputs: tuple[_Origin, ...],
    prefix: str,
    notes: list[ImageNote],
    visited: dict[tuple[int, tuple[_Origin, ...]], list[_Origin]],
) -> list[_Origin]:
    """Note the operations of a body, once for equal origins of its inputs, and return the origins of its outputs."""
    if (id(body), inputs) in visited:
        return visited[id(body), inputs]
    origins: dict[Value | None, _Origin] = dict(zip(body.inputs, inputs, strict=True))
    for node in body.nodes:
        path = join(prefix, node.name if isinstance(node, OpNode) else node.instance(0))
        sources = tuple(None if value is None else origins.get(value) for value in node.inputs)
        if isinstance(node, CallNode):
            origins |= zip(node.outputs, _visit(node.body, sources, path, notes, visited), strict=False)
        elif sources:
            note, origin = _judged(node, sources[0], path)
            notes += [] if note is None else [note]
            origins[node.outputs[0]] = origin
    result = [origins.get(value) for value in body.outputs]
    visited[id(body), inputs] = result
    return result


def _judged(node: OpNode, origin: _Origin, path: str) -> tuple[ImageNote | None, _Origin]:
    """Return the remark on an operation, if there is one, and the origin of its result."""
    value, result = node.inputs[0], node.outputs[0].known_type
    if value is None:
        return None, None
    shape = value.known_type.shape
    if node.op.windowed:
        axis = len(shape) - getattr(node.op, "axes", 2) - 1
        note = ImageNote(path, shape, origin, axis) if isinstance(origin, str) else None
        return note, True if result.rank > 3 else None
    if node.op.name == "linear" and origin is True:
        return ImageNote(path, shape), None
    kept = slice(None, 2) if origin is True else slice(-1, None)  # batch and channels
    return None, origin if result.rank == len(shape) and result.shape[kept] == shape[kept] else None

"""Messages of a model in ONNX: graphs, nodes, attributes, types and tensors, by the field numbers of ``onnx.proto``."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.formats.export.onnx.graph import Body, Numbers
from netcalc.formats.export.onnx.wire import Blob, Message
from netcalc.formats.onnx.elements import CODES, DTYPES
from netcalc.formats.onnx.messages import Node
from netcalc.tensor_type import TensorType

#: Numbers of the element types.
KINDS: dict[DType, int] = {dtype: number for number, dtype in DTYPES.items()}
_EXTERNAL = 1
#: Formats of :mod:`struct`; a complex number is two of them.
_CODES = {**CODES, "complex64": "f", "complex128": "d"}


def node_message(node: Node) -> Message:
    """Return the message of a node."""
    message = Message()
    message.texts(1, node.inputs)
    message.texts(2, node.outputs)
    message.text(3, node.name)
    message.text(4, node.op)
    for name, value in node.attributes.items():
        message.message(5, _attribute(name, value))
    if node.domain:
        message.text(7, node.domain)
    return message


def _attribute(name: str, value: Any) -> Message:
    message = Message()
    message.text(1, name)
    match value:
        case Numbers():
            message.message(5, _numbers(value))
            kind = 4
        case Body():
            message.message(6, _body(name, value))
            kind = 5
        case TensorType():  # an element type, by its number
            message.integer(3, KINDS[value.dtype])
            kind = 2
        case int():
            message.integer(3, value)
            kind = 2
        case float():
            message.real(2, value)
            kind = 1
        case str():
            message.text(4, value)
            kind = 3
        case [str(), *_]:
            message.texts(9, value)
            kind = 8
        case [float(), *_]:
            message.reals(7, value)
            kind = 6
        case _:
            message.integers(8, value)
            kind = 7
    message.integer(20, kind)
    return message


def _body(name: str, body: Body) -> Message:
    """Return the message of a graph that a node executes, with the types of its values."""
    message = Message()
    for node in body.graph.nodes:
        message.message(1, node_message(node))
    message.text(2, name)
    for value in body.inputs:
        message.message(11, value_message(value.name, value.type))
    for value in body.outputs:
        message.message(12, value_message(value.name, value.type))
    outputs = {value.name for value in body.outputs}
    for inner, type_ in body.graph.types.items():
        if inner not in outputs:
            message.message(13, value_message(inner, type_))
    return message


def _numbers(numbers: Numbers) -> Message:
    """Return the message of a constant."""
    type_ = numbers.type
    raw = _packed([*_flat(numbers.value)], type_.dtype)
    return tensor_message("", type_, Blob(len(raw), lambda: raw))


def _flat(value: Any) -> Iterable[Any]:
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _flat(item)
    else:
        yield value


def _packed(values: list[Any], dtype: DType) -> bytes:
    """Return the bytes of numbers; those of bfloat16 are rounded to the nearest, halves to even."""
    if dtype == "bfloat16":
        words = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
        rounded = [(word + 0x7FFF + (word >> 16 & 1)) >> 16 for word in words]
        return struct.pack(f"<{len(values)}H", *rounded)
    if dtype.startswith("complex"):
        values = [part for value in values for part in (complex(value).real, complex(value).imag)]
    elif dtype == "bool":
        values = [bool(value) for value in values]
    elif not dtype.startswith("float"):
        values = [int(value) for value in values]
    return struct.pack(f"<{len(values)}{_CODES[dtype]}", *values)


def tensor_message(name: str, type_: TensorType, data: Blob | Mapping[str, str]) -> Message:
    """Return the message of a tensor, with its bytes or with the entries of their place in another file."""
    message = Message()
    message.integers(1, [int(size) for size in type_.shape])
    message.integer(2, KINDS[type_.dtype])
    message.text(8, name)
    if isinstance(data, Blob):
        message.blob(9, data)
        return message
    for key, value in data.items():
        message.message(13, entry_message(key, value))
    message.integer(14, _EXTERNAL)
    return message


def entry_message(key: str, value: str) -> Message:
    """Return the message of a text with its key."""
    message = Message()
    message.text(1, key)
    message.text(2, value)
    return message


def value_message(name: str, type_: TensorType, metadata: Mapping[str, str] | None = None) -> Message:
    """Return the message of the type of a value; a symbolic size is a text."""
    shape = Message()
    for size in type_.shape:
        shape.message(1, _size(size))
    tensor = Message()
    tensor.integer(1, KINDS[type_.dtype])
    tensor.message(2, shape)
    kind = Message()
    kind.message(1, tensor)
    message = Message()
    message.text(1, name)
    message.message(2, kind)
    for key, value in (metadata or {}).items():
        message.message(4, entry_message(key, value))
    return message


def _size(size: Dim) -> Message:
    message = Message()
    if isinstance(size, int):
        message.integer(1, size)
    else:
        message.text(2, str(size))
    return message

"""Writer of small ONNX models in the wire format, so that tests need no library."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

#: Numbers of element types.
KINDS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float16": 10, "float64": 11}


def varint(value: int) -> bytes:
    """Return an integer of variable length."""
    value &= (1 << 64) - 1
    parts = []
    while value > 127:
        parts.append(value & 127 | 128)
        value >>= 7
    return bytes([*parts, value])


def field(number: int, value: Any) -> bytes:
    """Return a field; a list is a repeated one."""
    if isinstance(value, (list, tuple)):
        return b"".join(field(number, item) for item in value)
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(fields: Mapping[int, Any]) -> bytes:
    """Return a message by the numbers of its fields."""
    return b"".join(field(number, value) for number, value in fields.items())


def tensor(name: str, array: Any, external: Mapping[str, str] | None = None) -> bytes:
    """Return a tensor with its data, or with the entries of data elsewhere."""
    array = np.asarray(array)
    head = {1: [int(size) for size in array.shape], 2: KINDS[str(array.dtype)], 8: name}
    if external is None:
        return message({**head, 9: array.tobytes()})
    return message({**head, 13: [message({1: key, 2: text}) for key, text in external.items()], 14: 1})


def attribute(name: str, value: Any) -> bytes:
    """Return an attribute: a number, a text, numbers, a tensor (an array) or a graph (bytes)."""
    if isinstance(value, np.ndarray):
        return message({1: name, 5: tensor("", value), 20: 4})
    if isinstance(value, bytes):
        return message({1: name, 6: value, 20: 5})
    if isinstance(value, (list, tuple)):
        floating = any(isinstance(item, float) for item in value)
        return message({1: name, 7 if floating else 8: list(value), 20: 6 if floating else 7})
    number, kind = {float: (2, 1), int: (3, 2), str: (4, 3)}[type(value)]
    return message({1: name, number: value, 20: kind})


def node(
    op: str, inputs: Sequence[str], outputs: Sequence[str], name: str = "", domain: str = "", **attributes: Any
) -> bytes:
    """Return a node."""
    listed = [attribute(key, value) for key, value in attributes.items()]
    return message({1: list(inputs), 2: list(outputs), 3: name, 4: op, 5: listed, 7: domain})


def value(name: str, shape: Sequence[int | str], dtype: str = "float32") -> bytes:
    """Return the type of an input or output, whose sizes may have names."""
    sizes = [message({1: size} if isinstance(size, int) else {2: size}) for size in shape]
    return message({1: name, 2: message({1: message({1: KINDS[dtype], 2: message({1: sizes})})})})


def graph(
    nodes: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes], tensors: Sequence[bytes] = ()
) -> bytes:
    """Return a graph."""
    return message({1: list(nodes), 2: "graph", 5: list(tensors), 11: list(inputs), 12: list(outputs)})


def model(body: bytes, opset: int = 20, functions: Sequence[bytes] = (), producer: str = "test") -> bytes:
    """Return a model."""
    sets = [message({1: "", 2: opset}), message({1: "own", 2: 1})]
    return message({1: 9, 2: producer, 7: body, 8: sets, 25: list(functions)})


def function(name: str, inputs: Sequence[str], outputs: Sequence[str], nodes: Sequence[bytes]) -> bytes:
    """Return a function of the domain ``own``."""
    return message({1: name, 4: list(inputs), 5: list(outputs), 7: list(nodes), 9: message({1: "", 2: 20}), 10: "own"})


def saved(folder: Path, content: bytes, name: str = "net.onnx") -> Path:
    """Write a model to a file."""
    path = folder / name
    path.write_bytes(content)
    return path

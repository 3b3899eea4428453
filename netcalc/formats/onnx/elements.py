"""Element types of ONNX, and the elements of small tensors in the data of a file."""

from __future__ import annotations

import struct
from math import prod
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dtypes import ITEMSIZE, UNSIGNED, DType
from netcalc.formats.onnx.messages import TensorProto
from netcalc.formats.onnx.wire import Data, floats, integers
from netcalc.weights.stored import DamagedError

#: netcalc's names of the element types, by their numbers in the format.
DTYPES: dict[int, DType] = {
    1: "float32",
    2: "uint8",
    3: "int8",
    4: "uint16",
    5: "int16",
    6: "int32",
    7: "int64",
    9: "bool",
    10: "float16",
    11: "float64",
    12: "uint32",
    13: "uint64",
    14: "complex64",
    15: "complex128",
    16: "bfloat16",
}
#: Names of the other types, for messages.
OTHERS = {
    8: "string",
    17: "float8e4m3fn",
    18: "float8e4m3fnuz",
    19: "float8e5m2",
    20: "float8e5m2fnuz",
    21: "uint4",
    22: "int4",
    23: "float4e2m1",
    24: "float8e8m0",
    25: "uint2",
    26: "int2",
}
#: Most elements of a tensor whose values a translation reads.
MOST_READ = 1 << 12
#: Formats of :mod:`struct` by the name of an element type.
CODES = {
    "float32": "f",
    "float64": "d",
    "float16": "e",
    "int64": "q",
    "int32": "i",
    "int16": "h",
    "int8": "b",
    "uint8": "B",
    "uint16": "H",
    "uint32": "I",
    "uint64": "Q",
    "bool": "?",
}


def dtype_named(kind: int | None) -> DType:
    """Return netcalc's name of an element type; RuleError if it has none."""
    name = DTYPES.get(kind or 0)
    if name is None:
        raise RuleError(f"there is no element type {OTHERS.get(kind or 0, f'number {kind}')}")
    return name


def elements(data: Data, tensor: TensorProto) -> list[Any]:
    """Return the elements of a tensor whose data are in the file, in row-major order.

    Raises:
        RuleError: an element type that netcalc lacks.
        DamagedError: the data are not as long as the shape says.
    """
    dtype, count = dtype_named(tensor.kind), prod(tensor.shape)
    if tensor.raw is not None:
        return decoded(bytes(data[tensor.raw[0] : tensor.raw[1]]), dtype, count, tensor.name)
    values: list[Any] = []
    for found in tensor.lists:
        if found.number in (4, 10):
            values += floats(data, found, "f" if found.number == 4 else "d")
        elif found.number in (5, 7, 11):
            values += integers(data, found)
    if dtype in ("float16", "bfloat16"):  # bits in 32-bit integers
        values = [_of_bits(int(value), dtype) for value in values]
    elif dtype.startswith("complex"):
        values = [complex(*values[at : at + 2]) for at in range(0, len(values), 2)]
    elif dtype == "bool":
        values = [bool(value) for value in values]
    elif dtype in UNSIGNED:  # the integers of a message have signs
        values = [value % (1 << 8 * ITEMSIZE[dtype]) for value in values]
    if len(values) != count:
        raise DamagedError(f"{tensor.name[:80]!r} should have {count:,} elements, and has {len(values):,}")
    return values


def decoded(raw: bytes, dtype: DType, count: int, name: str) -> list[Any]:
    """Return the elements of a tensor in bytes, in the little-endian order of the format."""
    if len(raw) != count * ITEMSIZE[dtype]:
        raise DamagedError(f"{name[:80]!r} should have {count * ITEMSIZE[dtype]:,} bytes, and has {len(raw):,}")
    if dtype == "bfloat16":
        return [_of_bits(bits, dtype) for bits in struct.unpack(f"<{count}H", raw)]
    if dtype.startswith("complex"):
        parts = struct.unpack(f"<{2 * count}{'f' if dtype == 'complex64' else 'd'}", raw)
        return [complex(*parts[at : at + 2]) for at in range(0, len(parts), 2)]
    return list(struct.unpack(f"<{count}{CODES[dtype]}", raw))


def _of_bits(bits: int, dtype: DType) -> float:
    code = "e" if dtype == "float16" else "f"
    raw = struct.pack("<H", bits & 0xFFFF)
    return float(struct.unpack(f"<{code}", raw if code == "e" else b"\0\0" + raw)[0])

"""Header of a ``.npy`` file, versions 1 to 3 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html).

NumPy evaluates the header as Python; here only the form that NumPy writes is read.
"""

from __future__ import annotations

import io
import re
import sys
from typing import Literal

from netcalc.limits import MAX_NPY_HEADER
from netcalc.weights.stored import DamagedError, Header, Stored, clipped, exactly, require_axes, stored_bytes

_MAGIC = b"\x93NUMPY"
#: Bytes of the length of the header, by version.
_LENGTHS = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
_ITEM = re.compile(
    r"""\s*['"](descr|fortran_order|shape)['"]\s*:\s*"""
    r"""(?:['"](?P<text>[^'"]*)['"]|(?P<bool>True|False)|\((?P<sizes>[\d\s,L]*)\)|(?P<list>\[).*)\s*(?:,|$)""",
    re.DOTALL,
)
_SIZE = re.compile(r"\s*(\d{1,19})L?\s*")
#: Elements that are numbers, and names of their kinds.
_NUMBERS = re.compile(r"(?P<order>[<>|=]?)(?P<kind>b(?=1)|[iu](?=[1248])|f(?=2|4|8|16)|c(?=8|16|32))(?P<bytes>\d{1,2})")
_KINDS = {"i": "int", "u": "uint", "f": "float", "c": "complex"}
#: Element types that some machines lack.
_LONG = ("float128", "complex256")
#: Elements of ml_dtypes, of which no other type has this text, and their bytes.
_ML_DTYPES = {"<V2": ("bfloat16", 2), "<f1": ("float8_e5m2", 1)}


def read_npy_header(file: io.RawIOBase | io.BufferedIOBase, length: int, name: str) -> Stored:
    """Return the layout of an array in a file or a member of an archive of ``length`` bytes, whose header is next.

    Raises:
        DamagedError: the header does not follow the format, or the length does not fit the array.
    """
    magic = exactly(file, 8, "the header of an array")
    width = _LENGTHS.get((magic[6], magic[7]))
    if magic[:6] != _MAGIC:
        raise DamagedError("it does not begin as a .npy file does")
    if width is None:
        raise DamagedError(f"version {magic[6]}.{magic[7]} of the .npy format")
    size = int.from_bytes(exactly(file, width, "the header of an array"), "little")
    if size > MAX_NPY_HEADER:
        raise DamagedError(f"the header of {clipped(name)} has {size:,} bytes, and the limit is {MAX_NPY_HEADER:,}")
    data = exactly(file, size, "the header of an array")
    items = _items(data.decode("utf-8" if magic[6] == 3 else "latin-1", errors="replace"), name)
    shape = _shape(items["shape"], name)
    require_axes(shape, name)
    start = 8 + width + size
    dtype, itemsize, order = _dtype(items["descr"])
    if dtype is not None:
        stored = stored_bytes(shape, 8 * itemsize, max(0, length - start))
        if stored > length - start:
            raise DamagedError(f"it ends too early: {clipped(name)} has {Header(shape, dtype)}, in {length:,} bytes")
        if stored < length - start:
            raise DamagedError(f"{length - start - stored:,} bytes follow the data of {clipped(name)}")
    header = Header(shape, items["descr"] if dtype is None else dtype)
    return Stored(header, dtype, start, items["fortran_order"] == "True", order)


def _items(text: str, name: str) -> dict[str, str]:
    """Return the texts of the three values of a header."""
    text = text.strip()
    body, position = text[1:-1].rstrip() if text[:1] == "{" and text[-1:] == "}" else "", 0
    items: dict[str, str] = {}
    while position < len(body):
        match = _ITEM.match(body, position)
        if match is None or match[1] in items:
            raise DamagedError(f"the header of {clipped(name)} cannot be read")
        kind = {"descr": "text", "fortran_order": "bool", "shape": "sizes"}[match[1]]
        if match["list"]:
            raise DamagedError(f"{clipped(name)} has elements of several fields")
        if match[kind] is None:
            raise DamagedError(f"the header of {clipped(name)} cannot be read: {match[1]}")
        items[match[1]] = match[kind]
        position = match.end()
    if len(items) != 3:
        raise DamagedError(f"the header of {clipped(name)} lacks its shape, order or element type")
    return items


def _shape(text: str, name: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not parts[-1].strip():
        parts.pop()
    sizes = [_SIZE.fullmatch(part) for part in parts]
    if not all(sizes) or (len(parts) == 1 and "," not in text):
        raise DamagedError(f"the shape of {clipped(name)} is not valid")
    return tuple(int(size[1]) for size in sizes if size)


def _dtype(text: str) -> tuple[str | None, int, Literal["<", ">"]]:
    """Return the name of an element type, None if its elements are no numbers, their bytes, and the order of these."""
    if text in _ML_DTYPES:
        return *_ML_DTYPES[text], "<"
    match = _NUMBERS.fullmatch(text)
    if match is None:
        return None, 0, "<"
    native = "<" if sys.byteorder == "little" else ">"
    order: Literal["<", ">"] = "<" if (match["order"].strip("|=") or native) == "<" else ">"
    itemsize = int(match["bytes"])
    name = "bool" if match["kind"] == "b" else f"{_KINDS[match['kind']]}{8 * itemsize}"
    return name if name not in _LONG or _has(name) else None, itemsize, order


def _has(name: str) -> bool:
    """Return True if NumPy has an element type on this machine."""
    import numpy as np

    return hasattr(np, name)

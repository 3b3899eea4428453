"""Tensors of a model in GGUF, in one file or several parts, and their numbers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from netcalc.limits import MAX_STORED_TENSORS, MAX_TENSOR_FILES
from netcalc.weights.gguf.changes import Change, changed_shape
from netcalc.weights.gguf.header import GgufHeader, GgufTensor, read_gguf_header
from netcalc.weights.pieces import Part, elements_before, pieces
from netcalc.weights.safetensors_format import ELEMENT_TYPES
from netcalc.weights.stored import DamagedError, Header, Stored, file_error, opened, reading

if TYPE_CHECKING:
    from netcalc.arrays import Array

#: Types of elements that an array can have; elements of other types are computed from blocks.
_PLAIN = {kind: ELEMENT_TYPES[kind] for kind in ("F16", "F32", "F64", "BF16", "I8", "I16", "I32", "I64")}
#: Name of one of several parts.
_PART = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)


class _Part(NamedTuple):
    path: Path
    header: GgufHeader


class GgufFile(NamedTuple):
    """A model in GGUF: its metadata, and its tensors in all parts."""

    name: str
    metadata: Mapping[str, Any]
    parts: Sequence[_Part]

    @property
    def tensors(self) -> dict[str, GgufTensor]:
        """All tensors by name."""
        return {name: tensor for part in self.parts for name, tensor in part.header.tensors.items()}

    @property
    def stored(self) -> list[GgufStored]:
        """The tensors of each part as they are stored."""
        return [GgufStored(str(part.path), [part]) for part in self.parts]

    @property
    def length(self) -> int:
        """Bytes of all parts."""
        return sum(part.header.length for part in self.parts)


def open_gguf(path: Path) -> GgufFile:
    """Read the header of a file, and of the other parts of its model.

    Raises:
        NetcalcError: E605 if a part cannot be read or is missing.
    """
    first = _Part(path, _header(path))
    metadata = first.header.metadata
    count = metadata.get("split.count", 1)
    if type(count) is not int or count <= 1:
        return GgufFile(str(path), metadata, [first])
    match = _PART.fullmatch(path.name)
    if match is None or int(match[3]) != count:
        hint = f"part 1 should be named like model-00001-of-{count:05}.gguf"
        raise file_error(f"{path} is one of {count:,} parts, which its name does not say", hint)
    if count > MAX_TENSOR_FILES:
        raise file_error(f"{path}: {count:,} parts, and the limit is {MAX_TENSOR_FILES:,}")
    paths = [path.with_name(f"{match[1]}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]
    parts = [first if part == path else _Part(part, _header(part)) for part in paths]
    _require_parts(parts, count)
    return GgufFile(str(paths[0]), parts[0].header.metadata, parts)


class GgufStored:
    """Tensors of a model as they are stored, in all files or in one; their numbers are of use to a model only."""

    def __init__(self, name: str, parts: Sequence[_Part]) -> None:
        self.name = name
        self.files = len(parts)
        self.headers = {
            name: Header(tensor.shape, _PLAIN.get(tensor.type, tensor.type), tensor.size)
            for part in parts
            for name, tensor in part.header.tensors.items()
        }

    def load(self, name: str) -> Array:
        """Refuse to return data, which the conversion to GGUF may have changed.

        Raises:
            NetcalcError: E605.
        """
        raise file_error(f"{self.name}: {name!r} is read as a part of its model", f"give `--weights {self.name}`")


class GgufWeights:
    """Tensors of a model as its reference implementation has them: what the conversion to GGUF changed is undone.

    Elements of any floating-point type, and those that are quantized, can be converted to the type of the spec.
    ``stored`` are the tensors as they are stored.
    """

    def __init__(self, file: GgufFile, changes: Iterable[Change] = ()) -> None:
        self.name = file.name
        self.stored = GgufStored(file.name, file.parts)
        self._places = {name: (part, stored) for part in file.parts for name, stored in part.header.tensors.items()}
        self._changes = {name: [c for c in changes if c.applies(name)] for name in self._places}
        self.headers = {name: self._header(name, stored) for name, (_, stored) in self._places.items()}

    def load(self, name: str) -> Array:
        """Return the data of one tensor.

        Raises:
            NetcalcError: E605 if they cannot be read, or cannot be computed from what is stored.
        """
        from netcalc.weights.gguf.undoing import undone

        part, stored = self._places[name]
        with reading(str(part.path)), opened(part.path, max(stored.size, 1)) as (file, _):
            file.seek(stored.start)
            array = _numbers(file, stored, part.header.order, name)
        for change in self._changes[name]:
            array = undone(array, change)
        return array

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place; what the conversion changed is undone with a whole tensor.

        Raises:
            NetcalcError: E605 if the data cannot be read, or cannot be computed from what is stored.
        """
        if self._changes[name]:
            part.put(part.out, self.load(name)[part.slices])
            return
        file_part, stored = self._places[name]
        with reading(str(file_part.path)), opened(file_part.path, max(stored.size, 1)) as (file, _):
            file.seek(stored.start)
            _write(file, stored, file_part.header.order, name, part)

    def _header(self, name: str, stored: GgufTensor) -> Header:
        shape = stored.shape
        for change in self._changes[name]:
            shape = changed_shape(shape, change)
        dtype = _PLAIN.get(stored.type, "float32")
        return Header(shape, dtype, any_float=not dtype.startswith("int"))


def _header(path: Path) -> GgufHeader:
    with reading(str(path)), opened(path) as (file, length):
        return read_gguf_header(file, length)


def _require_parts(parts: Sequence[_Part], count: int) -> None:
    """Raise NetcalcError unless the parts belong to each other, and hold every tensor once."""
    names: dict[str, Path] = {}
    for number, part in enumerate(parts):
        metadata = part.header.metadata
        if (metadata.get("split.no"), metadata.get("split.count")) != (number, count):
            raise file_error(f"{part.path} should be part {number + 1} of {count}, and its metadata do not say so")
        for name in part.header.tensors:
            if name in names:
                raise file_error(f"{name[:80]!r} is in both {names[name]} and {part.path}")
            names[name] = part.path
    if len(names) > MAX_STORED_TENSORS:
        raise file_error(f"{parts[0].path}: more than {MAX_STORED_TENSORS:,} tensors, which is the limit")
    total = parts[0].header.metadata.get("split.tensors.count", len(names))
    if total != len(names):
        raise file_error(f"{parts[0].path}: its parts should hold {total} tensors, and have {len(names):,}")


def _write(file: Any, stored: GgufTensor, order: Literal["<", ">"], name: str, part: Part) -> None:
    """Write a part of a tensor to its place, piece by piece."""
    from netcalc.weights.stored_data import write_stored

    if stored.type in _PLAIN:
        write_stored(file, _plain_layout(stored, order), part)
        return
    *lead, columns = stored.shape
    rows = prod(lead)
    for index in pieces(lead, 4 * columns, part.ranges[:-1]):
        shape = [place.stop - place.start for place in index if isinstance(place, slice)] + lead[len(index) :]
        file.seek(stored.start + elements_before(lead, index) * (stored.size // rows))
        piece = stored._replace(shape=(*shape, columns), size=prod(shape) * (stored.size // rows))
        block = _numbers(file, piece, order, name)
        inner = (slice(None),) * min(len(index), 1) + part.slices[len(index) :]
        part.put(part.placed(index), block[inner])


def _plain_layout(stored: GgufTensor, order: Literal["<", ">"]) -> Stored:
    """Return the layout of a tensor whose elements an array can have."""
    dtype = _PLAIN[stored.type]
    return Stored(Header(stored.shape, dtype), dtype, 0, order=order)


def _numbers(file: Any, stored: GgufTensor, order: Literal["<", ">"], name: str) -> Array:
    """Return the numbers of a tensor, those in blocks as 32-bit floating-point numbers."""
    from netcalc.weights.stored_data import load_stored

    if stored.type in _PLAIN:
        return load_stored(file, _plain_layout(stored, order))
    if order == ">":
        raise DamagedError(f"{name!r} is quantized in a file of another byte order, which cannot be read")
    import numpy as np

    try:
        from gguf.constants import GGMLQuantizationType
        from gguf.quants import dequantize
    except ImportError:
        hint = 'install it: pip install "gguf>=0.17"'
        text = f"{file.name}: numbers of type {stored.type} are computed with the library gguf"
        raise file_error(text, hint) from None

    rows = prod(stored.shape[:-1])
    if 0 in stored.shape:
        return np.zeros(stored.shape, np.float32)
    header = Header((rows, stored.size // rows), "uint8")
    data = load_stored(file, Stored(header, "uint8", 0))
    try:
        numbers: Array = dequantize(data, GGMLQuantizationType[stored.type])
    except NotImplementedError:
        text = f"{file.name}: {name[:80]!r} has elements of type {stored.type}, which the library gguf cannot read"
        raise file_error(text, "a file with another type of blocks, or of full precision, can be read") from None
    return numbers.reshape(stored.shape)

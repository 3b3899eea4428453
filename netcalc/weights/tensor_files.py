"""Files of tensors: ``.safetensors``, ``.npz`` and ``.npy``.

Headers are read without the data, and without NumPy.  An element type that netcalc does not have keeps the name it has
in the file.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from netcalc.diagnostics import did_you_mean
from netcalc.limits import MAX_ARCHIVE_DIRECTORY, MAX_TENSOR_HEADER
from netcalc.weights.npy_format import read_npy_header
from netcalc.weights.npz_format import Member, MemberReader, read_members
from netcalc.weights.pieces import Part, pieces
from netcalc.weights.safetensors_format import (
    read_safetensors_header,
    read_safetensors_metadata,
    type_name,
)
from netcalc.weights.stored import (
    DamagedError,
    Header,
    Stored,
    clipped,
    exactly,
    file_error,
    opened,
    reading,
)
from netcalc.weights.suffixes import PICKLES

if TYPE_CHECKING:
    import numpy as np

    from netcalc.arrays import Array

__all__ = ["Arrays", "Header", "TensorFile", "Tensors", "conversion", "open_tensors", "require_format"]

#: Suffixes of the supported formats.
SUFFIXES = (".safetensors", ".npz", ".npy")


@runtime_checkable
class Tensors(Protocol):
    """Tensors by name: all headers at once, the data of one tensor at a time."""

    @property
    def name(self) -> str:
        """Name of the file, for messages."""

    @property
    def headers(self) -> Mapping[str, Header]:
        """Shape and element type of every tensor."""

    def load(self, name: str) -> Array:
        """Return the data of one tensor, in the byte order of this machine."""


class Arrays:
    """Tensors in memory."""

    name = "the given arrays"
    seeks_parts = True

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        import numpy as np

        self._arrays = {name: np.asarray(array) for name, array in arrays.items()}
        self.headers = {n: Header(a.shape, type_name(a.dtype)) for n, a in self._arrays.items()}

    def load(self, name: str) -> Array:
        """Return the array of that name itself, not a copy."""
        return self._arrays[name]

    def write(self, name: str, part: Part) -> None:
        """Write a part of the array of that name to its place."""
        array, target = self._arrays[name][part.slices], Part.whole(part.out, part.dtype)
        for index in pieces(array.shape, array.itemsize, target.ranges):
            target.put(target.placed(index), array[index])


class TensorFile:
    """Tensors of a file, which is opened anew for each; this class reads ``.safetensors``."""

    #: Bytes of the file that may be read at once.
    most: int = MAX_TENSOR_HEADER
    #: True unless the data before a part have to be read too.
    seeks_parts = True

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with opened(path, self.most) as (file, length):
            self._stored = self._read_headers(file, length)
        self.headers = {name: stored.header for name, stored in self._stored.items()}

    def load(self, name: str) -> Array:
        """Return the data of one tensor, in the byte order of this machine."""
        from netcalc.weights.stored_data import load_stored

        with reading(self.name), opened(self._path, self.most) as (file, _):
            return load_stored(self._file_at(file, name), self._stored[name])

    def write(self, name: str, part: Part) -> None:
        """Read a part of one tensor piece by piece, and write it to its place."""
        from netcalc.weights.stored_data import write_stored

        with reading(self.name), opened(self._path, self.most) as (file, _):
            write_stored(self._file_at(file, name), self._stored[name], part)

    def metadata(self) -> dict[str, str]:
        """Return the texts by name that the file holds besides its tensors."""
        with reading(self.name), opened(self._path, self.most) as (file, length):
            return read_safetensors_metadata(file, length)

    def dtype(self, name: str) -> np.dtype[Any] | None:
        """Return the dtype of the array that :meth:`load` gives, or None if its elements cannot be read."""
        from netcalc.arrays import numpy_dtype

        dtype = self._stored[name].dtype
        return None if dtype is None else numpy_dtype(dtype)

    def only(self, name: str) -> str:
        """Return ``name`` if there is a tensor of that name, or the name of the only tensor.

        Raises:
            NetcalcError: E605 if there are several tensors, and none of that name.
        """
        names = list(self.headers)
        if name not in self.headers and len(names) != 1:
            text = f"{self.name}: no tensor {clipped(name)} among the {len(names):,} in this file"
            raise file_error(text, did_you_mean(name, names))
        return name if name in self.headers else names[0]

    def _read_headers(self, file: BufferedReader, length: int) -> dict[str, Stored]:
        return read_safetensors_header(file, length)

    def _file_at(self, file: BufferedReader, name: str) -> BufferedReader | RawIOBase:
        """The file, or one within it, where the data of a tensor begin."""
        file.seek(self._stored[name].start)
        return file


class _Npz(TensorFile):
    most = MAX_ARCHIVE_DIRECTORY
    seeks_parts = False

    def metadata(self) -> dict[str, str]:
        """Return nothing: the format holds arrays only."""
        return {}

    def _read_headers(self, file: BufferedReader, length: int) -> dict[str, Stored]:
        self._members: dict[str, Member] = {}
        for member in read_members(file, length):
            name = member.name.removesuffix(".npy")
            if name in self._members:
                raise DamagedError(f"{clipped(name)} stands in it twice")
            self._members[name] = member
        return {n: read_npy_header(MemberReader(file, m), m.size, n) for n, m in self._members.items()}

    def _file_at(self, file: BufferedReader, name: str) -> RawIOBase:
        member = MemberReader(file, self._members[name])
        exactly(member, self._stored[name].start, "the header of an array")
        return member


class _Npy(TensorFile):
    """A single unnamed array, which is given the name of its file."""

    def metadata(self) -> dict[str, str]:
        """Return nothing: the format holds an array only."""
        return {}

    def _read_headers(self, file: BufferedReader, length: int) -> dict[str, Stored]:
        return {self._path.stem: read_npy_header(file, length, self._path.name)}


_READERS: dict[str, Callable[[Path], TensorFile]] = {".safetensors": TensorFile, ".npz": _Npz, ".npy": _Npy}


def open_tensors(path: str | Path) -> TensorFile:
    """Open a file of tensors and read its headers; the suffix decides on the format.

    Raises:
        NetcalcError: E605 if the file cannot be read or is not of that format.
    """
    path = Path(path)
    suffix = require_format(path)
    with reading(str(path)):
        return _READERS[suffix](path)


def require_format(path: Path) -> str:
    """Return the suffix of a file of tensors.

    Raises:
        NetcalcError: E605 if it is that of no known format.
    """
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise file_error(f"{path}: not a known format of tensors", _format_hint(path))
    return suffix


def _format_hint(path: Path) -> str:
    if path.suffix.lower() in PICKLES:
        return conversion([path])
    return f"known formats: {', '.join(SUFFIXES)}"


def conversion(pickles: Iterable[Path]) -> str:
    """Return a hint with the command that converts pickles of PyTorch to safetensors, beside them."""
    program = (
        "import sys, torch; from safetensors.torch import save_file; "
        "[save_file({k: v.clone().contiguous() for k, v in d.get('state_dict', d).items() if torch.is_tensor(v)}, "
        "f.rpartition('.')[0] + '.safetensors') for f in sys.argv[1:] "
        "for d in [torch.load(f, map_location='cpu', weights_only=True)]]"
    )
    files = " ".join(shlex.quote(str(path)) for path in pickles)
    return f'a pickle can run code; convert it with: python -c "{program}" {files}'

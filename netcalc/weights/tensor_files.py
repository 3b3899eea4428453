"""Reading and writing files of tensors: ``.safetensors``, ``.npz`` and ``.npy``.

Headers are read without the data.  An element type that netcalc does not have keeps the name it has in the file.
"""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Callable, Iterable, Mapping
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, Any, Protocol, runtime_checkable

import numpy as np
from numpy.lib import format as npy

from netcalc.arrays import Array
from netcalc.diagnostics import did_you_mean
from netcalc.files import replacing
from netcalc.limits import MAX_ARCHIVE_DIRECTORY, MAX_TENSOR_HEADER
from netcalc.weights.npy_format import read_npy_header
from netcalc.weights.npz_format import Member, MemberReader, read_members
from netcalc.weights.pieces import Part, pieces
from netcalc.weights.safetensors_format import (
    read_safetensors_header,
    read_safetensors_metadata,
    safetensors_header,
    type_name,
)
from netcalc.weights.stored import (
    DamagedError,
    Header,
    Stored,
    clipped,
    exactly,
    file_error,
    load_stored,
    opened,
    reading,
    write_stored,
)
from netcalc.weights.suffixes import PICKLES

__all__ = ["Arrays", "Header", "TensorFile", "Tensors", "conversion", "open_tensors", "write_tensors"]

#: Suffixes of the supported formats.
SUFFIXES = (".safetensors", ".npz", ".npy")
#: Largest number of bytes of the name of a tensor in an archive, which adds ``.npy``.
_MEMBER_NAME = 65_000


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

    def __init__(self, arrays: Mapping[str, Any]) -> None:
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

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with opened(path, self.most) as (file, length):
            self._stored = self._read_headers(file, length)
        self.headers = {name: stored.header for name, stored in self._stored.items()}

    def load(self, name: str) -> Array:
        """Return the data of one tensor, in the byte order of this machine."""
        with reading(self.name), opened(self._path, self.most) as (file, _):
            return load_stored(self._file_at(file, name), self._stored[name])

    def write(self, name: str, part: Part) -> None:
        """Read a part of one tensor piece by piece, and write it to its place."""
        with reading(self.name), opened(self._path, self.most) as (file, _):
            write_stored(self._file_at(file, name), self._stored[name], part)

    def metadata(self) -> dict[str, str]:
        """Return the texts by name that the file holds besides its tensors."""
        with reading(self.name), opened(self._path, self.most) as (file, length):
            return read_safetensors_metadata(file, length)

    def dtype(self, name: str) -> np.dtype[Any] | None:
        """Return the dtype of the array that :meth:`load` gives, or None if its elements cannot be read."""
        dtype = self._stored[name].dtype
        return dtype and dtype.newbyteorder("=")

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
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise file_error(f"{path}: not a known format of tensors", _format_hint(path))
    with reading(str(path)):
        return _READERS[suffix](path)


def write_tensors(path: str | Path, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a file; the suffix decides on the format.  On an error an existing file stays unchanged.

    A ``.npy`` file holds exactly one tensor, and ``.npy`` and ``.npz`` cannot hold bfloat16.  ``metadata`` are texts by
    name, which only ``.safetensors`` files hold.

    Raises:
        NetcalcError: E605 if the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise file_error(f"{path}: not a known format of tensors", _format_hint(path))
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    if suffix == ".npy" and len(arrays) != 1:
        raise file_error(f"{path}: a .npy file holds one tensor, and there are {len(arrays)}", "write a .npz file")
    if suffix != ".safetensors":
        unsupported = [name for name, array in arrays.items() if array.dtype.kind not in "biufc"]
        if unsupported:
            raise file_error(
                f"{path}: {unsupported[0]!r} is {arrays[unsupported[0]].dtype}, which NumPy's files cannot hold",
                "write a .safetensors file",
            )
    _require_names(path, suffix, arrays)
    # the writer of safetensors would rename a file of its own to the path, also where that is a pipe or a device
    header = _safetensors_header(path, arrays, metadata) if suffix == ".safetensors" else b""
    try:
        with replacing(path) as temporary, temporary.open("wb") as file:
            _write(file, suffix, header, arrays)
    except OSError as error:
        raise file_error(f"{path} cannot be written: {error.strerror or error}") from error


def _require_names(path: Path, suffix: str, names: Iterable[str]) -> None:
    """Raise NetcalcError if a format cannot hold a name, or if unpacking it would write outside the folder."""
    for name in names:
        try:
            length = len(name.encode())
        except UnicodeEncodeError:
            raise file_error(
                f"{path}: a file cannot hold the name {clipped(name)}, which is not valid Unicode"
            ) from None
        parts = name.replace("\\", "/").split("/")
        outside = ".." in parts or (len(parts) > 1 and (not parts[0] or ":" in parts[0]))
        if suffix == ".npz" and (outside or "\0" in name or length > _MEMBER_NAME):
            reason = "which is no safe name of a file" if outside else "which is too long or has a null character"
            raise file_error(f"{path}: a .npz file cannot hold {clipped(name)}, {reason}", "write a .safetensors file")
        if suffix == ".safetensors" and name == "__metadata__":
            raise file_error(f"{path}: a .safetensors file has other uses for the name {name!r}", "write a .npz file")


def _write(file: IO[bytes], suffix: str, header: bytes, arrays: dict[str, Array]) -> None:
    if suffix == ".safetensors":
        file.write(header)
        for array in arrays.values():
            file.write(_bytes(array.astype(array.dtype.newbyteorder("<"), copy=False)))
    elif suffix == ".npz":
        # np.savez takes the names as keyword arguments, and so refuses some of them
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    _write_array(member, array)
    else:
        (array,) = arrays.values()
        _write_array(file, array)


def _write_array(file: IO[bytes], array: Array) -> None:
    # npy.write_array asks for the position in the file, which a pipe does not have
    npy.write_array_header_1_0(file, npy.header_data_from_array_1_0(array))
    file.write(_bytes(array))


def _bytes(array: Array) -> memoryview:
    return array.reshape(-1).view(np.uint8).data


def _safetensors_header(path: Path, arrays: dict[str, Array], metadata: Mapping[str, str] | None) -> bytes:
    # types of several bytes first, as in the files of the reference implementation, so that all are aligned
    order = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    for name in order:
        arrays[name] = arrays.pop(name)
    try:
        return safetensors_header(arrays, metadata)
    except ValueError as error:
        raise file_error(f"{path}: {error}") from None


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

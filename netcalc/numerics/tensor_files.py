"""Reading and writing files of tensors: ``.safetensors``, ``.npz`` and ``.npy``.

Headers are read without the data.  An element type that netcalc does not have keeps the name it has in the file.
"""

from __future__ import annotations

import shlex
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.lib import format as npy

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.files import replacing
from netcalc.numerics.kernels import Array

__all__ = [
    "PICKLES",
    "Arrays",
    "Header",
    "Tensors",
    "conversion",
    "open_tensors",
    "read_array",
    "write_tensors",
]

#: Suffixes of the supported formats.
SUFFIXES = (".safetensors", ".npz", ".npy")
PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
#: Element types by their names in safetensors; other types keep those names.
_SAFETENSORS = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
}


@dataclass(frozen=True, slots=True)
class Header:
    """Shape and element type of a tensor in a file."""

    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{'×'.join(map(str, self.shape)) or 'scalar'} {self.dtype}"


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
        self.headers = {n: Header(a.shape, a.dtype.name) for n, a in self._arrays.items()}

    def load(self, name: str) -> Array:
        """Return the array of that name itself, not a copy."""
        return self._arrays[name]


#: Bytes to load before a memory-mapped file is opened anew, since its pages stay resident until it is closed.
_MAPPED_BYTES = 1 << 20


class _Safetensors:
    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with path.open("rb"):  # raises OSError, unlike safetensors
            self._open()
        self.headers = {name: self._header(name) for name in self._file.keys()}  # noqa: SIM118 - not a mapping

    def _open(self) -> None:
        from safetensors import safe_open

        opened: Any = safe_open
        self._file = opened(self._path, framework="numpy")
        self._mapped = 0

    def _header(self, name: str) -> Header:
        entry = self._file.get_slice(name)
        dtype = entry.get_dtype()
        return Header(tuple(entry.get_shape()), _SAFETENSORS.get(dtype, dtype))

    def load(self, name: str) -> Array:
        with _reading(self.name):
            array: Array = self._file.get_tensor(name)
            self._mapped += array.nbytes
            if self._mapped > _MAPPED_BYTES:
                self._open()
        return array


class _Npz:
    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._zip = zipfile.ZipFile(path)
        self._members = {name.removesuffix(".npy"): name for name in self._zip.namelist()}
        self.headers = {name: self._header(member) for name, member in self._members.items()}

    def _header(self, member: str) -> Header:
        with self._zip.open(member) as file:
            return _npy_header(file)

    def load(self, name: str) -> Array:
        with _reading(self.name), self._zip.open(self._members[name]) as file:
            return _native(npy.read_array(file, allow_pickle=False))


class _Npy:
    """A single unnamed array, which is given the name of its file."""

    def __init__(self, path: Path) -> None:
        self.name = str(path)
        self._path = path
        with path.open("rb") as file:
            self.headers = {path.stem: _npy_header(file)}

    def load(self, name: str) -> Array:
        with _reading(self.name), self._path.open("rb") as file:
            return _native(npy.read_array(file, allow_pickle=False))


_READERS: dict[str, Callable[[Path], Tensors]] = {".safetensors": _Safetensors, ".npz": _Npz, ".npy": _Npy}


def open_tensors(path: str | Path) -> Tensors:
    """Open a file of tensors and read its headers; the suffix decides on the format.

    Raises:
        NetcalcError: E605 if the file cannot be read or is not of that format.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise _error(f"{path}: not a known format of tensors", _format_hint(path))
    with _reading(str(path)):
        return _READERS[suffix](path)


def read_array(path: str | Path, name: str) -> Array:
    """Return the tensor ``name`` of a file, or the only tensor if the file has just one.

    Raises:
        NetcalcError: E605 if the file cannot be read, or has several tensors and none of that name.
    """
    tensors = open_tensors(path)
    names = list(tensors.headers)
    if name in names:
        return tensors.load(name)
    if len(names) == 1:
        return tensors.load(names[0])
    raise _error(f"{path}: no tensor {name!r} among the {len(names)} in this file", did_you_mean(name, names))


def write_tensors(path: str | Path, tensors: Mapping[str, Array]) -> None:
    """Write tensors to a file; the suffix decides on the format.  On an error an existing file stays unchanged.

    A ``.npy`` file holds exactly one tensor, and ``.npy`` and ``.npz`` cannot hold bfloat16.

    Raises:
        NetcalcError: E605 if the file cannot be written.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in _READERS:
        raise _error(f"{path}: not a known format of tensors", _format_hint(path))
    arrays = {name: np.asarray(array, order="C") for name, array in tensors.items()}
    if suffix == ".npy" and len(arrays) != 1:
        raise _error(f"{path}: a .npy file holds one tensor, and there are {len(arrays)}", "write a .npz file")
    if suffix != ".safetensors":
        unsupported = [name for name, array in arrays.items() if array.dtype.kind == "V"]
        if unsupported:
            raise _error(
                f"{path}: {unsupported[0]!r} is {arrays[unsupported[0]].dtype}, which NumPy's files cannot hold",
                "write a .safetensors file",
            )
    try:
        with replacing(path) as temporary:
            _write(temporary, suffix, arrays)
    except OSError as error:
        raise _error(f"{path} cannot be written: {error.strerror or error}") from error


def _write(path: Path, suffix: str, arrays: dict[str, Array]) -> None:
    if suffix == ".safetensors":
        from safetensors import SafetensorError
        from safetensors.numpy import save_file

        try:
            save_file(arrays, path)
        except SafetensorError as error:
            raise OSError(str(error)) from error
        return
    with path.open("wb") as file:
        if suffix == ".npz":
            # np.savez takes the names as keyword arguments, and so refuses some of them
            with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
                for name, array in arrays.items():
                    with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                        npy.write_array(member, array, allow_pickle=False)
        else:
            (array,) = arrays.values()
            npy.write_array(file, array, allow_pickle=False)


def _npy_header(file: Any) -> Header:
    version = npy.read_magic(file)
    if version == (1, 0):
        shape, _, dtype = npy.read_array_header_1_0(file)
    elif version == (2, 0):
        shape, _, dtype = npy.read_array_header_2_0(file)
    else:
        raise ValueError(f"version {version[0]}.{version[1]} of the .npy format")
    return Header(shape, dtype.name)


def _native(array: Array) -> Array:
    return array.astype(array.dtype.newbyteorder("="), copy=False)


@contextmanager
def _reading(name: str) -> Iterator[None]:
    from safetensors import SafetensorError

    try:
        yield
    except FileNotFoundError as error:
        raise _error(f"{name}: no such file") from error
    except OSError as error:
        raise _error(f"{name} cannot be read: {error.strerror or error}") from error
    except (ValueError, EOFError, SafetensorError, zipfile.BadZipFile, NotImplementedError) as error:
        raise _error(f"{name} is damaged, or not what its name says: {error}") from error


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


def _error(message: str, hint: str | None = None) -> NetcalcError:
    return NetcalcError(Diagnostic("E605", message, hint=hint))

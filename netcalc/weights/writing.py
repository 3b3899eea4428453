"""Writing files of tensors: ``.safetensors``, ``.npz`` and ``.npy``."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.lib import format as npy

from netcalc.arrays import Array
from netcalc.files import replacing
from netcalc.weights.safetensors_format import safetensors_header
from netcalc.weights.stored import clipped, file_error
from netcalc.weights.tensor_files import require_format

#: Largest number of bytes of the name of a tensor in an archive, which adds ``.npy``.
_MEMBER_NAME = 65_000


def write_tensors(path: str | Path, tensors: Mapping[str, Array], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a file; the suffix decides on the format.  On an error an existing file stays unchanged.

    A ``.npy`` file holds exactly one tensor, and ``.npy`` and ``.npz`` cannot hold bfloat16.  ``metadata`` are texts by
    name, which only ``.safetensors`` files hold.

    Raises:
        NetcalcError: E605 if the file cannot be written.
    """
    path = Path(path)
    suffix = require_format(path)
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

"""Weights of Keras models, under the paths that their specs load, with the axes that netcalc's layers have.

A ``.keras`` file has them in HDF5, which h5py reads from its place in the archive.  Shapes follow from the
configuration; the archive's member is opened when numbers are read, or when :meth:`KerasWeights.headers` is asked for.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from netcalc.arrays import Array
from netcalc.dtypes import DTYPES
from netcalc.formats.keras.archive import WEIGHTS, opened_archive
from netcalc.formats.keras.document import weights_of
from netcalc.formats.keras.held import Form, Held, Weights, formed, shaped
from netcalc.formats.keras.problems import clipped
from netcalc.formats.sources import Source
from netcalc.weights.npz_format import Member, MemberReader, data_start
from netcalc.weights.pieces import Part
from netcalc.weights.stored import DamagedError, Header, file_error

#: Bytes of the file of weights beside the numbers themselves: for each variable, and for everything else.
_EACH, _REST = 1 << 16, 1 << 20
_CHUNK = 1 << 20


def own_weights(source: Source) -> KerasWeights:
    """Return the weights of a model.

    Raises:
        NetcalcError: E007 if it cannot be translated; E605 if the file cannot be read.
    """
    return KerasWeights(source.path, weights_of(source.path))


class KerasWeights:
    """Tensors of a model by the paths that its spec loads."""

    def __init__(self, path: Path, weights: Weights) -> None:
        self.name = str(path)
        self._path = path
        self._weights = weights

    @cached_property
    def headers(self) -> Mapping[str, Header]:
        """Shapes and types by path, as the file of weights has them; NetcalcError (E605) if it cannot be read."""
        found: dict[str, Header] = {}
        with self._opened() as file:
            for path, held in self._weights.held.items():
                data = _data(file, held)
                if data is not None:
                    found[path] = Header(_formed_shape(held.form, tuple(data.shape)), _dtype(data))
        return found

    def load(self, name: str) -> Array:
        """Return the data of one tensor; NetcalcError (E605) if they cannot be read."""
        import numpy as np

        held = self._weights.held[name]
        with self._opened() as file:
            data = _data(file, held)
            if data is None:
                raise DamagedError(f"{clipped(held.variable.path)} is missing")
            if tuple(data.shape) != held.variable.shape:
                raise DamagedError(f"{clipped(held.variable.path)} has another shape than its layer")
            return np.ascontiguousarray(formed(held.form, np.asarray(data[()])))

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place; NetcalcError (E605) if the data cannot be read."""
        part.put(part.out, self.load(name)[part.slices])

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """Give the file of weights, opened by h5py; NetcalcError (E605) if it cannot be read."""
        h5py = _library()
        with opened_archive(self._path) as (file, members):
            member = members.get(WEIGHTS)
            if member is None:
                raise DamagedError(f"it has no {WEIGHTS}")
            with self._seekable(file, member) as content:
                try:
                    with h5py.File(content, "r") as opened:
                        yield opened
                except (OSError, KeyError, RuntimeError, ValueError, TypeError) as error:
                    raise DamagedError(f"{WEIGHTS}: {str(error)[:200]}") from None

    @contextmanager
    def _seekable(self, file: io.BufferedReader, member: Member) -> Iterator[Any]:
        """Give the content of a member: its bytes in the archive, or a decompressed copy, whose size is bounded."""
        if not member.deflated:
            yield _Window(file, data_start(file, member), member.size)
            return
        most = 8 * self._weights.elements + _EACH * len(self._weights.variables) + _REST
        if member.size > most:
            raise DamagedError(f"{WEIGHTS} has {member.size:,} bytes, and the weights of the model are fewer")
        reader = MemberReader(file, member)
        with tempfile.TemporaryFile() as copy:
            while chunk := reader.read(_CHUNK):
                copy.write(chunk)
            copy.seek(0)
            yield copy


class _Window(io.RawIOBase):
    """Bytes of a file from one place on, as a file of its own."""

    def __init__(self, file: io.BufferedReader, start: int, size: int) -> None:
        self._file, self._start, self._size, self._at = file, start, size, 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Move to a place, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def tell(self) -> int:
        """Return the present place."""
        return self._at

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer with the next bytes, and return their number; 0 at the end."""
        view = memoryview(buffer).cast("B")
        done, wanted = 0, max(0, min(len(view), self._size - self._at))
        self._file.seek(self._start + self._at)
        while done < wanted:
            data = self._file.read(min(_CHUNK, wanted - done))
            if not data:
                break
            view[done : done + len(data)] = data
            done += len(data)
        self._at += done
        return done


def _data(file: Any, held: Held) -> Any:
    """Return the data set of a variable; None if the file lacks it, or links to another file."""
    import h5py

    group: Any = file
    for part in held.variable.path.split("/"):
        if not isinstance(group, h5py.Group) or not isinstance(
            group.get(part, getlink=True), (h5py.HardLink, type(None))
        ):
            return None
        group = group.get(part)
    if not isinstance(group, h5py.Dataset) or group.external or group.is_virtual:
        return None
    if any(size > 1 << 40 for size in group.shape) or group.size > 1 << 36:
        raise DamagedError(f"{clipped(held.variable.path)} has more elements than a tensor may have")
    return group


def _formed_shape(form: Form, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of a parameter that data of a shape give; their own where the form does not fit them."""
    try:
        formed_shape = shaped(form, shape)
    except (IndexError, ZeroDivisionError):
        return shape
    count = wanted = 1
    for size in shape:
        count *= size
    for size in formed_shape:
        wanted *= size
    return formed_shape if count == wanted or form.parts is not None or form.at is not None else shape


def _dtype(data: Any) -> str:
    name = str(data.dtype)
    return name if name in DTYPES else "unknown" if name.startswith("|V") else name


def _library() -> Any:
    """Return h5py; NetcalcError (E605) if it is not installed."""
    try:
        import h5py
    except ImportError:
        hint = 'pip install "h5py>=3.11"'
        raise file_error("the weights of a .keras file are read with h5py, which is not installed", hint) from None
    return h5py

"""Weights on the Hub: headers by range requests, and the data of a file only if one of its tensors is loaded."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any

from netcalc.arrays import Array
from netcalc.formats.hub.repository import Repository
from netcalc.limits import MAX_TENSOR_HEADER
from netcalc.weights.checkpoint_files import Joined, open_shards, read_index
from netcalc.weights.packing.unpacked import UnpackedTensors
from netcalc.weights.pieces import Part
from netcalc.weights.prefixed import Prefixed
from netcalc.weights.safetensors_format import read_safetensors_header
from netcalc.weights.stored import reading
from netcalc.weights.tensor_files import TensorFile, Tensors, open_tensors

_INDEX = ".safetensors.index.json"
#: Bytes that give the length of a header.
_LENGTH = 8
#: Requests at a time.
_THREADS = 8


def open_remote(repository: Repository, stem: str = "model") -> Tensors | None:
    """Return the weights of a repository, whose headers are read; None if there are none in safetensors files.

    The data of a tensor are downloaded to the cache, with all its file, when it is loaded.

    Args:
        repository: the repository.
        stem: name of the file without its suffix, also if there are shards with an index.

    Raises:
        NetcalcError: E008 if the Hub cannot be asked, E605 if a file is damaged.
    """
    path = repository.file(f"{stem}{_INDEX}", MAX_TENSOR_HEADER)
    if path is None:
        return _file(repository, f"{stem}.safetensors")
    index = read_index(path, f"{repository.name}/{stem}{_INDEX}")
    folder = stem[: stem.rfind("/") + 1]
    files = open_shards(index, lambda names: _shards(repository, [folder + name for name in names]))
    return Joined(files, str(repository.name), index)


def pending_bytes(tensors: Tensors) -> int:
    """Return the bytes of files on the Hub that loading all tensors downloads."""
    if isinstance(tensors, UnpackedTensors):
        return pending_bytes(tensors.stored)
    if isinstance(tensors, Prefixed):
        return pending_bytes(tensors.tensors)
    if isinstance(tensors, Joined):
        return sum(map(pending_bytes, tensors.files))
    return tensors.length if isinstance(tensors, _RemoteFile) else 0


def _shards(repository: Repository, names: Sequence[str]) -> Iterator[Tensors]:
    """Yield the shards in order; several are read at a time."""
    with ThreadPoolExecutor(_THREADS) as pool:
        futures = [pool.submit(_shard, repository, name) for name in names]
        try:
            for future in futures:
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _shard(repository: Repository, filename: str) -> Tensors:
    tensors = _file(repository, filename)
    if tensors is None:
        raise repository.lacks(filename)
    return tensors


def _file(repository: Repository, filename: str) -> Tensors | None:
    """Return a file of tensors from the cache, or else from the Hub; None if the repository has none of the name."""
    cached = repository.cached(filename)
    if cached is not None:
        return open_tensors(cached)
    part = repository.part(filename, 0, _LENGTH)
    return None if part is None else _RemoteFile(repository, filename, _Reader(repository, filename, *part))


class _RemoteFile:
    """Tensors of a file on the Hub."""

    def __init__(self, repository: Repository, filename: str, reader: _Reader) -> None:
        self.name = f"{repository.name}/{filename}"
        self._repository = repository
        self._filename = filename
        self.length = reader.length
        self._local: TensorFile | None = None
        self._lock = Lock()
        with reading(self.name):
            stored = read_safetensors_header(reader, reader.length)
        self.headers = {name: tensor.header for name, tensor in stored.items()}

    def load(self, name: str) -> Array:
        """Return the data of one tensor; the first one downloads the file to the cache."""
        return self._downloaded().load(name)

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor to its place; the first one downloads the file to the cache."""
        self._downloaded().write(name, part)

    def _downloaded(self) -> TensorFile:
        with self._lock:
            if self._local is None:
                self._local = open_tensors(self._repository.download(self._filename))
            return self._local


class _Reader(io.RawIOBase):
    """A file on the Hub, of which no byte is requested that is not read."""

    def __init__(self, repository: Repository, filename: str, start: bytes, length: int) -> None:
        self.length = length
        self._repository = repository
        self._filename = filename
        self._start = start
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Read bytes into a buffer, those at the start without another request."""
        size = min(len(buffer), self.length - self._position)
        if size <= 0:
            return 0
        data = self._start[self._position : self._position + size]
        if not data:
            part = self._repository.part(self._filename, self._position, size)
            data = b"" if part is None else part.data
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)

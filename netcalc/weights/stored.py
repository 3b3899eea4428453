"""Bounded reading of files that may be damaged or hostile.

Only regular files are opened, and no read asks for more bytes than a limit.  Sizes that a file declares are held
against its length before memory is allocated for them.
"""

from __future__ import annotations

import io
import json
import math
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, NamedTuple

from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dtypes import ITEMSIZE
from netcalc.limits import MAX_STORED_AXES, MAX_STORED_VALUES, MAX_TENSOR_HEADER

#: Bits of an element, for netcalc's types and for those that only files have.
BITS = {
    **{name: 8 * size for name, size in ITEMSIZE.items()},
    **dict.fromkeys(("F8_E4M3", "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "F4": 4,
}
#: Files that :func:`kept_open` holds at most, since a process may have a limited number.
_MOST_OPEN = 16
#: Files that are held open in this thread, by process and path: a forked process would share their positions.
_open_files: ContextVar[dict[tuple[int, str], io.FileIO] | None] = ContextVar("_open_files", default=None)
#: Characters of a text of a file that a message repeats.
_CLIPPED = 80
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class DamagedError(Exception):
    """Content that does not follow the format of its file."""


class Unpacking(NamedTuple):
    """Way from packed tensors to what they stand for: in words, and the reason why they do not unpack, if they do not.

    With ``flat`` only the number of elements is known, of which the last may be padding.  ``padded`` are the multiples
    to which the axes are padded; without any they are not.  ``open`` is True if the shapes alone do not tell.
    """

    text: str
    problem: str = ""
    flat: bool = False
    padded: tuple[int, ...] = ()
    open: bool = False

    @property
    def settled(self) -> bool:
        """True if the shape of what packed tensors stand for is known."""
        return not self.flat and not self.padded


class Header(NamedTuple):
    """Shape and element type of a tensor in a file.

    ``size`` are its bytes where these do not follow from them.  A tensor that packed ones stand for has an
    ``unpacking``, and the name of the scheme in place of its type.  With ``any_float`` the tensor is converted to
    whatever floating-point type the spec has.
    """

    shape: tuple[int, ...]
    dtype: str
    size: int | None = None
    any_float: bool = False
    unpacking: Unpacking | None = None

    def __str__(self) -> str:
        return f"{'×'.join(map(str, self.shape)) or 'scalar'} {self.dtype}"

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Return True if this is a tensor of a shape, or may be one."""
        if self.unpacking is not None and self.unpacking.flat:
            return self.elements - math.prod(shape) in (0, 1)
        if self.unpacking is not None and len(self.unpacking.padded) == len(shape):
            return self.shape == tuple(-(-n // m) * m for n, m in zip(shape, self.unpacking.padded, strict=True))
        return self.shape == shape

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def bytes(self) -> int | None:
        """Bytes of the data; None if they are not known."""
        bits = BITS.get(self.dtype)
        return self.size if self.size is not None or bits is None else -(-math.prod(self.shape) * bits // 8)


class Stored(NamedTuple):
    """Place and layout of a tensor in a file.

    ``dtype`` is the name of its elements in NumPy or ml_dtypes, None if they have no such elements, and ``order`` that
    of their bytes.
    """

    header: Header
    dtype: str | None
    start: int
    fortran: bool = False
    order: Literal["<", ">"] = "<"


class _Bounded(io.BufferedReader):
    """A file of which one read takes at most ``most`` bytes."""

    def __init__(self, raw: io.RawIOBase, most: int) -> None:
        super().__init__(raw)
        self._most = most

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next ``size`` bytes, or all that remain.

        Raises:
            DamagedError: these are more than the limit.
        """
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        count = left if size is None or size < 0 else min(size, left)
        if count > self._most:
            raise DamagedError(f"a part that should be short has more than {self._most:,} bytes")
        return super().read(count)


@contextmanager
def kept_open() -> Iterator[None]:
    """Hold the last files that :func:`opened` gives open within the context, for many tensors of few files.

    A file that is replaced meanwhile is read on as it was.
    """
    if _open_files.get() is not None:
        yield
        return
    files: dict[tuple[int, str], io.FileIO] = {}
    token = _open_files.set(files)
    try:
        yield
    finally:
        _open_files.reset(token)
        for raw in files.values():
            raw.close()


@contextmanager
def opened(path: str | Path, most: int = MAX_TENSOR_HEADER) -> Iterator[tuple[io.BufferedReader, int]]:
    """Give a regular file, which reads at most ``most`` bytes at once, and its length in bytes.

    Raises:
        OSError: the file cannot be opened.
        DamagedError: it is no regular file: a pipe or a device could be endless, or wait for ever.
    """
    files, key = _open_files.get(), (os.getpid(), os.fspath(path))
    raw = None if files is None else files.pop(key, None)
    if raw is None:
        raw = _opened_raw(path)
    else:
        raw.seek(0)
    file, keep = _Bounded(raw, most), False
    try:
        yield file, os.fstat(raw.fileno()).st_size
        keep = files is not None and key not in files  # it is if the file was opened twice at a time
    finally:
        if not keep:
            file.close()
    if files is not None and keep:
        file.detach()
        files[key] = raw
        if len(files) > _MOST_OPEN:
            files.pop(next(iter(files))).close()


def _opened_raw(path: str | Path) -> io.FileIO:
    require_readable(path)
    try:
        mode = Path(path).stat().st_mode
    except ValueError as error:  # a null character, or half of a surrogate pair
        raise DamagedError(f"not a possible path ({error})") from None
    if not stat.S_ISREG(mode):
        kind = next((name for test, name in _KINDS if test(mode)), "something else")
        raise DamagedError(f"{kind} where a regular file is expected")
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    return io.FileIO(path, opener=lambda name, _: os.open(name, flags))


@contextmanager
def reading(name: str) -> Iterator[None]:
    """Turn errors of reading the file ``name`` into diagnostics.

    Raises:
        NetcalcError: E605 if the file cannot be read or is damaged; E603 if memory is insufficient.
    """
    try:
        yield
    except FileNotFoundError:
        raise NetcalcError(Diagnostic("E605", f"{name}: no such file")) from None
    except OSError as error:
        raise NetcalcError(Diagnostic("E605", f"{name} cannot be read: {error.strerror or error}")) from error
    except DamagedError as error:
        raise NetcalcError(Diagnostic("E605", f"{name} is damaged, or not what its name says: {error}")) from error
    except MemoryError as error:
        reason = f": {error}" if str(error) else ""
        raise NetcalcError(Diagnostic("E603", f"{name} does not fit into memory{reason}")) from error


def file_error(message: str, hint: str | None = None) -> NetcalcError:
    """Return the error (E605) of a file that cannot be read or written."""
    return NetcalcError(Diagnostic("E605", message, hint=hint))


def exactly(file: io.RawIOBase | io.BufferedIOBase, size: int, what: str) -> bytes:
    """Return the next ``size`` bytes of a file.

    Raises:
        DamagedError: the file ends before.
    """
    data = file.read(size) or b""
    while 0 < len(data) < size:
        more = file.read(size - len(data))
        if not more:
            break
        data += more
    if len(data) != size:
        raise DamagedError(f"it ends within {what}")
    return data


def stored_bytes(shape: Iterable[int], bits: int, most: int) -> int:
    """Return the bytes of a tensor with elements of ``bits`` bits, or ``most`` + 1 if they are more than ``most``."""
    sizes = tuple(shape)
    if 0 in sizes:
        return 0
    total = bits
    for size in sizes:
        total *= size
        if total > 8 * most:  # numbers that grow without end take time
            return most + 1
    return -(-total // 8)


def require_axes(shape: tuple[int, ...], name: str) -> None:
    """Raise DamagedError if a shape has more axes or elements than an array can have."""
    if len(shape) > MAX_STORED_AXES:
        raise DamagedError(f"{clipped(name)} has {len(shape):,} axes, and the limit is {MAX_STORED_AXES:,}")


def parsed_json(data: bytes) -> Any:
    """Return the content of a JSON text in UTF-8, with a bound on the number of values.

    Raises:
        DamagedError: it is not JSON, has too many values, is too deep, or gives a key twice.
    """
    if sum(map(data.count, (b",", b":", b"[", b"{"))) > MAX_STORED_VALUES:  # no more values than these, and one
        raise DamagedError(f"more than {MAX_STORED_VALUES:,} values")
    try:
        text = data.decode()
        content = json.loads(text)
        if b"\\u" not in data and _keys(content) == data.count(b":"):  # no key can be missing, nor be no text
            return content
        return json.loads(text, object_pairs_hook=_unique)
    except RecursionError:
        raise DamagedError("nested too deeply") from None
    except ValueError as error:
        raise DamagedError(f"no JSON ({error})") from None


def _keys(content: Any) -> int:
    """Return the number of keys of an object and of the objects in it; those further within are left out."""
    if not isinstance(content, dict):
        return -1
    return len(content) + sum(len(value) for value in content.values() if value.__class__ is dict)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    "".join(mapping).encode()  # a ValueError if a name has half of a surrogate pair
    if len(mapping) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise DamagedError(f"{clipped(twice)} stands there twice")
    return mapping


def clipped(text: str) -> str:
    """Return a text of a file as a message quotes it, shortened."""
    return repr(text if len(text) <= _CLIPPED else text[:_CLIPPED] + "…")

"""Members of a ``.npz`` file: a zip archive of ``.npy`` files, stored or deflated as NumPy writes them.

The directory is read with :mod:`zipfile`.  The data are read here: no more is decompressed than a member declares, and
a member that holds more or less is an error.
"""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from typing import NamedTuple

from typing_extensions import Buffer

from netcalc.limits import MAX_ARCHIVE_MEMBERS
from netcalc.weights.stored import DamagedError, clipped, exactly

_ENCRYPTED = 1
_LOCAL = struct.Struct("<4s22xHH")
#: Largest number of bytes that deflate gives for one.
_RATIO = 1032
_CHUNK = 1 << 16


class Member(NamedTuple):
    """A file in an archive: the place of its local header, its bytes there and decompressed, and its checksum."""

    name: str
    start: int
    stored: int
    size: int
    checksum: int
    deflated: bool


def read_members(file: io.BufferedReader, length: int) -> list[Member]:
    """Return the members of an archive of ``length`` bytes, in its order.

    Raises:
        DamagedError: it is not an archive, is encrypted, compressed in a way that NumPy does not write, or too short.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError, struct.error, OverflowError) as error:
        raise DamagedError(str(error)) from None
    if len(entries) > MAX_ARCHIVE_MEMBERS:
        raise DamagedError(f"it holds {len(entries):,} files, and the limit is {MAX_ARCHIVE_MEMBERS:,}")
    members = []
    for entry in entries:
        if entry.flag_bits & _ENCRYPTED:
            raise DamagedError(f"{clipped(entry.filename)} is encrypted")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise DamagedError(f"{clipped(entry.filename)} is compressed in a way that NumPy does not write")
        deflated = entry.compress_type == zipfile.ZIP_DEFLATED
        possible = entry.compress_size * _RATIO if deflated else entry.compress_size
        if entry.header_offset < 0 or entry.header_offset + _LOCAL.size + entry.compress_size > length:
            raise DamagedError(f"it ends within {clipped(entry.filename)}")
        if entry.file_size > possible or not (deflated or entry.file_size == possible):
            raise DamagedError(f"{clipped(entry.filename)} cannot have {entry.file_size:,} bytes")
        members.append(
            Member(entry.filename, entry.header_offset, entry.compress_size, entry.file_size, entry.CRC, deflated)
        )
    return members


def data_start(file: io.BufferedReader, member: Member) -> int:
    """Return the place of the first byte of a member's data; DamagedError if the directory names another place."""
    file.seek(member.start)
    signature, name, extra = _LOCAL.unpack(exactly(file, _LOCAL.size, "the header of a file"))
    if signature != b"PK\x03\x04":
        raise DamagedError(f"{clipped(member.name)} is not where the directory says")
    return member.start + _LOCAL.size + int(name) + int(extra)


class MemberReader(io.RawIOBase):
    """The decompressed content of a member.  A checksum that does not fit is an error at its end."""

    def __init__(self, file: io.BufferedReader, member: Member) -> None:
        self._file = file
        self._member = member
        file.seek(data_start(file, member))
        self._stored, self._left, self._checksum = member.stored, member.size, 0
        self._inflate = zlib.decompressobj(-zlib.MAX_WBITS) if member.deflated else None
        self._pending = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Buffer, /) -> int:
        """Fill a buffer with the next bytes, and return their number; 0 at the end.

        Raises:
            DamagedError: the member is not what its header says.
        """
        view = memoryview(buffer).cast("B")
        wanted = min(len(view), self._left)
        if not wanted:
            return 0
        data = self._compressed(wanted) if self._inflate is None else self._inflated(wanted)
        if not data:
            raise DamagedError(f"the data of {clipped(self._member.name)} end too early")
        view[: len(data)] = data
        self._left -= len(data)
        self._checksum = zlib.crc32(data, self._checksum)
        if not self._left and self._checksum != self._member.checksum:
            raise DamagedError(f"the checksum of {clipped(self._member.name)} does not fit")
        return len(data)

    def _compressed(self, most: int) -> bytes:
        data = self._file.read(min(most, self._stored))
        self._stored -= len(data)
        return data

    def _inflated(self, most: int) -> bytes:
        assert self._inflate is not None
        while not self._inflate.eof:
            self._pending = self._pending or self._compressed(_CHUNK)
            ended = not self._pending
            try:
                data = self._inflate.decompress(self._pending, most)
            except zlib.error as error:
                raise DamagedError(
                    f"the data of {clipped(self._member.name)} cannot be decompressed ({error})"
                ) from None
            self._pending = self._inflate.unconsumed_tail
            if data or ended:
                return data
        return b""

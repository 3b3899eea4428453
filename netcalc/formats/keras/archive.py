"""Files of Keras: zip archives of a configuration in JSON, and of weights in HDF5.

Nothing is extracted: members are read by their names, no further than a limit.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.json_document import parse_json
from netcalc.limits import MAX_ARCHIVE_DIRECTORY
from netcalc.weights.npz_format import Member, MemberReader, read_members
from netcalc.weights.stored import DamagedError, clipped, opened, reading

CONFIG, WEIGHTS = "config.json", "model.weights.h5"


def configuration_of(path: Path, max_size: int) -> Any:
    """Return the configuration of a model in a ``.keras`` file, as plain data.

    Raises:
        NetcalcError: E605 if the file is no archive of a model; E001 to E003 if its configuration is malformed, or
            larger than ``max_size`` bytes.
    """
    with opened_archive(path) as (file, members):
        member = members.get(CONFIG)
        if member is None:
            raise DamagedError(f"it has no {CONFIG}, as a .keras file of Keras 3 has")
        if member.size > max_size:
            message = f"{CONFIG} in {path} has {member.size:,} bytes, and the limit is {max_size:,}"
            raise NetcalcError(Diagnostic("E003", message, hint="--max-spec-size permits more"))
        content = MemberReader(file, member).read()
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise NetcalcError(Diagnostic("E001", f"{CONFIG} in {path} is no UTF-8")) from None
    return parse_json(text, f"{path}/{CONFIG}").data


@contextmanager
def opened_archive(path: Path) -> Iterator[tuple[BufferedReader, dict[str, Member]]]:
    """Give a file with the members of its archive by their names; NetcalcError (E605) if it is none."""
    with reading(str(path)), opened(path, MAX_ARCHIVE_DIRECTORY) as (file, length):
        members = {}
        for member in read_members(file, length):
            parts = member.name.replace("\\", "/").split("/")
            if ".." in parts or member.name.startswith("/") or ":" in parts[0]:
                raise DamagedError(f"the name {clipped(member.name)} leads out of the archive")
            if member.name in members:
                raise DamagedError(f"it holds {clipped(member.name)} twice")
            members[member.name] = member
        yield file, members

"""Text of spec files and of standard input, read within a limit on their size."""

from __future__ import annotations

import re
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import IO

from netcalc.characters import conversion
from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean
from netcalc.files import read_at_most
from netcalc.spec.foreign_files import foreign_file
from netcalc.spec.shipped import spec_hint

_STDIN = "<stdin>"
#: Files that the process has open already, such as those that a shell gives for ``<(command)``.
_DESCRIPTOR = re.compile(r"/dev/stdin|(/dev|/proc/self)/fd/[0-9]+")
_SPEC = re.compile(r"(?:^|[{,])\s*+[\"']?netcalc[\"']?\s*+:", re.MULTILINE)


def read_spec(path: Path, label: str, max_size: int) -> str:
    """Return the text of a file, of which at most ``max_size`` bytes are read.

    ``label`` is its name in the places of errors.

    Raises:
        NetcalcError: E004 if the file cannot be read, is of another kind, or a named pipe, which may have no writer;
            E003 if it is larger.
    """
    require_readable(path)
    try:
        if not (stat.S_ISREG(mode := path.stat().st_mode) or stat.S_ISDIR(mode) or _DESCRIPTOR.fullmatch(str(path))):
            hint = "`-` reads standard input"
            raise NetcalcError(Diagnostic("E004", f"{path} cannot be read: no regular file", hint=hint))
        with path.open("rb") as file:
            head = file.read(16)
            foreign = foreign_file(path, head)
            if foreign is not None:
                raise NetcalcError(foreign)
            content = head + read_at_most(file, max_size + 1 - len(head))
    except (OSError, ValueError) as error:
        raise NetcalcError(unreadable(path, error)) from None
    return _decoded_text(content, label, max_size)


def read_standard_input(max_size: int) -> str:
    """Return the text on standard input, of which at most ``max_size`` bytes are read.

    Raises:
        NetcalcError: E004 if it cannot be read, E003 if it is larger.
    """
    stream: IO[str] | None = sys.stdin
    if stream is None:
        raise NetcalcError(Diagnostic("E004", "standard input is closed", hint="name a file in place of `-`"))
    try:
        binary = getattr(stream, "buffer", None)  # a stream put in its place in Python may have text only
        if binary is None:
            return checked_size(stream.read(max_size + 1), _STDIN, max_size)
        content = read_at_most(binary, max_size + 1)
    except (OSError, ValueError) as error:
        raise NetcalcError(unreadable("standard input", error)) from None
    return _decoded_text(content, _STDIN, max_size)


def checked_size(text: str, label: str, max_size: int) -> str:
    """Return a text; NetcalcError (E003) if it has over ``max_size`` bytes."""
    if len(text) * 4 > max_size and len(text.encode(errors="surrogatepass")) > max_size:
        message = f"the spec has over {max_size:,} bytes"
        hint = "--max-spec-size, in Python max_spec_size, raises the limit"
        raise NetcalcError(Diagnostic("E003", message, Span(label), hint=hint))
    return text


def looks_like_spec(text: str) -> bool:
    """Return True if a text has the key ``netcalc``, which every spec has, also one with errors."""
    return _SPEC.search(text) is not None


def unreadable(path: Path | str, error: OSError | ValueError) -> Diagnostic:
    """Return the diagnostic of a file that cannot be read."""
    reason = (getattr(error, "strerror", None) or str(error)).lower()
    hint = None
    if isinstance(error, FileNotFoundError) and isinstance(path, Path):
        with suppress(OSError):
            hint = did_you_mean(path.name, (p.name for p in path.parent.glob("*.y*ml")))
        hint = hint or spec_hint(path.stem)
    return Diagnostic("E004", f"{path} cannot be read: {reason}", hint=hint)


def _decoded_text(content: bytes, label: str, max_size: int) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(content) <= max_size:
            line = content.count(b"\n", 0, error.start) + 1
            message = f"{label} is not UTF-8 text: {error.reason} on line {line}"
            raise NetcalcError(
                Diagnostic("E004", message, Span(label), hint=conversion(content, "-" if label == _STDIN else label))
            ) from None
        text = content.decode(errors="replace")  # the limit may have cut a character
    return checked_size(text, label, max_size)

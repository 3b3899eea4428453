"""Loading of specs, with the files that they extend and import."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import BlockDecl, Document
from netcalc.spec.foreign_files import foreign_file
from netcalc.spec.inheritance import merged, with_current_names
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE
from netcalc.spec.shipped import aliases, catalogue, shipped, shipped_blocks, shipped_file, specs_dir, unaliased
from netcalc.spec.validation import validate
from netcalc.spec.yaml_document import parse_yaml

__all__ = [
    "Block",
    "Loaded",
    "find_block",
    "load_data",
    "load_document",
    "load_text",
]


class Block(NamedTuple):
    """A block's declaration, its place, and the spec whose other blocks it may use."""

    name: str
    decl: BlockDecl
    cursor: Cursor
    home: Loaded


@dataclass(eq=False, slots=True)
class Loaded:
    """A spec with everything that it extends and imports; ``path`` is its file, if it has one."""

    document: Document
    cursor: Cursor
    label: str
    blocks: dict[str, Block] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    extends: str | None = None
    path: Path | None = None
    inherited: frozenset[str] = frozenset()  # names of the blocks of the spec that it extends


def load_document(spec: str | Path) -> Loaded:
    """Load a spec from a file, by its shipped name, or from standard input (``-``).

    Raises:
        NetcalcError: with every error found in the file and the files that it extends and imports.
    """
    if str(spec) == "-":
        return load_text(sys.stdin.read(), "<stdin>", Path())
    return _load(_resolve(str(spec)), ())


def load_text(text: str, label: str = "<text>", folder: Path | None = None) -> Loaded:
    """Load a spec from a string; ``folder`` is where the files that it extends and imports are looked up.

    Raises:
        NetcalcError: as :func:`load_document`.
    """
    return _assemble(parse_yaml(text, label), label, folder or Path(), ())


def load_data(data: Mapping[str, Any], label: str = "<data>", folder: Path | None = None) -> Loaded:
    """Load a spec from Python data with the structure of a YAML spec.

    It is validated as a file is; diagnostics give the path in the data, such as ``layers[3].conv2d.out``.

    Args:
        data: mapping with string keys, of mappings, lists, tuples, strings, numbers, booleans and None.
        label: name of the document in diagnostics.
        folder: where the files that it extends and imports are looked up.

    Raises:
        NetcalcError: as :func:`load_document`.
    """
    from netcalc.spec.plain_data import read_data  # the commands read files only

    return _assemble(read_data(data, label), label, folder or Path(), ())


def find_block(name: str, *files: Loaded) -> Block | None:
    """Return a block by name, from the first file that has or imports it, or a shipped one; None if there is none."""
    return next((file.blocks[name] for file in files if name in file.blocks), None) or _shipped_block(name)


@cache
def _shipped_block(name: str) -> Block | None:
    path = specs_dir() / "blocks" / f"{name}.yaml"
    return _load(path, ()).blocks.get(name) if name.isidentifier() and path.is_file() else None


def _resolve(spec: str) -> Path:
    """Return the file of a spec: a path with a separator or suffix, a shipped name, an alias, or another path."""
    path = Path(spec)
    written_as_path = path.suffix != "" or "/" in spec or os.sep in spec
    if written_as_path and path.exists():
        return path
    found = shipped_file(spec) or shipped_file(unaliased(spec) or "")
    if found is not None:
        return found
    if path.is_file() or path.suffix in (".yaml", ".yml") or "/" in spec:
        return path
    hint = did_you_mean(spec, [*catalogue(), *aliases()])
    raise NetcalcError(
        Diagnostic(
            "E005",
            f"there is no file and no shipped spec {spec!r}",
            hint=hint or "`netcalc specs` lists the shipped specs",
        )
    )


#: Specs read before, by path, resolved path and time of modification.
_READ: dict[tuple[Path, Path, int], Loaded] = {}


def _load(path: Path, chain: tuple[Path, ...]) -> Loaded:
    real = path.resolve()
    try:
        stamp = real.stat().st_mtime_ns
    except OSError as error:
        raise NetcalcError(_unreadable(path, error)) from None
    if (path, real, stamp) not in _READ:  # a spec that has been read is not part of a circle
        _READ[path, real, stamp] = _read(path, real, chain)
    return _READ[path, real, stamp]


def _read(path: Path, real: Path, chain: tuple[Path, ...]) -> Loaded:
    try:
        with path.open("rb") as file:
            foreign = foreign_file(path, file.read(16))
        if foreign is not None:
            raise NetcalcError(foreign)
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NetcalcError(Diagnostic("E004", f"{path} is not UTF-8 text: {error.reason}")) from None
    except OSError as error:
        raise NetcalcError(_unreadable(path, error)) from None
    loaded = _assemble(parse_yaml(text, _label(path)), _label(path), path.parent, (*chain, real))
    loaded.path = real
    return loaded


def _unreadable(path: Path, error: OSError) -> Diagnostic:
    reason = (error.strerror or str(error)).lower()
    hint = None
    if isinstance(error, FileNotFoundError):
        near = did_you_mean(path.name, [p.name for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else [])
        hint = near or did_you_mean(path.stem, shipped())
    return Diagnostic("E004", f"{path} cannot be read: {reason}", hint=hint)


def _label(path: Path) -> str:
    try:
        return str(path.relative_to(specs_dir().parent))
    except ValueError:
        return str(path)


def _assemble(cursor: Cursor, label: str, folder: Path, chain: tuple[Path, ...]) -> Loaded:
    own = validate(cursor)
    imported: dict[str, Block] = {}
    inherited: frozenset[str] = frozenset()
    warnings: list[Diagnostic] = []
    if own.extends is not None:
        parent = _follow(own.extends, cursor["extends"], folder, chain)
        cursor, renamed = with_current_names(parent.cursor, cursor)
        warnings += (*parent.warnings, *renamed)
        cursor = merged(parent.cursor, cursor)
        inherited = frozenset(parent.blocks)
        imported |= {name: block for name, block in parent.blocks.items() if name not in parent.document.blocks}
    for index, name in enumerate(own.import_):
        imported |= _follow(name, cursor["import"][index], folder, chain).blocks
    document = validate(cursor) if own.extends is not None else own
    loaded = Loaded(document, cursor, label, imported, tuple(warnings), own.extends, inherited=inherited)
    for name, decl in document.blocks.items():
        if name in MODIFIERS or name == SEQUENCE or ops.find(name) is not None:
            kind = "a modifier" if name in MODIFIERS else "an operation"
            message = f"a block cannot be named {name!r}, the name of {kind}"
            raise NetcalcError(Diagnostic("E106", message, cursor["blocks"][name].key_span))
        loaded.blocks[name] = Block(name, decl, cursor["blocks"][name], loaded)
    return loaded


def _follow(name: str, cursor: Cursor, folder: Path, chain: tuple[Path, ...]) -> Loaded:
    """Load the file that ``extends`` or ``import`` names, from the folder of the spec or the shipped specs."""
    stem = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    candidates = [folder / stem, specs_dir() / stem]
    path = next((c for c in candidates if c.is_file()), shipped_file(name))
    if path is None:
        raise NetcalcError(
            Diagnostic(
                "E005",
                f"there is no file {stem!r} in the folder of this spec or among the shipped specs",
                cursor.span,
                hint=did_you_mean(name, [*shipped(), *(f"blocks/{b}" for b in shipped_blocks())]),
            )
        )
    if path.resolve() in chain:
        raise NetcalcError(
            Diagnostic("E006", f"{name!r} extends or imports itself, directly or through other specs", cursor.span)
        )
    try:
        return _load(path, chain or (Path(),))
    except RecursionError:
        raise NetcalcError(
            Diagnostic("E006", f"the chain of extends and import is too deep at {name!r}", cursor.span)
        ) from None

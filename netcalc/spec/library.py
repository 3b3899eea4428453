"""Finding spec files, and putting together what ``extends`` and ``import`` name."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.spec.document import BlockDecl, Document, validate
from netcalc.spec.lines import MODIFIERS
from netcalc.spec.source import Cursor, parse_yaml

__all__ = ["Block", "Loaded", "find_block", "load_document", "load_text", "shipped", "specs_dir"]

_MERGED = ("dims", "vars", "inputs", "blocks", "init", "checkpoint")


class Block(NamedTuple):
    """A block's declaration, where it stands, and the file whose other blocks it may use."""

    name: str
    decl: BlockDecl
    cursor: Cursor
    home: Loaded


@dataclass(eq=False, slots=True)
class Loaded:
    """A spec file with everything it extends and imports."""

    document: Document
    cursor: Cursor
    label: str
    blocks: dict[str, Block] = field(default_factory=dict)


def specs_dir() -> Path:
    """Where the specs that ship with netcalc are."""
    package = Path(__file__).parent.parent
    inside = package / "specs"
    return inside if inside.is_dir() else package.parent / "specs"


@cache
def shipped() -> dict[str, Path]:
    """The specs that ship, by name, in folders by family; shared blocks are not among them."""
    root = specs_dir()
    found = (*sorted(root.glob("*.yaml")), *sorted(root.glob("*/*.yaml")))
    return {path.stem: path for path in found if path.parent.name != "blocks"}


def load_document(spec: str | Path) -> Loaded:
    """The spec in a file, of a shipped name, or on standard input (``-``)."""
    if str(spec) == "-":
        return load_text(sys.stdin.read(), "<stdin>", Path())
    return _load(_resolve(str(spec)), ())


def load_text(text: str, label: str = "<text>", folder: Path | None = None) -> Loaded:
    """The spec in a string; ``folder`` is where its ``extends`` and ``import`` look."""
    return _assemble(parse_yaml(text, label), label, folder or Path(), ())


def find_block(name: str, home: Loaded) -> Block | None:
    """A block by name: the file's own, an imported one, or a shipped one."""
    return home.blocks[name] if name in home.blocks else _shipped_block(name)


@cache
def shipped_blocks() -> tuple[str, ...]:
    """The names of the blocks that ship."""
    return tuple(sorted(path.stem for path in (specs_dir() / "blocks").glob("*.yaml")))


@cache
def _shipped_block(name: str) -> Block | None:
    path = specs_dir() / "blocks" / f"{name}.yaml"
    return _load(path, ()).blocks.get(name) if name.isidentifier() and path.is_file() else None


@cache
def _shipped_file(name: str) -> Path | None:
    """The file of a shipped spec, without listing them all."""
    root = specs_dir()
    folders = (Path(entry) for entry in os.scandir(root) if entry.is_dir() and entry.name != "blocks")
    candidates = (folder / f"{name}.yaml" for folder in (root, *folders))
    return next((path for path in candidates if path.is_file()), None) if "/" not in name else None


def _resolve(spec: str) -> Path:
    path = Path(spec)
    if path.suffix in (".yaml", ".yml") or path.is_file() or "/" in spec:
        return path
    found = _shipped_file(spec)
    if found is not None:
        return found
    hint = did_you_mean(spec, shipped())
    raise NetcalcError(
        Diagnostic(
            "E005",
            f"there is no file {spec!r}, and no shipped spec of that name",
            hint=hint or "`netcalc specs` lists what ships",
        )
    )


_READ: dict[tuple[Path, Path, int], Loaded] = {}


def _load(path: Path, chain: tuple[Path, ...]) -> Loaded:
    real = path.resolve()
    try:
        stamp = real.stat().st_mtime_ns
    except OSError as error:
        raise NetcalcError(_unreadable(path, error)) from None
    if (path, real, stamp) not in _READ:  # what has been read does not lead back to itself
        _READ[path, real, stamp] = _read(path, real, chain)
    return _READ[path, real, stamp]


def _read(path: Path, real: Path, chain: tuple[Path, ...]) -> Loaded:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise NetcalcError(Diagnostic("E004", f"{path} is not UTF-8 text: {error.reason}")) from None
    except OSError as error:
        raise NetcalcError(_unreadable(path, error)) from None
    return _assemble(parse_yaml(text, _label(path)), _label(path), path.parent, (*chain, real))


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
    if own.extends is not None:
        parent = _follow(own.extends, cursor["extends"], folder, chain)
        cursor = _merge(parent.cursor, cursor)
        imported |= {name: block for name, block in parent.blocks.items() if name not in parent.document.blocks}
    for index, name in enumerate(own.import_):
        imported |= _follow(name, cursor["import"][index], folder, chain).blocks
    document = validate(cursor) if own.extends is not None else own
    loaded = Loaded(document, cursor, label, imported)
    for name, decl in document.blocks.items():
        if name in MODIFIERS or name == "sequence" or ops.find(name) is not None:
            kind = "a modifier" if name in MODIFIERS else "an operation"
            message = f"a block may not be called {name!r}, which is {kind}"
            raise NetcalcError(Diagnostic("E106", message, cursor["blocks"][name].key_span))
        loaded.blocks[name] = Block(name, decl, cursor["blocks"][name], loaded)
    return loaded


def _follow(name: str, cursor: Cursor, folder: Path, chain: tuple[Path, ...]) -> Loaded:
    """The file that ``extends`` or ``import`` names: beside this one, or among the shipped ones."""
    stem = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    candidates = [folder / stem, specs_dir() / stem]
    path = next((c for c in candidates if c.is_file()), _shipped_file(name))
    if path is None:
        raise NetcalcError(
            Diagnostic(
                "E005",
                f"there is no file {stem!r} beside this one or among the shipped specs",
                cursor.span,
                hint=did_you_mean(name, [*shipped(), *(f"blocks/{b}" for b in shipped_blocks())]),
            )
        )
    if path.resolve() in chain:
        raise NetcalcError(Diagnostic("E006", f"{name!r} leads back to itself through extends or import", cursor.span))
    try:
        return _load(path, chain or (Path(),))
    except RecursionError:
        raise NetcalcError(Diagnostic("E006", f"{name!r} goes too deep", cursor.span)) from None


def _merge(parent: Cursor, child: Cursor) -> Cursor:
    """The child's keys over the parent's; mappings of names are merged entry by entry."""
    data: dict[str, Any] = dict(parent.data)
    spans = {path: span for path, span in parent.spans.items() if not path or path[0] not in child.data}
    for key, value in child.data.items():
        if key in _MERGED and isinstance(data.get(key), dict) and isinstance(value, dict):
            entries = dict(data[key])
            for name, entry in value.items():
                entries[name] = _override(entries[name], entry) if key == "vars" and name in entries else entry
            data[key] = entries
            spans |= {p: s for p, s in parent.spans.items() if p[:1] == (key,) and p[1:2] and p[1] not in value}
        else:
            data[key] = value
        spans |= {p: s for p, s in child.spans.items() if p[:1] == (key,)}
    _refuse_stray_names(parent, child)
    data.pop("extends", None)
    if "published" not in child.data:
        data.pop("published", None)  # figures are of one network
    if "import" in data and "import" not in child.data:
        data.pop("import")  # the parent's imports come with the parent's blocks
    return Cursor(data, (), spans)


def _override(old: Any, new: Any) -> Any:
    """A new default keeps the limits that the parent declared."""
    limited = isinstance(old, dict) and "default" in old
    return {**old, "default": new} if limited and not (isinstance(new, dict) and "default" in new) else new


def _refuse_stray_names(parent: Cursor, child: Cursor) -> None:
    if "layers" in child.data or "blocks" in child.data:
        return  # new layers may need new names
    problems = [
        Diagnostic(
            "E101",
            f"the spec that this one extends has no {key[:-1]} {name!r}",
            child[key][name].key_span,
            hint=did_you_mean(name, parent.data.get(key) or {}),
        )
        for key in ("dims", "vars")
        for name in child.data.get(key) or {}
        if name not in (parent.data.get(key) or {})
    ]
    if problems:
        raise NetcalcError(problems)

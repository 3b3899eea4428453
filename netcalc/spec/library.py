"""Loading of specs, with the files that they extend and import."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

from netcalc import ops
from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.files import exists, is_file
from netcalc.ir.storage import OwnStorage
from netcalc.limits import MAX_EXTENDS, MAX_SPEC_SIZE
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import BlockDecl, Document
from netcalc.spec.inheritance import merged, with_appended_lines, with_current_names
from netcalc.spec.left_out import without_names
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE
from netcalc.spec.open_files import OpenFiles, Version, version_on_disk
from netcalc.spec.shipped import respelled, shipped, shipped_blocks, shipped_file, spec_hint, specs_dir, unaliased
from netcalc.spec.spec_files import checked_size, looks_like_spec, read_spec, read_standard_input
from netcalc.spec.validation import validate
from netcalc.spec.yaml_document import parse_yaml

#: Nodes of the bodies that are kept beside a spec with blocks of its own.
_MOST_NODES = 5_000


_NONE_OPEN = OpenFiles()
#: The storage of a model that nothing says more of.
_PLAIN = OwnStorage()


class Block(NamedTuple):
    """A block's declaration, its place, and the spec whose other blocks it may use."""

    name: str
    decl: BlockDecl
    cursor: Cursor
    home: Loaded


@dataclass(eq=False, slots=True)
class Loaded:
    """A spec with everything that it extends and imports; ``path`` is its file, if it has one.

    ``added`` are the paths of parameters that an option adds, which files of weights need not have.  ``storage`` is how
    the model's checkpoint stores parameters, and ``used`` the settings that its library built it with.  ``ignored`` are
    fields of its configuration that were left out, and ``notes`` remarks on how the model was read.  ``kept`` are the
    bodies of its blocks (:mod:`netcalc.spec.body_cache`), and ``derived`` is what follows from the spec alone.
    """

    document: Document
    cursor: Cursor
    label: str
    blocks: dict[str, Block] = field(default_factory=dict)
    warnings: tuple[Diagnostic, ...] = ()
    extends: str | None = None
    path: Path | None = None
    parent: Loaded | None = None  # the spec that it extends
    has_own_lines: bool = True  # False if it inherits its `layers`
    added: frozenset[str] = frozenset()
    storage: OwnStorage = _PLAIN
    used: frozenset[str] = frozenset()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    files: Mapping[Path, Version] = field(default_factory=dict)  # that it was made of, without its own
    kept: BoundedCache[Any] = field(default_factory=partial(BoundedCache, _MOST_NODES), repr=False)
    derived: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return what a copy in another process needs: what is derived is derived there."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name != "derived"}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self.derived = {}


class _Way(NamedTuple):
    """The files that led to a spec by ``extends`` and ``import``, and the largest file that is read.

    ``opened`` are the texts of files that are open in an editor.
    """

    max_size: int
    files: tuple[Path, ...] = ()
    opened: OpenFiles = _NONE_OPEN

    def has(self, path: Path) -> bool:
        """Return True if there is a file, on disk or open."""
        return is_file(path) or self.opened.has(path)


def load_document(spec: str | Path, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load a spec from a file, by its shipped name, or from standard input (``-``).

    Args:
        spec: a path, a name or ``-``.
        max_size: largest size in bytes of the file, and of each file that it extends or imports.

    Raises:
        NetcalcError: with every error found in the file and the files that it extends and imports.
    """
    if str(spec) == "-":
        return load_text(read_standard_input(max_size), "<stdin>", max_size=max_size)
    path, warnings = _resolve(str(spec))
    loaded = _load(path, _Way(max_size))
    return replace(loaded, warnings=(*loaded.warnings, *warnings)) if warnings else loaded


def load_text(text: str, label: str = "<text>", folder: Path | None = None, max_size: int = MAX_SPEC_SIZE) -> Loaded:
    """Load a spec from a string; ``folder`` is where the files that it extends and imports are looked up.

    Raises:
        NetcalcError: as :func:`load_document`.
    """
    checked_size(text, label, max_size)
    return _assemble(parse_yaml(text, label), label, folder or Path(), _Way(max_size))


def load_data(
    data: Mapping[str, Any], label: str = "<data>", folder: Path | None = None, max_size: int = MAX_SPEC_SIZE
) -> Loaded:
    """Load a spec from Python data with the structure of a YAML spec.

    It is validated as a file is; diagnostics give the path in the data, such as ``layers[3].conv2d.out``.

    Args:
        data: mapping with string keys, of mappings, lists, tuples, strings, numbers, booleans and None.
        label: name of the document in diagnostics.
        folder: where the files that it extends and imports are looked up.
        max_size: largest size in bytes of each of these files.

    Raises:
        NetcalcError: as :func:`load_document`.
    """
    from netcalc.spec.plain_data import read_data  # the commands read files only

    return load_cursor(read_data(data, label), label, folder, max_size)


def load_cursor(
    document: Cursor,
    label: str,
    folder: Path | None = None,
    max_size: int = MAX_SPEC_SIZE,
    opened: OpenFiles = _NONE_OPEN,
) -> Loaded:
    """Load a spec from a document with its places; arguments as for :func:`load_data`.

    Args:
        opened: the texts of files that are open in an editor, in place of those on disk.

    Raises:
        NetcalcError: as :func:`load_document`.
    """
    return _assemble(document, label, folder or Path(), _Way(max_size, opened=opened))


def load_opened(
    document: Cursor,
    path: Path,
    folder: Path | None = None,
    max_size: int = MAX_SPEC_SIZE,
    opened: OpenFiles = _NONE_OPEN,
) -> Loaded:
    """Load the spec of a file from a document of it that is perhaps not saved.

    It is as :func:`load_document` of the file, whose present text is not read; ``opened`` are the texts of others that
    are not either.

    Raises:
        NetcalcError: as :func:`load_document`.
    """
    real = Path(os.path.realpath(path))
    loaded = _assemble(document, label_of(path), folder or path.parent, _Way(max_size, (real,), opened))
    loaded.path = real
    return loaded


def find_block(name: str, *files: Loaded) -> Block | None:
    """Return a block by name, from the first file that has or imports it, or a shipped one; None if there is none."""
    return next((file.blocks[name] for file in files if name in file.blocks), None) or shipped_block(name)


@cache
def shipped_block(name: str) -> Block | None:
    """Return a block that is shipped with netcalc; None if there is none of that name."""
    path = specs_dir() / "blocks" / f"{name}.yaml"
    return _load(path, _Way(MAX_SPEC_SIZE)).blocks.get(name) if name.isidentifier() and is_file(path) else None


def _resolve(spec: str) -> tuple[Path, tuple[Diagnostic, ...]]:
    """Return the file of a spec, and a warning if its name stands for another one too.

    The first of these counts: a path with a separator or a suffix, a shipped name, an alias, another path, a shipped
    name or alias that is spelled with other hyphens or in another case.
    """
    path = Path(spec)
    written_as_path = path.suffix != "" or "/" in spec or os.sep in spec
    is_name = "/" not in spec and path.suffix not in (".yaml", ".yml")
    if written_as_path and exists(path):
        return path, _shadowed(spec, "the file") if is_name and shipped_file(spec) is not None else ()
    file = shipped_file(spec) or shipped_file(unaliased(spec) or "")
    if file is not None:
        return file, _shadowed(spec, "the shipped spec") if is_name and is_file(path) else ()
    if is_file(path) or path.suffix in (".yaml", ".yml") or "/" in spec:
        return path, ()
    if (name := respelled(spec)) is not None:
        return shipped()[name], ()
    hint = spec_hint(spec) or "`netcalc specs` lists the shipped specs"
    raise NetcalcError(Diagnostic("E005", f"there is no file and no shipped spec {spec!r}", hint=hint))


def _shadowed(spec: str, kind: str) -> tuple[Diagnostic, ...]:
    hint = f"./{spec} is the file" if kind != "the file" else "--set and other options are as for any file"
    return (Diagnostic("W103", f"{spec!r} is a file and the name of a shipped spec; {kind} is used", hint=hint),)


#: Specs read before, by path, resolved path, time of modification and limit on the size.
_READ: dict[tuple[Path, Path, Version, int], Loaded] = {}


def _load(path: Path, way: _Way) -> Loaded:
    if not way.has(path):  # a pipe can be read once
        return _read_spec(path, None, way)
    real = Path(os.path.realpath(path))
    text = way.opened.text(real)
    read = _READ if text is None else way.opened.read
    key = (path, real, version_on_disk(real) if text is None else None, way.max_size)
    found = read.get(key)
    if found is None or not way.opened.are_as(found.files):  # a spec that has been read is not part of a circle
        found = read[key] = _read_spec(path, real, way)
    return found


def _read_spec(path: Path, real: Path | None, way: _Way) -> Loaded:
    label = label_of(path)
    opened = None if real is None else way.opened.text(real)
    text = read_spec(path, label, way.max_size) if opened is None else checked_size(opened, label, way.max_size)
    if way.files and not looks_like_spec(text):  # no part of another file may be shown in a message
        raise NetcalcError(Diagnostic("E004", f"{path} is not a spec: it has no key 'netcalc'"))
    way = way._replace(files=(*way.files, real or path))
    try:
        loaded = _assemble(parse_yaml(text, label), label, path.parent, way)
    except NetcalcError as error:
        if looks_like_spec(text):
            raise
        raise NetcalcError(_without_excerpt(d, label) for d in error.diagnostics) from None
    loaded.path = real
    if opened is not None and real is not None:
        loaded.files = {**loaded.files, real: opened}
    return loaded


def _without_excerpt(error: Diagnostic, label: str) -> Diagnostic:
    """Return an error that shows no line of the file: it may be any file, named by mistake or by another user."""
    return error._replace(span=error.span._replace(text="")) if error.span and error.span.file == label else error


def label_of(path: Path) -> str:
    """Return the name of a file in the places of diagnostics."""
    try:
        return str(path.relative_to(specs_dir().parent))
    except ValueError:
        return str(path)


def _assemble(cursor: Cursor, label: str, folder: Path, way: _Way) -> Loaded:
    own = validate(cursor)
    imported: dict[str, Block] = {}
    parent: Loaded | None = None
    warnings: list[Diagnostic] = []
    if own.extends is not None:
        parent = _load_named(own.extends, cursor["extends"], folder, way)
        inherited = without_names(parent.cursor, cursor)
        cursor, renamed = with_current_names(inherited, cursor)
        warnings += (*parent.warnings, *renamed)
        cursor = merged(inherited, cursor)
        imported |= {name: block for name, block in parent.blocks.items() if name not in parent.document.blocks}
    elif own.without:
        raise cursor["without"].key_error("E105", "without: the spec extends no other one", "add `extends`")
    others = [] if parent is None else [parent]
    for index, name in enumerate(own.import_):
        others.append(_load_named(name, cursor["import"][index], folder, way))
        imported |= others[-1].blocks
    complete = with_appended_lines(cursor)
    document = validate(complete) if own.extends is not None or complete is not cursor else own
    cursor = complete
    loaded = Loaded(document, cursor, label, imported, tuple(warnings), own.extends)
    loaded.parent, loaded.has_own_lines = parent, bool(own.layers)
    for other in others:
        loaded.files = {**loaded.files, **other.files}
        if other.path is not None:
            loaded.files = {other.path: version_on_disk(other.path), **loaded.files}
    for name, decl in document.blocks.items():
        if name in MODIFIERS or name == SEQUENCE or ops.find(name) is not None:
            kind = "a modifier" if name in MODIFIERS else "an operation"
            raise cursor["blocks"][name].key_error("E106", f"a block cannot be named {name!r}, the name of {kind}")
        loaded.blocks[name] = Block(name, decl, cursor["blocks"][name], loaded)
    return loaded


def _load_named(name: str, cursor: Cursor, folder: Path, way: _Way) -> Loaded:
    """Load the file that ``extends`` or ``import`` names, from the folder of the spec or the shipped specs."""
    stem = name if name.endswith((".yaml", ".yml")) else f"{name}.yaml"
    candidates = [folder / stem, specs_dir() / stem]
    with _at(cursor):
        path = next((c for c in candidates if way.has(c)), shipped_file(name)) or shipped().get(respelled(name) or "")
    if path is None:
        raise cursor.error(
            "E005",
            f"there is no file {stem!r} in the folder of this spec or among the shipped specs",
            did_you_mean(name, [f"blocks/{b}" for b in shipped_blocks()]) if "/" in name else spec_hint(name),
        )
    if Path(os.path.realpath(path)) in way.files:
        raise cursor.error("E006", f"{name!r} extends or imports itself, directly or through other specs")
    if len(way.files) >= MAX_EXTENDS:
        raise cursor.error("E006", f"over {MAX_EXTENDS} specs that extend or import each other")
    with _at(cursor):
        return _load(path, way if way.files else way._replace(files=(Path(),)))


@contextmanager
def _at(cursor: Cursor) -> Iterator[None]:
    """Give errors without a place that of the name of a file."""
    try:
        yield
    except NetcalcError as error:
        raise NetcalcError(d if d.span else d._replace(span=cursor.span) for d in error.diagnostics) from None

"""Warnings about names that a spec declares or sets, and that nothing uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from netcalc.diagnostics import Diagnostic
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.evaluate import used_by_others, words_in
from netcalc.spec.library import Loaded, find_block

#: Keys of a spec that hold no expressions.
_ABOUT = ("name", "family", "published", "aliases", "extends", "import")


def unused_names(loaded: Loaded, called: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return a warning (W101) for every block, argument, var and dim of the spec's own file that nothing uses.

    A name is used if it occurs in the spec outside its own declaration, whatever the conditions around that place.

    Args:
        loaded: the spec.
        called: names of its blocks that were called, shipped blocks calling them included.
    """
    return kept(loaded.derived, (unused_names, frozenset(called)), lambda: tuple(_unused_names(loaded, called)))


def _unused_names(loaded: Loaded, called: Collection[str]) -> Iterator[Diagnostic]:
    cursor = loaded.cursor
    rest = words_in({key: value for key, value in cursor.data.items() if key not in ("dims", "vars", *_ABOUT)})
    defaults = used_by_others(
        {name: words_in(value) for kind in ("dims", "vars") for name, value in (cursor.data.get(kind) or {}).items()}
    )
    for kind in ("dims", "vars"):
        for name, place in _own_entries(cursor, kind, loaded.label):
            if name not in rest and name not in defaults:
                yield _unused_warning(f"{kind[:-1]} {name!r}", place)
    yield from _unused_blocks(loaded, called)


def _unused_blocks(loaded: Loaded, called: Collection[str]) -> Iterator[Diagnostic]:
    blocks = dict(_own_entries(loaded.cursor, "blocks", loaded.label))
    if not blocks:
        return
    data = loaded.cursor.data
    outside = words_in({key: value for key, value in data.items() if key not in ("blocks", *_ABOUT)}, keys=True)
    bodies = used_by_others({name: words_in(body, keys=True) for name, body in data["blocks"].items()})
    for name, place in blocks.items():
        if name not in called and name not in outside and name not in bodies:
            yield _unused_warning(f"block {name!r}", place)
        elif name not in loaded.inherited and find_block(name) is None:  # else it takes the arguments of another block
            yield from _unused_arguments(name, place)


def _unused_arguments(block: str, cursor: Cursor) -> Iterator[Diagnostic]:
    arguments = cursor["args"].items() if cursor.data.get("args") else ()
    body = words_in({key: value for key, value in cursor.data.items() if key not in ("args", "inputs")})
    defaults = used_by_others({name: words_in(value) for name, value in (cursor.data.get("args") or {}).items()})
    for name, place in arguments:
        if name not in body and name not in defaults:
            yield _unused_warning(f"argument {name!r} of {block!r}", place)


def _own_entries(cursor: Cursor, key: str, label: str) -> Iterator[tuple[str, Cursor]]:
    """Yield the entries under a key that are in the file of the spec, not in one that it extends."""
    for name, place in cursor[key].items() if cursor.data.get(key) else ():
        if place.key_span is not None and place.key_span.file == label:
            yield name, place


def _unused_warning(what: str, place: Cursor) -> Diagnostic:
    return Diagnostic("W101", f"{what} is not used", place.key_span)

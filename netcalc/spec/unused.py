"""Warnings about names that a spec declares or sets, and that nothing uses."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.evaluate import used_by_others, words_in
from netcalc.spec.left_out import left_out_with
from netcalc.spec.library import Loaded, find_block
from netcalc.spec.main_sketches import Main
from netcalc.spec.settings import Settings, former_vars
from netcalc.spec.unread import ABOUT, declared_input, lost_names, replaced_spec


class _Facts(NamedTuple):
    """All that warnings depend on beside the spec."""

    called: frozenset[tuple[str, str]]  # blocks, by name and file
    options: tuple[tuple[str, str], ...]  # names of dims and vars, with the options that set them
    taken: frozenset[str]  # declared inputs that a line takes
    unread: tuple[str, ...]  # declared inputs that no line reads


def unused_names(loaded: Loaded, settings: Settings, main: Main, unread: Collection[str]) -> tuple[Diagnostic, ...]:
    """Return a warning (W101) for everything that the spec's own file or an option sets, and that nothing uses.

    These are blocks, arguments, vars and dims of the file, and inputs.  A name is used if it occurs in the spec outside
    its own declaration, whatever the conditions around that place.  With ``layers`` in place of those of an extended
    spec, a dim or var that the other lines read is used only if the new ones read it, or inputs that they read do.

    Args:
        loaded: the spec.
        settings: its dims and vars.
        main: its elaborated lines.
        unread: the inputs of the program that no line reads.
    """
    facts = _Facts(
        main.called,
        tuple((name, option) for name in settings if (option := settings.option(name)) is not None),
        frozenset(declared_input(loaded, spec.name) for spec in main.inputs if spec.name not in main.untaken),
        tuple(dict.fromkeys(declared_input(loaded, name) for name in unread)),
    )
    return kept(loaded.derived, facts, lambda: tuple(_unused_names(loaded, facts)))


def _unused_names(loaded: Loaded, facts: _Facts) -> Iterator[Diagnostic]:
    cursor = loaded.cursor
    former = former_vars(loaded)

    def words(data: Any) -> set[str]:
        return {former.get(word, word) for word in words_in(data)}

    declared = {name: value for kind in ("dims", "vars") for name, value in (cursor.data.get(kind) or {}).items()}
    used = words({key: value for key, value in cursor.data.items() if key not in ("dims", "vars", *ABOUT)})
    used |= used_by_others({name: words(value) for name, value in declared.items()})
    blocks = dict(_own_entries(cursor, "blocks", loaded.label))
    called = {name for name, file in facts.called if file == loaded.label}  # by shipped blocks too
    lost = lost_names(loaded, facts.taken, {*blocks, *called})
    reason = _reason(loaded)
    for kind in ("dims", "vars"):
        for name, place in _own_entries(cursor, kind, loaded.label):
            if name not in used or name in lost:
                yield _unused_warning(f"{kind[:-1]} {name!r}", place, reason if name in lost else None)
    for name, option in facts.options:
        if name in lost:
            kind = "dim" if name in loaded.document.dims else "var"
            hint = f"{reason}; {_leaving_out(name, loaded)}"
            yield Diagnostic("W101", f"{option}: the {kind} {name!r} is not used", hint=hint)
    yield from _unread_inputs(loaded, facts.unread, reason)
    if blocks:
        others = sorted({name for name, _ in facts.called} - {*blocks})
        yield from _unused_blocks(loaded, blocks, called, others)


def _leaving_out(name: str, loaded: Loaded) -> str:
    """Return the lines that leave out a dim or var that nothing reads, and all that cannot stay without it."""
    names = left_out_with(name, loaded.cursor.data)
    listed = ", ".join(f"'{other}'" if "*" in other else other for other in names)
    return f"`without: [{listed}]` leaves {'it' if len(names) == 1 else 'them'} out"


def _reason(loaded: Loaded) -> str | None:
    """Return the reason why names of an extended spec are not used; None if its lines are not replaced."""
    replaced = replaced_spec(loaded)
    if replaced is None:
        return None
    place = loaded.cursor["layers"].key_span
    owner = "your `layers`" if place is None or place.file == loaded.label else f"the `layers` of {place.file}"
    return f"{owner} replace those of {replaced.document.name or replaced.label}, which read it"


def _unread_inputs(loaded: Loaded, names: Collection[str], reason: str | None) -> Iterator[Diagnostic]:
    own = dict(_own_entries(loaded.cursor, "inputs", loaded.label))
    for name in names:
        if name in own or reason is None:
            yield _unused_warning(f"input {name!r}", loaded.cursor["inputs"][name])
    inherited = [repr(name) for name in names if name not in own]
    if inherited and reason is not None:
        kind, verb = ("input", "is") if len(inherited) == 1 else ("inputs", "are")
        hint = reason if len(inherited) == 1 else reason.replace("read it", "read them")
        yield Diagnostic(
            "W101", f"{kind} {', '.join(inherited)} {verb} not used", loaded.cursor["layers"].key_span, hint=hint
        )


def _unused_blocks(
    loaded: Loaded, blocks: Mapping[str, Cursor], called: Collection[str], others: Collection[str]
) -> Iterator[Diagnostic]:
    """Yield the warnings about blocks; ``called`` are those of the spec that are called, and ``others`` all others."""
    data = loaded.cursor.data
    outside = words_in({key: value for key, value in data.items() if key not in ("blocks", *ABOUT)}, keys=True)
    bodies = used_by_others({name: words_in(body, keys=True) for name, body in data["blocks"].items()})
    for name, place in blocks.items():
        replaces = find_block(name) is not None or (loaded.parent is not None and name in loaded.parent.blocks)
        if name not in called and name not in outside and name not in bodies:
            hint = f"the lines call {', '.join(others) or 'no block'}" if replaces or loaded.parent else None
            yield _unused_warning(f"block {name!r}", place, hint)
        elif not replaces:  # else it takes the arguments of another block
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


def _unused_warning(what: str, place: Cursor, hint: str | None = None) -> Diagnostic:
    return Diagnostic("W101", f"{what} is not used", place.key_span, hint=hint)

"""Inputs that no line reads, and names that only the replaced lines of an extended spec read.

A spec with ``layers`` of its own inherits the dims, vars and inputs of the lines that it replaces.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from netcalc.spec.cursor import kept
from netcalc.spec.evaluate import words_in
from netcalc.spec.library import Loaded
from netcalc.spec.mentions import mentioned_inputs
from netcalc.spec.settings import former_vars

#: Keys of a spec that describe it.
ABOUT = ("name", "family", "architecture", "published", "budget", "aliases", "tags", "extends", "import")
#: Keys of a spec whose entries count as read where they are used.
_NAMED = ("dims", "vars", "inputs", "blocks")
#: Keys of a spec that read nothing; a requirement constrains what others read.
_READ_NOTHING = (*ABOUT, "notes", "outputs", "require")


def unread_inputs(loaded: Loaded, untaken: Iterable[str]) -> tuple[str, ...]:
    """Return the inputs of a program that no line reads, not even their shapes.

    Args:
        loaded: the spec.
        untaken: names of the inputs that no operation or block takes, and that are no outputs.
    """
    mentioned = _mentioned_inputs(loaded)
    return tuple(name for name in untaken if declared_input(loaded, name) not in mentioned)


def declared_input(loaded: Loaded, name: str) -> str:
    """Return the name under which an input is declared: ``past_key_values.*.key`` for ``past_key_values.0.key``."""
    declared = loaded.document.inputs
    parts = name.split(".")
    lists = (".".join([*parts[:n], "*", *parts[n + 1 :]]) for n, part in enumerate(parts) if part.isdecimal())
    return name if name in declared else next(each for each in lists if each in declared)


def lost_names(loaded: Loaded, taken: frozenset[str], blocks: Collection[str]) -> frozenset[str]:
    """Return the dims and vars that lines of an extended spec read, and nothing reads as the lines are replaced.

    Args:
        loaded: the spec.
        taken: the inputs, as they are declared, that an operation or block takes.
        blocks: names of the blocks of the spec that are used.
    """
    replaced = replaced_spec(loaded)
    if replaced is None:
        return frozenset()
    before = _read_names(replaced, frozenset(replaced.document.inputs), frozenset(replaced.document.blocks))
    return before - _read_names(loaded, taken | _mentioned_inputs(loaded), frozenset(blocks))


def replaced_spec(loaded: Loaded) -> Loaded | None:
    """Return the extended spec whose ``layers`` are replaced; None if there is none."""
    while not loaded.has_own_lines and loaded.parent is not None:
        loaded = loaded.parent
    return loaded.parent


def _mentioned_inputs(loaded: Loaded) -> frozenset[str]:
    """Return the declared inputs that occur in lines and outputs."""
    lines = [loaded.cursor.data.get(key) for key in ("layers", "patch", "outputs")]
    return kept(loaded.derived, mentioned_inputs, lambda: mentioned_inputs(loaded.document.inputs, lines))


def _read_names(loaded: Loaded, inputs: frozenset[str], blocks: frozenset[str]) -> frozenset[str]:
    """Return the dims and vars that lines and these inputs and blocks read, directly or by what they use."""

    def read() -> frozenset[str]:
        data = loaded.cursor.data
        former = former_vars(loaded)
        declared = {n: words_in(value) for kind in ("dims", "vars") for n, value in (data.get(kind) or {}).items()}
        rest = {key: value for key, value in data.items() if key not in (*_NAMED, *_READ_NOTHING)}
        pending = [words_in([rest, *(data["inputs"][n] for n in inputs), *(data["blocks"][n] for n in blocks)])]
        reached: set[str] = set()
        while pending:
            names = {former.get(word, word) for word in pending.pop()} & declared.keys() - reached
            reached |= names
            pending += (declared[name] for name in names)
        return frozenset(reached)

    return kept(loaded.derived, (_read_names, inputs, blocks), read)

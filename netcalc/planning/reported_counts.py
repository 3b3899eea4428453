"""A value under choices of counting, and the layers whose work or parameters a choice may leave out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from netcalc.analysis.conventions import CONVENTIONS, Convention, convention_named
from netcalc.analysis.rows import Row
from netcalc.diagnostics import Diagnostic, NetcalcError

#: Values are stored times this factor, so that halves of halves are whole numbers.
FACTOR = 4
#: Operations that look up vectors, and those that give vectors of positions.
EMBEDDINGS = ("embedding", "embedding_bag")
POSITIONS = ("learned_positions", "relative_position_bias", "t5_position_bias")


class Counted(NamedTuple):
    """A value with the choices that give it; ``scaled`` is the value times :data:`FACTOR`."""

    scaled: int
    changes: int
    rank: tuple[int, ...]
    choices: tuple[str, ...]
    settings: tuple[tuple[str, int], ...]
    convention: str
    verb: str
    base: int
    """The figure that the command prints."""
    arithmetic: tuple[str, ...]
    options: tuple[str, ...] = ()
    """Further words of the command."""
    again: Callable[[], int | None] | None = None
    """Function that counts the value at its sizes, for one that is derived from counts at others."""


def searched_conventions(own: str | None) -> Mapping[str, Convention]:
    """Return the shipped conventions and that of a user's file, by name.

    Raises:
        NetcalcError: E502 for a shipped convention, which is searched anyway; as
            :func:`~netcalc.analysis.conventions.convention_named` does.
    """
    if own is None:
        return CONVENTIONS
    if own in CONVENTIONS:
        hint = "leave it out, or name the file of a convention of your own"
        raise NetcalcError(Diagnostic("E502", f"--convention {own}: all shipped conventions are searched", hint=hint))
    return {**CONVENTIONS, own: convention_named(own)}


def head_of(rows: Sequence[Row]) -> Row | None:
    """Return the last linear layer, if it is not repeated."""
    last = next((row for row in reversed(rows) if row.op == "linear"), None)
    return last if last is not None and last.repeat == 1 else None


def exclusion_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """Return the words of a command that leave layers out; none where one of them is repeated."""
    rows = [*rows]
    if any(row.repeat != 1 for row in rows):
        return ()
    return tuple(word for path in dict.fromkeys(row.path for row in rows) for word in ("--exclude", path))


def and_text(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)

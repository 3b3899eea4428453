"""Places of parameters in a reference's checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netcalc.diagnostics import NetcalcError
from netcalc.dims import keeps_formulas
from netcalc.ir import CheckpointEntry, CheckpointLocation, CheckpointMap, captures_of
from netcalc.limits import MAX_STORED_TENSORS
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import CheckpointDecl, SourceDecl
from netcalc.spec.evaluate import evaluate, evaluate_expression, evaluate_size, names_in
from netcalc.spec.reporter import Reporter
from netcalc.spec.scope import Scope

#: Expressions in a name, and the text in between.
_PARTS = re.compile(r"(\$\{[^}]*\})")


def checkpoint_entries(
    reporter: Reporter,
    declared: Mapping[str, CheckpointDecl | str],
    cursor: Cursor,
    scope: Scope,
    reference: bool = False,
) -> CheckpointMap:
    """Return the entries under ``checkpoint``; errors in them are reported.

    ``reference`` is True if the reference has the parameters at the first places of all entries.
    """
    if keeps_formulas():  # the file of symbolic sizes is not read
        return CheckpointMap()
    read = (
        reporter.guard(_Reader(path, scope, *captures_of(path)).entry, decl, cursor["checkpoint"][path])
        for path, decl in declared.items()
    )
    entries = tuple(entry for entry in read if entry is not None)
    return CheckpointMap(tuple(entry._replace(reference=True) for entry in entries) if reference else entries)


class _Reader(NamedTuple):
    """Reader of the entry at ``path``, with the names of the numbers in this pattern and the number of its ``*``."""

    path: str
    scope: Scope
    numbers: frozenset[str]
    stars: int

    def entry(self, decl: CheckpointDecl | str, cursor: Cursor) -> CheckpointEntry:
        if "{}" in self.path:
            hint = "for example {i}, which is i in the expressions of the name"
            raise cursor.key_error("E104", "a number in a pattern needs a name", hint)
        optional = isinstance(decl, CheckpointDecl) and decl.optional
        reference = isinstance(decl, CheckpointDecl) and decl.reference
        if isinstance(decl, CheckpointDecl) and decl.any_ is not None:
            others = set(cursor.data) - {"any", "optional", "reference"}
            if others:
                hint = "write it in the entries of the list"
                raise _error(f"{min(others)!r} cannot be given beside 'any'", cursor[min(others)], hint)
            places = list(zip(decl.any_, cursor["any"].elements(), strict=True))
        else:
            places = [(decl, cursor)]
        free = names_in(cursor.data) - self.numbers if self.numbers else ()
        texts = {name: evaluate_expression(cursor.replaced(name), self.scope) for name in free}
        locations = tuple(self.location(*place) for place in places)
        return CheckpointEntry(self.path, locations, optional, texts, reference)

    def location(self, decl: SourceDecl | str, cursor: Cursor, numbered: bool = False) -> CheckpointLocation:
        """Return a location; ``numbered`` is True in an entry that stands for several numbers."""
        if isinstance(decl, str):
            return CheckpointLocation.of(self.name(decl, cursor, numbered))
        joined, count = decl.stack is not True, self.stacked(decl, cursor)
        if count is not None and numbered:
            raise _error("stack: a stack inside another", cursor["stack"])
        place = cursor["from"] if "from" in cursor.data else cursor["name"] if "name" in cursor.data else cursor
        inner = numbered or count is not None
        sources: tuple[str | CheckpointLocation, ...]
        if isinstance(decl.name, list):
            items = zip(decl.name, place.elements(), strict=True)
            sources = tuple(
                self.name(item, at, inner) if isinstance(item, str) else self.location(item, at, inner)
                for item, at in items
            )
        else:
            if not joined:
                raise _error("stack: true takes a list of tensors", cursor["stack"])
            own = re.sub(r"\{(\w+)\}", r"${\1}", self.path)
            sources = (self.name(own if decl.name is None else decl.name, place, inner),)
        chunk, part = self.range(decl.chunk, cursor, "chunk"), self.range(decl.slice, cursor, "slice")
        parts = self.interleaved(decl, cursor)
        return CheckpointLocation(
            sources, decl.axis, not joined, chunk, part, decl.transpose, count, decl.flatten, parts
        )

    def interleaved(self, decl: SourceDecl, cursor: Cursor) -> int | None:
        """Return the number of parts whose halves are stored in turn; None if the halves follow each other."""
        if decl.interleaved is None:
            return None
        parts = evaluate_size(cursor["interleaved"], self.scope)
        if not isinstance(parts, int) or parts < 1:
            raise _error("interleaved: should be a number of parts", cursor["interleaved"])
        return parts

    def stacked(self, decl: SourceDecl, cursor: Cursor) -> int | None:
        """Return the number of tensors under ``stack``; None if it gives no number."""
        if isinstance(decl.stack, bool) or decl.stack is None:
            return None
        count = evaluate_size(cursor["stack"], self.scope)
        if not isinstance(count, int):
            raise _error("stack: should be a number of tensors", cursor["stack"])
        if count > MAX_STORED_TENSORS:
            raise _error(f"stack: too many tensors, and the limit is {MAX_STORED_TENSORS:,}", cursor["stack"])
        return count

    def name(self, text: str, cursor: Cursor, numbered: bool) -> str:
        """Return a name with those expressions replaced that do not use numbers of the pattern."""
        parts = _PARTS.split(text)
        plain = "".join(parts[::2])
        if plain.count("{}") != numbered:
            hint = "write {} once in the name, in place of the number of each tensor"
            if not numbered:
                raise _error(
                    f"{text!r} names several tensors, and 'stack' is missing", cursor, "add stack: their number"
                )
            raise _error("stack: should be a number of tensors, each with its own name", cursor, hint)
        if plain.count("*") > self.stars:
            message = f"{text!r} has more '*' than the path {self.path!r}"
            raise _error(message, cursor, "each * in a name is the text that a * of the path matches")
        for i, part in enumerate(parts):
            if i % 2 and not names_in(part) & self.numbers:
                parts[i] = str(evaluate(cursor.replaced(part), self.scope))
        return "".join(parts)

    def range(self, declared: Sequence[int | str] | None, cursor: Cursor, key: str) -> tuple[int, int] | None:
        """Return the two numbers of a chunk or slice."""
        if declared is None:
            return None
        first, second = (evaluate_expression(item, self.scope) for item in cursor[key].elements())
        if not (type(first) is int and type(second) is int):
            raise _error(f"{key} [{first}, {second}] should be two whole numbers", cursor[key])
        if not 0 <= first < second:
            allowed = f"the {'index' if key == 'chunk' else 'start'} should be from 0 to {second - 1}"
            raise _error(f"{key} [{first}, {second}] is out of range: {allowed}", cursor[key])
        return first, second


def _error(message: str, cursor: Cursor, hint: str | None = None) -> NetcalcError:
    return cursor.error("E104", message, hint)

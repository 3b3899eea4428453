"""Programs in which sizes are symbols as far as a spec permits it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.formats.export.torch.expressions import symbols_of
from netcalc.ir import Body, CallNode, Program
from netcalc.request import Request


def symbolic_program(request: Request, without: Collection[str] = ()) -> Program:
    """Return the program with as many dims and vars as symbols as can be, the first of them preferred.

    A size that must have its value, and one that decides which inputs and outputs there are, is a number, and so are
    those of the names ``without``.

    Raises:
        NetcalcError: an error in the spec or in the settings.
    """
    request = request.executed
    base = request.program
    sizes = [name for name in base.dims if name not in request.symbolic]
    numbers = [name for name, value in base.vars.items() if isinstance(value, int) and not isinstance(value, bool)]
    return _Search(request, base).program([name for name in (*sizes, *numbers) if name not in without])


def counts(program: Program) -> set[str]:
    """Return the symbols that numbers of layers have."""
    return {name for _, call in _calls(program.main) for name in symbols_of(call.times)}


#: Elaborations in search of symbols, of all sizes and then of those of the data alone.
_ATTEMPTS = 5


class _Search:
    """Search for the names that may be symbols: without those that an error names, or sizes of the data alone."""

    def __init__(self, request: Request, base: Program) -> None:
        self._request = request
        self._base = base

    def program(self, names: Sequence[str]) -> Program:
        """Return the program with as many of the names as symbols as were found to be possible."""
        for candidates in (names, [name for name in names if name in self._base.dims]):
            found = self._without_refused(candidates)
            if found is not None:
                return found
        return self._base

    def _without_refused(self, names: Sequence[str]) -> Program | None:
        for _ in range(_ATTEMPTS):
            found = self._with(names)
            if isinstance(found, Program):
                pinned = (_pinned(found) | _out_of_order(found, self._base)) & {*names}
                if not pinned:
                    return found
                names = [name for name in names if name not in pinned]
                continue
            if not found:
                return None
            # a number rather than a size of the data
            chosen = [name for name in found if name not in self._base.dims] or found
            names = [name for name in names if name not in chosen]
        return None

    def _with(self, names: Sequence[str]) -> Program | list[str]:
        """Return the program with symbols; the names of some that must be numbers if it does not exist."""
        try:
            program = replace(self._request, symbolic=(*self._request.symbolic, *names)).program
        except NetcalcError as error:
            if empty := [name for name in names if self._base.dims.get(name) == 0]:
                return empty  # with these there are inputs that need other numbers, as caches that of the layers
            text = " ".join(diagnostic.message for diagnostic in error.diagnostics)
            words = set(re.findall(r"\w+", text))
            return [name for name in names if name in words]
        absent = {i.name for i in self._base.inputs} ^ {i.name for i in program.inputs}
        if absent or program.output_names != self._base.output_names:
            return [name for name in names if self._base.dims.get(name) == 0]
        return program


def _out_of_order(program: Program, base: Program) -> set[str]:
    """Return the symbols of layers that take turns, which a symbolic program counts by kinds, without their order."""
    known = {(path, call.times) for path, call in _calls(base.main) if call.start is None}
    names: set[str] = set()
    for path, call in _calls(program.main):
        times: Any = call.times
        if call.start is None and not isinstance(times, int) and (path, times.at({})) not in known:
            names |= {*symbols_of(times)}
    return names


def _calls(body: Body, path: str = "") -> Iterator[tuple[str, CallNode]]:
    """Yield the calls in a body and in the bodies that it calls, with their paths."""
    for node in body.nodes:
        if isinstance(node, CallNode):
            name = f"{path}.{node.name}"
            yield name, node
            yield from _calls(node.body, name)


def _pinned(program: Program) -> set[str]:
    """Return the symbols that an assumption of the program permits one value only."""
    names: set[str] = set()
    for assumption in program.assumptions:
        if assumption.relation != "==":
            continue
        symbols = {name for side in (assumption.left, assumption.right) for name in symbols_of(side)}
        if len(symbols) == 1:
            names |= symbols
    return names

"""Conventions of the memory of caches, read from ``data/cache_conventions.yaml``.

A convention has these keys::

    about, source: text
    cells: expression      # of `positions`: the cells of a sequence in a cache of all positions
    windowed: expression   # of `positions` and `window`: its cells in a layer whose queries see a window
    mixed: expression      # the same in a network that has layers without windows too; `windowed` if it is left out
    windows: {read: {NAME: TEXT}, ignored: {NAME: TEXT}}
    states: [{architecture: NAME, name: PATTERN, type: TYPE}]

``windows`` says by the ``architecture`` of a spec which windows the tool reads, with the tool's name of it or the
reason; the layers of all others have cells for all positions.  Without ``read`` the tool reads all that it does not
ignore.  The first of ``states`` that matches the architecture and the name of a state gives its element type, ``model``
for the type of the network; a state that none matches keeps its own.  States have a fixed size.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim
from netcalc.dtypes import ITEMSIZE
from netcalc.expressions import Expression, parse

CacheName: TypeAlias = Literal["ideal", "vllm", "vllm-hybrid", "llama.cpp"]

_FILE = Path(__file__).parent.parent.parent / "data" / "cache_conventions.yaml"


class StateType(NamedTuple):
    """The element type of states whose names match a pattern, in one architecture or, for None, in all."""

    architecture: str | None
    name: str
    dtype: str


class CacheConvention(NamedTuple):
    """A way to reserve memory for caches; the expressions give the cells of a sequence.

    ``read`` and ``ignored`` have texts by architectures, and ``read`` is None if all windows are read that are not
    ignored.
    """

    name: str
    about: str
    source: str
    cells: Expression
    windowed: Expression
    mixed: Expression
    read: Mapping[str, str] | None = None
    ignored: Mapping[str, str] = {}
    states: tuple[StateType, ...] = ()

    def applied(self, architecture: str, dtype: str, windows: Collection[Dim | None]) -> Self:
        """Return the convention for a network.

        Args:
            architecture: its architecture, empty if it is not known.
            dtype: element type of the network.
            windows: of its caches, None for one that has all positions.
        """
        states = tuple(
            state._replace(dtype=dtype if state.dtype == "model" else state.dtype)
            for state in self.states
            if state.architecture in (None, architecture)
        )
        windowed, about = self.mixed if None in windows else self.windowed, self.about
        if set(windows) - {None} and (reason := self._unread(architecture)):
            windowed, about = self.cells, f"{self.about}. {reason}"
        return self._replace(about=about, windowed=windowed, mixed=windowed, states=states)

    def _unread(self, architecture: str) -> str:
        """Return the reason why the windows of an architecture are not read; empty if they are."""
        if architecture in self.ignored:
            return f"Windows are not read here ({self.ignored[architecture]})"
        if self.read is None or architecture in self.read:
            return ""
        return f"No window is taken as read: the architecture is {architecture or 'not known'}"

    def state_type(self, name: str) -> ElementType | None:
        """Return the element type of a state of floating-point numbers; None for its own."""
        return next((own_type(state.dtype) for state in self.states if fnmatchcase(name, state.name)), None)

    def formula(self, window: Dim | None) -> Expression:
        """Return the expression that counts for a layer."""
        return self.cells if window is None else self.windowed

    def reserved(self, positions: Dim, window: Dim | None) -> Dim:
        """Return the cells that a cache takes for each sequence after so many positions."""
        cells: Dim = self.formula(window).evaluate({"positions": positions, "window": window})
        return cells


class ElementType(NamedTuple):
    """The type of the elements of a cache: ``block`` of them along the last axis take ``bytes``."""

    name: str
    """Type of the elements."""
    block: int
    bytes: int

    def size(self, elements: Dim, last: Dim) -> Dim:
        """Return the bytes of so many elements, in rows of ``last``; NetcalcError (E502) if blocks do not fill rows."""
        if self.block > 1 and (not isinstance(last, int) or last % self.block):
            message = f"--cache-dtype {self.name}: rows of {last} elements are no multiple of {self.block}"
            raise NetcalcError(Diagnostic("E502", message))
        return elements // self.block * self.bytes


@cache
def conventions() -> Mapping[str, CacheConvention]:
    """Return all conventions by name."""
    return {
        name: CacheConvention(
            name,
            entry["about"],
            entry["source"],
            parse(entry["cells"]),
            parse(entry["windowed"]),
            parse(entry.get("mixed", entry["windowed"])),
            entry.get("windows", {}).get("read"),
            entry.get("windows", {}).get("ignored", {}),
            tuple(
                StateType(state.get("architecture"), state.get("name", "*"), state["type"])
                for state in entry.get("states", ())
            ),
        )
        for name, entry in _declarations()["conventions"].items()
    }


def convention_named(name: str) -> CacheConvention:
    """Return a convention; NetcalcError (E502) if there is none of that name."""
    declared = conventions()
    if name not in declared:
        hint = did_you_mean(name, declared) or f"known here: {', '.join(declared)}"
        raise NetcalcError(Diagnostic("E502", f"--cache {name}: there is no such convention of caches", hint=hint))
    return declared[name]


def element_type(name: str) -> ElementType:
    """Return the element type of caches by one of its names; NetcalcError (E502) if there is none."""
    types = _declarations()["types"]
    for own, entry in types.items():
        if name == own or name in entry["names"]:
            return ElementType(own, 1, entry["bits"] // 8)
    from netcalc.schemes.scheme import is_scheme, scheme_named

    if is_scheme(name) and (scheme := scheme_named(name)).along_last:
        elements = scheme.block[-1].evaluate({})
        return ElementType(name, elements, scheme.tensors[0].bytes.evaluate({"n": elements}))
    names = [*types, *(other for entry in types.values() for other in entry["names"])]
    hint = did_you_mean(name, names) or f"for example {', '.join([*types, 'q8_0'])}"
    raise NetcalcError(Diagnostic("E502", f"--cache-dtype {name}: there is no such element type of caches", hint=hint))


def own_type(dtype: str) -> ElementType:
    """Return the element type of a cache that has the element type of the network."""
    return ElementType(dtype, 1, ITEMSIZE[dtype])


@cache
def _declarations() -> Mapping[str, Any]:
    from netcalc.spec.yaml_document import parse_yaml

    data: Mapping[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return data

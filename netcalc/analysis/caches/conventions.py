"""Conventions of the memory of caches, read from ``data/conventions/caches.yaml``.

A convention has these keys::

    about, source: text
    cells: expression      # of `positions`: the cells of a sequence in a cache of all positions
    windowed: expression   # of `positions` and `window`: its cells in a layer whose queries see a window

States have a fixed size under all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim
from netcalc.dtypes import ITEMSIZE
from netcalc.expressions import Expression, parse

CacheName: TypeAlias = Literal["ideal", "vllm", "llama.cpp"]

_FILE = Path(__file__).parent.parent.parent / "data" / "conventions" / "caches.yaml"


class CacheConvention(NamedTuple):
    """A way to reserve memory for caches; the expressions give the cells of a sequence."""

    name: str
    about: str
    source: str
    cells: Expression
    windowed: Expression

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
        name: CacheConvention(name, entry["about"], entry["source"], parse(entry["cells"]), parse(entry["windowed"]))
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

"""The greatest module of a network in a figure: modules without children, and blocks that the reference keeps whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import NamedTuple

from netcalc.analysis.conventions.modules import is_whole
from netcalc.analysis.cost import Analysis, Row
from netcalc.dims import Dim, maximum

#: Operations whose tensors belong to the module around them.
_OF_OUTER = ("parameter", "relative_position_bias", "relative_position_lookup")


class _Module(NamedTuple):
    path: str
    title: str
    counted: Dim


def greatest_module(analysis: Analysis, count: Callable[[Row], Dim]) -> tuple[Dim, tuple[str, ...]]:
    """Return the greatest figure of a module, and the titles of the modules that have it.

    A module that has others counts by these: tensors of its own are left out.  Tensors of the network itself count one
    by one.  With symbolic sizes there are no titles.

    Args:
        analysis: the layers.
        count: function that returns the figure of one instance of an operation.
    """
    names = (analysis.program.name, analysis.program.architecture)
    whole = cache(partial(is_whole, names=names))
    modules = [module for row in analysis.tree() for module in _modules(row, count, whole)]
    outer = set(_outer(module.path for module in modules))
    modules = [module for module in modules if module.path not in outer]
    greatest: Dim = 0
    for module in modules:
        greatest = maximum(greatest, module.counted)
    titles = (module.title for module in modules if isinstance(greatest, int) and module.counted == greatest)
    return greatest, tuple(dict.fromkeys(titles))


def _outer(paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of the modules around others."""
    for path in paths:
        while path := path.rpartition(".")[0]:
            yield path


def _modules(row: Row, count: Callable[[Row], Dim], whole: Callable[[str], bool]) -> Iterator[_Module]:
    if row.children and not whole(row.op):
        for child in row.children:
            yield from _modules(child, count, whole)
        return
    counted, outer = _sum(row, count), row.path.rpartition(".")[0]
    if counted == 0:
        return
    if row.op in _OF_OUTER and outer:
        yield _Module(outer, row.title.rpartition(".")[0], counted)
    else:
        yield _Module(row.path, row.title, counted)


def _sum(row: Row, count: Callable[[Row], Dim]) -> Dim:
    if not row.children:
        return count(row)
    total: Dim = 0
    for child in row.children:
        total = total + child.repeat * _sum(child, count)
    return total

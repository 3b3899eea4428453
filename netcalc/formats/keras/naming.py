"""Paths of layers: a tree of modules by the names of layers, which are a flat list in most models of Keras.

Layers in a row whose names begin alike, up to a part with a number, are a module: ``conv2_block1_1_conv`` and
``conv2_block1_1_bn`` are the lines ``conv`` and ``bn`` of ``conv2.block1.1``.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from netcalc.formats.graph.items import spec_name

#: Classes that Keras exports under another name than their own.
_EXPORTED = {"GroupQueryAttention": "GroupedQueryAttention"}


def snake_case(name: str) -> str:
    """Return the name of a class as Keras writes it in names of layers and groups of files: ``max_pooling2d``."""
    name = re.sub(r"\W+", "", _EXPORTED.get(name, name))
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def is_automatic(name: str, kind: str) -> bool:
    """Return True for a name that Keras gives to a layer without one: the name of its class, and a number."""
    return re.fullmatch(rf"{re.escape(snake_case(kind))}(_\d+)?", name) is not None


def plain_name(name: str) -> str:
    """Return a name without dots, which would be a path, as a spec can have it."""
    text = spec_name(name.replace(".", "_").replace("/", "_")).strip("-_.") or "layer"
    return text if not text[0].isdigit() else f"layer_{text}"


def module_paths(
    names: Sequence[str], before: Mapping[str, Collection[str]], automatic: Collection[str]
) -> dict[str, str]:
    """Return the paths of layers, with dots between modules.

    Args:
        names: the names of the layers, in the order of their calls.
        before: the names of the layers that each takes results of.
        automatic: those of them that Keras named, and that have no weights: they belong to the module of the layer
            before, if they take its result.
    """
    own = [name for name in names if name not in automatic]
    groups = _groups(own)
    paths: dict[str, str] = {}
    taken: set[str] = set()
    at: tuple[str, ...] = ()
    for place, name in enumerate(names):
        if name in automatic:
            around = at if place and names[place - 1] in before.get(name, ()) else ()
            own_name = plain_name(name)
        else:
            around, own_name = _split(name, groups)
        at = around
        path = ".".join((*around, own_name))
        while path in taken:
            path += "_"
        taken.add(path)
        paths[name] = path
    return paths


def _prefixes(name: str) -> list[str]:
    """Return the beginnings of a name that end with a part with a number, and of which the rest has a letter."""
    parts = name.split("_")
    found = []
    for count in range(1, len(parts)):
        rest = "_".join(parts[count:])
        if any(letter.isdigit() for letter in parts[count - 1]) and any(letter.isalpha() for letter in rest):
            found.append("_".join(parts[:count]))
    return found


def _groups(names: Sequence[str]) -> set[str]:
    """Return the beginnings that several layers in a row have, and no others."""
    runs: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        for prefix in _prefixes(name):
            runs.setdefault(prefix, []).append(place)
    listed = set(names)
    return {
        prefix
        for prefix, places in runs.items()
        if len(places) > 1 and places[-1] - places[0] == len(places) - 1 and prefix not in listed
    }


def _split(name: str, groups: Collection[str]) -> tuple[tuple[str, ...], str]:
    """Return the modules around a layer, and its name in the innermost."""
    around: list[str] = []
    start = 0
    for prefix in _prefixes(name):
        if prefix in groups:
            around.append(name[start : len(prefix)])
            start = len(prefix) + 1
    return tuple(map(_part, around)), plain_name(name[start:]) if not around else _part(name[start:])


def _part(text: str) -> str:
    return spec_name(text.replace(".", "_").replace("/", "_")) or "layer"

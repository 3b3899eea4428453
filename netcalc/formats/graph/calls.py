"""Modules that are called several times: the further calls, and the modules that they are calls of."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.formats.graph.items import Sequence, Step


class _Around(NamedTuple):
    """A sequence around an item: its path in the network, and the path of the module that it is a call of."""

    place: str
    module: str


def note_calls(root: Sequence) -> None:
    """Note the module of each line and sequence that is a further call of one; all of them have their places."""
    _note(root, (_Around("", ""),), {})


def _note(sequence: Sequence, around: tuple[_Around, ...], firsts: dict[str, str]) -> None:
    """Note the modules of further calls in a sequence; ``firsts`` has the path of each module by that in the source."""
    for item in sequence.items:
        if not isinstance(item, (Sequence, Step)) or not item.path:
            continue
        natural = _below(around[-1].module, item.place.removeprefix(f"{around[-1].place}."))
        module = firsts.setdefault(item.path, natural)
        if module != natural:
            item.module = _seen_from(around, module)
        if isinstance(item, Sequence):
            _note(item, (*around, _Around(item.place, module)), firsts)


def _seen_from(around: tuple[_Around, ...], module: str) -> str:
    """Return the path of a module as it is in the innermost call around that it is a part of."""
    for place, own in reversed(around):
        if own and module.startswith(f"{own}."):
            return place + module.removeprefix(own)
    return module


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name

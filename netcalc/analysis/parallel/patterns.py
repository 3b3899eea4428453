"""Declarations of ``tensor_parallel`` in a spec and in the blocks that it uses, by pattern of parameter path."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from netcalc.analysis.parallel.pieces import Kind
from netcalc.ir import join

#: Return the declarations of a block by its name and by the file whose blocks it may be one of (None for the spec), and
#: the file of the block.
Declared: TypeAlias = Callable[[str, Any], tuple[Mapping[str, Kind], Any]]

_NUMBER = re.compile(r"(?<=[._-])\d+(?=\.|$)|^\d+(?=\.|$)")


class Scope(NamedTuple):
    """The declarations around a body, the spec's first, each with the path of what it belongs to."""

    entries: tuple[tuple[str, tuple[tuple[str, Kind], ...]], ...] = ()
    home: Any = None

    def inside(self, path: str, declared: Mapping[str, Kind], home: Any = None) -> Scope:
        """Return the scope of a body at a path with declarations of its own, whose block is of the file ``home``."""
        entries = (*self.entries, (path, tuple(declared.items()))) if declared else self.entries
        return Scope(entries, home)

    def kind(self, module: str, parameter: str) -> Kind | None:
        """Return how a parameter of an operation is split; None if nothing says it.

        A pattern names parameters or operations.  What the spec says counts before what its blocks say.
        """
        for prefix, patterns in self.entries:
            if prefix and module != prefix and not module.startswith(prefix + "."):
                continue
            below = module[len(prefix) + 1 :] if prefix else module
            for pattern, kind in patterns:
                expression = _expression(pattern)
                if expression.fullmatch(below) or expression.fullmatch(join(below, parameter)):
                    return kind
        return None


def without_numbers(path: str) -> str:
    """Return a path with 0 in place of its numbers, as iterations of a repeat are split alike.

    >>> without_numbers("model.layers.31.mlp"), without_numbers("3"), without_numbers("conv1.weight")
    ('model.layers.0.mlp', '0', 'conv1.weight')
    """
    return _NUMBER.sub("0", path)


@cache
def _expression(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a pattern, in which the first place of each part counts: no backtracking.

    >>> [bool(_expression("layers.*.up").fullmatch(path)) for path in ("layers.0.up", "layers.up", "layers.0.mlp.up")]
    [True, False, True]
    >>> bool(_expression("*a" * 40).fullmatch("a" * 200 + "b"))
    False
    """
    first, *others = map(re.escape, pattern.split("*"))
    if not others:
        return re.compile(first)
    middle = "".join(f"(?>.*?{part})" for part in others[:-1] if part)
    return re.compile(f"{first}{middle}.*{others[-1]}")

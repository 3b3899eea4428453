"""Names of the inputs and outputs of exported programs, from the signature and the structure of the results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

_OTHER = re.compile(r"\W+", re.ASCII)


def input_names(exported: Any) -> list[str]:
    """Return a name for each argument of a program, tensor or not, in the order of its placeholders."""
    spec = exported.call_spec.in_spec
    args, kwargs = spec.unflatten(list(range(spec.num_leaves)))
    names = list(exported.module_call_graph[0].signature.forward_arg_names or ())
    if len(names) < len(args):
        names = [f"input_{number}" for number in range(len(args))]
    return leaf_names({**dict(zip(names, args, strict=False)), **kwargs}, spec.num_leaves, "input")


def output_names(exported: Any) -> list[str]:
    """Return a name for each result of a program, tensor or not; a single tensor is called ``output``."""
    spec = exported.call_spec.out_spec
    try:
        tree = spec.unflatten(list(range(spec.num_leaves)))
    except Exception:  # a class of the user that takes no numbers in place of tensors
        tree = list(range(spec.num_leaves))
    return leaf_names(tree, spec.num_leaves, "output")


def leaf_names(tree: Any, count: int, default: str) -> list[str]:
    """Return distinct names for the leaves of a structure, which are the numbers from 0 on.

    Args:
        tree: dicts, dataclasses, named tuples, lists and tuples of numbers.
        count: number of leaves.
        default: name of a leaf that is the whole structure, and beginning of the name of one without a key.
    """
    paths = dict(_leaves(tree, ()))
    names: list[str] = []
    for number in range(count):
        path = paths.get(number, (number,))
        name = _OTHER.sub("_", "_".join(map(str, path))).strip("_") if path else default
        if not name or name[0].isdigit():
            name = f"{default}_{name}"
        while name in names or name == "in":  # the first input, whatever its name is
            name += "_"
        names.append(name)
    return names


def _leaves(tree: Any, path: tuple[Any, ...]) -> Iterator[tuple[int, tuple[Any, ...]]]:
    if isinstance(tree, int) and not isinstance(tree, bool):
        yield tree, path
    for key, value in _items(tree):
        yield from _leaves(value, (*path, key))


def _items(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a structure with their keys."""
    if isinstance(tree, Mapping):
        yield from tree.items()
    elif is_dataclass(tree):
        yield from ((field.name, getattr(tree, field.name, None)) for field in fields(tree))
    elif hasattr(tree, "_fields"):
        yield from zip(tree._fields, tree, strict=True)
    elif isinstance(tree, Sequence) and not isinstance(tree, str):
        yield from enumerate(tree)

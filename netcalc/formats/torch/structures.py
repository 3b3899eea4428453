"""Arguments and results of classes that PyTorch's pytree does not know, taken apart into dicts and lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import wraps
from types import ModuleType
from typing import Any

from netcalc.formats.torch.library import torch_library


@contextmanager
def taken_apart(module: Any, args: Any, kwargs: Any) -> Iterator[tuple[Any, Any]]:
    """Let a module take plain arguments and give plain results for a while; yield the arguments."""
    forward: Callable[..., Any] = module.forward
    inside = False

    @wraps(forward)
    def plainly(*given: Any, **named: Any) -> Any:
        nonlocal inside
        if inside:  # a call by the module itself
            return forward(*given, **named)
        inside = True
        try:
            given, named = restored((args, kwargs), (given, named))
            return plain(forward(*given, **named))
        finally:
            inside = False

    held = module.__dict__.get("forward")
    module.__dict__["forward"] = plainly
    try:
        yield plain((args, kwargs))
    finally:
        if held is None:
            del module.__dict__["forward"]
        else:
            module.__dict__["forward"] = held


def plain(tree: Any) -> Any:
    """Return a structure with dicts and lists in place of objects that hold tensors and that pytree does not know.

    Of an object those public attributes are kept that are tensors or hold some.
    """
    return _plain(tree, frozenset())


def _plain(tree: Any, around: frozenset[int]) -> Any:
    def part(leaf: Any) -> Any:
        parts = _parts(leaf, around)
        return leaf if parts is None else _plain(parts, around | {id(leaf)})

    return torch_library().utils._pytree.tree_map(part, tree)


def restored(original: Any, tree: Any) -> Any:
    """Return a structure with the leaves of a plain one, and with copies of the objects of the original."""
    leaves, structure = torch_library().utils._pytree.tree_flatten(original)
    pairs = zip(leaves, structure.flatten_up_to(tree), strict=True)
    return structure.unflatten([_restored(leaf, part) for leaf, part in pairs])


def _restored(leaf: Any, part: Any) -> Any:
    """Return a copy of an object with other parts."""
    parts = _parts(leaf, frozenset())
    if parts is None:
        return part
    values = restored(parts, part)
    if isinstance(leaf, tuple):
        return tuple.__new__(type(leaf), values if isinstance(values, list) else values.values())
    made = copy(leaf)
    if isinstance(leaf, list):
        made[:] = values
    elif isinstance(leaf, Mapping):
        made.update(values)
    else:
        for name, value in values.items():
            object.__setattr__(made, name, value)
    return made


def _parts(leaf: Any, around: frozenset[int]) -> Any:
    """Return the parts of an object as a dict or list; None for a tensor, and for an object that holds no tensors."""
    if id(leaf) in around or _is_tensor(leaf) or not _holds_tensors(leaf, set(around)):
        return None
    if isinstance(leaf, (list, tuple)):
        names = getattr(leaf, "_fields", None)
        return list(leaf) if names is None else dict(zip(names, leaf, strict=True))
    return {name: value for name, value in _members(leaf) if _holds_tensors(value, {*around, id(leaf)})}


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch_library().Tensor)


def _holds_tensors(value: Any, seen: set[int]) -> bool:
    """Return True for a tensor, and for an object or container with tensors that are not in an object seen before."""
    if _is_tensor(value) or id(value) in seen:
        return _is_tensor(value)
    seen.add(id(value))
    return any(_holds_tensors(member, seen) for _, member in _members(value))


def _members(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the members of a container by their keys, and the public attributes of another object by their names."""
    if isinstance(value, (torch_library().nn.Module, type, ModuleType)):
        return
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from enumerate(value)
    else:
        slots = [getattr(kind, "__slots__", ()) for kind in type(value).__mro__]
        listed = [name for names in slots for name in ([names] if isinstance(names, str) else names)]
        for name in dict.fromkeys([*listed, *getattr(value, "__dict__", ())]):
            if not name.startswith("_"):
                yield name, getattr(value, name, None)

"""Tensors of PyTorch modules that are not registered: plain attributes, and modules in plain lists and dicts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from netcalc.formats.torch.buffers import has_data
from netcalc.formats.torch.library import torch_library


def constant_paths(exported: Any, module: Any) -> dict[str, str]:
    """Return the paths of the constants of a program that lie in containers of the module, by their names there.

    PyTorch numbers such constants.
    """
    paths: dict[Any, str] = {}
    for path, tensor in unregistered(module):
        if has_data(tensor):
            paths.setdefault(_memory(tensor), path)
    names = {name: paths.get(_memory(tensor)) for name, tensor in exported.constants.items() if has_data(tensor)}
    taken = {*exported.constants, *exported.state_dict}
    return {name: path for name, path in names.items() if path is not None and path not in taken}


def _memory(tensor: Any) -> Any:
    """Return what tells a tensor from others: the place of its elements, and their order."""
    return tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype


def unregistered(module: Any) -> Iterator[tuple[str, Any]]:
    """Yield the tensors, each with the path to it, that are attributes of a module or its parts, or in containers."""
    seen = {id(part) for part in module.modules()}
    for path, part in module.named_modules():
        yield from _attributes(part, path, seen)


def _attributes(part: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    own = torch_library().nn.Module().__dict__
    for name, value in vars(part).items():
        if name not in own:
            yield from _within(value, f"{path}.{name}".lstrip("."), seen)


def _within(value: Any, path: str, seen: set[int]) -> Iterator[tuple[str, Any]]:
    torch = torch_library()
    if isinstance(value, torch.Tensor):
        yield path, value
    elif id(value) in seen:
        return
    elif isinstance(value, torch.nn.Module):
        seen |= {id(part) for part in value.modules()}
        yield from ((f"{path}.{name}", tensor) for name, tensor in value.named_parameters())
        yield from ((f"{path}.{name}", tensor) for name, tensor in value.named_buffers())
        for name, part in value.named_modules():
            yield from _attributes(part, f"{path}.{name}".rstrip("."), seen)
    elif isinstance(value, (dict, list, tuple)):
        seen.add(id(value))
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _within(item, f"{path}.{name}", seen)


@contextmanager
def unchanged(module: Any) -> Iterator[None]:
    """Undo what calls of a module change in tensors that are not registered, and in attributes that are tensors."""
    torch = torch_library()
    tensors = [(tensor, tensor.detach().clone()) for _, tensor in unregistered(module) if has_data(tensor)]
    attributes = [(vars(part), dict(vars(part))) for part in module.modules()]
    try:
        yield
    finally:
        for now, before in attributes:
            for name in [*now, *(name for name in before if name not in now)]:
                new, old = now.get(name), before.get(name)
                if new is not old and (isinstance(new, torch.Tensor) or isinstance(old, torch.Tensor)):
                    now[name] = old
                    if name not in before:
                        del now[name]
        with torch.no_grad():
            for tensor, elements in tensors:
                tensor.copy_(elements)


@contextmanager
def untrained(module: Any) -> Iterator[None]:
    """Let tensors that are not registered need no gradients; PyTorch's counter fails for views of those that do."""
    tensors = [tensor for _, tensor in unregistered(module) if tensor.is_leaf and tensor.requires_grad]
    try:
        for tensor in tensors:
            tensor.requires_grad_(requires_grad=False)
        yield
    finally:
        for tensor in tensors:
            tensor.requires_grad_(requires_grad=True)

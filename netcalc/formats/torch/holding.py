"""Other tensors in a module for a while."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def holding(module: Any, other: Callable[[Any], Any], *, attributes: bool = False) -> Iterator[None]:
    """Let a module hold other parameters and buffers for a while, each in the place of the former one.

    PyTorch's ``functional_call`` does not put back tied parameters of modules that are registered twice.

    Args:
        module: a ``torch.nn.Module``.
        other: returns what takes the place of a parameter, buffer or attribute, which may be itself.
        attributes: True for attributes, too, whatever they are.
    """
    tables = [table for part in module.modules() for table in (part._parameters, part._buffers)]
    if attributes:
        tables += [vars(part) for part in module.modules()]
    held = [(table, name, value) for table in tables for name, value in table.items()]
    try:
        for table, name, value in held:  # one by one: tables of TorchScript have no `update`
            table[name] = other(value)
        yield
    finally:
        for table, name, value in held:
            table[name] = value

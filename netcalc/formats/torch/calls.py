"""Calls of modules as the command line describes them, with tensors of the given sizes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from inspect import Parameter, signature
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.formats.torch.examples import Example
from netcalc.formats.torch.library import torch_library


class Call(NamedTuple):
    """The arguments of a call of a module, and the names of sizes that stay symbolic by input and axis.

    ``constants`` are tensors whose values count, which are arguments, but no inputs of the network.
    """

    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012 - never changed
    dynamic: dict[str, dict[int, str]] = {}  # noqa: RUF012 - never changed
    constants: dict[str, Any] = {}  # noqa: RUF012 - never changed


def call_of(module: Any, examples: Sequence[Example]) -> Call:
    """Return the call of a module that examples describe.

    Raises:
        NetcalcError: E502 if ``forward`` does not take these arguments.
    """
    declared = signature(module.forward).parameters
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    dynamic: dict[str, dict[int, str]] = {}
    constants: dict[str, Any] = {}
    for example in examples:
        name, *keys = (example.name or "").split(".")
        if example.name is None:
            name = _positional(declared, len(args))
            args.append(_value(example))
        elif name in declared or any(p.kind is Parameter.VAR_KEYWORD for p in declared.values()):
            _put(constants if example.has_values else kwargs, [name, *keys], _value(example))
        else:
            hint = did_you_mean(name, list(declared)) or f"forward takes {', '.join(declared)}"
            raise NetcalcError(Diagnostic("E502", f"forward has no argument {name!r}", hint=hint))
        if example.dims:
            dynamic["_".join([name, *keys])] = dict(example.dims)
    kwargs, constants = ({key: _whole(value) for key, value in given.items()} for given in (kwargs, constants))
    try:
        signature(module.forward).bind(*args, **kwargs, **constants)
    except TypeError as error:
        hint = f"forward takes {', '.join(map(str, declared.values()))}; --example NAME=TYPE:SIZES gives an argument"
        raise NetcalcError(Diagnostic("E502", f"forward cannot be called: {error}", hint=hint)) from None
    return Call(tuple(args), kwargs, dynamic, constants)


@contextmanager
def with_constants(module: Any, constants: Mapping[str, Any]) -> Iterator[None]:
    """Let a module take constants as arguments of every call for a while."""
    if not constants:
        yield
        return
    forward = module.forward
    module.__dict__["forward"] = partial(forward, **constants)
    try:
        yield
    finally:
        del module.__dict__["forward"]


class _Entries(dict[str, Any]):
    """Entries of an argument that are given one by one."""


def _put(arguments: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set an argument, or an entry of one; NetcalcError (E502) for an entry of one that is given as a whole."""
    *outer, last = path
    twice = NetcalcError(Diagnostic("E502", f"{path[0]!r} and an entry of it cannot both be given"))
    for key in outer:
        arguments = arguments.setdefault(key, _Entries())
        if not isinstance(arguments, _Entries):
            raise twice
    if last in arguments:
        raise twice
    arguments[last] = value


def _whole(value: Any) -> Any:
    """Return an argument with its entries in a dict, or in a tuple if they are numbered."""
    if not isinstance(value, _Entries):
        return value
    entries = {key: _whole(entry) for key, entry in value.items()}
    return tuple(entries.values()) if all(key.isdecimal() for key in entries) else entries


def _positional(declared: Any, index: int) -> str:
    """Return the name of a positional argument, as the inputs of the network are named."""
    parameters = list(declared.values())
    if index < len(parameters) and parameters[index].kind is not Parameter.VAR_POSITIONAL:
        return str(parameters[index].name)
    last = next((p for p in parameters if p.kind is Parameter.VAR_POSITIONAL), None)
    return f"{last.name}_{index - parameters.index(last)}" if last is not None else f"input_{index}"


def _value(example: Example) -> Any:
    if not example.is_tensor:
        return example.value
    torch = torch_library()
    dtype = getattr(torch, str(example.dtype))
    if example.has_values:
        return torch.tensor(example.value, dtype=dtype)
    return (
        torch.zeros(example.sizes, dtype=dtype) if dtype.is_floating_point else torch.ones(example.sizes, dtype=dtype)
    )

"""Networks of tables beside the classes of transformers that they describe: the work of a call of both."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from typing import Any, TypeAlias

import netcalc
from netcalc.dtypes import FLOATS
from netcalc.formats.libraries.building import Built

#: Lengths of texts in calls of tables.
_LENGTHS = {"length": 16, "source": 16, "target": 8}
#: Vars of tables that take a mask which processors always make; without it transformers attends otherwise.
_MASKS = ("image_mask",)

#: Load the network of a table with these settings.
Load: TypeAlias = Callable[[Mapping[str, int | bool]], netcalc.Network]
#: Count the FLOPs of a call of the module that a function makes.
Counted: TypeAlias = Callable[[Callable[[], Any], Any], int]


def work_of_call(fields: Mapping[str, Any], load: Load, counted: Counted) -> tuple[int, int] | None:
    """Return the FLOPs of a call by a table and as ``counted``; None if the class needs values, such as image tokens.

    Args:
        fields: of the configuration.
        load: makes the network of its table.
        counted: counts the FLOPs of a call of a module that it makes.
    """
    from netcalc.formats.torch.calls import call_of
    from netcalc.formats.torch.examples import read_examples
    from netcalc.formats.torch.trial import error_of
    from netcalc.formats.transformers.building import built

    make = partial(built, copy.deepcopy(dict(fields)), {})
    made = make()
    network = load(_settings(load({})))
    call = call_of(made.module, read_examples([*_arguments(made, network)]))
    routed = error_of(made.module, call) is not None  # to experts by values, of which some may be full
    try:
        true = counted(lambda: make().module, call)
    except (AttributeError, RuntimeError, TypeError, ValueError):  # of the class
        return None
    total = network.analysis("torch").total
    return total.flops_expected if routed else total.flops, true


def _settings(network: netcalc.Network) -> Mapping[str, int | bool]:
    """Return the vars of a network that a call of the class sets: lengths of texts, and masks that it is given."""
    is_text = any(value.dtype == "int64" for value in network.inputs.values())
    lengths = {dim: size for dim, size in _LENGTHS.items() if dim in network.dims} if is_text else {}
    return lengths | {name: True for name in _MASKS if name in network.vars}


def _arguments(made: Built, network: netcalc.Network) -> Iterator[str]:
    """Yield the inputs of a network as arguments of the module; those that it names otherwise in their order."""
    own = [str(example.name) for example in made.calls[0] if example.name not in network.inputs]
    known = signature(made.module.forward).parameters
    for name, value in network.inputs.items():
        dtype = "float32" if value.dtype in FLOATS else value.dtype  # as the module is built
        yield f"{name if name in known else own.pop(0)}={dtype}:{','.join(map(str, value.shape))}"

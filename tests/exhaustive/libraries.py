"""Models of timm and torchvision as their libraries build them: parameters and FLOPs against torch's own figures.

Names of timm are drawn over all of its families; those of torchvision are all that it has.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from itertools import zip_longest
from random import Random
from typing import Any

import netcalc
from netcalc.formats.libraries.capture import call_taken, captured
from netcalc.formats.libraries.torchvision_import import import_torchvision
from netcalc.formats.table import implementation
from tests.exhaustive import in_turn
from tests.exhaustive.imports import OK

#: Packages that the check needs.
NEEDED = ("torch", "torchvision", "timm")
#: Models in the sample, which are quick.
SAMPLE = (
    *("timm/mobilenetv4_conv_small", "timm/lcnet_050", "timm/levit_128s"),
    *("torchvision/squeezenet1_1", "torchvision/quantized_shufflenet_v2_x0_5", "torchvision/r3d_18"),
)
_KEYS = {"timm": "architecture", "torchvision": "name"}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--count", type=int, default=200, help="number of names of timm")
    parser.add_argument("--seed", type=int, default=1, help="seed of the names")
    in_turn.add_options(parser, "prefix of the models, such as torchvision/")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the models; return their results, and those that fail."""
    chosen = [name for name in names(options.count, options.seed) if name.startswith(options.only)]
    return in_turn.results_of(chosen, _compared, options)


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick models of a record again."""
    return {name: in_turn.result(name, _compared) for name in SAMPLE if name in result_before["cases"]}


def names(count: int, seed: int) -> list[str]:
    """Return the sample, names of timm, of every family before a second one of any, and all names of torchvision."""
    torchvision, timm = import_torchvision(), import_module("timm")
    rng = Random(seed)
    families = [timm.list_models(module=module) for module in timm.list_modules()]
    for family in families:
        rng.shuffle(family)
    rng.shuffle(families)
    drawn = [f"timm/{name}" for turn in zip_longest(*families) for name in turn if name is not None][:count]
    every = [f"torchvision/{name}" for name in torchvision.models.list_models()]
    return [
        *dict.fromkeys([*SAMPLE, *(name for pair in zip_longest(drawn, every) for name in pair if name is not None)])
    ]


def _compared(name: str) -> str:
    import_torchvision()
    library, model = name.split("/")
    return compared(implementation(f"{library}.building").built({_KEYS[library]: model}, {}))


def compared(built: Any, module: Any = None) -> str:
    """Return ``ok`` if the figures of a model as its library builds it are those of a module, by default its own."""
    call = call_taken(built, ())
    total = netcalc.load_data(captured(built, call)).analysis("torch").total
    module = built.module if module is None else module
    true = {"params": sum(p.numel() for p in module.parameters()), "flops": torch_flops(module, call)}
    different = [
        f"{figure} {getattr(total, figure)}, in torch {true[figure]}"
        for figure in true
        if getattr(total, figure) != true[figure]
    ]
    return "; ".join(different) or OK


def torch_flops(module: Any, call: Any) -> int:
    """Return the FLOPs of a call of a module by torch's counter, without the convolutions that it does not count."""
    torch = import_module("torch")
    from torch.utils.flop_counter import FlopCounterMode

    module.requires_grad_(False)  # the counter takes parameters that require a gradient for a backward pass
    module, arguments = module.to("meta"), (call.args, {**call.kwargs, **call.constants})
    args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), arguments)
    uncounted = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with uncounted, FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*args, **kwargs)
    return int(counter.get_total_flops())

"""Models of timm and torchvision as their libraries build them: parameters and FLOPs against torch's own figures.

Names of timm are drawn over all of its families; those of torchvision are all that it has.
"""

from __future__ import annotations

import argparse
import gc
from importlib import import_module
from itertools import zip_longest
from random import Random
from time import monotonic
from typing import Any

import netcalc
from netcalc.formats.libraries.capture import captured_document
from netcalc.formats.table import implementation
from netcalc.formats.torch.calls import call_of
from tests.exhaustive.imports import OK, Stopped, first_line, limited
from tests.exhaustive.record import read
from tests.formats.torch.models import quiet

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
    parser.add_argument("--only", default="", help="prefix of the models, such as torchvision/")
    parser.add_argument("--seconds", type=int, default=600, help="longest time for a model")
    parser.add_argument("--minutes", type=float, help="time after which no further model is begun")
    parser.add_argument("--again", action="store_true", help="only models that the record lacks, or has as failed")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the models; return their results, and those that fail."""
    import_module("tests.oracle.conftest")
    results: dict[str, str] = dict(read("libraries")["result"]["cases"]) if options.again else {}
    end = monotonic() + 60 * options.minutes if options.minutes is not None else None
    for name in names(options.count, options.seed):
        if results.get(name) == OK or not name.startswith(options.only):
            continue
        if end is not None and monotonic() > end:
            break
        results[name] = result(name, options.seconds)
        print(name, results[name], flush=True)
    failures = [f"{name}: {found}" for name, found in results.items() if found != OK]
    return {"models": len(results), "equal": len(results) - len(failures), "cases": results}, failures


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick models of a record again."""
    import_module("tests.oracle.conftest")
    return {name: result(name) for name in SAMPLE if name in result_before["cases"]}


def names(count: int, seed: int) -> list[str]:
    """Return the sample, names of timm, of every family before a second one of any, and all names of torchvision."""
    timm, torchvision = import_module("timm"), import_module("torchvision")
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


def result(name: str, seconds: int = 600) -> str:
    """Return ``ok`` if the figures of the network equal those of the module; otherwise what differs or fails."""
    gc.collect()
    try:
        with limited(seconds), quiet():
            return _compared(*name.split("/"))
    except netcalc.NetcalcError as error:
        return f"not captured: {first_line(error)}"
    except Exception as error:  # of the library, or a fault
        return f"not captured: {type(error).__name__}: {first_line(error)}"
    except Stopped:
        return f"not captured: longer than {seconds} s"


def _compared(library: str, name: str) -> str:
    torch = import_module("torch")
    built = implementation(f"{library}.building").built({_KEYS[library]: name}, {})
    total = netcalc.load_data(captured_document(built, ())).analysis("torch").total
    found = {"params": total.params, "flops": total.flops}
    true = {"params": sum(p.numel() for p in built.module.parameters()), "flops": _flops(torch, built)}
    different = [
        f"{figure} {found[figure]}, in torch {true[figure]}" for figure in true if found[figure] != true[figure]
    ]
    return "; ".join(different) or OK


def _flops(torch: Any, built: Any) -> int:
    """Return the FLOPs of a module by torch's counter, without the convolutions that it does not count."""
    from torch.utils.flop_counter import FlopCounterMode

    module, (examples, *_) = built.module.to("meta"), built.calls
    call = call_of(module, examples)
    args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), (call.args, call.kwargs))
    uncounted = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with uncounted, FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*args, **kwargs)
    return int(counter.get_total_flops())

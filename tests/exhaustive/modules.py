"""Drawn modules of PyTorch, imported: parameters, FLOPs, the text of the spec, and outputs as PyTorch has them.

A module that ``torch.export`` refuses for reasons of its own counts as "refused".  One whose outputs differ with any
weights, and change where PyTorch rounds otherwise, is "rough".  One with a product of a vector and a batch of matrices,
which PyTorch counts or not depending on strides, is "strides".  Any other error or difference is a failure.
"""

from __future__ import annotations

import argparse
import warnings
from importlib import import_module
from random import Random
from typing import Any

import netcalc
from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.formats.torch.constants import unregistered
from tests.exhaustive.drawn_modules.program import drawn_text, executed
from tests.exhaustive.drawn_modules.rounding import rounding_otherwise
from tests.exhaustive.numbered import Cases
from tests.formats.torch.models import quiet

#: Packages that the check needs.
NEEDED = ("torch",)
SAMPLE = 40
#: Draws of weights and inputs, until outputs do not differ by rounding.
TRIES = 3
#: Other roundings, until outputs change by them.
ROUNDINGS = 8
#: Differences, in parts of what is allowed, that rounding may explain in a module that enlarges it.
SENSITIVE = 100


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    MODULES.add_options(parser, 2000)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the cases."""
    return MODULES.run(options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Rerun the first cases of the recorded seed."""
    return MODULES.sample(result["seed"], SAMPLE)


def _text(seed: int, number: int) -> str:
    import_module("torch").set_num_threads(1)
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        return drawn_text(Random(f"{seed}/{number}"))


def _exercised(seed: int, number: int) -> str:
    names = executed(_text(seed, number), f"<module {seed}/{number}>")
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        args, kwargs = names["arguments"]()
        try:
            network = netcalc.from_torch(names["make"](), *args, **kwargs)
        except NetcalcError:
            if _is_refused(names):
                return "refused"
            raise
        return _compared(network, names)


def _is_refused(names: dict[str, Any]) -> bool:
    """Return True if PyTorch itself refuses to export a module."""
    torch = import_module("torch")
    torch.export.register_dataclass(names["Record"])  # which netcalc takes apart
    args, kwargs = names["arguments"]()
    try:
        torch.export.export(names["make"](), args, kwargs, strict=False)
    except Exception:
        return True
    return False


def _compared(network: netcalc.Network, names: dict[str, Any]) -> str:
    """Return the outcome of a comparison of a network with its module; AssertionError if they differ."""
    module = names["make"]()
    args, kwargs = names["arguments"]()
    again = netcalc.loads(network.to_yaml())
    figures = {
        "parameters": (network.params, sum(parameter.numel() for parameter in module.parameters())),
        "parameters of the text": (again.params, network.params),
        "work of the text": (_work(again), _work(network)),
    }
    wrong = [f"{name}: {found}, not {true}" for name, (found, true) in figures.items() if found != true]
    found, counted = network.cost("torch").flops, _flops(names)
    if found != counted and not _has_product_of_vector(network):
        wrong.append(f"FLOPs: {found}, not {counted}")
    outcome = "ok" if found == counted else "strides"
    near = False
    for seed in range(TRIES):
        report = network.verify_against(module, *args, seed=seed, **kwargs)
        wrong += [] if report.weights.ok else [f"weights: {report.weights}"]
        wrong += [str(flops) for flops in report.flops if not flops.ok]
        far = [output for output in report.outputs if not output.ok]
        if not far and not wrong:
            return outcome
        if wrong or not _rounds(network, names, far, seed):
            raise AssertionError("; ".join([*wrong, *map(str, far)]))
        near |= all(output.difference < SENSITIVE * output.tolerance for output in far)
    if not near:
        raise AssertionError("; ".join(map(str, far)))
    return "rough"


def _has_product_of_vector(network: netcalc.Network) -> bool:
    """Return True for a product of a vector and a batch of matrices."""
    products = [one.node for one in instances(network.program) if one.node.op.name == "matmul"]
    ranks = [sorted(type_.rank for type_ in node.input_types if type_ is not None) for node in products]
    return any(smaller == 1 and larger > 2 for smaller, larger in ranks)


def _rounds(network: netcalc.Network, names: dict[str, Any], far: list[Any], seed: int) -> bool:
    """Return True if outputs that are too far from the module's change as much when the module rounds otherwise."""
    before = {(output.name, output.plan): output.difference for output in far}
    waiting = {(one.name, one.plan): max(one.tolerance, one.difference / SENSITIVE) / 4 for one in far}
    for rounding in range(ROUNDINGS):
        args, kwargs = names["arguments"]()
        with rounding_otherwise(rounding):
            report = network.verify_against(names["make"](), *args, seed=seed, **kwargs)
        others = {(output.name, output.plan): output.difference for output in report.outputs}
        waiting = {key: least for key, least in waiting.items() if abs(others[key] - before[key]) <= least}
        if not waiting:
            return True
    return False


def _work(network: netcalc.Network) -> tuple[int, ...]:
    """Return counts by several conventions."""
    return (network.macs, network.flops, network.cost("torch").flops, network.cost("fvcore").macs)


def _flops(names: dict[str, Any]) -> int:
    """Return the FLOPs of a forward pass without gradients, as the convention counts it.

    With gradients PyTorch calls other operators for some products, and refuses some changes of views in place.
    """
    torch: Any = import_module("torch")
    args, kwargs = names["arguments"]()
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    plain = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    attention = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    try:
        with torch.no_grad():  # so that no tensor that is made of parameters has a history
            module = names["make"]().requires_grad_(requires_grad=False)
        for _, tensor in unregistered(module):
            tensor.requires_grad_(requires_grad=False)
        with plain, attention, torch.no_grad(), counter:
            module(*args, **kwargs)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    return int(counter.get_total_flops())


MODULES = Cases("modules", "modules", _exercised, _text)

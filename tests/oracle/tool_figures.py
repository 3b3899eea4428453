"""Figures that tools show beside work: parameters, activations and sizes, at their defaults in evaluation mode.

``python -m tests.oracle.tool_figures [TOOL …]`` writes those of the networks of :mod:`tests.oracle.tool_networks` into
``tests/truth/tool_figures.json``; those of other tools stay.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Collection, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.oracle.counting_tools import Called

RECORD = Path(__file__).parent.parent / "truth" / "tool_figures.json"


def _fvcore_activations(module: Any, inputs: Mapping[str, Any]) -> int:
    from fvcore.nn import ActivationCountAnalysis

    counted = ActivationCountAnalysis(Called(module, list(inputs)), tuple(inputs.values()))
    counted.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
    return int(counted.total())


def _fvcore(module: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    from fvcore.nn import parameter_count

    return {"activations": _fvcore_activations(module, inputs), "parameters": parameter_count(module)[""]}


def _fvcore_no_grad(module: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    import torch

    with torch.no_grad():
        return {"activations": _fvcore_activations(module, inputs)}


def _thop(module: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    from thop import profile

    return {"parameters": int(profile(Called(module, list(inputs)), tuple(inputs.values()), verbose=False)[1])}


def _ptflops(module: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    from ptflops.pytorch_engine import get_model_parameters_number

    return {"parameters": int(get_model_parameters_number(module))}


def _torchinfo(module: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    import torchinfo

    found = torchinfo.summary(module, input_data=dict(inputs), verbose=0, device="cpu")
    sizes = found.total_input, found.total_output_bytes, found.total_param_bytes
    names = ("parameters", "input_size", "pass_size", "params_size", "total_size")
    return dict(zip(names, map(int, (found.total_params, *sizes, sum(sizes))), strict=True))


def _accelerate(module: Any, inputs: Mapping[str, Any]) -> dict[str, int]:
    from accelerate.commands.estimate import estimate_training_usage
    from accelerate.utils import calculate_maximum_sizes
    from torch import nn

    del inputs
    # tensors of the network itself count one by one: the spec of nn.LSTM has it as a module
    total, (largest, _) = calculate_maximum_sizes(module if [*module.children()] else nn.Sequential(module))
    training, training_float16 = (max(estimate_training_usage(total, t).values()) for t in ("float32", "float16"))
    sizes = {"largest_layer": largest, "total_size": total}
    return {**sizes, "training": training, "training_float16": training_float16}


#: Figures by name of the convention, with the package of the tool.
TOOLS: Mapping[str, tuple[str, Callable[[Any, Mapping[str, Any]], dict[str, int]]]] = {
    "fvcore": ("fvcore", _fvcore),
    "fvcore-no-grad": ("fvcore", _fvcore_no_grad),
    "thop": ("thop", _thop),
    "ptflops": ("ptflops", _ptflops),
    "torchinfo": ("torchinfo", _torchinfo),
    "accelerate": ("accelerate", _accelerate),
}


def figures_of(tool: str, network: str) -> dict[str, int]:
    """Return the figures of a tool for a network."""
    from netcalc.formats.libraries.torchvision_import import import_torchvision

    import_torchvision()
    from tests.oracle.tool_networks import NETWORKS

    reference = NETWORKS[network]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return TOOLS[tool][1](reference.module().eval(), reference.inputs())


def comparable(tool: str, network: str, figures: Mapping[str, int]) -> dict[str, int]:
    """Return the figures of a tool without what is no part of the network in netcalc."""
    if tool == "accelerate" and network == "mixture of experts":  # two tables of 16 rotary frequencies are constants
        return {"largest_layer": figures["largest_layer"], "total_size": figures["total_size"] - 2 * 16 * 4}
    return dict(figures)


def _record(tools: Collection[str]) -> None:
    from tests.oracle.tool_networks import NETWORKS

    record = json.loads(RECORD.read_text(encoding="utf-8"))
    for tool in tools:
        package = TOOLS[tool][0]
        figures = {network: figures_of(tool, network) for network in NETWORKS}
        record[tool] = {"version": f"{package} {version(package)}", "figures": figures}
    lines = [f"{json.dumps(tool)}: {json.dumps(record[tool])}" for tool in TOOLS]
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    _record(sys.argv[1:] or TOOLS)

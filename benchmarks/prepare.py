"""Prepare a model: draw weights and inputs, compute the outputs with torch, and export its module as ONNX.

    python benchmarks/prepare.py MODEL FOLDER BATCH …

What the folder already holds of the same settings and versions stays.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import torch
from drawn import SEED, weights
from models import MODELS, Case
from peers import built, torch_module
from safetensors.numpy import save_file

from netcalc.numerics.inputs import run_inputs

PACKAGES = ("torch", "torchvision", "timm", "transformers", "onnx", "onnxscript")


def prepare(case: Case) -> None:
    """Write the files of a case that are not there."""
    stamp = json.dumps({"settings": case.model.settings, "versions": {name: version(name) for name in PACKAGES}})
    drawn, done = case.root / "weights.json", case.folder / "done.json"
    if done.is_file() and done.read_text() == stamp:
        return
    case.folder.mkdir(parents=True, exist_ok=True)
    program = case.network.program
    if not (drawn.is_file() and drawn.read_text() == stamp):
        save_file(weights(program, built(case.model).state_dict().keys()), case.weights)
        drawn.write_text(stamp)
    inputs = dict(zip((i.name for i in program.inputs), run_inputs(program, seed=SEED), strict=True))
    module, tensors = torch_module(case), tuple(map(torch.from_numpy, inputs.values()))
    with torch.inference_mode():
        results = module(*tensors)
    outputs = results if isinstance(results, tuple) else (results,)
    case.keep(inputs, {n: o.numpy() for n, o in zip(program.output_names, outputs, strict=True)})
    export(case, module, tensors, {"input_names": list(inputs), "output_names": list(program.output_names)})
    done.write_text(stamp)


def export(case: Case, module: torch.nn.Module, tensors: tuple[torch.Tensor, ...], names: dict[str, list[str]]) -> None:
    """Export the module by torch.export or by tracing, whichever can; if neither can, write the reasons instead."""
    reasons = []
    case.not_exported.unlink(missing_ok=True)
    for dynamo in (False, True) if getattr(module, "traced", False) else (True, False):
        try:
            torch.onnx.export(
                module,
                tensors,
                case.onnx,
                dynamo=dynamo,
                external_data=dynamo,
                verbose=False,
                **names,
            )
        except Exception as error:
            reasons.append(f"{type(error).__name__}: {error}".partition("\n")[0])
        else:
            return
    case.not_exported.write_text("; ".join(reasons))


if __name__ == "__main__":
    model, folder, *batches = sys.argv[1:]
    warnings.simplefilter("ignore")
    for batch in batches:
        prepare(Case(MODELS[model], int(batch), Path(folder)))

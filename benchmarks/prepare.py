"""Prepares a case: draws weights and inputs, lets torch say what comes out, and exports its module as ONNX.

python benchmarks/prepare.py MODEL BATCH FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch
from models import MODELS, Case
from peers import torch_module
from safetensors.numpy import save_file

from netcalc.analysis.walk import instances
from netcalc.ir import CheckpointSource, Program, join
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters

SEED = 0


def weights(program: Program) -> dict[str, np.ndarray]:
    """The spec's own initialisation, stored as its reference checkpoint is.

    Biases, scales and shifts are moved by a little, and batch norms have seen data: zeros and ones would hide mistakes.
    """
    parameters, rng = Parameters(program, seed=SEED), np.random.default_rng(SEED)
    pieces: dict[str, list[np.ndarray]] = {}
    axes: dict[str, int] = {}
    for instance in instances(program):
        for param in instance.node.params:
            path = join(instance.path, param.name)
            if path != instance.owners[param.name]:
                continue  # a tied parameter stands under its owner's name
            array = parameters.fetch(instance, param)
            if param.name == "running_var":
                array = rng.uniform(0.5, 1.5, array.shape).astype(np.float32)
            elif param.name == "running_mean":
                array = rng.normal(0, 0.1, array.shape).astype(np.float32)
            elif array.ndim == 1:
                array = array + rng.normal(0, 0.02, array.shape).astype(np.float32)
            source = instance.sources.get(param.name) or CheckpointSource(path)
            axes[source.name] = source.axis
            pieces.setdefault(source.name, []).append(array.T if source.transpose else array)
    return {
        name: np.array(np.concatenate(parts, axes[name]) if len(parts) > 1 else parts[0], order="C")
        for name, parts in pieces.items()
    }


def prepare(case: Case) -> None:
    """Writes the files of the case."""
    program = case.network.program
    save_file(weights(program), case.weights)
    inputs = dict(zip((i.name for i in program.inputs), run_inputs(program, seed=SEED), strict=True))
    module, tensors = torch_module(case), tuple(map(torch.from_numpy, inputs.values()))
    with torch.inference_mode():
        found = module(*tensors)
    outputs = found if isinstance(found, tuple) else (found,)
    case.keep(inputs, {n: o.numpy() for n, o in zip(program.output_names, outputs, strict=True)})
    names = {"input_names": list(inputs), "output_names": list(program.output_names)}
    torch.onnx.export(module, tensors, case.onnx, dynamo=True, external_data=True, verbose=False, **names)


if __name__ == "__main__":
    model, batch, folder = sys.argv[1:]
    prepare(Case(MODELS[model], int(batch), Path(folder)))

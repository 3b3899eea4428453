"""Prepare a case: draw weights and inputs, compute the outputs with torch, and export its module as ONNX.

python benchmarks/prepare.py MODEL BATCH FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from drawn import SEED, weights
from models import MODELS, Case
from peers import torch_module
from safetensors.numpy import save_file

from netcalc.numerics.inputs import run_inputs


def prepare(case: Case) -> None:
    """Write the files of a case."""
    program = case.network.program
    save_file(weights(program), case.weights)
    inputs = dict(zip((i.name for i in program.inputs), run_inputs(program, seed=SEED), strict=True))
    module, tensors = torch_module(case), tuple(map(torch.from_numpy, inputs.values()))
    with torch.inference_mode():
        results = module(*tensors)
    outputs = results if isinstance(results, tuple) else (results,)
    case.keep(inputs, {n: o.numpy() for n, o in zip(program.output_names, outputs, strict=True)})
    names = {"input_names": list(inputs), "output_names": list(program.output_names)}
    torch.onnx.export(module, tensors, case.onnx, dynamo=True, external_data=True, verbose=False, **names)


if __name__ == "__main__":
    model, batch, folder = sys.argv[1:]
    prepare(Case(MODELS[model], int(batch), Path(folder)))

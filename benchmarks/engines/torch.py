"""PyTorch in eager mode."""

from __future__ import annotations

import torch
from models import Case
from peers import torch_module

from engines import Arrays, Runner


def load(case: Case, threads: int) -> Runner:
    """Return the torch module in inference mode."""
    torch.set_num_threads(threads)
    module, names = torch_module(case), case.output_names

    @torch.inference_mode()
    def run(inputs: Arrays) -> Arrays:
        results = module(*map(torch.from_numpy, inputs.values()))
        outputs = results if isinstance(results, tuple) else (results,)
        return {name: output.numpy() for name, output in zip(names, outputs, strict=True)}

    return run

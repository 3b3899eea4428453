"""Steps of training by PyTorch on CPUs: the peak of what they allocate, and what autograd keeps under autocast.

The peak is that of all allocations and releases of PyTorch's allocator that its profiler records, in a step after one
that has made states of the optimizer, with one thread, and with gradients of ones at all outputs.  The workspace that a
convolution takes and gives back within one call is not in it: oneDNN has another one for each family of processors.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from netcalc.analysis.training_memory import Training, training_memory
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.loading import load
from tests.oracle import saved_networks
from tests.oracle.saved_networks import CASES, Case, called, reference_inputs

#: Networks in training mode, and transformers whose attention is written out.
STEPS = {
    name: case
    for name, case in CASES.items()
    if (case.mode == "train") == (case.attention == "sdpa-cpu") or case.spec == "mamba-130m"
}

#: Operators of PyTorch that take a workspace.
CONVOLUTIONS = ("aten::mkldnn_convolution", "aten::convolution_backward")

#: Steps that compute layers again, or whose gradients are added to those of earlier passes.
RECOMPUTED = [f"{spec}, train, sdpa-cpu" for spec in ("llama-3-8b", "gpt2", "opt-125m", "mistral-7b")]


def peak_by_netcalc(case: Case, optimizer: str | None = None, **training: Any) -> int:
    """Return the most bytes at a time, beside weights, buffers, states and the inputs of the network.

    Gradients of earlier passes do not count.
    """
    program = load(case.spec, set=case.settings, dtype="float32", mode=case.mode).program
    given = sum(integer(spec.type.elements) * ITEMSIZE[spec.type.dtype] for spec in program.inputs)
    memory = training_memory(program, Training(optimizer, attention=case.attention, **training)).memory
    return memory.peak.total - given - (memory.gradients if memory.accumulate > 1 else 0)


def peak_by_torch(
    case: Case, optimizer: str | None = None, *, recompute: bool = False, accumulate: bool = False
) -> int:
    """Return the same of the reference, in its second step, which may add to the gradients of the first."""
    torch.manual_seed(0)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        module = case.reference().train(case.mode == "train")
        if recompute:
            kept = {"use_reentrant": False, "preserve_rng_state": False}
            module.activation_checkpointing_enable(kept)
        update = torch.optim.AdamW(module.parameters()) if optimizer == "adamw" else None
        inputs = reference_inputs(case)
        held: list[Any] = []

        def step() -> None:
            output = called(case, module, inputs)
            outputs = [tensor for tensor in _floats(output) if tensor.requires_grad]
            held.append((output, outputs))
            torch.autograd.backward(outputs, [torch.ones_like(tensor) for tensor in outputs])
            if update is not None:
                update.step()

        step()
        held.clear()
        if not accumulate:
            module.zero_grad(set_to_none=True)
        gc.collect()
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            step()
    finally:
        torch.set_num_threads(threads)
    return _peak(sorted(recorded.profiler.kineto_results.events(), key=lambda event: event.start_ns()))


def _peak(events: list[Any]) -> int:
    """Return the most bytes that live at a time outside calls of convolutions, or when they end."""
    live = peak = end = 0
    for event in events:
        if event.start_ns() > end:
            peak = max(peak, live)
        if event.name() in CONVOLUTIONS:
            end = event.start_ns() + event.duration_ns()
        elif event.name() == "[memory]":
            live += event.nbytes()
    return max(peak, live)


def kept_by_netcalc(case: Case) -> int:
    """Return the bytes that are kept for the backward pass under autocast to bfloat16."""
    program = load(case.spec, set=case.settings, dtype="float32", mode=case.mode).program
    return training_memory(program, Training(precision="bf16-mixed", attention=case.attention)).memory.kept


def kept_by_torch(case: Case) -> int:
    """Return the same of the reference."""
    return saved_networks.kept_by_torch(case, torch.autocast("cpu", dtype=torch.bfloat16))


def _floats(output: Any) -> Iterator[Any]:
    if isinstance(output, torch.Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, dict | list | tuple):
        for part in output.values() if isinstance(output, dict) else output:
            yield from _floats(part)

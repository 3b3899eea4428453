"""Figures of a module by PyTorch, and the differences of netcalc's from them."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.diagnostics import NetcalcError
from tests.oracle.peers.registry import Case

PASSES = ("forward", "backward")
#: Largest difference of an output, relative to its largest element.
TOLERANCE = 1e-5


def differences(case: Case) -> dict[str, Any]:
    """Return what differs between netcalc and PyTorch, by the part that differs: empty if nothing does.

    The parts are ``import``, ``parameters``, ``forward`` and ``backward`` (FLOPs, without and with gradients of the
    inputs), and ``outputs``.
    """
    with quiet():
        torch.manual_seed(0)
        module = case.make().eval()
        try:
            network = netcalc.from_torch(module, *case.args, **case.kwargs)
        except NetcalcError as error:
            return {"import": str(error)}
        found: dict[str, Any] = {}
        parameters = [*module.parameters()]
        ours = (network.params, int(network.cost().params_trainable))
        theirs = (count(parameters), count([p for p in parameters if p.requires_grad]))
        if ours != theirs:
            found["parameters"] = {"netcalc": ours, "torch": theirs}
        for wanted in (False, True):
            try:
                ours = netcalc_flops(network, wanted)
            except NetcalcError as error:
                found["backward"] = str(error)
                continue
            for part, flops, by_torch in zip(PASSES, ours, torch_flops(module, case, wanted), strict=True):
                if flops != by_torch:
                    found[part] = {"netcalc": flops, "torch": by_torch, "gradients of inputs": wanted}
        try:
            agreement = network.verify_against(module, *case.args, **case.kwargs)
        except NetcalcError as error:
            return {**found, "outputs": str(error)}
        far = [output for output in agreement.outputs if not output.difference <= TOLERANCE]
        if far or not agreement.weights.ok:
            found["outputs"] = far or agreement.weights
        return found


def count(parameters: list[Any]) -> int:
    """Return the number of elements of parameters."""
    return sum(parameter.numel() for parameter in parameters)


def netcalc_flops(network: netcalc.Network, wanted: bool) -> tuple[int, int]:
    """Return netcalc's FLOPs of a forward pass, and of both passes, by the convention of PyTorch's counter.

    ``wanted`` adds gradients of the inputs.
    """
    if not any(type_.is_float for type_ in network.outputs.values()):
        forward = int(network.cost("torch").flops)
        return forward, forward
    inputs = [name for name, type_ in network.inputs.items() if type_.is_float] if wanted else []
    total = analyze(network.program, "torch", backward=True, inputs=inputs).total
    return int(total.flops), int(total.flops_total)


def torch_flops(module: Any, case: Case, wanted: bool) -> tuple[int, int]:
    """Return PyTorch's FLOPs of a forward pass, and of both passes from the sum of all outputs.

    ``wanted`` adds gradients of the inputs.
    """
    args, kwargs = copied((case.args, case.kwargs), wanted)
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    with whole_layers(), FlopCounterMode(display=False) as counter:
        results = [*tensors_in(torch.func.functional_call(module, buffers, args, kwargs))]
        forward = counter.get_total_flops()
        losses = [real(result).sum() for result in results if result.requires_grad]
        if losses:
            sum(losses).backward()
    return int(forward), int(counter.get_total_flops())


def copied(tree: Any, wanted: bool) -> Any:
    """Return arguments with copies of their tensors, which the module may change."""
    if isinstance(tree, torch.Tensor):
        return tree.detach().clone().requires_grad_(wanted and tree.is_floating_point()).clone()
    if isinstance(tree, dict):
        return {key: copied(value, wanted) for key, value in tree.items()}
    if isinstance(tree, (list, tuple)):
        parts = [copied(value, wanted) for value in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if hasattr(tree, "__dict__"):
        made = copy(tree)
        vars(made).update(copied(vars(tree), wanted))
        return made
    return tree


def tensors_in(tree: Any) -> Iterator[Any]:
    """Yield the tensors of a result."""
    if isinstance(tree, torch.Tensor):
        yield tree
    elif isinstance(tree, (list, tuple)):
        for part in tree:
            yield from tensors_in(part)
    elif isinstance(tree, dict) or hasattr(tree, "__dict__"):
        yield from tensors_in([*(tree if isinstance(tree, dict) else vars(tree)).values()])


def real(tensor: Any) -> Any:
    """Return the parts of complex numbers."""
    return torch.view_as_real(tensor) if tensor.is_complex() else tensor


@contextmanager
def quiet() -> Iterator[None]:
    """Hide warnings and messages of PyTorch, and fused layers of inference, which the counters do not count."""
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
        torch.backends.mha.set_fastpath_enabled(fast)


@contextmanager
def whole_layers() -> Iterator[None]:
    """Run layers by operators that the counter has formulas for."""
    with torch.backends.mkldnn.flags(enabled=False, allow_tf32=None), sdpa_kernel(SDPBackend.MATH):
        yield

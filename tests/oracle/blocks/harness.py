"""Comparison of a block with a torch module of the same weights on the same inputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.engine.run import PLANS, forward
from netcalc.spec import elaborate
from netcalc.spec.library import find_block, load_data

torch = pytest.importorskip("torch")
flop_counter = pytest.importorskip("torch.utils.flop_counter")


def agree(
    block: str,
    args: dict[str, Any],
    module: Any,
    *inputs: Any,
    call: Any = None,
    buffers: bool = True,
    flops: bool = True,
) -> None:
    """Assert that ``block`` equals ``module`` in torch: state_dict, parameters, FLOPs, shapes and values.

    Args:
        inputs: arrays for the block's inputs in order; None for an optional one that is absent.
        call: a function that runs the module on the tensors; by default the module itself.
        buffers: if True, compare buffers too (transformers keeps causal masks in some).
        flops: if True, compare FLOPs too (transformers runs each expert on the tokens routed to it).
    """
    holder = _randomised(module)
    given = {f"i{n}": array for n, array in enumerate(inputs) if array is not None}
    ports = [f"i{n}" if array is not None else None for n, array in enumerate(inputs)]
    spec = {
        "netcalc": 1,
        "inputs": {n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in given.items()},
        "layers": [{"name": "b", "from": ports, block: args}],
        "outputs": _outputs(block),
    }
    program = elaborate(load_data(spec))
    tensors = [None if array is None else torch.from_numpy(array.copy()) for array in inputs]
    counter = flop_counter.FlopCounterMode(display=False)
    with torch.no_grad(), counter:
        expected = (call or module)(*tensors)
    expected = expected if isinstance(expected, (list, tuple)) else [expected]
    total = Analysis(program, CONVENTIONS["torch"]).total
    assert total.params == sum(p.numel() for p in module.parameters())
    if flops:
        assert total.flops == counter.get_total_flops()
    if buffers:
        assert total.buffers == sum(b.numel() for b in module.buffers())
    weights = {name: tensor.numpy() for name, tensor in holder.state_dict().items()}
    for plan in PLANS:
        result = forward(program, given, weights=weights, plan=plan)
        for one, other in zip(result.outputs.values(), expected, strict=True):
            array = other.numpy()
            assert one.shape == array.shape
            assert float(np.abs(one - array).max()) <= 1e-5 * float(np.abs(array).max())


def _randomised(module: Any) -> Any:
    """Return a module with ``module`` as ``b``, in evaluation mode, whose weights all affect the output."""
    torch.manual_seed(0)
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if name.endswith("running_var"):
                tensor.uniform_(0.5, 2.0)
            elif tensor.is_floating_point() and not name.endswith("inv_freq"):
                tensor.normal_(0.0, 1.0 if tensor.dim() < 2 else tensor[0].numel() ** -0.5)
    holder = torch.nn.Module()
    holder.b = module.eval()
    return holder


def _outputs(block: str) -> list[str]:
    found = find_block(block, load_data({"netcalc": 1}))
    assert found is not None
    declared = found.decl.outputs
    return ["b"] if declared is None else [f"b.{name.rpartition('.')[2]}" for name in declared]

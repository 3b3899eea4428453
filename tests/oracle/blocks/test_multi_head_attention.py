"""The block ``multi_head_attention`` against torch.nn.MultiheadAttention."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.run import PLANS, forward
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.arrays import normal
from tests.oracle.harness import draws

torch = pytest.importorskip("torch")


@draws
@given(
    kdim=st.sampled_from([None, 12, 6]),
    vdim=st.sampled_from([None, 12, 10]),
    bias=st.booleans(),
    bias_kv=st.booleans(),
    zero_attn=st.booleans(),
    mask=st.sampled_from([None, "bool", "float"]),
    padding=st.booleans(),
    average=st.booleans(),
)
def test_outputs_and_weights(
    kdim: int | None,
    vdim: int | None,
    bias: bool,
    bias_kv: bool,
    zero_attn: bool,
    mask: str | None,
    padding: bool,
    average: bool,
) -> None:
    torch.manual_seed(0)
    module = torch.nn.MultiheadAttention(
        12, 3, bias=bias, add_bias_kv=bias_kv, add_zero_attn=zero_attn, kdim=kdim, vdim=vdim, batch_first=True
    ).eval()
    with torch.no_grad():
        for tensor in module.parameters():
            tensor.normal_(0.0, 0.4)
    arrays = {"q": normal(2, 4, 12), "k": normal(2, 5, kdim or 12) + 1, "v": normal(2, 5, vdim or 12) - 1}
    hidden = np.random.default_rng(1).random((4, 5)) < 0.3
    absent = np.array([[False] * 5, [False, False, False, True, True]])
    hidden[:, 0] = False
    theirs: dict[str, Any] = {"need_weights": True, "average_attn_weights": average}
    if mask is not None:
        scores = np.where(hidden, -np.inf, normal(4, 5)).astype(np.float32)
        arrays["mask"] = ~hidden if mask == "bool" else scores
        theirs["attn_mask"] = torch.from_numpy(hidden if mask == "bool" else scores)
    if padding:
        arrays["padding"] = absent
        as_mask = torch.where(torch.from_numpy(absent), -torch.inf, 0.0)
        theirs["key_padding_mask"] = as_mask if mask == "float" else torch.from_numpy(absent)
    args = {"heads": 3, "bias": bias, "bias_kv": bias_kv, "zero_attn": zero_attn}
    args |= {"need_weights": True, "average_weights": average}
    spec = {
        "netcalc": 1,
        "inputs": {n: {"shape": list(a.shape), "dtype": str(a.dtype)} for n, a in arrays.items()},
        "layers": [
            {
                "name": "attn",
                "from": ["q", "k", "v", mask and "mask", "padding" if padding else None],
                "multi_head_attention": args,
                "as": ["y", "shares"],
            }
        ],
        "outputs": {"y": "y", "weights": "shares"},
    }
    with torch.no_grad():
        tensors = [torch.from_numpy(arrays[n]) for n in ("q", "k", "v")]
        expected = module(*tensors, **theirs)
    weights = {f"attn.{name}": tensor.numpy() for name, tensor in module.state_dict().items()}
    program = elaborate(load_data(spec))
    for plan in PLANS:
        found = forward(program, arrays, weights=weights, plan=plan).outputs
        for one, other in zip((found["y"], found["weights"]), expected, strict=True):
            np.testing.assert_allclose(one, other.numpy(), atol=2e-5)

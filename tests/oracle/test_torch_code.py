"""PyTorch code of networks against netcalc: outputs with the same weights, and other sizes by arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from tests.exhaustive.export_torch import compared, module_class

torch: Any = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["resnet18", "gpt2", "t5-small", "swin_t", "mamba-130m", "layer-norm-lstm"])
def test_outputs_and_parameters(name: str) -> None:
    assert compared(name) == "equal"


def test_sizes_are_arguments(tmp_path: Path) -> None:
    """The module of GPT-2 at other sizes is the network at these settings."""
    netcalc.load("gpt2").export(tmp_path / "model.py")
    sizes = {"vocab": 60, "d_model": 24, "heads": 3, "max_length": 16, "d_ff": 40}
    module = module_class((tmp_path / "model.py").read_text(encoding="utf-8"), "gpt2")(**sizes).eval()
    network = netcalc.load("gpt2", set={**sizes, "length": 9, "batch": 2})
    assert sum(tensor.numel() for tensor in module.parameters()) == network.params
    # the files of GPT-2 have these matrices transposed
    transposed = ("c_attn.weight", "c_proj.weight", "c_fc.weight")
    weights = {
        path: (tensor.T if path.endswith(transposed) else tensor).numpy()
        for path, tensor in module.state_dict().items()
    }
    ids = np.random.default_rng(0).integers(0, 60, (2, 9))
    with torch.no_grad():
        expected = module(torch.from_numpy(ids)).numpy()
    ours = network.run({"input_ids": ids}, weights=weights).outputs["logits"]
    np.testing.assert_allclose(ours, expected, atol=1e-5 * np.abs(expected).max())

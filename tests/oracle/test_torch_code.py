"""PyTorch code of networks against netcalc: outputs with the same weights, and other sizes by arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from tests.exhaustive.export_torch import compared, difference, module_class

torch: Any = pytest.importorskip("torch")


@pytest.mark.parametrize("name", ["resnet18", "gpt2", "t5-small", "swin_t", "mamba-130m", "layer-norm-lstm"])
def test_outputs_and_parameters(name: str) -> None:
    assert compared(name) == "ok"


def test_sizes_are_arguments(tmp_path: Path) -> None:
    """The module of GPT-2 at other sizes is the network at these settings."""
    netcalc.load("gpt2").export(tmp_path / "model.py")
    sizes = {"vocab": 60, "d_model": 24, "heads": 3, "max_length": 16, "d_ff": 40, "layers": 3}
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


_HEADER = """
netcalc: 1
inputs: {x: [2, 3, 8]}
"""


@pytest.mark.parametrize(
    "layers",
    [
        # an input that all iterations of a loop read beside the value that they pass on
        """
blocks:
  step: {inputs: [x, y], layers: [{name: a, from: x, linear: 8}, {from: [a, y], mul: {}}, tanh]}
layers:
  - {name: other, tanh: {}}
  - {name: decoder.head, from: x, linear: 8}
  - {name: decoder.layers, from: {x: other, y: x}, repeat: 3, step: {}}
  - {name: decoder.last, linear: 8}
""",
        # a list whose members are single operations on the same value
        """
layers:
  - {name: heads, from: {input: x}, repeat: {times: 3, collect: {output: {stack: 0}}}, linear: {out: 8}, as: [one, all]}
  - {from: [one, all], add: {}}
""",
        # an input that the members of a list have from the second on
        """
blocks:
  step:
    inputs: [x, kept?]
    outputs: [result, first]
    layers:
      - {name: a, from: x, linear: 8}
      - {name: first, when: kept == null, from: a, tanh: {}}
      - {name: first, when: kept != null, from: kept, identity: {}}
      - {name: result, from: [a, first], mul: {}}
layers:
  - {name: layers, from: {x: x}, repeat: 3, step: {}, as: [result, first]}
  - {from: [result, first], add: {}}
""",
        # a block whose calls share their weights and differ in an attribute
        """
blocks:
  step:
    args: {place: int}
    inputs: [x, rows]
    layers:
      - {name: row, from: rows, select: {axis: 1, index: "${place}"}}
      - {name: a, from: x, linear: 8}
      - {from: [a, row], add: {}}
layers:
  - {name: start, mean: 1}
  - {name: step, from: [start, x], share: true, repeat: {times: 3, index: place}, step: {place: "${place}"}}
""",
        # layers that take turns, in their order
        """
vars: {layers: 5}
blocks:
  step:
    args: {even: bool}
    layers:
      - {name: a, linear: 8}
      - {when: even, tanh: {}}
      - {when: not even, mul: 3}
layers:
  - {name: layers, repeat: {times: "${layers}", index: i}, step: {even: "${i % 2 == 0}"}}
""",
        # elements that are replaced, and bits
        """
layers:
  - {name: rows, from: x, select: {axis: 0, index: 1}}
  - {name: places, from: x, mean: [1, 2]}
  - {name: whole, from: places, greater: 0.0}
  - {name: indices, from: whole, cast: int64}
  - {name: twice, from: indices, bitwise_left_shift: 2}
  - {name: again, from: twice, bitwise_right_shift: 2}
  - {from: [x, rows, again], index_put: 0}
""",
        # a weight of another layer beside a bias
        """
layers:
  - {name: first, linear: {out: 8, bias: false}}
  - {name: second.inner, tie: {weight: first.weight}, linear: 8}
""",
    ],
)
def test_structures(layers: str) -> None:
    assert difference(netcalc.loads(_HEADER + layers).request) == ""

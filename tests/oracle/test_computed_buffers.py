"""Tables that lines of a spec compute, against torch and transformers."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
bloom = pytest.importorskip("transformers.models.bloom.modeling_bloom")

from netcalc.engine.run import forward  # noqa: E402
from netcalc.ir.specialize import specialize  # noqa: E402
from tests.spec.harness import program  # noqa: E402

SINUSOIDAL = """
dims: {length: 16}
vars: {features: 8}
inputs: {x: [1, length, "${features}"]}
layers:
  - name: table
    buffer:
      computed:
        - {name: place, arange: {stop: "${x.length}", dtype: float32}}
        - {unsqueeze: 1, as: place}
        - {arange: {stop: "${features}", step: 2, dtype: float32}}
        - {mul: {value: "${-log(10000) / features}"}}
        - exp
        - {from: [place, _], mul: {}, as: angle}
        - {from: angle, sin: {}, as: sines}
        - {from: angle, cos: {}, as: cosines}
        - {from: [sines, cosines], stack: {axis: 2}}
        - {flatten: {start_axis: 1}}
"""
#: The heads beyond a power of 2 take every other slope of twice as many heads.
ALIBI = """
dims: {length: 7}
vars: {heads: 6, whole: "${2 ** int(floor(log2(heads)))}"}
inputs: {x: [1, length]}
layers:
  - name: alibi
    buffer:
      persistent: false
      computed:
        - {name: first, arange: {start: 1, stop: "${whole + 1}", dtype: float32}}
        - {mul: {value: "${-8 / whole}"}}
        - {mul: {value: "${log(2)}"}, as: first}
        - when: whole < heads
          name: rest
          arange: {start: 1, stop: "${2 * (heads - whole) + 1}", step: 2, dtype: float32}
        - {when: whole < heads, mul: {value: "${-4 / whole}"}}
        - {when: whole < heads, mul: {value: "${log(2)}"}, as: rest}
        - {when: whole < heads, from: [first, rest], concat: {axis: 0}, as: first}
        - {from: first, exp: {}, as: slopes}
        - {reshape: [-1, 1, 1], as: slopes}
        - {arange: {stop: "${x.length}", dtype: float32}}
        - {from: [slopes, _], mul: {}}
"""


@pytest.mark.parametrize(("length", "features"), [(16, 8), (5, 2), (60, 30)])
def test_a_sinusoidal_table(length: int, features: int) -> None:
    """The table of torch's tutorial of the Transformer."""
    place = torch.arange(length).unsqueeze(1)
    factor = torch.exp(torch.arange(0, features, 2) * (-math.log(10000.0) / features))
    table = torch.zeros(length, features)
    table[:, 0::2] = torch.sin(place * factor)
    table[:, 1::2] = torch.cos(place * factor)
    symbolic = program(SINUSOIDAL, symbolic=("length",), features=features)
    for net in (program(SINUSOIDAL, length=length, features=features), specialize(symbolic, {"length": length})):
        np.testing.assert_allclose(forward(net).outputs["output"], table.numpy(), rtol=0, atol=1e-5)


@pytest.mark.parametrize("heads", [1, 2, 6, 8, 12, 71])
def test_the_biases_of_bloom(heads: int) -> None:
    expected = bloom.build_alibi_tensor(torch.ones(1, 7), heads, torch.float32)
    found = forward(program(ALIBI, heads=heads)).outputs["output"]
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-5, atol=0)

"""``default_dtype`` in expressions: the element type of the network's floating-point tensors, wherever a line is."""

from __future__ import annotations

import pytest

import netcalc

NETWORK = """
netcalc: 1
inputs: {x: [2, 3]}
blocks:
  scaled:
    layers:
      - {name: angles, arange: 3}
      - cast: "${default_dtype}"
      - {from: [in, _], mul: {}}
layers:
  - scaled
  - repeat: 2
    sequence: [scaled]
  - add:
      a: []
      b: [{constant: {value: 0.5, dtype: "${default_dtype}"}}]
"""


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "float64"])
def test_it_follows_the_type_of_the_network(dtype: str) -> None:
    network = netcalc.loads(NETWORK, dtype=dtype)
    assert [value.dtype for value in network.outputs.values()] == [dtype]
    assert network.verify().ok


def test_a_var_of_this_name_comes_first() -> None:
    spec = "netcalc: 1\nvars: {default_dtype: float16}\ninputs: {x: [2]}\nlayers: [{cast: '${default_dtype}'}]\n"
    assert [value.dtype for value in netcalc.loads(spec).outputs.values()] == ["float16"]


def test_a_misspelt_one_gets_a_suggestion() -> None:
    with pytest.raises(netcalc.NetcalcError) as caught:
        netcalc.loads("netcalc: 1\ninputs: {x: [2]}\nlayers: [{cast: '${default_dtyp}'}]\n").program  # noqa: B018
    assert "default_dtype" in str(caught.value.diagnostics[0].hint)

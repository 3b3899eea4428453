"""Bytes of parameters by headers of tensors that several parameters share, or that make up one together."""

from __future__ import annotations

import numpy as np

import netcalc
from netcalc.analysis.stored_weights import StoredWeights
from netcalc.numerics.parameters import counted_weights

SPEC = """
netcalc: 1
inputs: {x: [1, 8]}
checkpoint:
  "q.weight": {from: qkv.weight, chunk: [0, 3]}
  "k.weight": {from: qkv.weight, chunk: [1, 3]}
  "v.weight": {from: qkv.weight, chunk: [2, 3]}
  "joined.weight": {from: [left.weight, right.weight]}
layers:
  - {name: q, linear: {out: 8, bias: false}}
  - {name: k, linear: {out: 8, bias: false}}
  - {name: v, linear: {out: 8, bias: false}}
  - {name: joined, linear: {out: 8, bias: false}}
"""


def test_a_tensor_that_parameters_share_counts_once_and_parts_in_their_own_types() -> None:
    arrays = {
        "qkv.weight": np.zeros((24, 8), np.float16),
        "left.weight": np.zeros((3, 8), np.float16),
        "right.weight": np.zeros((5, 8), np.float32),
    }
    counted = counted_weights(netcalc.loads(SPEC).program, arrays, configured=True)
    assert counted.stored == (
        StoredWeights("weights", "float16", 4 * 64 - 40, sum(arrays[n].nbytes for n in ("qkv.weight", "left.weight"))),
        StoredWeights("weights", "float32", 40, arrays["right.weight"].nbytes),
    )
    assert (counted.bytes, counted.configured) == (sum(array.nbytes for array in arrays.values()), 4 * 64 * 4)

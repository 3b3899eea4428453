"""Reference kernels in planned runs."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc import loads
from netcalc.diagnostics import NetcalcError
from netcalc.engine.run import forward

SPEC = """
netcalc: 1
inputs:
  ids: {shape: [2, 300], dtype: int64, range: [-1, 12]}
layers:
  - transpose: [0, 1]
  - add: {value: 0}
  - embedding: {num_embeddings: 11, embedding_dim: 300}
"""


@pytest.mark.parametrize("wrong", [11, -1])
def test_an_id_out_of_range_is_the_error_of_the_reference_path(wrong: int) -> None:
    net = loads(SPEC).program
    ids = np.zeros((2, 300), np.int64)
    ids[1, 200] = wrong
    said = []
    for plan, threads in (("fast", 1), ("fast", 3), ("reference", 1)):
        with pytest.raises(NetcalcError) as refused:
            forward(net, {"ids": ids}, plan=plan, threads=threads)
        said.append([d.message for d in refused.value.diagnostics])
    assert said[0] == said[1] == said[2]
    assert f"id {wrong} is out of range" in said[0][0]

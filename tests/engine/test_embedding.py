"""Planned embeddings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc import loads
from netcalc.diagnostics import NetcalcError
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from tests.engine.agreement import DTYPES, THREADS, drawn
from tests.engine.tunings import TUNINGS

SPEC = """
netcalc: 1
dtype: {dtype}
inputs:
  ids: {{shape: {shape}, dtype: {ids}, range: [0, 11]}}
layers:
  - transpose: [0, 1]
  - embedding: {{num_embeddings: 11, embedding_dim: {width}, scale: {scale}}}
"""


@drawn
@given(st.data(), DTYPES, THREADS, TUNINGS)
def test_planned_embeddings_equal_the_reference_path(
    data: st.DataObject, dtype: str, threads: int, tuning: Tuning
) -> None:
    drawn = {
        "shape": [data.draw(st.integers(1, 6)) for _ in range(data.draw(st.integers(2, 3)))],
        "ids": data.draw(st.sampled_from(["int64", "int32"])),
        "width": data.draw(st.integers(1, 9)),
        "scale": data.draw(st.sampled_from(["null", 0.3])),
    }
    net = loads(SPEC.format(dtype=dtype, **drawn)).program
    plan, inputs = Plan(net, threads, tuning=tuning), run_inputs(net)
    assert not any(step.temporary for step in plan.steps)  # no fallback to a kernel
    (fast,) = Session(plan, Parameters(net))(inputs)
    reference = forward(net, plan="reference").outputs["output"]
    assert fast.dtype == reference.dtype
    np.testing.assert_array_equal(fast, reference)


@pytest.mark.parametrize("wrong", [11, -1])
def test_an_id_out_of_range_is_the_error_of_the_reference_path(wrong: int) -> None:
    spec = SPEC.format(dtype="float32", shape=[2, 300], ids="int64", width=300, scale="null")
    net = loads(spec.replace("[0, 11]", "[-1, 12]")).program
    ids = np.zeros((2, 300), np.int64)
    ids[1, 200] = wrong
    said = []
    for plan, threads in (("fast", 1), ("fast", 3), ("reference", 1)):
        with pytest.raises(NetcalcError) as refused:
            forward(net, {"ids": ids}, plan=plan, threads=threads)
        said.append([d.message for d in refused.value.diagnostics])
    assert said[0] == said[1] == said[2]
    assert f"id {wrong} is out of range" in said[0][0]

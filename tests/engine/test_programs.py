"""Planned runs of random programs against the reference path."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from netcalc.analysis.walk import instances
from netcalc.arrays import numpy_dtype
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from tests.engine.programs import Drawing, Spec, draw_spec, drawn_weights, program, specs
from tests.engine.tunings import SMALL, SWITCHES, without

#: True if the system has worker processes; elsewhere threads replace them.
PROCESSES = sys.platform == "linux"
DRAWS = int(os.environ.get("NETCALC_DRAWS", "60"))
drawn = settings(max_examples=DRAWS, deadline=None, suppress_health_check=list(HealthCheck))

Arrays = Mapping[str, np.ndarray]


def cast_floats(arrays: Arrays, dtype: str) -> dict[str, np.ndarray]:
    """Return the arrays, with floating-point arrays cast to another type."""
    return {
        name: array if array.dtype.kind in "iub" else array.astype(numpy_dtype(dtype)) for name, array in arrays.items()
    }


def check(spec: Spec, dtype: str, threads: int, processes: bool, tuning: Tuning, seed: int) -> None:
    """Compare planned outputs with float64, within the error of the reference path and the condition of the program."""
    net = program(spec, dtype)
    arrays = run_inputs(net, None, seed)
    inputs = {declared.name: array for declared, array in zip(net.inputs, arrays, strict=True)}
    weights = drawn_weights(net, seed)

    def outputs(dtype: str, **options: Any) -> list[np.ndarray]:
        result = forward(
            program(spec, dtype), cast_floats(inputs, dtype), weights=cast_floats(weights, dtype), **options
        )
        return list(result.outputs.values())

    exact, single = outputs("float64", plan="reference"), outputs("float32", plan="reference")
    reference = outputs(dtype, plan="reference")
    session = Session(Plan(net, threads, processes, tuning), Parameters(net, cast_floats(weights, dtype)))
    planned = session([cast_floats(inputs, dtype)[declared.name] for declared in net.inputs])
    small = float(ml_dtypes.finfo(numpy_dtype(dtype)).eps)
    half = dtype in ("float16", "bfloat16")
    for ours, theirs, true, rough in zip(planned, reference, exact, single, strict=True):
        assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
        if theirs.dtype.kind in "iub":
            np.testing.assert_array_equal(ours, theirs)
            continue
        ours, theirs, rough = (array.astype(np.float64) for array in (ours, theirs, rough))
        plain = np.isfinite(true) & np.isfinite(theirs) & np.isfinite(rough)
        if not half:
            special = ~np.isfinite(true) & ~np.isfinite(theirs) & ~np.isfinite(rough)
            assert not np.isfinite(ours[special]).any()
        if not plain.any():
            continue
        ours, theirs, rough, true = (array[plain] for array in (ours, theirs, rough, true))
        off = np.abs(theirs - true).max()
        condition = np.abs(rough - true).max() / np.finfo(np.float32).eps
        scale = max(1.0, np.abs(true).max())
        allowed = 3 * off + small * ((4 if half else 16) * condition + (4 if half else 64) * scale)
        error = np.abs(ours - true).max()
        assert error <= allowed, f"off by {error:.2g}, of {allowed:.2g} allowed; the reference path by {off:.2g}"


@drawn
@given(
    specs(),
    st.sampled_from(["float32", "float32", "float64", "float16", "bfloat16"]),
    st.integers(1, 3),
    st.booleans(),
    st.sampled_from([Tuning(), SMALL, without(*SWITCHES, tuning=SMALL)]),
    st.integers(0, 3),
)
def test_planned_runs_agree_with_the_reference_path(
    spec: Spec, dtype: str, threads: int, processes: bool, tuning: Tuning, seed: int
) -> None:
    check(spec, dtype, threads, processes and PROCESSES, tuning, seed)


#: Operations that a few hundred draws must include.
COMMON = {
    "add",
    "batch_norm",
    "concat",
    "conv1d",
    "conv2d",
    "conv3d",
    "embedding",
    "group_norm",
    "layer_norm",
    "linear",
}


def test_most_draws_are_valid_and_reach_all_lowerings() -> None:
    """Refused lines are left out, so that frequent refusals would reduce the coverage."""
    lines, refused, names, complete = 0, 0, set(), []

    @settings(max_examples=400, derandomize=True, database=None, deadline=None, phases=[Phase.generate])
    @given(draw_spec())
    def count(drawing: Drawing) -> None:
        nonlocal lines, refused
        lines += len(drawing.lines)
        refused += drawing.refused
        complete.append(not drawing.refused)
        names.update(instance.node.op.name for instance in instances(program(drawing.spec())))

    count()
    assert refused < 0.1 * lines
    assert sum(complete) > 0.6 * len(complete)
    assert names >= COMMON
    assert len(names) > 60

"""Comparison of an operation's plan with its reference kernel, on inputs of varied memory layouts."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from netcalc.arrays import Array, numpy_dtype
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.numerics.kernels import wide
from netcalc.numerics.parameters import Parameters
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.engine.programs import drawn_weights

__all__ = ["DTYPES", "THREADS", "Layout", "agree", "drawn", "layouts"]

drawn = settings(
    max_examples=int(os.environ.get("NETCALC_DRAWS", "40")), deadline=None, suppress_health_check=list(HealthCheck)
)

#: Largest relative difference by element type: the rounding of sums and of the result.
_CLOSE = {"float32": 3e-6, "float64": 1e-14, "float16": 1e-3, "bfloat16": 1e-2}
DTYPES = st.sampled_from(sorted(_CLOSE))
THREADS = st.integers(1, 3)

#: Shape of an input, and spec lines that make a view of it.
Layout: TypeAlias = tuple[list[int], list[Any]]
Draw: TypeAlias = Callable[[Any], Any]


@st.composite
def layouts(draw: Draw, shape: Sequence[int]) -> Layout:
    """Draw a layout of a tensor of this shape: contiguous, permuted, or a slice of a larger tensor."""
    rank = len(shape)
    order = draw(st.permutations(range(rank)))
    lines: list[Any] = []
    if rank > 1 and draw(st.booleans()):
        lines.append({"permute": list(order)})
        shape = [shape[order.index(axis)] for axis in range(rank)]
    stored = list(shape)
    if rank and draw(st.booleans()):
        axis = draw(st.integers(0, rank - 1))
        start, step = draw(st.integers(0, 2)), draw(st.integers(1, 2))
        end = start + (stored[axis] - 1) * step + 1
        stored[axis] = end + draw(st.integers(0, 1))
        lines.insert(0, {"slice": {"axis": axis, "start": start, "stop": end, "step": step}})
    return stored, lines


def agree(
    line: Any,
    *inputs: Layout,
    dtype: str = "float32",
    threads: int = 1,
    processes: bool = False,
    tuning: Tuning | None = None,
    nan: bool = False,
    planned: bool = True,
) -> None:
    """Fail unless the plan of an operation agrees with its kernel; with ``planned`` the plan may not call the kernel.

    With ``nan`` the inputs contain infinities and NaN.
    """
    layers: list[Any] = []
    for number, (_, lines) in enumerate(inputs):
        layers += [{"name": f"v{number}", "from": f"x{number}", "sequence": lines or ["identity"]}]
    ((operation, attributes),) = line.items()
    layers.append({"name": "y", "from": [f"v{number}" for number in range(len(inputs))], operation: attributes})
    spec = {
        "netcalc": 1,
        "dtype": dtype,
        "inputs": {f"x{number}": list(shape) for number, (shape, _) in enumerate(inputs)},
        "layers": layers,
    }
    net = elaborate(load_data(spec))
    plan = Plan(net, threads, processes, tuning)
    assert any(step.temporary for step in plan.steps if step.node.op.name == operation) != planned
    rng = np.random.default_rng(sum(map(ord, json.dumps(spec))))
    arrays = {spec.name: _numbers(rng, spec.type.shape, nan).astype(numpy_dtype(dtype)) for spec in net.inputs}
    weights = drawn_weights(net, 1)
    (expected,) = forward(net, arrays, weights=weights, plan="reference").outputs.values()
    session = Session(plan, Parameters(net, weights))
    for _ in range(2):  # a pass does not depend on the memory contents that the last pass left
        (found,) = session(list(arrays.values()))
        assert found.dtype == expected.dtype and found.shape == expected.shape
        one, other = (wide(array).astype(np.float64) for array in (found, expected))
        finite = other[np.isfinite(other)]
        scale = float(np.abs(finite).max()) if finite.size else 0.0
        np.testing.assert_allclose(one, other, rtol=_CLOSE[dtype], atol=_CLOSE[dtype] * scale)


def _numbers(rng: np.random.Generator, shape: Sequence[Any], nan: bool) -> Array:
    array = rng.normal(0.3, 1, shape)
    if nan:
        places = rng.random(shape)
        array[places < 0.05] = np.nan
        array[(places > 0.05) & (places < 0.1)] = np.inf
        array[places > 0.9] = -np.inf
    return array

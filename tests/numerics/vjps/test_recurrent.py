"""Products of recurrent layers and cells against central differences."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.dims import value_at
from tests.numerics.vjps.drawing import normal, operation
from tests.ops.backward import BackwardPass, central_differences


@settings(max_examples=30, deadline=None)
@given(
    name=st.sampled_from(["rnn", "lstm", "gru"]),
    layers=st.integers(1, 2),
    both=st.booleans(),
    first=st.booleans(),
    bias=st.booleans(),
    projected=st.booleans(),
    dropout=st.sampled_from([0.0, 0.4]),
    steps=st.integers(1, 4),
    batch=st.none() | st.integers(1, 3),
    states=st.booleans(),
    padded=st.booleans(),
    norms=st.booleans(),
)
def test_layers(
    name: str,
    layers: int,
    both: bool,
    first: bool,
    bias: bool,
    projected: bool,
    dropout: float,
    steps: int,
    batch: int | None,
    states: bool,
    padded: bool,
    norms: bool,
) -> None:
    attrs: dict[str, Any] = {"hidden": 3, "layers": layers, "bidirectional": both, "batch_first": first, "bias": bias}
    out = 3
    if name != "rnn":
        attrs["layer_norm"] = norms
    if name == "lstm" and projected:
        attrs["proj_size"] = out = 2
    axes = (steps,) if batch is None else (batch, steps) if first else (steps, batch)
    one = () if batch is None else (batch,)
    rows = layers * (1 + both)
    starts: list[Any] = [normal(rows, *one, size, seed=size + 5) for size in ((out, 3) if name == "lstm" else (3,))]
    lengths = np.random.default_rng(1).integers(1, steps + 1, size=batch) if padded and batch else None
    arrays = [normal(*axes, 2), *(starts if states else [None] * len(starts)), lengths]
    central_differences(name, {**attrs, "dropout": dropout}, arrays, training=True)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (4,)])
@pytest.mark.parametrize("norms", [False, True])
def test_cells(name: str, states: bool, shape: tuple[int, ...], norms: bool) -> None:
    given = [normal(*shape[:-1], 5, seed=n) for n in range(1, 3 if name == "lstm" else 2)]
    attrs = {"layer_norm": norms} if name != "rnn" else {}
    central_differences(f"{name}_cell", {"hidden": 5, **attrs}, [normal(*shape), *(given if states else [])])


def test_relu_away_from_its_kink() -> None:
    attrs = {"hidden": 2, "nonlinearity": "relu", "bias": False}
    weights = {"weight_ih_l0": np.array([[1.0], [-1.0]]), "weight_hh_l0": np.array([[0.5, 0.2], [0.3, 0.4]])}
    central_differences("rnn", attrs, [np.array([[[0.7]], [[-0.9]], [[0.4]]])], weights)


def test_no_product_for_the_state_before_the_first_step() -> None:
    """torch creates the zeros of an initial state that is not given, and computes no gradient of them."""
    x, h_0 = normal(4, 2, 3), normal(1, 2, 5, seed=1)
    macs = []
    for arrays in ([x], [x, h_0]):
        passed = BackwardPass(operation("gru", hidden=5), arrays, {n: normal(*s) for n, s in _shapes(3).items()})
        work = passed.declared.cost(passed.op, passed.call)
        macs.append(
            sum(value_at(term.count, {}) for term in work if term.role == "state before" and term.kind == "mac")
        )
    assert macs == [3 * 2 * 15 * 5, 4 * 2 * 15 * 5]


def _shapes(features: int) -> dict[str, tuple[int, ...]]:
    return {"weight_ih_l0": (15, features), "weight_hh_l0": (15, 5), "bias_ih_l0": (15,), "bias_hh_l0": (15,)}


def test_layers_below_the_wanted_ones_are_left_out() -> None:
    """With a first layer that is frozen, the second stops at its own weights, and keeps no input of the first."""
    passed = BackwardPass(
        operation("gru", hidden=5, layers=2),
        [normal(3, 2, 4)],
        {**{n: normal(*s) for n, s in _shapes(4).items()}}
        | {n.replace("_l0", "_l1"): normal(*s) for n, s in _shapes(5).items()},
    )
    wanted = frozenset(source for source in passed.call.wanted if str(source).endswith("_l1"))
    call = replace(passed.call, wanted=wanted)
    names = {saved.name for saved in passed.declared.saves(passed.op, call)}
    assert names == {"hidden", "workspace", "weight_hh_l1"}
    assert passed.product(passed.seeds(), wanted).keys() == wanted

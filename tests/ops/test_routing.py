"""Mixtures of experts: recorded transformers results, capacity, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc import ops
from netcalc.diagnostics import NetcalcError, RuleError
from netcalc.dims import Dim, symbol, value_at
from netcalc.models import ValidationError
from netcalc.opdef import Context, Term
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute, truth_case

ROUTERS: dict[str, dict[str, Any]] = {
    "mixtral_router": {"k": 2, "normalize": True},
    "qwen2_router": {"k": 4},
    "deepseek_v2_router": {"k": 3, "groups": 4, "top_groups": 2, "scale": 16.0},
    "deepseek_v3_router": {
        "k": 3,
        "scoring": "sigmoid",
        "groups": 4,
        "top_groups": 2,
        "group_score": "top2_sum",
        "correction_bias": True,
        "normalize": True,
        "eps": 1e-20,
        "scale": 2.5,
    },
    "gpt_oss_router": {"k": 3, "order": "select_first"},
}
EXPERTS: dict[str, dict[str, Any]] = {
    "mixtral_experts": {"experts": 6, "hidden": 12},
    "gpt_oss_experts": {
        "experts": 5,
        "hidden": 12,
        "activation": "quick_gelu",
        "bias": True,
        "interleaved": True,
        "limit": 0.5,
        "up_shift": 1.0,
    },
}


@pytest.mark.parametrize("case_id", ROUTERS)
def test_router_equals_transformers(case_id: str) -> None:
    case = truth_case("op_routing", case_id)
    weights, indices = execute("top_k_router", ROUTERS[case_id], *case.inputs, weights=case.weights).outputs
    order = np.argsort(indices, axis=-1)
    case.check((np.take_along_axis(weights, order, -1), np.take_along_axis(indices, order, -1)))


@pytest.mark.parametrize("case_id", EXPERTS)
def test_experts_equal_transformers(case_id: str) -> None:
    case = truth_case("op_routing", case_id)
    case.check(execute("experts", EXPERTS[case_id], *case.inputs, weights=case.weights).outputs)


def test_capacity_equals_switch_transformers() -> None:
    case = truth_case("op_routing", "switch_block")
    logits = case.inputs[0] @ case.weights.pop("classifier").T
    weights, indices = execute("top_k_router", {"k": 1}, logits).outputs
    attrs = {"experts": 3, "hidden": 12, "activation": "relu", "gated": False, "capacity": 4}
    case.check(execute("experts", attrs, case.inputs[0], weights, indices, weights=case.weights).outputs)


def routed(shape: tuple[int, ...], experts: int, k: int, *, seed: int = 0) -> list[np.ndarray]:
    """Return tokens, weights, and indices that are distinct for each token."""
    rng = np.random.default_rng(seed)
    indices = np.argsort(rng.random((*shape[:-1], experts)), axis=-1)[..., :k]
    weights = rng.random((*shape[:-1], k)).astype(np.float32)
    return [rng.normal(size=shape).astype(np.float32), weights, indices]


experts_attrs = st.fixed_dictionaries(
    {
        "experts": st.integers(2, 5),
        "hidden": st.integers(1, 4),
        "activation": st.sampled_from(["relu", "silu", {"gelu": {"approximate": "tanh"}}]),
        "bias": st.booleans(),
        "weights_on": st.sampled_from(["input", "output"]),
    }
)
gating = st.one_of(
    st.just({"gated": False}),
    st.fixed_dictionaries(
        {
            "interleaved": st.booleans(),
            "limit": st.sampled_from([None, 0.5]),
            "up_shift": st.sampled_from([0.0, 1.0]),
        }
    ),
)
shapes = st.lists(st.integers(1, 4), min_size=2, max_size=4).map(tuple)


@settings(max_examples=40, deadline=None)
@given(attrs=experts_attrs, gate=gating, shape=shapes, k=st.integers(1, 2), seed=st.integers(0, 9))
def test_sufficient_capacity_drops_nothing(
    attrs: dict[str, Any], gate: dict[str, Any], shape: tuple[int, ...], k: int, seed: int
) -> None:
    """Computing pair by pair and filling the slots of experts give the same output."""
    attrs = attrs | gate
    inputs = routed(shape, attrs["experts"], k, seed=seed)
    (each,) = execute("experts", attrs, *inputs).outputs
    (filled,) = execute("experts", attrs | {"capacity": shape[-2]}, *inputs).outputs
    np.testing.assert_allclose(filled, each, rtol=1e-4, atol=1e-5)


@settings(max_examples=40, deadline=None)
@given(attrs=experts_attrs, shape=shapes, k=st.integers(1, 2), factor=st.sampled_from([0.25, 1.0, 1.25, 3.0]))
def test_the_work_with_capacity_is_counted(
    attrs: dict[str, Any], shape: tuple[int, ...], k: int, factor: float
) -> None:
    execute("experts", attrs | {"capacity_factor": factor}, *routed(shape, attrs["experts"], k))


def test_tokens_over_capacity_are_dropped_by_choice_and_order() -> None:
    """Three tokens want expert 0 first or second; it takes two, and a first choice goes before a second."""
    indices = np.array([[1, 0], [0, 1], [0, 1]])
    weights = np.ones((3, 2), np.float32)
    attrs = {"experts": 2, "hidden": 1, "activation": "identity", "gated": False, "capacity": 2}
    params = {"up_proj": np.ones((2, 1, 1), np.float32), "down_proj": np.array([[[1]], [[10]]], np.float32)}
    (y,) = execute("experts", attrs, np.ones((3, 1), np.float32), weights, indices, weights=params).outputs
    # expert 0 adds 1 for tokens 1 and 2; expert 1 adds 10 for tokens 0 and 1
    assert y.ravel().tolist() == [10, 11, 1]


def macs(terms: Any) -> Dim:
    total: Dim = 0
    for term in terms:
        total = total + (term.count if term.kind == "mac" else 0)
    return total


@pytest.mark.parametrize(
    ("factor", "expected", "worst"),
    # 64 tokens with 2 of 8 experts: 128 pairs, 16 for each expert
    [(None, 128, 128), (1.0, 128, 128), (1.25, 128, 160), (2.0, 128, 256), (0.5, 64, 64), (100.0, 128, 512)],
)
def test_expected_and_worst_case(factor: float | None, expected: int, worst: int) -> None:
    attrs = {"experts": 8, "hidden": 16, "capacity_factor": factor}
    declared = ops.find("experts")
    assert declared is not None
    op = declared(**attrs)
    inputs = (TensorType((64, 10)), TensorType((64, 2)), TensorType((64, 2), "int64"))
    one = 3 * 16 * 10  # gate, up and down
    assert macs(op.expected_cost(Context(), inputs, inputs[:1])) == expected * one
    assert macs(op.cost(Context(), inputs, inputs[:1])) == worst * one


def test_symbolic_sizes_agree_with_integers() -> None:
    tokens = symbol("tokens", default=64)
    for name, attrs, shapes in [
        ("top_k_router", ROUTERS["deepseek_v3_router"], [("t", 12)]),
        ("experts", EXPERTS["gpt_oss_experts"] | {"capacity_factor": 1.25}, [(2, "t", 6), (2, "t", 3), (2, "t", 3)]),
    ]:

        def terms(size: Dim, name: str = name, attrs: Any = attrs, shapes: Any = shapes) -> list[Term]:
            types = [TensorType(tuple(size if n == "t" else n for n in shape)) for shape in shapes]
            types[2:] = [t.with_dtype("int64") for t in types[2:]]
            declared = ops.find(name)
            assert declared is not None
            op = declared(**attrs)
            out = op.infer(Context(), *types)
            return list(op.cost(Context(), types, out if isinstance(out, tuple) else (out,)))

        for n in (1, 7, 64):
            assert [value_at(t.count, {"tokens": n}) for t in terms(tokens)] == [t.count for t in terms(n)]


@pytest.mark.parametrize(
    ("attrs", "experts", "message"),
    [
        ({"k": 9}, 8, "selects from 8"),
        ({"k": 2, "groups": 3}, 8, "3 groups do not divide 8 experts"),
        ({"k": 2, "groups": 2, "top_groups": 3}, 8, "top_groups 3 exceeds the 2 groups"),
        ({"k": 5, "groups": 2, "top_groups": 1}, 8, "selects from 4"),
        ({"k": 1, "groups": 8, "group_score": "top2_sum"}, 8, "groups of at least 2 experts"),
    ],
)
def test_invalid_inputs_of_the_router(attrs: dict[str, Any], experts: int, message: str) -> None:
    with pytest.raises(RuleError, match=message):
        execute("top_k_router", attrs, np.zeros((2, experts), np.float32))


def test_invalid_inputs_of_experts() -> None:
    x, weights, indices = routed((3, 4), 5, 2)
    attrs = {"experts": 5, "hidden": 2}
    with pytest.raises(RuleError, match="k weights and indices for each token"):
        execute("experts", attrs, x, weights[:, :1], indices)
    with pytest.raises(RuleError, match="integer indices, and these are float32"):
        execute("experts", attrs, x, weights, weights)
    with pytest.raises(RuleError, match="activation without parameters"):
        execute("experts", attrs | {"activation": "prelu"}, x, weights, indices)
    with pytest.raises(RuleError, match="sequence of tokens"):
        execute("experts", attrs | {"capacity": 2}, x[0], weights[0], indices[0])
    with pytest.raises(RuleError, match="experts are 0 to 4"):
        execute("experts", attrs, x, weights, indices + 4)


@pytest.mark.parametrize(
    "attrs",
    [
        {"activation": "softmax"},
        {"activation": {"gelu": {"steps": 3}}},
        {"activation": 3},
        {"capacity": 2, "capacity_factor": 1.0},
        {"gated": False, "limit": 7.0},
        {"limit": 0.0},
    ],
)
def test_contradictory_attributes(attrs: dict[str, Any]) -> None:
    declared = ops.find("experts")
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(experts=4, hidden=8, **attrs)


def test_half_precision_is_computed_in_float32() -> None:
    logits = np.random.default_rng(0).normal(size=(5, 8)).astype(np.float16)
    weights, indices = execute("top_k_router", {"k": 3, "normalize": True}, logits).outputs
    exact, same = execute("top_k_router", {"k": 3, "normalize": True}, logits.astype(np.float32)).outputs
    np.testing.assert_array_equal(indices, same)
    np.testing.assert_array_equal(weights, exact.astype(np.float16))


def test_capacity_at_an_open_number_of_experts() -> None:
    """A capacity that follows from an open size is a diagnostic that names the size."""
    with pytest.raises(NetcalcError, match=r"capacity of experts is undecided.*experts"):
        netcalc.load("llama-4-scout", symbolic=("experts",)).params  # noqa: B018

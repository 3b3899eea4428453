"""Embedding look-ups: recorded torch results, and rules."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import symbol
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute, truth_case

TABLE = {"num_embeddings": 20, "embedding_dim": 6}


def ids(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 20, size=shape)


def test_embedding_equals_torch() -> None:
    case = truth_case("op_attn_embed", "embedding_pad")
    attrs = {"num_embeddings": 20, "embedding_dim": 16, "padding_idx": 3}
    case.check(execute("embedding", attrs, *case.inputs, weights=case.weights).outputs)


def test_embedding_bag_equals_torch() -> None:
    case = truth_case("op_attn_embed", "embeddingbag")
    case.check(execute("embedding_bag", TABLE, *case.inputs, weights=case.weights).outputs)


def test_tied_logits_equal_torch() -> None:
    """LayerNorm(Embedding(ids)·√16)·Wᵀ with the embedding's own weight."""
    case = truth_case("op_attn_embed", "tied_logits")
    table = {"weight": case.weights["e.weight"]}
    norm = {n: case.weights[f"ln.{n}"] for n in ("weight", "bias")}
    (x,) = execute(
        "embedding",
        {"num_embeddings": 20, "embedding_dim": 16, "scale": math.sqrt(16)},
        truth_case("op_attn_embed", "tied_logits").inputs[0],
        weights=table,
    ).outputs
    (x,) = execute("layer_norm", {"eps": 1e-5}, x, weights=norm).outputs
    case.check(execute("linear", {"out": 20, "bias": False}, x, weights=table).outputs)


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), max_size=3),
    scale=st.none() | st.floats(-3, 3),
    max_norm=st.none() | st.floats(0.1, 3),
    norm_type=st.sampled_from([1, 1.5, 2, 3, math.inf]),
)
def test_work_of_embedding(shape: list[int], scale: float | None, max_norm: float | None, norm_type: float) -> None:
    attrs = {**TABLE, "scale": scale, "max_norm": max_norm, "norm_type": norm_type}
    (y,) = execute("embedding", attrs, ids(*shape)).outputs
    if max_norm is not None and scale is None:
        assert (np.linalg.norm(y, norm_type, axis=-1) <= max_norm * (1 + 1e-5)).all()


@settings(deadline=None)
@given(
    mode=st.sampled_from(["sum", "mean", "max"]),
    padding=st.sampled_from([None, 0, -17]),
    edges=st.none() | st.lists(st.integers(0, 7), max_size=4).map(sorted),
    last=st.booleans(),
    weighted=st.booleans(),
    max_norm=st.sampled_from([None, 0.5]),
)
def test_work_of_embedding_bag(
    mode: str, padding: int | None, edges: list[int] | None, last: bool, weighted: bool, max_norm: float | None
) -> None:
    attrs = {**TABLE, "mode": mode, "padding_idx": padding, "max_norm": max_norm, "include_last_offset": last}
    bags = ids(3, 4) if edges is None else ids(7)
    offsets = None if edges is None else np.array([0, *edges, *([7] if last else [])])
    weights = bags.astype(np.float32) if weighted and mode == "sum" else None
    execute("embedding_bag", attrs, bags, offsets, weights)


def test_flat_bags_are_the_rows_of_square_ones() -> None:
    square = ids(3, 4)
    for mode in ("sum", "mean", "max"):
        attrs = {**TABLE, "mode": mode, "padding_idx": int(square[0, 1])}
        (one,) = execute("embedding_bag", attrs, square).outputs
        (other,) = execute("embedding_bag", attrs, square.reshape(-1), np.array([0, 4, 8])).outputs
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)
        attrs["padding_idx"] -= 20  # the same row, counted from the end
        (same,) = execute("embedding_bag", attrs, square).outputs
        np.testing.assert_array_equal(same, one)


def test_one_hot_picks_rows() -> None:
    places = ids(2, 3)
    (y,) = execute("one_hot", {"num_classes": 20, "dtype": "float32"}, places).outputs
    weight = np.random.default_rng(1).normal(size=(20, 6)).astype(np.float32)
    (rows,) = execute("embedding", TABLE, places, weights={"weight": weight}).outputs
    np.testing.assert_array_equal(y @ weight, rows)


@pytest.mark.parametrize(
    ("name", "attrs"), [("embedding", TABLE), ("embedding_bag", TABLE), ("one_hot", {"num_classes": 20})]
)
@pytest.mark.parametrize("wrong", [-1, 20])
def test_ids_out_of_range_are_errors(name: str, attrs: dict[str, Any], wrong: int) -> None:
    with pytest.raises(RuleError, match=f"id {wrong} is out of range: .* is 20") as refusal:
        execute(name, attrs, np.array([[3, wrong]]))
    assert refusal.value.code == "E602"


@pytest.mark.parametrize("offsets", [[1, 3], [0, 4, 2], [0, 9], [0, -1]])
def test_invalid_offsets_are_errors(offsets: list[int]) -> None:
    with pytest.raises(RuleError, match="offsets must start at 0"):
        execute("embedding_bag", TABLE, ids(7), np.array(offsets))


@pytest.mark.parametrize(
    ("name", "attrs", "types", "said"),
    [
        ("embedding", TABLE, [TensorType((2, 3))], "takes ids of int64 or int32"),
        ("embedding", {**TABLE, "padding_idx": 20}, [TensorType((2,), "int64")], "padding_idx 20 is not a row"),
        ("embedding_bag", TABLE, [TensorType((2,), "int64")], "needs offsets"),
        ("embedding_bag", TABLE, [TensorType((2, 3, 4), "int64")], "1 or 2 dimensions"),
        ("embedding_bag", TABLE, [TensorType((2, 3), "int64"), TensorType((2,), "int64")], "take no offsets"),
        (
            "embedding_bag",
            TABLE,
            [TensorType((2,), "int64"), TensorType((2, 1), "int64")],
            "offsets must have 1 dimension",
        ),
        ("embedding_bag", TABLE, [TensorType((2, 3), "int64"), None, TensorType((2, 3))], "require mode sum"),
        (
            "embedding_bag",
            {**TABLE, "mode": "sum"},
            [TensorType((2, 3), "int64"), None, TensorType((2, 4))],
            "must have the shape of the ids",
        ),
        (
            "embedding_bag",
            {**TABLE, "include_last_offset": True},
            [TensorType((2,), "int64"), TensorType((1,), "int64")],
            "at least 2 offsets",
        ),
        ("one_hot", {"num_classes": 3}, [TensorType((2,))], "takes ids"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], types: list[Any], said: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(RuleError, match=said):
        declared(**attrs).infer(Context(), *types)


def test_a_norm_of_small_order_is_as_inexact_as_its_root() -> None:
    """The 1e5-th power of a rounded number: max_norm is kept to some thousandths only."""
    attrs = {"num_embeddings": 3, "embedding_dim": 1, "max_norm": 0.5, "norm_type": 1e-5}
    (y,) = execute(
        "embedding", attrs, np.array([0, 1, 2]), weights={"weight": np.array([[2], [-3], [0.25]], "f4")}
    ).outputs
    np.testing.assert_allclose(y[:, 0], [0.5, -0.5, 0.25], rtol=2e-2)


@pytest.mark.parametrize("attrs", [{"num_embeddings": 0}, {"max_norm": 0}, {"norm_type": 0}, {"padding_idx": 1.0}])
def test_invalid_attributes(attrs: dict[str, Any]) -> None:
    declared = ops.find("embedding")
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(**{**TABLE, **attrs})


def test_sizes_may_be_symbolic() -> None:
    declared = ops.find("embedding")
    assert declared is not None
    vocab, length = symbol("vocab", default=100), symbol("length", default=7)
    op = declared(num_embeddings=vocab, embedding_dim=8, scale=2.0, padding_idx=-1)
    x = TensorType((2, length), "int64")
    y = op.infer(Context(dtype="bfloat16"), x)
    assert y == TensorType((2, length, 8), "bfloat16")
    (weight,) = op.params(Context(), x)
    assert weight.elements == 8 * vocab
    assert dict(weight.init.args)["padding_idx"] == -1
    assert [str(t.count) for t in op.cost(Context(), (x,), (y,))] == ["16*length"]

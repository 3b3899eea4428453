"""Attention: recorded torch results, sparse against dense kernels, and rules."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, symbol, value_at
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.ops.attention import ScaledDotProductAttention
from netcalc.tensor_type import TensorType
from tests.arrays import normal
from tests.ops.harness import Case, execute, truth_case
from tests.ops.prediction import predict

NAME = "scaled_dot_product_attention"


def attend(attrs: dict[str, Any], *arrays: np.ndarray | None) -> tuple[np.ndarray, ...]:
    return execute(NAME, attrs, *arrays).outputs


# -- recorded results -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case_id", "attrs"), [("sdpa_scale", {"scale": 0.3}), ("sdpa_causal_gqa", {"causal": True, "enable_gqa": True})]
)
def test_equals_torch(case_id: str, attrs: dict[str, Any]) -> None:
    case = truth_case("op_attn_embed", case_id)
    case.check(attend(attrs, *case.inputs))


def projections(case: Case) -> list[dict[str, np.ndarray]]:
    """Return the projection weights of query, key and value, which torch may stack."""
    weights = case.weights
    stacked = weights.get("in_proj_weight")
    matrices = [weights[f"{x}_proj_weight"] for x in "qkv"] if stacked is None else np.split(stacked, 3)
    found = [{"weight": w} for w in matrices]
    if "in_proj_bias" in weights:
        for projection, bias in zip(found, np.split(weights["in_proj_bias"], 3), strict=True):
            projection["bias"] = bias
    return found


def multi_head(case: Case, inputs: list[np.ndarray], attrs: dict[str, Any], *masks: np.ndarray | None) -> Any:
    """Compute torch.nn.MultiheadAttention of four heads by linear layers and attention."""
    heads = []
    for x, weights in zip(inputs, projections(case), strict=True):
        (y,) = execute("linear", {"out": 16, "bias": "bias" in weights}, x, weights=weights).outputs
        heads.append(y.reshape(*y.shape[:2], 4, 4).swapaxes(1, 2))
    output, shares = attend({"return_weights": True, **attrs}, *heads, *masks)
    joined = output.swapaxes(1, 2).reshape(*inputs[0].shape[:2], 16)
    out = {n.removeprefix("out_proj."): w for n, w in case.weights.items() if n.startswith("out_proj.")}
    (y,) = execute("linear", {"out": 16, "bias": "bias" in out}, joined, weights=out).outputs
    return y, shares.mean(1)


def test_multi_head_self_attention() -> None:
    case = truth_case("op_attn_embed", "mha_self")
    case.check(multi_head(case, case.inputs * 3, {}))


def test_multi_head_causal_attention() -> None:
    case = truth_case("op_attn_embed", "mha_causal")
    case.check(multi_head(case, case.inputs * 3, {"causal": True}))
    seen = np.tri(7, dtype=bool)
    case.check(multi_head(case, case.inputs * 3, {}, seen))


def test_multi_head_cross_attention_with_padding() -> None:
    case = truth_case("op_attn_embed", "mha_cross_kdim")
    padding = np.zeros((2, 9), bool)
    padding[1, 5:] = True
    case.check(multi_head(case, case.inputs, {}, None, padding))


def test_work_of_multi_head_attention_as_torch_counts_it() -> None:
    """torch 2.13, nn.MultiheadAttention(64, 4, kdim=48, vdim=40): 14,080 parameters and 647,680 FLOPs."""
    lengths, features = (9, 13, 13, 9), (64, 48, 40, 64)
    maps = [predict("linear", {"out": 64}, (2, n, f)) for n, f in zip(lengths, features, strict=True)]
    scores = predict(NAME, {}, (2, 4, 9, 16), (2, 4, 13, 16), (2, 4, 13, 16))
    assert sum(np.prod(shape) for m in maps for shape in m.params.values()) == 14_080
    assert 2 * sum(p.work["mac"] for p in (*maps, scores)) == 647_680


# -- patterns ---------------------------------------------------------------------------------------

extents = st.none() | st.integers(0, 6)
windows = st.none() | st.integers(0, 6) | st.lists(extents, min_size=2, max_size=2)
alignments = st.sampled_from(["upper_left", "lower_right"])


@settings(deadline=None)
@given(
    queries=st.integers(1, 9),
    keys=st.integers(1, 9),
    window=windows,
    tokens=st.integers(0, 3),
    causal=st.booleans(),
    alignment=alignments,
    sinks=st.booleans(),
    grown=st.integers(0, 4),
)
def test_sparse_kernels_change_only_the_work(
    queries: int, keys: int, window: Any, tokens: int, causal: bool, alignment: str, sinks: bool, grown: int
) -> None:
    """``execute`` compares the closed form of the number of pairs with the pairs that the kernel computes."""
    attrs = {"window": window, "causal": causal, "alignment": alignment, "return_weights": True, "softcap": 2.0}
    attrs["global_tokens"] = 0 if window is None else tokens
    arrays = normal(2, 3, queries, 4), normal(2, 3, keys, 4, seed=1), normal(2, 3, keys, 5, seed=2)
    sink = normal(3) if sinks else None
    dense = attend(attrs, *arrays, None, None, sink)
    sparse = attend({**attrs, "sparse": True}, *arrays, None, None, sink)
    for one, other in zip(dense, sparse, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)

    # the closed form holds for lengths that are not known yet
    symbolic = [
        tuple(symbol(n, default=d) if n else d for n, d in zip(("b", "", length, ""), array.shape, strict=True))
        for length, array in zip(("q", "k", "k"), arrays, strict=True)
    ]
    sizes = {"b": 3, "q": queries + grown, "k": keys + grown}
    numbers = [tuple(value_at(size, sizes) for size in shape) for shape in symbolic]
    found = predict(NAME, {**attrs, "sparse": True}, *symbolic).at(**sizes)
    assert found.shapes == predict(NAME, {**attrs, "sparse": True}, *numbers).shapes
    assert found.work == predict(NAME, {**attrs, "sparse": True}, *numbers).work


def test_pairs_of_a_window_by_hand() -> None:
    """Six positions, each with one key on either side: 2 + 3 + 3 + 3 + 3 + 2 pairs; causal, 1 + 2 + 2 + 2 + 2 + 2."""
    shape = (1, 1, 6, 10)
    macs = {"window": 1, "sparse": True}, {"window": 1, "sparse": True, "causal": True}
    assert [predict(NAME, attrs, shape, shape, shape).work["mac"] for attrs in macs] == [16 * 20, 11 * 20]
    for attrs in macs:  # without skipping, the whole rectangle
        assert predict(NAME, {**attrs, "sparse": False}, shape, shape, shape).work["mac"] == 36 * 20


def test_a_query_before_the_first_key_is_no_global_token() -> None:
    """Of two queries aligned to the end of one key the first precedes it, and with a window of 0 has no key."""
    query, key = normal(1, 1, 2, 4), normal(1, 1, 1, 4)
    attrs = {"window": 0, "alignment": "lower_right", "return_weights": True, "sparse": True}
    _, shares = attend(attrs, query, key, key)
    assert shares[0, 0].tolist() == [[0], [1]]


def test_global_tokens_are_positions_of_the_sequence() -> None:
    """Queries are aligned to the last keys: of positions 2 to 5 none is among the first two, of 1 to 5 one is."""
    keys = normal(1, 1, 6, 4)
    for queries in (4, 5):
        attrs = {"window": 0, "global_tokens": 2, "alignment": "lower_right", "return_weights": True}
        _, shares = attend(attrs, keys[:, :, -queries:], keys, keys)
        places = range(6 - queries, 6)
        assert ((shares[0, 0] > 0) == [[i < 2 or j < 2 or j == i for j in range(6)] for i in places]).all()


def test_window_of_mistral() -> None:
    """A query attends to itself and the window − 1 keys before it (arXiv:2310.06825, section 2)."""
    x = normal(1, 1, 7, 4)
    _, shares = attend({"causal": True, "window": [2, 0], "return_weights": True}, x, x, x)
    seen = [[max(0, i - 2) <= j <= i for j in range(7)] for i in range(7)]
    assert ((shares[0, 0] > 0) == seen).all()


@settings(deadline=None)
@given(
    size=st.integers(1, 3),
    rows=st.integers(1, 7),
    columns=st.integers(1, 7),
    band=st.none() | st.integers(0, 2) | st.tuples(st.integers(0, 2), st.integers(0, 2)),
    everywhere=st.integers(0, 2) | st.tuples(st.integers(0, 2), st.integers(0, 2)),
    extra=st.integers(0, 3),
    alignment=alignments,
    causal=st.booleans(),
)
def test_blocks(
    size: int, rows: int, columns: int, band: Any, everywhere: Any, extra: int, alignment: str, causal: bool
) -> None:
    blocks = {"size": size, "band": band, "global_blocks": everywhere, "random": extra}
    attrs = {"blocks": blocks, "alignment": alignment, "causal": causal, "return_weights": True}
    arrays = normal(2, rows * size, 4), normal(2, columns * size, 4), normal(2, columns * size, 4)
    try:
        dense = attend(attrs, *arrays)
    except (ValidationError, RuleError):
        assume(False)
    for one, other in zip(dense, attend({**attrs, "sparse": True}, *arrays), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_pattern_of_bigbird() -> None:
    """Block 64, band of 3, first and last blocks global, 3 random ones (arXiv:2007.14062, appendix A).

    Of the 64 query blocks two see all 64; two beside them see a band that holds a global block, that is 4 and the
    random 3; the 60 others see 5 and the random 3.
    """
    attrs = {"sparse": True, "blocks": {"size": 64, "band": 1, "global_blocks": 1, "random": 3}}
    shape = (1, 12, 4096, 64)
    blocks = 2 * 64 + 2 * (4 + 3) + 60 * (5 + 3)
    assert predict(NAME, attrs, shape, shape, shape).work["mac"] == 12 * blocks * 64 * 64 * (64 + 64)
    n = symbol("n", default=64)
    grown = (1, 12, 64 * n, 64)
    assert predict(NAME, attrs, grown, grown, grown).at(n=64).work == predict(NAME, attrs, shape, shape, shape).work


def test_listed_blocks() -> None:
    x = normal(1, 1, 8, 4)
    pairs = [[0, 0], [1, 1], [3, 0], [3, 3], [1, 1]]
    _, shares = attend({"blocks": {"size": 2, "pairs": pairs}, "sparse": True, "return_weights": True}, x, x, x)
    seen = np.zeros((8, 8), bool)
    for row, column in pairs:
        seen[2 * row : 2 * row + 2, 2 * column : 2 * column + 2] = True
    assert ((shares[0, 0] > 0) == seen).all()
    assert predict(NAME, {"blocks": {"size": 2, "pairs": pairs}, "sparse": True}, *[x.shape] * 3).work["mac"] == 128


# -- other attributes -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_a_scale_that_the_arithmetic_cannot_hold_is_refused(dtype: str) -> None:
    """The arithmetic of float16 is that of float32, in which scores of such a scale would be infinite or NaN."""
    op = ScaledDotProductAttention(scale=1e308)
    x = [TensorType((1, 2, 3, 4), dtype)] * 3  # type: ignore[arg-type]
    with pytest.raises(RuleError, match=r"scale 1e\+308 is beyond the numbers") as caught:
        op.infer(Context(), *x)
    assert caught.value.code == "E402"
    double = [TensorType((1, 2, 3, 4), "float64")] * 3
    assert op.infer(Context(), *double) == double[0]


def test_dropout_scales_the_remaining_weights() -> None:
    x = normal(2, 3, 8, 4)
    attrs = {"dropout": 0.25, "return_weights": True}
    _, before = attend(attrs, x, x, x)
    _, after = execute(NAME, attrs, x, x, x, training=True).outputs
    dropped = after == 0
    assert 0.1 < dropped.mean() < 0.4
    np.testing.assert_allclose(after[~dropped], before[~dropped] / 0.75, rtol=1e-6)
    output, nothing = execute(NAME, {**attrs, "dropout": 1.0}, x, x, x, training=True).outputs
    assert not nothing.any() and not output.any()


def test_a_sink_takes_part_in_the_softmax() -> None:
    """Scores 0 and a sink of ln 3: each of two keys gets 1/(1 + 1 + 3)."""
    zeros = np.zeros((1, 1, 2, 4), np.float32)
    sinks = np.log(np.array([3], np.float32))
    _, shares = attend({"return_weights": True}, zeros, zeros, zeros, None, None, sinks)
    np.testing.assert_allclose(shares, 0.2, rtol=1e-6)


def test_half_precision_accumulates_in_float32() -> None:
    x = normal(1, 2, 64, 16)
    (single,) = attend({}, x, x, x)
    (half,) = attend({}, *[x.astype(np.float16)] * 3)
    assert half.dtype == np.float16
    np.testing.assert_allclose(half, single, atol=4e-3)


def test_explained_work_names_its_parts() -> None:
    op = ScaledDotProductAttention(causal=True)
    q = TensorType((2, 4, 5, 8))
    terms = op.cost(Context(), (q, q, q), (q,))
    assert Counter(t.role for t in terms)["scores"] == 1
    scores, values = (next(t for t in terms if t.role == role) for role in ("scores", "values"))
    assert scores.factors == (("batch", 2), ("heads", 4), ("queries", 5), ("keys", 5), ("head_dim", 8))
    assert values.count == scores.count


@pytest.mark.parametrize(
    ("attrs", "shapes", "said"),
    [
        ({}, ((4,), (4,), (4,)), "takes"),
        ({}, ((2, 5, 4), (2, 6, 3), (2, 6, 4)), "differ in head_dim"),
        ({}, ((2, 5, 4), (2, 6, 4), (2, 7, 4)), "differ in length"),
        ({}, ((1, 6, 5, 4), (1, 2, 5, 4), (1, 2, 5, 4)), "axis 1 is 6 and 2"),
        ({"enable_gqa": True}, ((1, 6, 5, 4), (1, 4, 5, 4), (1, 4, 5, 4)), "4 key heads do not divide 6 query heads"),
        ({"enable_gqa": True}, ((5, 4), (5, 4), (5, 4)), "axis of heads"),
        ({}, ((2, 5, 4), (2, 6, 4), (2, 6, 4), (3, 5, 6)), "does not broadcast to the scores"),
        ({}, ((2, 5, 4), (2, 6, 4), (2, 6, 4), (5,)), "does not broadcast to the scores"),
        ({}, ((2, 5, 4), (2, 6, 4), (2, 6, 4), None, (2, 6)), "booleans"),
        ({}, ((2, 5, 4), (2, 6, 4), (2, 6, 4), None, None, (3,)), "one number per head"),
        ({"blocks": {"size": 4, "band": 1}}, ((2, 8, 4), (2, 6, 4), (2, 6, 4)), "do not divide 6 keys"),
        ({"blocks": {"size": 2, "pairs": [[0, 3]]}}, ((2, 4, 4),) * 3, "up to block"),
        ({"blocks": {"size": 2, "random": 2, "global_blocks": 1}}, ((2, 6, 4),) * 3, "do not fit into 3×3 blocks"),
    ],
)
def test_invalid_inputs(attrs: dict[str, Any], shapes: tuple[Any, ...], said: str) -> None:
    inputs = [None if shape is None else TensorType(shape) for shape in shapes]
    with pytest.raises(RuleError, match=said):
        ScaledDotProductAttention(**attrs).infer(Context(), *inputs)


def test_mismatched_heads_suggest_grouped_queries() -> None:
    q, k = TensorType((1, 6, 5, 4)), TensorType((1, 2, 5, 4))
    with pytest.raises(RuleError) as refusal:
        ScaledDotProductAttention().infer(Context(), q, k, k)
    assert refusal.value.hint and "enable_gqa" in refusal.value.hint


@pytest.mark.parametrize(
    "attrs",
    [
        {"window": -1},
        {"window": [1]},
        {"window": True},
        {"window": 1.5},
        {"global_tokens": 2},
        {"blocks": {"size": 4}},
        {"blocks": {"size": 4, "band": 1, "pairs": [[0, 0]]}},
        {"blocks": {"size": 4, "pairs": [[0, -1]]}},
        {"blocks": {"size": 4, "pairs": []}},
        {"softcap": 0},
        {"dropout": 1.5},
        {"causal": 1},
    ],
)
def test_invalid_attributes(attrs: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ScaledDotProductAttention(**attrs)


def test_symbolic_sizes_agree_with_numbers() -> None:
    def shapes(batch: Dim, queries: Dim, keys: Dim) -> list[tuple[Dim, ...]]:
        return [(batch, 8, queries, 16), (batch, 2, keys, 16), (batch, 2, keys, 24)]

    named = predict(NAME, {"enable_gqa": True}, *shapes(*(symbol(n, default=3) for n in ("batch", "queries", "keys"))))
    assert str(named.shapes[0][2]) == "queries"
    sizes = {"batch": 2, "queries": 7, "keys": 9}
    numbers = predict(NAME, {"enable_gqa": True}, *shapes(**sizes))
    assert (named.at(**sizes).shapes, named.at(**sizes).work) == (numbers.shapes, numbers.work)


def test_operations_are_hashable() -> None:
    """Elaboration memoises bodies by the attributes of their operations."""
    declared = ops.find(NAME)
    assert declared is not None
    a, b = (declared(window=[3, None], blocks={"size": 2, "pairs": [[0, 1]]}) for _ in range(2))
    assert a == b and hash(a) == hash(b)


def test_a_mask_of_one_axis_is_over_keys() -> None:
    x = normal(1, 2, 5, 4)
    mask = np.array([True, False, True, True, False])
    (flat,) = attend({}, x, x, x, mask)
    (full,) = attend({}, x, x, x, np.tile(mask, (5, 1)))
    np.testing.assert_array_equal(flat, full)

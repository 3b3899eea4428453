"""Position operations: recorded torch results, and the formulas of the papers element by element."""

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
from netcalc.numerics.kernels import TABLES
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from tests.arrays import normal
from tests.ops.harness import buffer_table, execute, truth_case
from tests.ops.prediction import predict


def declared(name: str, **attrs: Any) -> Any:
    found = ops.find(name)
    assert found is not None
    return found(**attrs)


# -- added positions --------------------------------------------------------------------------------


def test_sinusoids_equal_torch() -> None:
    case = truth_case("op_attn_embed", "sinusoidal_pe")
    case.check(execute("sinusoidal_positions", {}, *case.inputs, weights=case.weights).outputs)
    pe = buffer_table("sinusoidal_positions", {"max_length": 24}, TensorType((1, 5, 16)))
    np.testing.assert_allclose(pe, case.weights["pe"], atol=1e-6)


@pytest.mark.parametrize("features", [1, 7, 8])
def test_sinusoids_by_the_formula(features: int) -> None:
    """PE(pos, 2i) = sin(pos/10000^(2i/d)) and PE(pos, 2i + 1) = cos of the same."""
    pe = buffer_table("sinusoidal_positions", {}, TensorType((1, 5, features)))
    for position in range(5):
        for i in range(features):
            angle = position / 10_000 ** (2 * (i // 2) / features)
            assert pe[position, i] == pytest.approx(math.cos(angle) if i % 2 else math.sin(angle))


@pytest.mark.parametrize("features", [2, 7, 8])
def test_sinusoids_in_halves(features: int) -> None:
    """Sines, cosines, and a zero for an odd last feature, as tensor2tensor and fairseq build them."""
    attrs = {"layout": "halves", "downscale_freq_shift": 1, "base": 100.0}
    pe = buffer_table("sinusoidal_positions", attrs, TensorType((5, features)))
    half = features // 2
    for i in range(half):
        angles = [p * math.exp(-i * math.log(100) / max(half - 1, 1)) for p in range(5)]
        np.testing.assert_allclose(pe[:, i], np.sin(angles))
        np.testing.assert_allclose(pe[:, half + i], np.cos(angles))
    assert not pe[:, 2 * half :].any()


@pytest.mark.parametrize("name", ["sinusoidal_positions", "learned_positions"])
def test_rows_from_the_offset_on(name: str) -> None:
    x = normal(2, 3, 6)
    rows = normal(9, 6)
    weights = {"pe" if name.startswith("sin") else "weight": rows}
    (y,) = execute(name, {"max_length": 9, "offset": 4}, x, weights=weights).outputs
    np.testing.assert_array_equal(y, x + rows[4:7])
    (alone,) = execute(name, {"max_length": 9, "offset": 6, "add": False}, x, weights=weights).outputs
    np.testing.assert_array_equal(alone, rows[6:])
    with pytest.raises(RuleError, match="a length of 3 from position 7 exceeds the 9 positions"):
        execute(name, {"max_length": 9, "offset": 7}, x, weights=weights)


def test_a_table_without_a_length_is_as_long_as_needed() -> None:
    assert predict("sinusoidal_positions", {"offset": 2}, (3, 5, 8)).params == {"pe": (7, 8)}
    length = symbol("length", default=5)
    assert predict("sinusoidal_positions", {}, (3, length, 8)).params == {"pe": (length, 8)}


def test_a_table_kept_as_a_parameter() -> None:
    """It has the values of the buffer, and is not trained."""
    op = declared("sinusoidal_positions", max_length=9, as_parameter=True)
    (weight,) = op.params(Context(), TensorType((3, 6)))
    assert (weight.name, weight.shape, weight.trainable, weight.is_buffer) == ("weight", (9, 6), False, False)
    formula = TABLES.get("sinusoidal_positions")
    assert formula is not None
    rows = formula(op, "weight", (9, 6))
    np.testing.assert_array_equal(rows, buffer_table("sinusoidal_positions", {"max_length": 9}, TensorType((3, 6))))
    x = normal(2, 3, 6)
    (y,) = execute("sinusoidal_positions", {"max_length": 9, "as_parameter": True}, x, weights={"weight": rows}).outputs
    np.testing.assert_array_equal(y, x + rows[:3].astype(np.float32))


def test_positions_need_a_sequence() -> None:
    with pytest.raises(RuleError, match=r"takes \(…, length, features\)"):
        declared("learned_positions", max_length=4).infer(Context(), TensorType((4,)))


# -- rotation ---------------------------------------------------------------------------------------


def test_rotation_equals_torch() -> None:
    case = truth_case("op_attn_embed", "rope")
    case.check(execute("rotary_embedding", {}, *case.inputs).outputs)


@settings(deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    pairs=st.integers(1, 4),
    rest=st.integers(0, 3),
    interleaved=st.booleans(),
    offset=st.integers(0, 50),
    theta=st.sampled_from([10.0, 1e4, 5e5]),
)
def test_rotation_pair_by_pair(
    shape: list[int], pairs: int, rest: int, interleaved: bool, offset: int, theta: float
) -> None:
    """Each pair of features is a complex number rotated by position · theta^(−2i/d)."""
    x = normal(*shape, 2 * pairs + rest)
    attrs = {"rotary_dim": 2 * pairs, "interleaved": interleaved, "offset": offset, "theta": theta}
    (y,) = execute("rotary_embedding", attrs, x).outputs
    for i in range(pairs):
        a, b = (2 * i, 2 * i + 1) if interleaved else (i, i + pairs)
        for place in range(shape[-1] if len(shape) > 1 else shape[0]):
            rotated = (x[..., place, a] + 1j * x[..., place, b]) * np.exp(1j * (offset + place) * theta ** (-i / pairs))
            np.testing.assert_allclose(y[..., place, a], rotated.real, atol=1e-5)
            np.testing.assert_allclose(y[..., place, b], rotated.imag, atol=1e-5)
    np.testing.assert_array_equal(y[..., 2 * pairs :], x[..., 2 * pairs :])


def test_rotation_at_given_positions() -> None:
    x = normal(2, 3, 4, 6)
    (whole,) = execute("rotary_embedding", {"offset": 5}, x).outputs
    for positions in (np.arange(5, 9), np.arange(5, 9)[None], np.tile(np.arange(5, 9), (2, 1))):
        (y,) = execute("rotary_embedding", {}, x, positions).outputs
        np.testing.assert_array_equal(y, whole)
    (y,) = execute("rotary_embedding", {}, x, np.array([[0, 1, 2, 3], [5, 6, 7, 8]])).outputs
    np.testing.assert_array_equal(y[1], whole[1])


def test_products_of_rotated_vectors_depend_on_distance() -> None:
    x = np.broadcast_to(normal(1, 8), (12, 8))
    for scaling in (None, {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}):
        (y,) = execute("rotary_embedding", {"scaling": scaling, "theta": 50.0}, x).outputs
        products = y @ y.T
        for distance in range(5):
            np.testing.assert_allclose(np.diag(products, distance), products[0, distance], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("attrs", "types", "said"),
    [
        ({}, [TensorType((2, 5))], "rotated in pairs"),
        ({"rotary_dim": 6}, [TensorType((2, 4))], "exceeds the 4 features"),
        ({"rotary_dim": 5}, [TensorType((2, 5))], "rotary_dim 5, which takes 6 in pairs, exceeds the 5 features"),
        ({"rotary_dim": 5, "interleaved": True}, [TensorType((2, 8))], "features are rotated in pairs, and 5 is odd"),
        ({}, [TensorType((4,))], "takes"),
        ({}, [TensorType((2, 5, 4)), TensorType((5,))], "must be integers"),
        ({}, [TensorType((2, 5, 4)), TensorType((4,), "int64")], "positions must be"),
        ({}, [TensorType((5, 4)), TensorType((2, 5), "int64")], "positions must be"),
        (
            {"scaling": {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 8}},
            [TensorType((5, 2))],
            "at least 4",
        ),
        (
            {
                "scaling": {
                    "rope_type": "longrope",
                    "factor": 2.0,
                    "short_factor": [1.0],
                    "long_factor": [1.0, 2.0],
                    "original_max_position_embeddings": 8,
                }
            },
            [TensorType((5, 4))],
            "short_factor has 1",
        ),
    ],
)
def test_invalid_inputs_of_rotation(attrs: dict[str, Any], types: list[TensorType], said: str) -> None:
    with pytest.raises(RuleError, match=said):
        declared("rotary_embedding", **attrs).infer(Context(), *types)


@pytest.mark.parametrize(
    "scaling",
    [
        {"rope_type": "linear"},
        {"rope_type": "other", "factor": 2.0},
        {"factor": 2.0},
        {"rope_type": "linear", "factor": 2.0, "beta_fast": 32.0},
        {"rope_type": "yarn", "factor": 0.0, "original_max_position_embeddings": 8},
    ],
)
def test_invalid_scaling(scaling: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        declared("rotary_embedding", scaling=scaling)


# -- biases -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [[4], [2, 3], [2, 3, 2]])
@pytest.mark.parametrize("class_token", [False, True])
def test_relative_index_is_one_row_for_each_offset(window: list[int], class_token: bool) -> None:
    """Pairs share a row exactly when they share the offset between them, and every row is used."""
    op = {"window_size": window, "num_heads": 2, "class_token": class_token}
    index = buffer_table("relative_position_bias", op)
    places = math.prod(window) + class_token
    index = index.reshape(places, places)
    coordinates = [(None,)] * class_token + list(np.ndindex(*window))
    rows: dict[Any, set[int]] = {}
    for i, a in enumerate(coordinates):
        for j, b in enumerate(coordinates):
            special = ("token" if a == (None,) else "", "token" if b == (None,) else "")
            offset = special if any(special) else tuple(np.subtract(a, b).tolist())
            rows.setdefault(offset, set()).add(int(index[i, j]))
    assert all(len(found) == 1 for found in rows.values())
    used = sorted(row for found in rows.values() for row in found)
    (bias, _) = declared("relative_position_bias", **op).params(Context())
    assert used == list(range(bias.shape[0]))
    weights = {"relative_position_bias_table": normal(*bias.shape), "relative_position_index": index.reshape(-1)}
    (y,) = execute("relative_position_bias", op, weights=weights).outputs
    np.testing.assert_array_equal(y[1, 0], weights["relative_position_bias_table"][index[0], 1])


def test_a_table_may_be_computed() -> None:
    window, rows = [2, 3], normal(15, 4)
    index = buffer_table("relative_position_lookup", {"window_size": window}, TensorType((15, 4)))
    own = {"relative_position_index": index}
    looked_up = execute("relative_position_lookup", {"window_size": window}, rows, weights=own).outputs
    own["relative_position_bias_table"] = rows
    learned = execute("relative_position_bias", {"window_size": window, "num_heads": 4}, weights=own).outputs
    np.testing.assert_array_equal(looked_up, learned)
    with pytest.raises(RuleError, match="takes a table of 15 rows, and this one is 14×4"):
        predict("relative_position_lookup", {"window_size": window}, (14, 4))


@pytest.mark.parametrize(("earlier", "message"), [([7], "2 axes, and the earlier one 1"), ([7, 1], "no offsets")])
def test_invalid_pretrained_windows(earlier: list[int], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        predict("relative_coordinates", {"window_size": [8, 8], "pretrained_window_size": earlier})


def test_swin_index_of_a_window_of_two_by_two() -> None:
    """As the code of Swin builds it: rows of the table count offsets from (+1, +1) … down, row by row."""
    index = buffer_table("relative_position_bias", {"window_size": [2, 2], "num_heads": 1}).reshape(4, 4)
    assert index.tolist() == [[4, 3, 1, 0], [5, 4, 2, 1], [7, 6, 4, 3], [8, 7, 5, 4]]


@pytest.mark.parametrize(("heads", "first"), [(8, 1 / 2), (16, 2**-0.5), (4, 1 / 4)])
def test_alibi_slopes_of_the_paper(heads: int, first: float) -> None:
    """For 8 heads 1/2, 1/4, … 1/256; for n, a geometric sequence that starts at 2^(−8/n) (section 3)."""
    (bias,) = execute("alibi_bias", {"num_heads": heads}, normal(1, 4, 8)).outputs
    slopes = -bias[:, 1, 0]
    np.testing.assert_allclose(slopes, first ** np.arange(1, heads + 1), rtol=1e-6)
    for i in range(4):
        for j in range(4):
            np.testing.assert_allclose(bias[:, i, j], -slopes * abs(i - j), rtol=1e-6)


def test_alibi_by_keys_has_the_same_causal_softmax() -> None:
    x = normal(1, 6, 5, 8)
    outputs = []
    for per_query in (True, False):
        (bias,) = execute("alibi_bias", {"num_heads": 6, "per_query": per_query}, x).outputs
        outputs += execute("scaled_dot_product_attention", {"causal": True}, x, x, x, bias).outputs
    np.testing.assert_allclose(*outputs, atol=1e-5)


@settings(deadline=None)
@given(
    buckets=st.sampled_from([4, 8, 32]),
    ratio=st.sampled_from([2, 3.5, 16]),
    bidirectional=st.booleans(),
    queries=st.integers(1, 6),
    keys=st.integers(1, 70),
    alignment=st.sampled_from(["upper_left", "lower_right"]),
)
def test_t5_buckets_one_by_one(
    buckets: int, ratio: float, bidirectional: bool, queries: int, keys: int, alignment: str
) -> None:
    side = buckets // 2 if bidirectional else buckets
    furthest = int(side // 2 * ratio)
    attrs = {"num_buckets": buckets, "num_heads": 1, "max_distance": furthest, "bidirectional": bidirectional}
    weights = {"weight": np.arange(buckets, dtype=np.float32)[:, None]}
    (y,) = execute(
        "t5_position_bias", {**attrs, "alignment": alignment}, normal(queries, 3), normal(keys, 3), weights=weights
    ).outputs
    shift = keys - queries if alignment == "lower_right" else 0
    for i in range(queries):
        for j in range(keys):
            behind = i + shift - j
            distance = abs(behind) if bidirectional else max(behind, 0)
            if distance < side // 2:
                bucket = float(distance)
            else:
                step = math.log(distance / (side // 2)) / math.log(furthest / (side // 2)) * (side - side // 2)
                if abs(step - round(step)) < 1e-4:
                    continue  # the edge of a bucket, where rounding decides
                bucket = min(side // 2 + math.floor(step), side - 1)
            assert y[0, 0, i, j] == bucket + (side if bidirectional and behind < 0 else 0)


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("t5_position_bias", {"num_buckets": 8, "max_distance": 9, "bidirectional": False}),
        ("t5_position_bias", {"num_buckets": 8, "max_distance": 9}),
        ("alibi_bias", {}),
        ("alibi_bias", {"per_query": False}),
    ],
)
def test_later_queries_have_the_last_rows_of_a_bias(name: str, attrs: dict[str, Any]) -> None:
    weights = {"weight": normal(8, 3)} if name == "t5_position_bias" else {}
    (whole,) = execute(name, {**attrs, "num_heads": 3}, normal(7, 4), weights=weights).outputs
    (last,) = execute(name, {**attrs, "num_heads": 3, "offset": 5}, normal(2, 4), weights=weights).outputs
    np.testing.assert_array_equal(last, whole[..., -2:, :])


def test_an_offset_is_for_queries_without_keys() -> None:
    with pytest.raises(RuleError, match="without a key input"):
        predict("t5_position_bias", {"num_heads": 2, "offset": 1}, (1, 3, 8), (1, 4, 8))


@pytest.mark.parametrize(
    "attrs", [{"num_buckets": 3}, {"num_buckets": 32, "max_distance": 8}, {"num_heads": 0}, {"bidirectional": 1}]
)
def test_invalid_t5_attributes(attrs: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        declared("t5_position_bias", **{"num_heads": 2, **attrs})


def test_biases_of_named_lengths() -> None:
    queries, keys = symbol("queries", default=3), symbol("keys", default=5)
    for name, attrs, shape in (
        ("t5_position_bias", {}, (1, 6, queries, keys)),
        ("alibi_bias", {}, (6, queries, keys)),
        ("alibi_bias", {"per_query": False}, (6, 1, keys)),
    ):
        assert predict(name, {"num_heads": 6, **attrs}, (1, 6, queries, 8), (1, 6, keys, 8)).shapes == [shape]
    with pytest.raises(RuleError, match="takes"):
        predict("alibi_bias", {"num_heads": 6}, (8,))
    w = symbol("w", default=7)
    assert predict("relative_position_bias", {"num_heads": 6, "window_size": [w, w]}).at(w=7).params == {
        "relative_position_bias_table": (169, 6),
        "relative_position_index": (2401,),
    }

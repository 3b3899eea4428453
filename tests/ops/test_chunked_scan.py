"""Scans in chunks: comparison with the recurrences that define them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.dims import symbol, value_at
from netcalc.ir.build import infer
from netcalc.models import ValidationError
from netcalc.opdef import Context, RuleError
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute

SSD = ("u", "delta", "a", "B", "C", "D", "delta_bias", "initial_state")
Arrays = dict[str, np.ndarray]


def ssd_recurrence(given: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Return the scan position by position."""
    u, delta = given["u"], given["delta"] + given.get("delta_bias", 0)
    delta = np.logaddexp(0, delta) if attrs["delta_softplus"] else delta
    delta = np.clip(delta, attrs["delta_min"], attrs["delta_max"])
    each = u.shape[2] // given["B"].shape[2]
    b, c = (np.repeat(given[port], each, axis=2) for port in ("B", "C"))
    state = given.get("initial_state", np.zeros((*u[:, 0].shape, b.shape[3])))
    y = np.zeros(u.shape)
    for t in range(u.shape[1]):
        step = delta[:, t, :, None, None]
        state = np.exp(step * given["a"][:, None, None]) * state + step * u[:, t, :, :, None] * b[:, t, :, None]
        y[:, t] = (state @ c[:, t, :, :, None])[..., 0]
    return y + u * given.get("D", np.zeros(u.shape[2]))[:, None], state


@st.composite
def ssd_scans(draw: st.DrawFn) -> tuple[Arrays, dict[str, Any]]:
    """Draw inputs by port, some of the optional ones absent, and attributes."""
    batch, groups, each, length, size, state = (draw(st.integers(1, 3)) for _ in range(6))
    length *= draw(st.integers(1, 3))
    heads = groups * each
    shapes = {
        "u": (batch, length, heads, size),
        "delta": (batch, length, heads),
        "a": (heads,),
        "B": (batch, length, groups, state),
        "C": (batch, length, groups, state),
        "D": (heads,),
        "delta_bias": (heads,),
        "initial_state": (batch, heads, size, state),
    }
    absent = draw(st.sets(st.sampled_from(SSD[5:])))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    attrs = {
        "chunk": draw(st.integers(1, 5)),
        "delta_softplus": draw(st.booleans()),
        "delta_min": draw(st.sampled_from([0.0, 0.3])),
        "delta_max": draw(st.none() | st.just(0.7)),
    }
    inputs = {port: rng.normal(size=shape) for port, shape in shapes.items() if port not in absent}
    return inputs | {"a": -np.abs(inputs["a"])}, attrs  # stable: the state does not grow


def run(inputs: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return execute("ssd_scan", attrs, *(inputs.get(port) for port in SSD)).outputs


@settings(deadline=None)
@given(ssd_scans())
def test_ssd_scan_is_the_recurrence(drawn: tuple[Arrays, dict[str, Any]]) -> None:
    for actual, expected in zip(run(*drawn), ssd_recurrence(*drawn), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(ssd_scans())
def test_ssd_scan_in_half_precision_has_a_state_in_float32(drawn: tuple[Arrays, dict[str, Any]]) -> None:
    inputs = {port: (array / 4).astype("float16") for port, array in drawn[0].items()}
    output, state = run(inputs, drawn[1])
    assert (output.dtype, state.dtype) == (np.float16, np.float32)
    expected = ssd_recurrence({port: array.astype(np.float64) for port, array in inputs.items()}, drawn[1])
    np.testing.assert_allclose(output, expected[0], rtol=2e-3, atol=2e-5)
    np.testing.assert_allclose(state, expected[1], rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(ssd_scans(), st.integers(1, 3))
def test_ssd_scan_continues_from_its_last_state(drawn: tuple[Arrays, dict[str, Any]], at: int) -> None:
    inputs, attrs = drawn
    length = inputs["u"].shape[1]
    at = min(at, length - 1)
    if at < 1:
        return

    def part(start: int, stop: int) -> Arrays:
        return inputs | {port: inputs[port][:, start:stop] for port in ("u", "delta", "B", "C")}

    whole = run(inputs, attrs)
    first, state = run(part(0, at), attrs)
    rest, last = run(part(at, length) | {"initial_state": state}, attrs)
    np.testing.assert_allclose(np.concatenate([first, rest], axis=1), whole[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(last, whole[1], rtol=1e-9, atol=1e-9)


# FLOPs of transformers 5.23.0's mamba2_chunk_scan under torch 2.13.0's FlopCounterMode
@pytest.mark.parametrize(
    ("u", "groups", "state", "chunk", "flops"),
    [((2, 5, 4, 3), 2, 6, 2, 9792), ((1, 9, 2, 3), 1, 2, 4, 1920), ((1, 300, 2, 4), 1, 8, 256, 6423680)],
)
def test_ssd_scan_counts_as_torch_does(
    u: tuple[int, int, int, int], groups: int, state: int, chunk: int, flops: int
) -> None:
    types = ssd_types(*u, groups, state)
    assert (
        2 * sum(term.count for term in predicted("ssd_scan", {"chunk": chunk}, types)[1] if term.kind == "mac") == flops
    )


def delta_recurrence(given: Arrays, normalize: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the gated delta rule position by position."""
    value, each = given["value"], given["value"].shape[2] // given["key"].shape[2]
    q, k = (np.repeat(given[port], each, axis=2) for port in ("query", "key"))
    if normalize:
        q, k = (x / np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6) for x in (q, k))
    state = given.get("initial_state", np.zeros((*k[:, 0].shape, value.shape[3])))
    y = np.zeros(value.shape)
    for t in range(value.shape[1]):
        state = state * np.exp(given["decay"][:, t, :, None, None])
        missing = value[:, t] - (k[:, t, :, None] @ state)[:, :, 0]
        state = state + k[:, t, :, :, None] * (given["beta"][:, t, :, None] * missing)[:, :, None]
        y[:, t] = (q[:, t, :, None] @ state)[:, :, 0] / np.sqrt(q.shape[3])
    return y, state


@st.composite
def delta_rules(draw: st.DrawFn) -> tuple[Arrays, dict[str, Any]]:
    """Draw inputs by port, and attributes."""
    batch, key_heads, each, length, features, size = (draw(st.integers(1, 3)) for _ in range(6))
    length, heads = length * draw(st.integers(1, 3)), key_heads * each
    shapes = {
        "query": (batch, length, key_heads, features),
        "key": (batch, length, key_heads, features),
        "value": (batch, length, heads, size),
        "decay": (batch, length, heads),
        "beta": (batch, length, heads),
        "initial_state": (batch, heads, features, size),
    }
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    inputs = {port: rng.normal(size=shape) for port, shape in shapes.items()}
    if draw(st.booleans()):
        del inputs["initial_state"]
    inputs |= {"decay": -np.abs(inputs["decay"]), "beta": 1 / (1 + np.exp(inputs["beta"]))}
    return inputs, {"chunk": draw(st.integers(1, 5)), "normalize": draw(st.booleans())}


DELTA = ("query", "key", "value", "decay", "beta", "initial_state")


def run_delta(inputs: Arrays, attrs: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return execute("gated_delta_rule", attrs, *(inputs.get(port) for port in DELTA)).outputs


@settings(deadline=None)
@given(delta_rules())
def test_gated_delta_rule_is_the_recurrence(drawn: tuple[Arrays, dict[str, Any]]) -> None:
    inputs, attrs = drawn
    for actual, expected in zip(run_delta(*drawn), delta_recurrence(inputs, attrs["normalize"]), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-7, atol=1e-7)


@settings(deadline=None, max_examples=25)
@given(delta_rules())
def test_gated_delta_rule_in_half_precision_has_a_state_in_float32(drawn: tuple[Arrays, dict[str, Any]]) -> None:
    inputs, attrs = {port: (array / 2).astype("float16") for port, array in drawn[0].items()}, drawn[1]
    output, state = run_delta(inputs, attrs)
    assert (output.dtype, state.dtype) == (np.float16, np.float32)
    wide = {port: array.astype(np.float64) for port, array in inputs.items()}
    expected = delta_recurrence(wide, attrs["normalize"])
    np.testing.assert_allclose(output, expected[0], rtol=2e-3, atol=1e-4)
    np.testing.assert_allclose(state, expected[1], rtol=1e-4, atol=1e-4)


# FLOPs of transformers 5.23.0's torch_chunk_gated_delta_rule under torch 2.13.0's FlopCounterMode
@pytest.mark.parametrize(
    ("value", "key_heads", "features", "chunk", "flops"),
    [((2, 5, 4, 3), 2, 6, 2, 8064), ((1, 9, 2, 3), 1, 2, 4, 2208), ((1, 100, 2, 4), 1, 8, 64, 704512)],
)
def test_gated_delta_rule_counts_as_torch_does(
    value: tuple[int, int, int, int], key_heads: int, features: int, chunk: int, flops: int
) -> None:
    types = delta_types(*value, key_heads, features)
    work = predicted("gated_delta_rule", {"chunk": chunk}, types)[1]
    assert 2 * sum(term.count for term in work if term.kind == "mac") == flops


def delta_types(batch: Any, length: Any, heads: Any, size: Any, key_heads: Any, features: Any) -> list[TensorType]:
    shapes = [*[(batch, length, key_heads, features)] * 2, (batch, length, heads, size), *[(batch, length, heads)] * 2]
    return [TensorType(shape) for shape in shapes]


@pytest.mark.parametrize(
    ("port", "shape", "dtype", "message"),
    [
        (0, (2, 5, 3, 7), "float32", "query should be 2×5×3×8"),
        (1, (2, 5, 6), "float32", "4 dimensions"),
        (2, (2, 5, 6), "float32", "4 dimensions"),
        (3, (2, 5, 3), "float32", "decay should be 2×5×6"),
        (4, (2, 5, 6), "int64", "beta of gated_delta_rule takes floating-point"),
    ],
)
def test_invalid_inputs_of_gated_delta_rule(port: int, shape: tuple[int, ...], dtype: Any, message: str) -> None:
    types = delta_types(2, 5, 6, 4, 3, 8)
    types[port] = TensorType(shape, dtype)
    with pytest.raises(RuleError, match=message):
        predicted("gated_delta_rule", {}, types)


def ssd_types(batch: Any, length: Any, heads: Any, size: Any, groups: Any, state: Any) -> list[TensorType]:
    shapes = [(batch, length, heads, size), (batch, length, heads), (heads,)]
    return [TensorType(shape) for shape in [*shapes, *[(batch, length, groups, state)] * 2]]


def predicted(name: str, attrs: dict[str, Any], types: list[TensorType]) -> tuple[Any, Any]:
    declared = ops.find(name)
    assert declared is not None
    op, ctx = declared(**attrs), Context()
    outputs = infer(op, types, ctx)
    return outputs, op.cost(ctx, types, outputs)


@pytest.mark.parametrize("length", [5, 6, 7])
def test_symbolic_sizes_of_ssd_scan_agree_with_integers(length: int) -> None:
    sizes = {"batch": 2, "length": length, "groups": 3, "size": 5, "state": 4}
    results = []
    for make in (symbol, lambda name, size: size):
        batch, steps, groups, size, state = (make(*item) for item in sizes.items())
        results.append(predicted("ssd_scan", {"chunk": 3}, ssd_types(batch, steps, 2 * groups, size, groups, state)))
    (outputs, terms), (plain_outputs, plain_terms) = results
    assert [tuple(value_at(d, sizes) for d in o.shape) for o in outputs] == [o.shape for o in plain_outputs]
    assert [value_at(t.count, sizes) for t in terms] == [t.count for t in plain_terms]


@pytest.mark.parametrize(
    ("port", "shape", "dtype", "message"),
    [
        (0, (2, 5, 6), "float32", "4 dimensions"),
        (1, (2, 5, 4), "float32", "delta should be 2×5×6"),
        (1, (2, 5, 6), "int64", "delta of ssd_scan takes floating-point"),
        (2, (5,), "float32", "a should be 6"),
        (3, (2, 5, 6), "float32", "4 dimensions"),
        (3, (2, 4, 2, 8), "float32", "B should be 2×5×2×8"),
        (4, (2, 5, 3, 8), "float32", "C should be 2×5×2×8"),
    ],
)
def test_invalid_inputs_of_ssd_scan(port: int, shape: tuple[int, ...], dtype: Any, message: str) -> None:
    types = ssd_types(2, 5, 6, 3, 2, 8)
    types[port] = TensorType(shape, dtype)
    with pytest.raises(RuleError, match=message):
        predicted("ssd_scan", {}, types)


@pytest.mark.parametrize("length", [5, 6, 7])
def test_symbolic_sizes_of_gated_delta_rule_agree_with_integers(length: int) -> None:
    sizes = {"batch": 2, "length": length, "key_heads": 3, "features": 5, "size": 4}
    results = []
    for make in (symbol, lambda name, size: size):
        batch, steps, heads, features, size = (make(*item) for item in sizes.items())
        types = delta_types(batch, steps, 2 * heads, size, heads, features)
        results.append(predicted("gated_delta_rule", {"chunk": 3, "normalize": True}, types))
    (outputs, terms), (plain_outputs, plain_terms) = results
    assert [tuple(value_at(d, sizes) for d in o.shape) for o in outputs] == [o.shape for o in plain_outputs]
    assert [value_at(t.count, sizes) for t in terms] == [t.count for t in plain_terms]


@pytest.mark.parametrize(
    "attrs", [{"chunk": 0}, {"chunk": 5000}, {"delta_max": float("nan")}, {"delta_min": float("inf")}]
)
def test_invalid_attributes_of_ssd_scan(attrs: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        predicted("ssd_scan", attrs, ssd_types(2, 5, 6, 3, 2, 8))


def test_groups_divide_heads() -> None:
    with pytest.raises(RuleError, match="there are 4 key heads, which do not divide 6 heads"):
        predicted("gated_delta_rule", {}, delta_types(2, 5, 6, 3, 4, 8))
    with pytest.raises(RuleError, match="B has 4 groups, which do not divide 6 heads"):
        predicted("ssd_scan", {}, ssd_types(2, 5, 6, 3, 4, 8))

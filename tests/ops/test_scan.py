"""Selective scan: comparison with a scalar loop, and counts of recorded models."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.dims import symbol, value_at
from netcalc.ir.build import infer
from netcalc.opdef import Context, RuleError
from netcalc.tensor_type import TensorType
from tests.ops.harness import execute

PORTS = ("u", "delta", "A", "B", "C", "D", "z", "delta_bias", "initial_state")


def scalar_scan(given: dict[str, np.ndarray], softplus: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the scan as the paper defines it, computed element by element in double precision."""
    u, delta, a = given["u"], given["delta"], given["A"]
    batch, channels, length = u.shape
    size = a.shape[1]

    def at(port: str, i: int, d: int, t: int, n: int) -> float:
        p = given[port]
        if p.ndim == 2:
            return p[d, n]
        if p.ndim == 3:
            return p[i, t, n]
        return p[i, t, d * p.shape[2] // channels, n]

    y = np.zeros(u.shape)
    last = np.zeros((batch, channels, size))
    for i in range(batch):
        for d in range(channels):
            x = [float(given["initial_state"][i, d, n]) if "initial_state" in given else 0.0 for n in range(size)]
            for t in range(length):
                step = float(delta[i, d, t]) + (float(given["delta_bias"][d]) if "delta_bias" in given else 0.0)
                if softplus:
                    step = math.log(1 + math.exp(step))
                for n in range(size):
                    x[n] = math.exp(step * a[d, n]) * x[n] + step * at("B", i, d, t, n) * u[i, d, t]
                    y[i, d, t] += at("C", i, d, t, n) * x[n]
                if "D" in given:
                    y[i, d, t] += given["D"][d] * u[i, d, t]
                if "z" in given:
                    y[i, d, t] *= given["z"][i, d, t] / (1 + math.exp(-given["z"][i, d, t]))
            last[i, d] = x
    return y, last


@st.composite
def scans(draw: st.DrawFn) -> tuple[dict[str, np.ndarray], bool]:
    """Draw inputs by port, some of the optional ones absent, and True if delta passes through softplus."""
    batch, groups, per_group, length, size = (draw(st.integers(1, 3)) for _ in range(5))
    channels = groups * per_group
    shapes: dict[str, tuple[int, ...]] = {
        "u": (batch, channels, length),
        "delta": (batch, channels, length),
        "A": (channels, size),
        "D": (channels,),
        "z": (batch, channels, length),
        "delta_bias": (channels,),
        "initial_state": (batch, channels, size),
    }
    kinds = {"fixed": (channels, size), "selective": (batch, length, size), "groups": (batch, length, groups, size)}
    for port in ("B", "C"):
        shapes[port] = kinds[draw(st.sampled_from(sorted(kinds)))]
    absent = draw(st.sets(st.sampled_from(PORTS[5:])))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return {port: rng.normal(size=shapes[port]) for port in PORTS if port not in absent}, draw(st.booleans())


def run(given: dict[str, np.ndarray], softplus: bool) -> tuple[np.ndarray, ...]:
    return execute("selective_scan", {"delta_softplus": softplus}, *(given.get(port) for port in PORTS)).outputs


@settings(deadline=None)
@given(scans())
def test_equals_the_definition(drawn: tuple[dict[str, np.ndarray], bool]) -> None:
    for actual, expected in zip(run(*drawn), scalar_scan(*drawn), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(scans(), st.sampled_from(["float16", "float32"]))
def test_the_state_is_kept_in_float32(drawn: tuple[dict[str, np.ndarray], bool], dtype: str) -> None:
    given = {port: (array / 4).astype(dtype) for port, array in drawn[0].items()}
    output, state = run(given, drawn[1])
    assert (output.dtype, state.dtype) == (np.dtype(dtype), np.float32)
    expected = scalar_scan({port: array.astype(np.float64) for port, array in given.items()}, drawn[1])
    np.testing.assert_allclose(output, expected[0], rtol=2e-3 if dtype == "float16" else 1e-5, atol=2e-5)
    np.testing.assert_allclose(state, expected[1], rtol=1e-5, atol=1e-5)


@settings(deadline=None, max_examples=25)
@given(scans(), st.integers(1, 3))
def test_a_scan_continues_from_its_last_state(drawn: tuple[dict[str, np.ndarray], bool], at: int) -> None:
    inputs, softplus = drawn
    length = inputs["u"].shape[2]
    at = min(at, length)

    def part(start: int, stop: int) -> dict[str, np.ndarray]:
        cut = {p: inputs[p][:, :, start:stop] for p in ("u", "delta", "z") if p in inputs}
        return inputs | cut | {p: inputs[p][:, start:stop] for p in ("B", "C") if inputs[p].ndim > 2}

    whole = run(inputs, softplus)
    first, state = run(part(0, at), softplus)
    rest, last = run(part(at, length) | {"initial_state": state}, softplus)
    np.testing.assert_allclose(np.concatenate([first, rest], axis=2), whole[0], rtol=1e-12)
    np.testing.assert_allclose(last, whole[1], rtol=1e-12)


# (channels, layers, delta's rank, width, scan and three projections in torch FLOPs of one forward pass of 128 tokens).
# The count is aten.bmm of transformers 5.23.0's MambaModel (slow path), torch 2.13.0's FlopCounterMode; the
# projections to (rank + 2·16), from rank and to width are linear maps of every token that it folds into bmm.
MAMBA = [
    (1536, 24, 48, 768, 8_606_711_808),  # hf/mamba-130m@s128
    (2048, 48, 64, 1024, 30_198_988_800),  # hf/mamba-370m@s128
    (5120, 64, 160, 2560, 245_618_442_240),  # hf/mamba-2.8b@s128
]


@pytest.mark.parametrize(("channels", "layers", "rank", "width", "flops"), MAMBA)
def test_counts_equal_torch(channels: int, layers: int, rank: int, width: int, flops: int) -> None:
    u, a, b = TensorType((1, channels, 128)), TensorType((channels, 16)), TensorType((1, 128, 16))
    projections = 128 * (channels * (rank + 32) + rank * channels + channels * width)
    scan = sum(term.count for term in predicted(u, u, a, b, b)[1] if term.kind == "mac")
    assert 2 * layers * (projections + scan) == flops


def predicted(*types: Any) -> tuple[Any, Any]:
    declared = ops.find("selective_scan")
    assert declared is not None
    op, ctx = declared(delta_softplus=True), Context()
    outputs = infer(op, types, ctx)
    return outputs, op.cost(ctx, types, outputs)


def test_symbolic_sizes_agree_with_integers() -> None:
    sizes = {"batch": 2, "pairs": 3, "length": 5, "state": 4}
    results = []
    for make in (symbol, lambda name, size: size):
        n, pairs, t, s = (make(*item) for item in sizes.items())
        d = 2 * pairs
        u, a, b, c = (TensorType(shape) for shape in [(n, d, t), (d, s), (n, t, s), (n, t, 2, s)])
        results.append(predicted(u, u, a, b, c, TensorType((d,)), u, TensorType((d,)), TensorType((n, d, s))))
    (outputs, terms), (plain_outputs, plain_terms) = results
    assert [tuple(value_at(d, sizes) for d in o.shape) for o in outputs] == [o.shape for o in plain_outputs]
    assert [value_at(t.count, sizes) for t in terms] == [t.count for t in plain_terms]


@pytest.mark.parametrize(
    ("port", "shape", "dtype", "message"),
    [
        ("u", (2, 6), "float32", "3 dimensions"),
        ("A", (6,), "float32", "2 dimensions"),
        ("A", (5, 4), "float32", "A should be 6×4"),
        ("delta", (2, 6, 4), "float32", "delta should be 2×6×5"),
        ("delta", (2, 6, 5), "int64", "delta of selective_scan takes floating-point"),
        ("B", (6, 3), "float32", "B should be 6×4"),
        ("B", (2, 4, 5), "float32", r"B should be 2×5×4, \(batch, length, state\)"),
        ("C", (2, 5, 4, 4), "float32", "C has 4 groups, which do not divide 6 channels"),
        ("C", (4,), "float32", "2 or 3 or 4 dimensions"),
        ("D", (5,), "float32", "D should be 6"),
        ("z", (2, 6, 1), "float32", "z should be 2×6×5"),
        ("delta_bias", (1,), "float32", "delta_bias should be 6"),
        ("initial_state", (6, 4), "float32", "initial_state should be 2×6×4"),
    ],
)
def test_invalid_inputs(port: str, shape: tuple[int, ...], dtype: Any, message: str) -> None:
    given = {"u": (2, 6, 5), "delta": (2, 6, 5), "A": (6, 4), "B": (2, 5, 4), "C": (2, 5, 4)}
    types = {name: TensorType(s) for name, s in given.items()} | {port: TensorType(shape, dtype)}
    with pytest.raises(RuleError, match=message):
        predicted(*(types.get(name) for name in PORTS))


def weighted_mean(key: np.ndarray, value: np.ndarray, decay: np.ndarray, bonus: np.ndarray) -> np.ndarray:
    """Return the weighted mean of values up to each position, from the matrix of all weights."""
    places = np.arange(key.shape[1])
    distances = places[:, None] - 1 - places
    exponents = distances[..., None] * decay + key[:, None]
    own = np.eye(len(places), dtype=bool)[..., None]
    exponents = np.where(own, bonus + key[:, None], exponents)
    weights = np.where((distances >= -1)[..., None], np.exp(exponents), 0)
    mean: np.ndarray = (weights * value[:, None]).sum(2) / weights.sum(2)
    return mean


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(0, 9), st.integers(1, 4), st.integers(0, 99))
def test_wkv_is_a_weighted_mean(batch: int, length: int, channels: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [(batch, length, channels), (batch, length, channels), (channels,), (channels,)]
    key, value, decay, bonus = (rng.normal(size=shape) for shape in shapes)
    (actual,) = execute("wkv", {}, key, value, -np.exp(decay), bonus).outputs
    np.testing.assert_allclose(actual, weighted_mean(key, value, -np.exp(decay), bonus), rtol=1e-9, atol=1e-9)


@settings(deadline=None)
@given(st.integers(1, 3), st.integers(0, 9), st.integers(0, 9), st.integers(0, 99))
@example(1, 5, 0, 17)  # the largest exponent is the difference of close numbers
def test_wkv_continues_from_its_sums(batch: int, length: int, at: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at = min(at, length)
    key, value = rng.normal(size=(2, batch, length, 3))
    decay, bonus = -np.exp(rng.normal(size=3)), rng.normal(size=3)
    first, *sums = execute("wkv", {"return_state": True}, key[:, :at], value[:, :at], decay, bonus).outputs
    rest, *_ = execute("wkv", {"return_state": True}, key[:, at:], value[:, at:], decay, bonus, *sums).outputs
    whole = weighted_mean(key, value, decay, bonus)
    np.testing.assert_allclose(np.concatenate([first, rest], axis=1), whole, rtol=1e-9, atol=1e-9)


def test_the_sums_of_wkv_come_together() -> None:
    types = [TensorType(s) for s in ((2, 5, 4), (2, 5, 4), (4,), (4,), (2, 4))]
    declared = ops.find("wkv")
    assert declared is not None
    with pytest.raises(RuleError, match="together, and denominator is missing"):
        infer(declared(), types, Context())
    with pytest.raises(RuleError, match="exponent should be 2×4"):
        infer(declared(), [*types, types[4], TensorType((4,))], Context())


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_the_sums_of_wkv_are_in_float32(dtype: str) -> None:
    arrays = [np.ones((1, 2, 3), dtype)] * 2 + [-np.ones(3, dtype)] * 2
    output, *sums = execute("wkv", {"return_state": True}, *arrays).outputs
    assert (output.dtype, *(array.dtype for array in sums)) == (np.dtype(dtype), *[np.dtype("float32")] * 3)


def test_wkv_with_large_keys() -> None:
    """The mean is that of equal values, although their weights exceed every number."""
    key = np.array([[[900.0], [-900.0], [1000.0]]])
    (actual,) = execute("wkv", {}, key, np.full((1, 3, 1), 7.0), np.array([-0.1]), np.array([0.3])).outputs
    np.testing.assert_allclose(actual, 7.0, rtol=1e-12)


@pytest.mark.parametrize(
    ("port", "shape", "dtype", "message"),
    [
        (0, (2, 5), "float32", "3 dimensions"),
        (1, (2, 5, 3), "float32", "value should be 2×5×4"),
        (2, (3,), "float32", "decay should be 4"),
        (3, (4,), "int64", "bonus of wkv takes floating-point"),
    ],
)
def test_invalid_inputs_of_wkv(port: int, shape: tuple[int, ...], dtype: Any, message: str) -> None:
    types = [TensorType(s) for s in ((2, 5, 4), (2, 5, 4), (4,), (4,))]
    types[port] = TensorType(shape, dtype)
    declared = ops.find("wkv")
    assert declared is not None
    with pytest.raises(RuleError, match=message):
        infer(declared(), types, Context())

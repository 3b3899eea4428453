"""Rotary embeddings that are written out, with tables that the graph computes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netcalc.formats.graph.model import Graph, StoredTensor, Value
from netcalc.formats.graph.simplify import simplify
from netcalc.numerics.rotary_tables import rotary_attributes
from tests.formats.graph.harness import Made, assert_same, operations


def frequencies(theta: float, pairs: int, factor: float = 1.0) -> np.ndarray:
    """Return the frequencies as libraries compute them, in single precision."""
    exponents = np.arange(0, 2 * pairs, 2, dtype=np.float32) / np.float32(2 * pairs)
    return (1 / (np.float32(theta) ** exponents) / np.float32(factor)).astype(np.float32)


def llama3(theta: float, pairs: int, factor: float, low: float, high: float, original: int) -> np.ndarray:
    """Return scaled frequencies, by the code of transformers (``_compute_llama3_parameters``)."""
    plain = frequencies(theta, pairs)
    wavelength = 2 * np.pi / plain
    scaled = np.where(wavelength > original / low, plain / factor, plain)
    smooth = (original / wavelength - low) / (high - low)
    smoothed = (1 - smooth) * scaled / factor + smooth * scaled
    medium = ~(wavelength < original / high) * ~(wavelength > original / low)
    return np.where(medium, smoothed, scaled).astype(np.float32)


def angles(m: Made, rates: np.ndarray, length: int, offset: int = 0) -> Value:
    """Return position · frequency, from a buffer that checkpoints omit."""
    buffer = m.stored("inv_freq", len(rates))
    tensor = StoredTensor(buffer.type, buffer=True, persistent=False, value=[float(str(rate)) for rate in rates])
    m.graph.tensors["inv_freq"] = tensor
    places = m.line("arange", start=offset, stop=offset + length, dtype="float32")
    return m.line("mul", m.line("unsqueeze", places, axis=1), buffer)


def tables(m: Made, angle: Value, doubled: str) -> tuple[Value, Value]:
    """Return cosines and sines; ``doubled`` says if a column for each feature comes by halves, in turns or not."""
    if doubled == "halves":
        angle = m.line("concat", angle, angle, axis=-1)
    if doubled == "turns":
        angle = m.line("repeat_interleave", angle, repeats=2, axis=-1)
    return m.line("cos", angle), m.line("sin", angle)


def by_halves(m: Made, x: Value, angle: Value) -> Value:
    """Return x·cos + rotate_half(x)·sin, as transformers writes it."""
    cos, sin = tables(m, angle, "halves")
    half = x.type.shape[-1] // 2
    first = m.line("slice", x, axis=-1, start=0, stop=half)
    second = m.line("slice", x, axis=-1, start=half)
    turned = m.line("concat", m.line("neg", second), first, axis=-1)
    return m.line("add", m.line("mul", x, cos), m.line("mul", turned, sin))


def by_pairs(m: Made, x: Value, angle: Value, doubled: str = "turns") -> Value:
    """Return x·cos + rotate_every_two(x)·sin."""
    cos, sin = tables(m, angle, doubled)
    even = m.line("slice", x, axis=-1, start=0, step=2)
    odd = m.line("slice", x, axis=-1, start=1, step=2)
    turned = m.line("flatten", m.line("stack", m.line("neg", odd), even, axis=-1), start_axis=-2)
    return m.line("add", m.line("mul", cos, x), m.line("mul", turned, sin))


def by_chunks(m: Made, x: Value, angle: Value) -> Value:
    """Return both halves of the result, each of products with half tables."""
    cos, sin = tables(m, angle, "")
    first, second = m.build.lines("chunk", [x], {"chunks": 2, "axis": -1})
    one = m.line("sub", m.line("mul", first, cos), m.line("mul", second, sin))
    other = m.line("add", m.line("mul", second, cos), m.line("mul", first, sin))
    return m.line("concat", one, other, axis=-1)


Rotation = Callable[[Made, Value, Value], Value]


def graph_of(rotation: Rotation, rates: np.ndarray, shape: tuple[int, ...], offset: int = 0) -> Callable[[], Graph]:
    def make() -> Graph:
        m = Made()
        x = m.input("x", *shape)
        return m.done(y=rotation(m, x, angles(m, rates, shape[-2], offset)))

    return make


@pytest.mark.parametrize(
    ("rotation", "interleaved"),
    [(by_halves, False), (by_pairs, True), (by_chunks, False)],
    ids=["halves", "pairs", "chunks"],
)
@pytest.mark.parametrize("theta", [10_000.0, 500_000.0])
def test_rotations(rotation: Rotation, interleaved: bool, theta: float) -> None:
    graph = assert_same(graph_of(rotation, frequencies(theta, 8), (2, 3, 7, 16)), simplify)
    (line,) = graph.lines
    expected: dict[str, Any] = {"interleaved": True} if interleaved else {}
    assert line.attributes == expected | ({} if theta == 10_000 else {"theta": theta})


def test_positions_in_front_of_heads() -> None:
    """Tensors of (batch, length, heads, head_dim) are turned, rotated and turned back."""

    def make() -> Graph:
        m = Made()
        x = m.input("x", 2, 7, 3, 8)
        angle = m.line("unsqueeze", angles(m, frequencies(10_000, 4), 7), axis=1)
        return m.done(y=m.line("transpose", by_halves(m, x, angle), axes=[1, 2]))

    assert operations(assert_same(make, simplify)) == ["transpose", "rotary_embedding"]


def test_some_features() -> None:
    def make() -> Graph:
        m = Made()
        x = m.input("x", 2, 3, 7, 20)
        rotated = m.line("slice", x, axis=-1, stop=8)
        rotated = by_halves(m, rotated, angles(m, frequencies(10_000, 4), 7))
        return m.done(y=m.line("concat", rotated, m.line("slice", x, axis=-1, start=8), axis=-1))

    (line,) = assert_same(make, simplify).lines
    assert line.attributes == {"rotary_dim": 8}


def test_some_features_behind_positions_and_heads() -> None:
    def make() -> Graph:
        m = Made()
        x = m.input("x", 2, 7, 3, 20)
        angle = m.line("unsqueeze", angles(m, frequencies(10_000, 4), 7), axis=1)
        rotated = by_pairs(m, m.line("slice", x, axis=-1, stop=8), angle)
        x = m.line("concat", rotated, m.line("slice", x, axis=-1, start=8), axis=-1)
        return m.done(y=m.line("permute", x, axes=[0, 2, 1, 3]))

    turned, rotary = assert_same(make, simplify).lines
    assert (turned.operation, turned.attributes) == ("transpose", {"axes": [-3, -2]})
    assert rotary.attributes == {"interleaved": True, "rotary_dim": 8}


NO_ROTATIONS: dict[str, Callable[[], Graph]] = {
    "other positions": graph_of(by_halves, frequencies(10_000, 8), (2, 7, 16), offset=1),
    "other frequencies": graph_of(by_halves, np.linspace(1, 0.1, 8, dtype=np.float32), (2, 7, 16)),
    "pairs with the columns of halves": graph_of(
        lambda m, x, angle: by_pairs(m, x, angle, "halves"), frequencies(10_000, 8), (2, 7, 16)
    ),
}


@pytest.mark.parametrize("name", NO_ROTATIONS)
def test_other_tables(name: str) -> None:
    assert "rotary_embedding" not in operations(assert_same(NO_ROTATIONS[name], simplify))


def test_buffers_of_checkpoints_are_not_constant() -> None:
    graph = graph_of(by_halves, frequencies(10_000, 8), (2, 7, 16))()
    graph.tensors["inv_freq"] = dataclasses.replace(graph.tensors["inv_freq"], persistent=True)
    next(line for line in graph.lines if line.operation == "buffer").attributes.pop("persistent")
    simplify(graph)
    assert "rotary_embedding" not in operations(graph)


@pytest.mark.parametrize(
    ("rates", "expected"),
    [
        (frequencies(10_000, 64), {}),
        (frequencies(1_000_000, 64), {"theta": 1e6}),
        (frequencies(10_000, 32, 4.0), {"scaling": {"rope_type": "linear", "factor": 4.0}}),
        (
            llama3(500_000, 64, 8.0, 1.0, 4.0, 8192),
            {
                "theta": 500_000.0,
                "scaling": {
                    "rope_type": "llama3",
                    "factor": 8.0,
                    "low_freq_factor": 1.0,
                    "high_freq_factor": 4.0,
                    "original_max_position_embeddings": 8192,
                },
            },
        ),
    ],
    ids=["plain", "theta", "linear", "llama3"],
)
def test_attributes(rates: np.ndarray, expected: dict[str, Any]) -> None:
    products = np.arange(2048, dtype=np.float32)[:, None] * rates
    assert rotary_attributes(np.cos(products), np.sin(products)) == expected

"""Padding, standardized filters, norms of vectors, and indices that nothing uses."""

from __future__ import annotations

from typing import Any

import pytest

from netcalc.formats.graph.model import Graph
from netcalc.formats.graph.simplify import simplify
from tests.formats.graph.harness import Made, assert_same, operations


def layer(operation: str, padding: dict[str, Any], attributes: dict[str, Any], *, twice: bool = False) -> Graph:
    """Return the simplified graph of a layer behind padding; with ``twice`` the padded tensor is a result too."""

    def make() -> Graph:
        m = Made()
        before = m.line("pad", m.input("x", 2, 4, 6, 5), **padding)
        parameters = {"weight": m.stored("w", 3, 4, 3, 3)} if operation == "conv2d" else {}
        after = m.build.line(operation, [before], attributes, parameters)
        return m.done(y=after, **({"z": before} if twice else {}))

    return assert_same(make, simplify)


CONVOLUTION = {"out": 3, "kernel": 3, "bias": False}


@pytest.mark.parametrize(
    ("operation", "padding", "attributes", "expected"),
    [
        ("conv2d", {"padding": [1, 1]}, CONVOLUTION, {"padding": 1}),
        ("conv2d", {"padding": [[0, 1], [1, 2]]}, CONVOLUTION, {"padding": [[0, 1], [1, 2]]}),
        ("conv2d", {"padding": [[0, 1]], "axis": [-2]}, CONVOLUTION, {"padding": [[0, 1], 0]}),
        ("conv2d", {"padding": [2, 1], "mode": "reflect"}, CONVOLUTION, {"padding": [2, 1], "padding_mode": "reflect"}),
        ("conv2d", {"padding": [1], "mode": "circular"}, CONVOLUTION, {"padding": [0, 1], "padding_mode": "circular"}),
        ("max_pool2d", {"padding": [1, 1], "value": float("-inf")}, {"kernel": 3}, {"padding": 1}),
        ("avg_pool2d", {"padding": [[0, 1], 1]}, {"kernel": 2}, {"padding": [[0, 1], 1]}),
    ],
)
def test_padding(operation: str, padding: dict[str, Any], attributes: dict[str, Any], expected: dict[str, Any]) -> None:
    (line,) = layer(operation, padding, attributes).lines
    assert line.attributes == {**attributes, **expected}


@pytest.mark.parametrize(
    ("operation", "padding", "attributes"),
    [
        ("conv2d", {"padding": [1, 1], "value": 1.0}, CONVOLUTION),
        ("conv2d", {"padding": [-1, 1]}, CONVOLUTION),
        ("conv2d", {"padding": [[0, 0], 1, 1], "axis": [1, 2, 3]}, CONVOLUTION),
        ("conv2d", {"padding": [1, 1]}, {**CONVOLUTION, "padding": 1}),
        ("max_pool2d", {"padding": [1, 1]}, {"kernel": 3}),
        ("max_pool2d", {"padding": [1, 1], "mode": "replicate"}, {"kernel": 3}),
        ("max_pool2d", {"padding": [2, 2], "value": float("-inf")}, {"kernel": 3}),
        ("avg_pool2d", {"padding": [1, 1]}, {"kernel": 3, "count_include_pad": False}),
        ("avg_pool2d", {"padding": [1, 1]}, {"kernel": 3, "ceil_mode": True}),
    ],
)
def test_other_padding_stays(operation: str, padding: dict[str, Any], attributes: dict[str, Any]) -> None:
    assert operations(layer(operation, padding, attributes)) == ["pad", operation]


def test_padding_that_is_used_otherwise_stays() -> None:
    assert operations(layer("conv2d", {"padding": [1, 1]}, CONVOLUTION, twice=True)) == ["pad", "conv2d"]


@pytest.mark.parametrize("operation", ["max_pool2d", "adaptive_max_pool2d"])
def test_indices_that_nothing_uses(operation: str) -> None:
    attributes = {"kernel": 2} if operation == "max_pool2d" else {"output_size": 3}

    def make(used: bool) -> Graph:
        m = Made()
        found = m.build.lines(operation, [m.input("x", 2, 4, 6, 5)], {**attributes, "return_indices": True})
        return m.done(**({"y": found[0], "i": found[1]} if used else {"y": found[0]}))

    assert assert_same(lambda: make(used=False), simplify).lines[0].attributes == attributes
    assert "return_indices" in assert_same(lambda: make(used=True), simplify).lines[0].attributes


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("eps", [1e-6, 1e-3])
def test_standardized_filters(bias: bool, eps: float) -> None:
    def make() -> Graph:
        m = Made()
        rows = m.line("reshape", m.stored("w", 3, 4, 3, 3), shape=[1, 3, -1])
        norm = m.line("batch_norm", rows, eps=eps, affine=False, track_running_stats=False)
        weight = m.line("reshape", norm, shape=[3, 4, 3, 3])
        parameters = {"bias": m.stored("b", 3)} if bias else {}
        attributes = {"out": 3, "kernel": 3, **({} if bias else {"bias": False})}
        return m.done(y=m.build.line("conv2d", [m.input("x", 2, 4, 6, 5), weight], attributes, parameters))

    (line,) = assert_same(make, simplify).lines
    assert line.attributes["weight_standardization"]
    assert line.attributes.get("standardization_eps", 1e-6) == eps
    assert line.parameters.keys() == ({"weight", "bias"} if bias else {"weight"})


def test_filters_standardized_together_stay() -> None:
    def make() -> Graph:
        m = Made()
        rows = m.line("reshape", m.stored("w", 4, 4, 3, 3), shape=[1, 2, -1])
        norm = m.line("batch_norm", rows, affine=False, track_running_stats=False)
        weight = m.line("reshape", norm, shape=[4, 4, 3, 3])
        return m.done(y=m.line("conv2d", m.input("x", 2, 4, 6, 5), weight, out=4, kernel=3, bias=False))

    assert "batch_norm" in operations(assert_same(make, simplify))


@pytest.mark.parametrize("options", [{"axis": [1]}, {"axis": [-1], "ord": 1.0}, {"axis": [1, 2]}])
@pytest.mark.parametrize("eps", [1e-12, 1.5])
def test_normalize(options: dict[str, Any], eps: float) -> None:
    def make() -> Graph:
        m = Made()
        x = m.input("x", 2, 4, 3)
        norm = m.line("vector_norm", x, keepdim=True, **options)
        return m.done(y=m.line("div", x, m.line("expand", m.line("clamp", norm, min=eps), shape=[2, 4, 3])))

    assert operations(assert_same(make, simplify)) == ["normalize"]

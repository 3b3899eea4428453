"""Norms, activations and attention that are written out in arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from netcalc.formats.graph.model import Graph, Value
from netcalc.formats.graph.simplify import simplify
from tests.formats.graph.harness import Made, assert_same, operations

Expression = Callable[[Made, Value], Value]


def made(expression: Expression, *shape: int) -> Callable[[], Graph]:
    """Return a function that makes the graph of an expression of an input ``x``."""

    def make() -> Graph:
        parts = Made()
        return parts.done(y=expression(parts, parts.input("x", *shape)))

    return make


def simplified(expression: Expression, *shape: int) -> list[tuple[str, dict[str, Any], dict[str, str]]]:
    """Return operation, attributes and paths of parameters of each line, after a comparison of the values."""
    graph = assert_same(made(expression, *shape), simplify)
    return [
        (line.operation, line.attributes, {name: stored.path for name, stored in line.parameters.items()})
        for line in graph.lines
    ]


def mean_square(m: Made, x: Value, square: Value, eps: float = 1e-6) -> Value:
    return m.line("add", m.line("mean", square, axis=[-1], keepdim=True), value=eps)


def rms(m: Made, x: Value, square: str = "pow", root: str = "rsqrt") -> Value:
    """Return x over its root mean square, in one of the ways in which libraries write it."""
    squared = {
        "pow": lambda: m.line("pow", x, value=2),
        "square": lambda: m.line("square", x),
        "mul": lambda: m.line("mul", x, x),
    }[square]()
    shifted = mean_square(m, x, squared)
    if root == "rsqrt":
        return m.line("mul", m.line("rsqrt", shifted), x)
    if root == "pow":
        return m.line("mul", x, m.line("pow", shifted, value=-0.5))
    return m.line("div", x, m.line("sqrt", shifted))


@pytest.mark.parametrize("square", ["pow", "square", "mul"])
@pytest.mark.parametrize("root", ["rsqrt", "pow", "sqrt"])
@pytest.mark.parametrize("weight_first", [True, False])
def test_rms_norm(square: str, root: str, weight_first: bool) -> None:
    def expression(m: Made, x: Value) -> Value:
        normed = m.line("cast", rms(m, m.line("cast", x, dtype="float32"), square, root), dtype="float32")
        weight = m.stored("norm.weight", 6)
        return m.line("mul", *((weight, normed) if weight_first else (normed, weight)))

    assert simplified(expression, 2, 3, 6) == [("rms_norm", {"eps": 1e-6}, {"weight": "norm.weight"})]


def test_rms_norm_of_weights_around_zero() -> None:
    def expression(m: Made, x: Value) -> Value:
        return m.line("mul", rms(m, x), m.line("add", m.stored("norm.weight", 6), value=1.0))

    assert simplified(expression, 2, 6) == [("rms_norm", {"eps": 1e-6, "offset": 1.0}, {"weight": "norm.weight"})]


def test_rms_norm_without_weight() -> None:
    assert simplified(rms, 2, 6) == [("rms_norm", {"eps": 1e-6, "affine": False}, {})]


def test_layer_norm() -> None:
    def expression(m: Made, x: Value) -> Value:
        centered = m.line("sub", x, m.line("mean", x, axis=[-1], keepdim=True))
        variance = m.line("mean", m.line("pow", centered, value=2), axis=[-1], keepdim=True)
        normed = m.line("div", centered, m.line("sqrt", m.line("add", variance, value=1e-7)))
        return m.line("add", m.line("mul", m.stored("norm.weight", 6), normed), m.stored("norm.bias", 6))

    parameters = {"weight": "norm.weight", "bias": "norm.bias"}
    assert simplified(expression, 2, 3, 6) == [("layer_norm", {"eps": 1e-7}, parameters)]


def test_layer_norm_by_variance() -> None:
    def expression(m: Made, x: Value) -> Value:
        centered = m.line("sub", x, m.line("mean", x, axis=[-1], keepdim=True))
        variance = m.line("var", x, axis=[-1], keepdim=True, correction=0.0)
        return m.line("mul", centered, m.line("rsqrt", m.line("add", variance, value=1e-5)))

    assert simplified(expression, 2, 3, 6) == [("layer_norm", {"affine": False}, {})]


def tanh_gelu(m: Made, x: Value, factor: float = 0.044715) -> Value:
    cube = m.line("mul", m.line("pow", x, value=3), value=factor)
    inner = m.line("mul", m.line("add", x, cube), value=math.sqrt(2 / math.pi))
    return m.line("mul", m.line("mul", x, value=0.5), m.line("add", m.line("tanh", inner), value=1.0))


def factored_gelu(m: Made, x: Value) -> Value:
    """Return the approximation as Bloom writes it."""
    square = m.line("mul", m.line("mul", x, value=0.044715), x)
    inner = m.line("mul", m.line("mul", x, value=0.79788456), m.line("add", square, value=1))
    return m.line("mul", m.line("mul", x, value=0.5), m.line("add", m.line("tanh", inner), value=1.0))


def test_gelu_in_factors() -> None:
    assert simplified(factored_gelu, 3, 50) == [("gelu", {"approximate": "tanh"}, {})]


def exact_gelu(m: Made, x: Value) -> Value:
    error = m.line("erf", m.line("div", x, value=math.sqrt(2)))
    return m.line("mul", m.line("mul", x, value=0.5), m.line("add", error, value=1.0))


def test_exact_gelu() -> None:
    assert simplified(exact_gelu, 3, 50) == [("gelu", {}, {})]


ACTIVATIONS: dict[str, tuple[Expression, dict[str, str]]] = {
    "silu": (lambda m, x: m.line("mul", x, m.line("sigmoid", x)), {}),
    "quick_gelu": (lambda m, x: m.line("mul", m.line("sigmoid", m.line("mul", x, value=1.702)), x), {}),
    "gelu": (tanh_gelu, {"approximate": "tanh"}),
    "mish": (lambda m, x: m.line("mul", x, m.line("tanh", m.line("softplus", x))), {}),
    "hardswish": (
        lambda m, x: m.line("div", m.line("mul", x, m.line("relu6", m.line("add", x, value=3.0))), value=6.0),
        {},
    ),
    "hardsigmoid": (lambda m, x: m.line("div", m.line("relu6", m.line("add", x, value=3.0)), value=6), {}),
    "squared_relu": (lambda m, x: m.line("square", m.line("relu", x)), {}),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name: str) -> None:
    expression, attributes = ACTIVATIONS[name]
    assert simplified(expression, 3, 50) == [(name, attributes, {})]


def attention(
    m: Made, x: Value, masked: bool = False, softcap: float | None = None, axis: int = -1, others: bool = False
) -> Value:
    """Return attention over four heads of a tensor of (batch, length, 3·heads·head_dim), as explicit products."""
    query, key, value = m.build.lines(
        "chunk", [m.line("unflatten", x, axis=-1, sizes=[12, -1])], {"chunks": 3, "axis": 2}
    )
    query, value = (m.line("transpose", part, axes=[1, 2]) for part in (query, value))
    scores = m.line("matmul", query, m.line("permute", key, axes=[0, 2, 3, 1]))
    scores = m.line("div", scores, value=math.sqrt(2.0))
    if softcap:
        scores = m.line("mul", m.line("tanh", m.line("div", scores, value=softcap)), value=softcap)
    if masked:
        scores = m.line("add", scores, m.input("mask", 1, 1, 5, 5))
    weights = m.line("softmax", scores, axis=axis)
    if others:
        m.graph.outputs["weights"] = weights
    attended = m.line("matmul", m.line("dropout", weights, p=0.1), value)
    return m.line("flatten", m.line("transpose", attended, axes=[1, 2]), start_axis=2)


@pytest.mark.parametrize(
    ("options", "attributes"),
    [
        ({}, {}),
        ({"masked": True}, {}),
        ({"softcap": 20.0}, {"softcap": 20.0}),
        ({"masked": True, "softcap": 20.0}, {"softcap": 20.0}),
    ],
)
def test_attention(options: dict[str, Any], attributes: dict[str, Any]) -> None:
    lines = simplified(lambda m, x: attention(m, x, **options), 2, 5, 24)
    assert [name for name, _, _ in lines] == [
        *("unflatten", "chunk", "transpose", "transpose", "transpose"),
        *("scaled_dot_product_attention", "transpose", "flatten"),
    ]
    assert lines[5][1] == {**attributes, "dropout": 0.1}


@pytest.mark.parametrize("repeat", ["expand", "repeat_interleave"])
def test_grouped_heads(repeat: str) -> None:
    def repeated(m: Made, x: Value) -> Value:
        if repeat == "repeat_interleave":
            return m.line("repeat_interleave", x, repeats=2, axis=1)
        more = m.line("expand", m.line("unsqueeze", x, axis=2), shape=[2, 3, 2, 5, 4])
        return m.line("reshape", more, shape=[2, 6, 5, 4])

    def expression(m: Made, x: Value) -> Value:
        query = m.line("mul", m.input("query", 2, 6, 5, 4), value=0.25)
        return m.line("scaled_dot_product_attention", query, repeated(m, x), repeated(m, x), scale=1.0)

    assert simplified(expression, 2, 3, 5, 4) == [
        ("scaled_dot_product_attention", {"scale": 0.25, "enable_gqa": True}, {})
    ]


NEAR_MISSES: dict[str, tuple[Expression, tuple[int, ...]]] = {
    "the square of another value": (
        lambda m, x: m.line("mul", x, m.line("rsqrt", mean_square(m, x, m.line("square", m.line("abs", x))))),
        (2, 6),
    ),
    "the mean along another axis": (
        lambda m, x: m.line(
            "mul",
            x,
            m.line("rsqrt", m.line("add", m.line("mean", m.line("square", x), axis=0, keepdim=True), value=1.0)),
        ),
        (6, 6),
    ),
    "another factor of the cube": (lambda m, x: tanh_gelu(m, x, 0.05), (2, 6)),
    "the sigmoid of another value": (lambda m, x: m.line("mul", x, m.line("sigmoid", m.line("neg", x))), (2, 6)),
    "the cube of relu": (lambda m, x: m.line("pow", m.line("relu", x), value=3), (2, 6)),
    "a softmax over queries": (lambda m, x: attention(m, x, axis=-2), (2, 5, 24)),
    "heads in another order": (
        lambda m, x: m.line(
            "scaled_dot_product_attention", m.input("query", 2, 6, 5, 4), *[m.line("tile", x, repeats=[2, 1, 1])] * 2
        ),
        (2, 3, 5, 4),
    ),
}


@pytest.mark.parametrize("name", NEAR_MISSES)
def test_near_misses(name: str) -> None:
    expression, shape = NEAR_MISSES[name]
    graph = assert_same(made(expression, *shape), simplify)
    named = {"rms_norm", "layer_norm", *ACTIVATIONS}
    attends = [line for line in graph.lines if line.operation == "scaled_dot_product_attention"]
    assert named.isdisjoint(operations(graph))
    assert not any("enable_gqa" in line.attributes for line in attends) and (not attends or name.startswith("heads"))


def test_weights_of_attention_that_are_results() -> None:
    def make() -> Graph:
        m = Made()
        y = attention(m, m.input("x", 2, 5, 24), others=True)
        m.graph.outputs["y"] = y
        return m.graph

    assert "scaled_dot_product_attention" not in operations(assert_same(make, simplify))


TRIVIAL: dict[str, Expression] = {
    "cast": lambda m, x: m.line("cast", x, dtype="float32"),
    "mul": lambda m, x: m.line("mul", x, value=1.0),
    "div": lambda m, x: m.line("div", x, value=1),
    "add": lambda m, x: m.line("add", x, value=0),
    "sub": lambda m, x: m.line("sub", x, value=0.0),
    "expand": lambda m, x: m.line("expand", x, shape=[-1, 6]),
    "slice": lambda m, x: m.line("slice", x, axis=1, start=0, stop=6),
    "concat": lambda m, x: m.line("concat", x, axis=1),
    "dropout": lambda m, x: m.line("dropout", x, p=0.0),
}


@pytest.mark.parametrize("name", TRIVIAL)
def test_lines_without_effect(name: str) -> None:
    assert simplified(TRIVIAL[name], 2, 6) == []


def test_lines_with_an_effect_stay() -> None:
    def expression(m: Made, x: Value) -> Value:
        x = m.line("sub", x, value=0.0, reverse=True)
        x = m.line("div", x, value=1, rounding="floor")
        x = m.line("slice", x, axis=1, start=0, stop=6, step=2)
        return m.line("expand", m.line("unsqueeze", x, axis=0), shape=[4, -1, -1])

    assert [name for name, _, _ in simplified(expression, 2, 6)] == ["sub", "div", "slice", "unsqueeze", "expand"]


def test_tensors_that_broadcast_need_no_expansion() -> None:
    def expression(m: Made, x: Value) -> Value:
        bias = m.line("expand", m.line("unsqueeze", m.stored("bias", 1, 6), axis=0), shape=[2, 3, 6])
        return m.line("add", x, bias)

    assert [name for name, _, _ in simplified(expression, 2, 3, 6)] == ["parameter", "add"]


@pytest.mark.parametrize("shown", ["cast", "not_equal", "logical_not"])
@pytest.mark.parametrize("batch", [1, 2])
def test_padding(shown: str, batch: int) -> None:
    """The mask of the keys, as a look-up by (batch, 1, 1, 1) and (1, 1, 1, keys) makes it, serves two layers."""

    def make() -> Graph:
        m = Made()
        x = m.input("x", batch, 3, 5, 4)
        mask = m.input("mask", batch, 5, dtype="bool" if shown == "logical_not" else "int64")
        options = {"cast": {"dtype": "bool"}, "not_equal": {"value": 0}}.get(shown, {})
        mask = m.line(shown, mask, **options)
        samples = m.line("reshape", m.line("arange", stop=batch), shape=[batch, 1, 1, 1])
        keys = m.line("reshape", m.line("arange", stop=5), shape=[1, 1, 1, 5])
        mask = m.line("index", mask, samples, keys, axis=[0, 1])
        for _ in range(2):
            x = m.line("scaled_dot_product_attention", x, x, x, mask)
        return m.done(y=x)

    graph = assert_same(make, simplify)
    # a comparison is turned round, where a conversion is no work
    before = ["equal"] if shown == "not_equal" else []
    if shown == "cast":
        assert operations(graph)[0] == "cast" and "equal" not in operations(graph)
    else:
        assert operations(graph) == [*before, *["scaled_dot_product_attention"] * 2]
        assert all(line.inputs[3] is None and line.inputs[4] is not None for line in graph.lines[-2:])


def test_masks_of_queries_are_no_padding() -> None:
    def expression(m: Made, x: Value) -> Value:
        mask = m.line("unsqueeze", m.line("cast", m.input("mask", 2, 5, dtype="int64"), dtype="bool"), axis=1)
        return m.line("scaled_dot_product_attention", x, x, x, m.line("unsqueeze", mask, axis=-1))

    assert [name for name, _, _ in simplified(expression, 2, 3, 5, 4)][-1] == "scaled_dot_product_attention"


def test_look_ups_in_another_order_stay() -> None:
    def expression(m: Made, x: Value) -> Value:
        rows = m.line("reshape", m.line("arange", stop=4), shape=[1, 4])
        columns = m.line("reshape", m.line("arange", stop=4), shape=[4, 1])
        return m.line("index", x, rows, columns, axis=[0, 1])

    assert "index" in [name for name, _, _ in simplified(expression, 4, 4)]


def test_look_ups_of_equal_elements() -> None:
    def expression(m: Made, x: Value) -> Value:
        zeros = m.line("constant", value=0.5, shape=[2, 8])
        return m.line("add", x, m.line("gather", zeros, m.input("ids", 2, 4, dtype="int64"), axis=1))

    assert simplified(expression, 2, 4) == [("add", {"value": 0.5}, {})]


def test_one_head_for_all_queries() -> None:
    """The axes of a single head, of which views make several axes of size 1, are repeated for each query head."""

    def expression(m: Made, x: Value) -> Value:
        query = m.input("query", 1, 6, 5, 4)
        single = m.line("transpose", m.line("unflatten", x, axis=-1, sizes=[1, 4]), axes=[1, 2])
        more = m.line("expand", m.line("unsqueeze", single, axis=2), shape=[1, 1, 6, 5, 4])
        more = m.line("reshape", more, shape=[1, 6, 5, 4])
        return m.line("scaled_dot_product_attention", query, more, more)

    names = [name for name, _, _ in simplified(expression, 1, 5, 4)]
    assert names == ["unsqueeze", "scaled_dot_product_attention"]

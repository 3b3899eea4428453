"""Biases by buckets of distances: written out as transformers does, and as one operation."""

from __future__ import annotations

import math
from typing import Any

import pytest

from netcalc.dims import symbol
from netcalc.formats.graph.model import Graph, Value
from netcalc.formats.graph.simplify import simplify
from tests.formats.graph.harness import Made, assert_same, operations


def buckets(made: Made, queries: Any, keys: Any, count: int, distance: int, both: bool, shift: int = 0) -> Value:
    """Return the bucket of each pair, in the steps of transformers' T5."""
    rows = made.line("unsqueeze", made.line("arange", stop=queries), axis=1)
    apart = made.line("sub", made.line("unsqueeze", made.line("arange", stop=keys), axis=0), rows)
    later = None
    if both:
        count //= 2
        later = made.line("mul", made.line("cast", made.line("greater", apart, value=0), dtype="int64"), value=count)
        apart = made.line("abs", apart)
    else:
        apart = made.line("neg", made.line("minimum", apart, made.line("constant", value=0, shape=[queries, keys])))
    exact = count // 2
    near = made.line("less", apart, value=exact)
    part = made.line("log", made.line("div", made.line("cast", apart, dtype="float32"), value=exact))
    part = made.line("mul", made.line("div", part, value=math.log(distance / exact)), value=count - exact)
    far = made.line("add", made.line("cast", part, dtype="int64"), value=exact + shift)
    far = made.line("minimum", far, made.line("constant", value=count - 1, shape=[queries, keys]))
    found = made.line("where", near, apart, far)
    return found if later is None else made.line("add", later, found)


def attention(queries: Any, keys: Any, rows: int, both: bool, **options: Any) -> Graph:
    made = Made()
    x, y = made.input("x", 2, queries, 8), made.input("y", 2, keys, 8)
    heads = []
    for name, source in (("query", x), ("key", y), ("value", y)):
        mapped = made.build.line("linear", [source], {"out": 8, "bias": False}, {"weight": made.stored(name, 8, 8)})
        split = made.line("unflatten", mapped, axis=2, sizes=[-1, 4])
        heads.append(made.line("transpose", split, axes=[1, 2]))
    ids = buckets(made, queries, keys, rows, options.pop("distance", 20), both, **options)
    weight = made.stored("bias.weight", rows, 2)
    bias = made.build.line("embedding", [ids], {"num_embeddings": rows, "embedding_dim": 2}, {"weight": weight})
    mask = made.line("unsqueeze", made.line("permute", bias, axes=[2, 0, 1]), axis=0)
    return made.done(y=made.line("scaled_dot_product_attention", *heads, mask))


@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize(("queries", "keys"), [(50, 50), (7, 33)])
def test_that_buckets_of_distances_are_one_operation(queries: int, keys: int, both: bool) -> None:
    graph = assert_same(lambda: attention(queries, keys, 16, both), simplify)
    (line,) = (line for line in graph.lines if line.operation == "t5_position_bias")
    expected = {"num_heads": 2, "num_buckets": 16, "max_distance": 20}
    assert line.attributes == (expected if both else {**expected, "bidirectional": False})
    assert "embedding" not in operations(graph)


def test_that_lengths_may_be_symbolic() -> None:
    length = symbol("length", default=8)
    graph = attention(length, length, 32, True, distance=128)
    simplify(graph)
    (line,) = (line for line in graph.lines if line.operation == "t5_position_bias")
    assert line.attributes == {"num_heads": 2}


def test_that_other_buckets_stay() -> None:
    graph = assert_same(lambda: attention(50, 50, 16, True, shift=1), simplify)
    assert "t5_position_bias" not in operations(graph)

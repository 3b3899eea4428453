"""Dead lines, and views of tensors that are joined, cancelled or moved."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from netcalc.dims import symbol
from netcalc.formats.graph.model import Graph, ModuleCall, Value
from netcalc.formats.graph.simplify import simplify
from tests.formats.graph.harness import Made, assert_same, operations, values


def test_dead_lines_go_and_their_tensors_stay() -> None:
    made = Made()
    x = made.input("x", 2, 3)
    made.line("add", made.line("mul", x, made.stored("unused", 3)), value=1.0)
    graph = made.done(y=made.line("relu", x))
    simplify(graph)
    assert operations(graph) == ["relu"]
    assert list(graph.tensors) == ["unused"]


def chain(*steps: tuple[str, dict[str, object]], shape: tuple[int, ...]) -> Callable[[], Graph]:
    def make() -> Graph:
        made = Made()
        x = made.input("x", *shape)
        for operation, attributes in steps:
            x = made.line(operation, x, **attributes)
        return made.done(y=x)

    return make


@pytest.mark.parametrize(
    ("shape", "steps", "expected"),
    [
        ((2, 3, 4), [("transpose", {"axes": [1, 2]}), ("transpose", {"axes": [-1, 1]})], []),
        ((2, 3, 4), [("permute", {"axes": [1, 2, 0]}), ("permute", {"axes": [2, 0, 1]})], []),
        ((2, 3, 4), [("permute", {"axes": [1, 2, 0]}), ("permute", {"axes": [1, 2, 0]})], ["permute"]),
        (
            (2, 3, 4),
            [("permute", {"axes": [0, 2, 1]}), ("unsqueeze", {"axis": 1}), ("squeeze", {"axis": 1})],
            ["transpose"],
        ),
        ((2, 12), [("reshape", {"shape": [2, 3, 4]})], ["unflatten"]),
        ((2, 3, 4), [("reshape", {"shape": [2, -1]})], ["flatten"]),
        ((2, 3, 4), [("reshape", {"shape": [2, 3, 4]})], []),
        ((2, 3, 4), [("reshape", {"shape": [6, 4]}), ("reshape", {"shape": [2, 3, 2, 2]})], ["unflatten"]),
        ((2, 3, 4), [("flatten", {}), ("unflatten", {"axis": 1, "sizes": [3, 4]})], []),
        ((2, 3, 4), [("flatten", {}), ("unflatten", {"axis": 1, "sizes": [4, 3]})], ["reshape"]),
        ((6, 4), [("reshape", {"shape": [4, 6]})], ["reshape"]),
        ((6, 4), [("transpose", {"axes": [0, 1]}), ("reshape", {"shape": [6, 4]})], ["transpose", "reshape"]),
        ((1, 4, 5), [("transpose", {"axes": [0, 1]}), ("squeeze", {"axis": 1})], ["flatten"]),
        # a patch embedding, the wide way
        (
            (2, 6, 4, 4),
            [("permute", {"axes": [0, 2, 3, 1]}), ("reshape", {"shape": [2, 16, 6]}), ("transpose", {"axes": [1, 2]})],
            ["flatten"],
        ),
        # heads of several samples in one axis, as torch.nn.MultiheadAttention has them
        (
            (5, 2, 16),
            [("reshape", {"shape": [5, 8, 4]}), ("transpose", {"axes": [0, 1]}), ("reshape", {"shape": [2, 4, 5, 4]})],
            ["unflatten", "permute"],
        ),
    ],
)
def test_chains(shape: tuple[int, ...], steps: list[tuple[str, dict[str, object]]], expected: list[str]) -> None:
    assert operations(assert_same(chain(*steps, shape=shape), simplify)) == expected


def test_drawn_chains_keep_their_values() -> None:
    rng = random.Random(7)
    shorter = 0
    for _ in range(300):
        shape = tuple(rng.choice([1, 2, 3, 4, 6]) for _ in range(rng.randint(1, 4)))
        steps = []
        now = np.zeros(shape)
        for _ in range(rng.randint(1, 5)):
            step = drawn_step(rng, now)
            if step is not None:
                operation, attributes, now = step
                steps.append((operation, attributes))
        graph = assert_same(chain(*steps, shape=shape), simplify)
        assert len(graph.lines) <= min(len(steps), 3)
        shorter += len(graph.lines) < len(steps)
    assert shorter > 100


def drawn_step(rng: random.Random, x: np.ndarray) -> tuple[str, dict[str, object], np.ndarray] | None:
    """Return a view that suits a tensor, its attributes and its result."""
    rank = x.ndim
    match rng.choice(["permute", "flatten", "unflatten", "unsqueeze", "squeeze", "reshape"]):
        case "permute" if rank > 1:
            axes = rng.sample(range(rank), rank)
            return "permute", {"axes": axes}, x.transpose(axes)
        case "flatten" if rank > 1:
            first = rng.randrange(rank - 1)
            last = rng.randrange(first + 1, rank)
            joined = x.reshape(*x.shape[:first], -1, *x.shape[last + 1 :])
            return "flatten", {"start_axis": first, "end_axis": last}, joined
        case "unflatten" if rank and rank < 6:
            axis = rng.randrange(rank)
            part = rng.choice([n for n in (1, 2, 3) if x.shape[axis] % n == 0])
            split = x.reshape(*x.shape[:axis], part, -1, *x.shape[axis + 1 :])
            return "unflatten", {"axis": axis, "sizes": [part, -1]}, split
        case "unsqueeze" if rank < 6:
            axis = rng.randint(0, rank)
            return "unsqueeze", {"axis": axis}, np.expand_dims(x, axis)
        case "squeeze" if 1 in x.shape:
            axis = x.shape.index(1)
            return "squeeze", {"axis": axis}, x.squeeze(axis)
        case "reshape" if rank > 1:
            joined = x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])
            return "reshape", {"shape": list(joined.shape)}, joined
    return None


def test_views_that_others_use_stay() -> None:
    def make() -> Graph:
        made = Made()
        x = made.input("x", 2, 3, 4)
        turned = made.line("transpose", x, axes=[1, 2])
        return made.done(y=made.line("transpose", turned, axes=[0, 1]), z=turned)

    assert operations(assert_same(make, simplify)) == ["transpose", "transpose"]


def test_views_of_two_modules_stay() -> None:
    """Otherwise equal modules would become unequal: the first loses its last view, and the second its first one."""

    def make() -> Graph:
        made = Made()
        x = made.input("x", 2, 3, 4)
        for number in range(2):
            made.build.scope = (ModuleCall(f"layers.{number}"),)
            x = made.line("relu", made.line("transpose", x, axes=[1, 2]))
            x = made.line("transpose", x, axes=[1, 2])
        return made.done(y=x)

    assert len(assert_same(make, simplify).lines) == 6


def test_symbolic_sizes_become_open() -> None:
    made = Made()
    batch, length = symbol("batch", default=2), symbol("length", default=5)
    x = made.input("x", batch, length, 12)
    split = made.line("reshape", x, shape=[batch, length, 3, 4])
    joined = made.line("reshape", made.line("transpose", split, axes=[1, 2]), shape=[batch, 3, 4 * length])
    graph = made.done(y=joined)
    simplify(graph)
    assert [(line.operation, line.attributes) for line in graph.lines] == [
        ("unflatten", {"axis": -1, "sizes": [3, 4]}),
        ("transpose", {"axes": [1, 2]}),
        ("flatten", {"start_axis": 2}),
    ]


def packed_attention(made: Made, x: Value, heads: int, split_batch: bool) -> Value:
    """Return torch.nn.MultiheadAttention of (batch, length, features), as torch 2.13 writes it."""
    batch, length, features = x.type.shape
    size = features // heads
    weight, bias = made.stored("in_proj_weight", 3 * features, features), made.stored("in_proj_bias", 3 * features)
    x = made.line("transpose", x, axes=[1, 0])
    x = made.build.line("linear", [x], {"out": 3 * features}, {"weight": weight, "bias": bias})
    x = made.line("unflatten", x, axis=-1, sizes=[3, features])
    x = made.line("squeeze", made.line("transpose", made.line("unsqueeze", x, axis=0), axes=[0, -2]), axis=-2)
    parts = []
    for index in range(3):
        part = made.line("select", x, axis=0, index=index)
        part = made.line("reshape", part, shape=[length, batch * heads, size])
        part = made.line("transpose", part, axes=[0, 1])
        parts.append(made.line("reshape", part, shape=[batch, heads, length, size]) if split_batch else part)
    x = made.line("scaled_dot_product_attention", *parts)
    axes = [2, 0, 1, 3] if split_batch else [1, 0, 2]
    x = made.line("permute", x, axes=axes)
    x = made.line("reshape", x, shape=[length * batch, features])
    out = {"weight": made.stored("out_proj.weight", features, features), "bias": made.stored("out_proj.bias", features)}
    x = made.build.line("linear", [x], {"out": features}, out)
    return made.line("transpose", made.line("reshape", x, shape=[length, batch, features]), axes=[1, 0])


@pytest.mark.parametrize(("batch", "split_batch"), [(2, True), (1, True), (2, False)])
def test_packed_attention(batch: int, split_batch: bool) -> None:
    def make() -> Graph:
        made = Made()
        return made.done(y=packed_attention(made, made.input("x", batch, 5, 12), 3, split_batch))

    assert operations(assert_same(make, simplify)) == [
        *("linear", "unflatten", "permute", "select", "select", "select"),
        *("scaled_dot_product_attention", "transpose", "flatten", "linear"),
    ]


def test_linear_keeps_views_of_its_features() -> None:
    def make() -> Graph:
        made = Made()
        x = made.line("transpose", made.input("x", 2, 3, 4), axes=[1, 2])
        x = made.build.line("linear", [x], {"out": 5, "bias": False}, {"weight": made.stored("weight", 5, 3)})
        return made.done(y=made.line("transpose", x, axes=[1, 2]))

    assert operations(assert_same(make, simplify)) == ["transpose", "linear", "transpose"]


def test_values_of_the_harness_are_not_constant() -> None:
    assert np.ptp(values(chain(shape=(2, 3))())["y"]) > 0


def test_lines_follow_the_line_that_they_use() -> None:
    made = Made()
    x = made.input("x", 2, 3)
    first, second = made.line("relu", x), made.line("tanh", x)
    second = made.line("neg", second)
    first = made.line("abs", first)
    graph = made.done(y=made.line("add", first, second))
    before = values(graph)["y"]
    simplify(graph)
    assert operations(graph) == ["relu", "abs", "tanh", "neg", "add"]
    assert (values(graph)["y"] == before).all()


def test_lines_follow_modules_that_they_call() -> None:
    """Lines of a module stand behind a call of another one, and not inside it."""
    made = Made()
    x = made.input("x", 2, 3)
    outer, inner = ModuleCall("outer"), ModuleCall("outer.inner")
    made.build.scope = (outer, inner)
    first = made.line("relu", x)
    second = made.line("tanh", x)
    made.build.scope = (outer,)
    third = made.line("abs", first)
    graph = made.done(y=made.line("add", third, made.line("neg", second)))
    simplify(graph)
    assert operations(graph) == ["relu", "tanh", "neg", "abs", "add"]

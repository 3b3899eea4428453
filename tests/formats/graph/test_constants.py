"""Constant operands and constant values: shorter graphs with the same values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from netcalc.dims import symbol
from netcalc.formats.graph.constants import fold_constants
from netcalc.formats.graph.model import Graph, Stored, Value
from netcalc.formats.graph.simplify import simplify
from netcalc.formats.graph.simplify.rewriting import Rewriter
from tests.formats.graph.harness import Made, assert_same, operations


def folded(graph: Graph) -> None:
    fold_constants(graph)
    Rewriter(graph).sweep()


def table(made: Made, ids: Value, rows: int = 40, features: int = 8) -> Value:
    weight = made.stored("positions.weight", rows, features)
    return made.build.line("embedding", [ids], {"num_embeddings": rows, "embedding_dim": features}, {"weight": weight})


Step = Callable[[Made, Value], Value]

#: Operations that change nothing, on x of (2, 6, 8).
NEUTRAL: dict[str, Step] = {
    "add zeros": lambda made, x: made.line("add", x, made.line("constant", value=0.0, shape=[6, 8])),
    "zero in front": lambda made, x: made.line("add", made.line("constant", value=0.0), x),
    "subtract zero": lambda made, x: made.line("sub", x, made.line("constant", value=0.0)),
    "times one": lambda made, x: made.line("mul", x, made.line("constant", value=1.0)),
    "where true": lambda made, x: made.line("where", made.line("constant", value=True), x, made.line("neg", x)),
    "where false": lambda made, x: made.line(
        "where", made.line("greater", made.line("arange", stop=8), value=9), made.line("neg", x), x
    ),
    "fill nothing": lambda made, x: made.line(
        "masked_fill", x, made.line("less", made.line("arange", stop=8), value=0), value=3.0
    ),
}


@pytest.mark.parametrize("name", NEUTRAL)
def test_that_neutral_operands_go(name: str) -> None:
    def make() -> Graph:
        made = Made()
        return made.done(y=made.line("relu", NEUTRAL[name](made, made.input("x", 2, 6, 8))))

    assert operations(assert_same(make, folded)) == ["relu"]


@pytest.mark.parametrize(
    ("operation", "first"),
    [("add", False), ("sub", False), ("sub", True), ("mul", True), ("div", False), ("div", True)],
)
def test_that_numbers_become_attributes(operation: str, first: bool) -> None:
    def make() -> Graph:
        made = Made()
        x, number = made.input("x", 2, 6, 8), made.line("constant", value=2.5, shape=[1, 1])
        return made.done(y=made.line(operation, *([number, x] if first else [x, number])))

    (line,) = assert_same(make, folded).lines
    assert (line.operation, line.attributes["value"]) == (operation, 2.5)


def test_that_a_larger_constant_stays_an_operand() -> None:
    """The number broadcasts the other operand here."""

    def make() -> Graph:
        made = Made()
        return made.done(y=made.line("add", made.input("x", 6, 8), made.line("constant", value=0.0, shape=[3, 6, 8])))

    assert operations(assert_same(make, folded)) == ["constant", "add"]


def as_opt(made: Made) -> Value:
    """Return the rows 2, 3, … for each sample, counted as OPT counts the tokens of a mask."""
    ones = made.line("constant", value=1, shape=[2, 6])
    counted = made.line("mul", made.line("cumsum", ones, axis=1), ones)
    return made.line("add", made.line("sub", counted, value=1), value=2)


def as_opt_with_numbers(made: Made) -> Value:
    ones = made.line("constant", value=1.0, shape=[2, 6])
    counted = made.line("mul", made.line("cumsum", ones, axis=1), ones)
    return made.line("add", made.line("cast", made.line("sub", counted, value=1), dtype="int64"), value=2)


def as_bart(made: Made) -> Value:
    ids = made.line("expand", made.line("unsqueeze", made.line("arange", stop=6), axis=0), shape=[2, -1])
    return made.line("add", ids, value=2)


def as_bert(made: Made) -> Value:
    buffer = made.stored("ids", 1, 40, buffer=True, persistent=False)
    made.graph.tensors["ids"] = type(made.graph.tensors["ids"])(
        buffer.type.with_dtype("int64"), True, computed=[{"arange": {"stop": 40}}, {"reshape": [1, 40]}]
    )
    return made.line("slice", buffer, axis=1, stop=6)


@pytest.mark.parametrize(("ids", "offset"), [(as_opt, 2), (as_opt_with_numbers, 2), (as_bart, 2), (as_bert, 0)])
@pytest.mark.parametrize("first", [True, False])
def test_that_rows_of_a_table_in_order_are_learned_positions(
    ids: Callable[[Made], Value], offset: int, first: bool
) -> None:
    def make() -> Graph:
        made = Made()
        x, rows = made.input("x", 2, 6, 8), table(made, ids(made))
        return made.done(y=made.line("add", *([x, rows] if first else [rows, x])))

    graph = make()
    folded(graph)
    (line,) = graph.lines
    assert line.operation == "learned_positions"
    assert line.attributes == ({"max_length": 40, "offset": 2} if offset else {"max_length": 40})
    if ids is not as_bert:  # whose buffer the reference cannot compute
        assert_same(make, folded)


@pytest.mark.parametrize("operation", ["index", "index_select"])
def test_that_rows_of_a_parameter_are_learned_positions(operation: str) -> None:
    def make() -> Graph:
        made = Made()
        x, weight, ids = made.input("x", 2, 6, 8), made.stored("table.weight", 40, 8), made.line("arange", stop=6)
        return made.done(y=made.line("add", x, made.line(operation, weight, ids, axis=0)))

    assert operations(assert_same(make, folded)) == ["learned_positions"]


@pytest.mark.parametrize("ids", [as_opt, as_bart])
def test_that_rows_of_a_parameter_for_each_sample_are_learned_positions(ids: Callable[[Made], Value]) -> None:
    def make() -> Graph:
        made = Made()
        x, weight = made.input("x", 2, 6, 8), made.stored("table.weight", 40, 8)
        return made.done(y=made.line("add", x, made.line("index", weight, ids(made), axis=0)))

    assert operations(assert_same(make, folded)) == ["learned_positions"]


def even(made: Made) -> Value:
    return made.line("arange", stop=12, step=2)


def downwards(made: Made) -> Value:
    return made.line("flip", made.line("arange", stop=6), axis=0)


def by_sample(made: Made) -> Value:
    samples = made.line("unsqueeze", made.line("arange", stop=2), axis=1)
    return made.line("add", samples, made.line("arange", stop=6))


def repeated(made: Made) -> Value:
    return made.line("repeat_interleave", made.line("arange", stop=3), repeats=2, axis=0)


@pytest.mark.parametrize("ids", [even, downwards, by_sample, repeated])
def test_that_other_rows_stay(ids: Callable[[Made], Value]) -> None:
    def make() -> Graph:
        made = Made()
        return made.done(y=made.line("add", made.input("x", 2, 6, 8), table(made, ids(made))))

    assert operations(assert_same(make, folded))[-2:] == ["embedding", "add"]


def test_that_rows_with_two_uses_stay() -> None:
    def make() -> Graph:
        made = Made()
        rows = table(made, as_opt(made))
        return made.done(y=made.line("add", made.input("x", 2, 6, 8), rows), z=made.line("relu", rows))

    assert operations(assert_same(make, folded)) == ["arange", "unsqueeze", "expand", "embedding", "add", "relu"]


def test_that_one_row_for_all_tokens_is_looked_up_once() -> None:
    def make() -> Graph:
        made = Made()
        zeros = made.line("expand", made.line("constant", value=0, shape=[1, 1]), shape=[2, 6])
        return made.done(y=made.line("add", made.input("x", 2, 6, 8), table(made, zeros)))

    graph = assert_same(make, folded)
    assert operations(graph) == ["constant", "embedding", "add"]
    assert graph.lines[1].outputs[0].type.shape == (8,)


LENGTH = symbol("length", default=6)


@pytest.mark.parametrize("length", [2, 6, LENGTH])
def test_that_a_causal_mask_is_one_line(length: Any) -> None:
    def make() -> Graph:
        made = Made()
        ids = made.line("add", made.line("arange", stop=length), value=0)
        rows = made.line("unsqueeze", ids, axis=1)
        mask = made.line("logical_and", made.line("constant", value=True), made.line("less_equal", ids, rows))
        scores = made.input("x", 2, length, length)
        hidden = made.line("constant", value=-1.0)
        return made.done(y=made.line("where", mask, scores, hidden), z=made.line("where", mask, hidden, scores))

    graph = make()
    folded(graph)
    assert sorted(operations(graph)) == ["causal_mask", "constant", "where", "where"]
    if isinstance(length, int):
        assert_same(make, folded)


def test_that_equal_constants_are_made_once() -> None:
    def make() -> Graph:
        made = Made()
        x = made.input("x", 6, 6)
        masks = [made.line("tril", made.line("constant", value=True, shape=[6, 6])) for _ in range(2)]
        for mask in masks:
            x = made.line("where", mask, x, made.line("neg", x))
        return made.done(y=x)

    graph = assert_same(make, folded)
    assert operations(graph).count("causal_mask") == 1


def test_that_symbolic_positions_are_learned_positions() -> None:
    made = Made()
    batch = symbol("batch", default=2)
    ids = made.line("cumsum", made.line("constant", value=1, shape=[batch, LENGTH]), axis=1)
    rows = table(made, made.line("sub", ids, value=1))
    graph = made.done(y=made.line("add", made.input("x", batch, LENGTH, 8), rows))
    folded(graph)
    assert [(line.operation, line.attributes) for line in graph.lines] == [("learned_positions", {"max_length": 40})]


def test_that_buffers_whose_values_are_not_known_stay_and_are_noted() -> None:
    made = Made()
    options: Any = {"buffer": True, "persistent": False, "value": float("nan"), "unknown": True}
    made.stored("table", 8, **options)
    made.stored("unused", 8, **options)
    table = made.build.read(Value(made.graph.tensors["table"].type, "", Stored("table")))
    graph = made.done(y=made.line("add", made.input("x", 2, 8), table))
    simplify(graph)
    assert operations(graph) == ["buffer", "add"]
    (note,) = graph.notes
    assert "table" in note
    assert "unused" not in note


def test_that_an_index_that_counts_along_axes_only_adds_axes() -> None:
    """A mask of padding is looked up by sample and key, as transformers does."""
    made = Made()
    batch = symbol("batch", default=2)
    mask = made.input("mask", batch, LENGTH, dtype="bool")
    samples, keys = made.line("arange", stop=batch), made.line("arange", stop=LENGTH)
    for _ in range(3):
        samples, keys = made.line("unsqueeze", samples, axis=-1), made.line("unsqueeze", keys, axis=0)
    graph = made.done(y=made.line("index", mask, samples, keys, axis=[0, 1]))
    folded(graph)
    assert operations(graph) == ["unsqueeze", "unsqueeze"]
    assert graph.outputs["y"].type.shape == (batch, 1, 1, LENGTH)


@pytest.mark.parametrize("reverse", [False, True])
def test_that_another_index_stays(reverse: bool) -> None:
    made = Made()
    x = made.input("x", 4, 4)
    rows = made.line("unsqueeze", made.line("arange", stop=4), axis=0)
    columns = made.line("unsqueeze", made.line("arange", stop=4), axis=1)
    if not reverse:
        rows, columns = made.line("flip", columns, axis=0), rows
    graph = made.done(y=made.line("index", x, rows, columns, axis=[0, 1]))
    folded(graph)
    assert operations(graph)[-1] == "index"


@pytest.mark.parametrize(("start", "stop"), [(0, 5), (2, 6), (0, 3)])
def test_that_rows_in_order_are_a_slice(start: int, stop: int) -> None:
    def make() -> Graph:
        made = Made()
        x, rows = made.input("x", 5, 3), made.line("sub", made.line("arange", start=start + 1, stop=stop), value=1)
        return made.done(y=made.line("relu", made.line("index", x, rows, axis=[0])))

    graph = assert_same(make, folded)
    assert operations(graph) == ["slice", "relu"]


def test_that_a_tensor_written_piece_by_piece_takes_little_time() -> None:
    made = Made()
    x = made.line("constant", value=0.0, shape=[200])
    for place in range(100):
        pieces = [made.line("slice", x, axis=0, stop=place), made.line("constant", value=float(place), shape=[1])]
        x = made.line(
            "concat", *(pieces if place else pieces[1:]), made.line("slice", x, axis=0, start=place + 1), axis=0
        )
    graph = made.done(y=made.line("add", made.input("x", 3, 200), x))
    folded(graph)
    assert operations(graph)[-1] == "add"


def test_that_an_outer_product_by_names_is_a_constant() -> None:
    def make() -> Graph:
        made = Made()
        vectors = [made.line("arange", stop=size, dtype="float32") for size in (6, 8)]
        return made.done(y=made.line("mul", made.input("x", 6, 8), made.line("einsum", *vectors, equation="i,j->ij")))

    assert_same(make, folded)

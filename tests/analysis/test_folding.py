"""Alternating layers fold by their period: the folded rows stand for exactly the unrolled ones."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.folding import Numbers, patterns
from netcalc.ir import Program
from tests.spec.harness import layers, program


def analysis(found: Program) -> Analysis:
    return Analysis(found, CONVENTIONS["netcalc"])


def numbers_of(found: Numbers) -> list[int]:
    return [number for first, last in found.spans() for number in range(first, last + 1)]


def instances(row: Row) -> list[str]:
    """Return the path of every instance of a row, from the numbers of its levels."""
    paths = [""]
    rest = row.path
    for prefix, numbers in row.ranges:
        # the prefix is that of the first instance, of which the levels above have numbers of their own
        position = len(prefix)
        done = len(row.path) - len(rest)
        step = row.path[done:position]
        paths = [f"{path}{step}{number}" for path, number in product(paths, numbers_of(numbers))]
        rest = row.path[position + len(str(numbers.first)) :]
    return [path + rest for path in paths]


@given(st.lists(st.integers(0, 60), min_size=1, max_size=30, unique=True))
def test_patterns_stand_for_exactly_the_numbers_given(numbers: list[int]) -> None:
    wanted = sorted(numbers)
    runs: list[tuple[int, int]] = []
    for number in wanted:
        if runs and sum(runs[-1]) == number:
            runs[-1] = runs[-1][0], runs[-1][1] + 1
        else:
            runs.append((number, 1))
    found = list(patterns(runs))
    assert sorted(number for part in found for number in numbers_of(part)) == wanted
    for part in found:
        assert part.size == len(numbers_of(part))
        assert [number for number in range(-2, 70) if number in part] == numbers_of(part)
        assert part.part(str(part)) == part


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (Numbers(3), "3"),
        (Numbers(3, 2), "3–4"),
        (Numbers(0, 2, 1, 37), "0,37"),
        (Numbers(0, 3, 1, 2), "0,2,4"),
        (Numbers(0, 13, 1, 2), "0,2,…,24"),
        (Numbers(0, 22, 5, 6), "0–4,6–10,…,24–25"),
        (Numbers(0, 7, 3, 4), "0–2,4–6,8"),
    ],
)
def test_numbers_are_written_so_that_all_are_known(numbers: Numbers, text: str) -> None:
    assert str(numbers) == text
    assert numbers.part(text.replace("–", "-").replace("…", "...")) == numbers


def test_a_part_of_the_numbers_may_be_named() -> None:
    locals_ = Numbers(0, 22, 5, 6)
    assert locals_.part("7") == Numbers(7)
    assert locals_.part("6-8") == Numbers(6, 3)
    assert locals_.part("5") is locals_.part("3-6") is locals_.part("x") is None


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.sampled_from(["relu", "gelu", "tanh"]), st.integers(1, 4)), min_size=1, max_size=4),
    st.integers(1, 5),
    st.integers(0, 5),
)
def test_folded_rows_stand_for_the_unrolled_rows(period: list[tuple[str, int]], periods: int, remainder: int) -> None:
    once = [kind for kind, times in period for _ in range(times)]
    kinds = once * periods + once[:remainder]
    found = analysis(
        layers(f"- {{name: f, repeat: {{each: {kinds}, as: kind}}, sequence: [{{linear: 8}}, '${{kind}}']}}")
    )
    unrolled = {row.path: row.cost for row in found.leaves(unroll=True)}
    folded = {path: row.cost for row in found.leaves() for path in instances(row)}
    assert folded == unrolled
    assert sum(row.repeat for row in found.leaves()) == len(unrolled)
    for depth in (1, 2, 3):
        assert sum(row.total.flops for row in found.frontier(depth)) == found.total.flops
    # every run of the period is at most one row, but the first and the last may be cut
    assert len(found.tree()[0].children) <= len(period) + 2


def test_nested_periods_fold_at_every_level() -> None:
    found = analysis(
        layers(
            """
            - name: outer
              repeat: {times: 6, index: i}
              sequence:
                - name: inner
                  repeat: {times: 5, index: j}
                  sequence: [{linear: {out: 8, bias: "${(i + j) % 2 == 0}"}}]
            """
        )
    )
    rows = list(found.leaves())
    assert [row.title for row in rows][:2] == ["outer.0,2,4.inner.0,2,4.0", "outer.0,2,4.inner.1,3.0"]
    unrolled = {row.path: row.cost for row in found.leaves(unroll=True)}
    assert {path: row.cost for row in rows for path in instances(row)} == unrolled


def test_the_cost_of_equal_bodies_is_computed_once() -> None:
    found = program(
        """
        inputs: {x: [2, 8]}
        blocks:
          layer:
            args: {index: int}
            layers: [{linear: "${8 if index % 2 else 8}"}, "${'relu' if index % 3 == 0 else 'gelu'}"]
        layers: [{name: layers, repeat: 60, layer: {index: "${index}"}}]
        """
    )
    bodies = {id(node.body) for node in found.main.nodes}  # type: ignore[union-attr]
    assert len(bodies) == 2
    assert [row.label for row in analysis(found).tree()[0].children] == ["0,3,…,57", "1–2,4–5,…,58–59"]


def test_iterations_of_a_single_operation_fold() -> None:
    found = analysis(layers("- {name: f_, repeat: 9, linear: {out: 8, bias: '${index % 2 == 0}'}}"))
    assert [(row.title, row.op, row.repeat) for row in found.tree()] == [
        ("f_0,2,…,8", "linear", 5),
        ("f_1,3,…,7", "linear", 4),
    ]


def test_many_alternating_layers_are_few_rows() -> None:
    found = analysis(layers("- {name: f, repeat: 15_000, dropout: {p: '${0.1 if index % 2 else 0.2}'}}"))
    assert [row.label for row in found.tree()[0].children] == ["0,2,…,14998", "1,3,…,14999"]

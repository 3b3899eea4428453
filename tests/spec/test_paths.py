"""Unique paths: the errors of specs in which two lines have one, and the paths of drawn and shipped specs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.ir import Body, CallNode, OpNode, Program, join
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import load_data, shipped
from tests.spec.harness import layers, params, problems, program

BLOCKS = """
blocks:
  b: {layers: [{name: conv, linear: 8}]}
  outer: {layers: [{name: inner, b: {}}]}
  two: {layers: [{name: x, sequence: [{name: y, linear: 8}]}]}
inputs: {x: [2, 8]}
layers:
"""


def lines(*items: str) -> str:
    """Return a spec with these lines."""
    return BLOCKS + "".join(f"  - {item}\n" for item in items)


@pytest.mark.parametrize(
    ("path", "items"),
    [
        ("head.conv", ["{name: head.conv, linear: 8}", "{name: head, b: {}}"]),
        ("head.conv", ["{name: head, b: {}}", "{name: head.conv, linear: 8}"]),
        ("head.conv", ["{name: head, b: {}}", "{name: head.conv, relu: {}}"]),  # a node, whose weights differ
        ("a.1", ["{name: a, repeat: 2, linear: 8}", "{name: a.1, linear: 8}"]),
        ("a.1", ["{name: a.1, b: {}}", "{name: a, repeat: 2, linear: 8}"]),
        ("a.1.conv", ["{name: a.1.conv, linear: 8}", "{name: a, repeat: 2, b: {}}"]),
        ("layer_0", ["{name: layer_, repeat: 1000000, b: {}}", "{name: layer_0, linear: 8}"]),
        ("layer-7.conv", ["{name: layer-, repeat: 1000000, b: {}}", "{name: layer-7.conv, linear: 8}"]),
        (
            "a.999999.conv",
            ["{name: a, repeat: 1000000, b: {}}", "{name: a.999999, sequence: [{name: conv, relu: {}}]}"],
        ),
        ("a.weight", ["{name: a, linear: 8}", "{name: a.weight, parameter: {shape: [8, 8]}, as: w}"]),
        ("a.running_mean", ["{name: a, batch_norm: {}}", "{name: a.running_mean, parameter: {shape: [8]}}"]),
        ("o.inner", ["{name: o, outer: {}}", "{name: o.inner, linear: 8}"]),
        ("o.inner.conv", ["{name: o, outer: {}}", "{name: o.inner.conv, linear: 8}"]),
        ("o.inner.conv", ["{name: o, outer: {}}", "{name: o.inner, sequence: [{name: conv, linear: 8}]}"]),
        ("s.2", ["{name: s, sequence: [{linear: 8}, {repeat: 2, linear: 8}, {name: 2, linear: 8}]}"]),
        ("s.1.0", ["{name: s, repeat: 2, sequence: [relu, {linear: 8}]}", "{name: s.1, sequence: [relu]}"]),
        ("t.x.y", ["{name: t, two: {}}", "{name: t.x, b: {}}", "{name: t.x.y, linear: 8}"]),
        ("s.conv", ["{name: s, repeat: 3, share: true, b: {}}", "{name: s.conv, linear: 8}"]),
        ("r.0.a.conv", ["{name: r, repeat: 2, sequence: [{name: a, b: {}}, {name: a.conv, linear: 8}]}"]),
    ],
)
def test_two_lines_with_one_path_are_an_error_that_names_both(path: str, items: list[str]) -> None:
    found = problems(lines(*items))
    assert [d.code for d in found] == ["E106"]
    assert repr(path) in found[0].message
    first, second = found[0].related[0].span, found[0].span
    assert first is not None
    assert second is not None
    assert first != second


def test_the_error_gives_the_calls_around_both_lines() -> None:
    (found,) = problems(lines("{name: o, outer: {}}", "{name: o.inner.conv, linear: 8}"))
    assert [fact.text for fact in found.related] == [
        "the other is here",
        "in 'b', called here",
        "in 'outer', called here",
    ]


@pytest.mark.parametrize(
    "items",
    [
        ["{name: a, repeat: 2, linear: 8}", "{name: a.2, linear: 8}", "{name: a.x, linear: 8}", "{name: a.01, b: {}}"],
        ["{name: layer_, repeat: 3, b: {}}", "{name: layer_3, linear: 8}", "{name: layer.0, linear: 8}"],
        ["{name: head, b: {}}", "{name: head.norm, linear: 8}", "{name: headconv, linear: 8}"],
        ["{name: s, repeat: 3, share: true, b: {}}", "{name: s.1, linear: 8}"],
        ["{name: s, repeat: 3, share: true, sequence: [{name: a, when: index < 2, relu: {}}, {linear: 8}]}"],
        ["{repeat: 2, sequence: [{linear: 8}, relu]}", "{linear: 8}"],
        ["{name: s, sequence: [{repeat: 2, linear: 8}, {linear: 8}, {repeat: 2, sequence: [{linear: 8}]}]}"],
        ["b", "b", "{name: a, b: {}}", "{name: a.b, b: {}}", "{name: c, tie: a, b: {}}"],
    ],
)
def test_paths_that_only_resemble_each_other(items: list[str]) -> None:
    found = program(lines(*items))
    assert repeated(found) == []
    assert len(params(found)) > 0


@pytest.mark.parametrize(
    "items",
    [
        ["{name: a.weight, parameter: {shape: [8, 8]}}", "{name: a, from: x, tie: {weight: a.weight}, linear: 8}"],
        ["{name: a.weight, parameter: {shape: [8, 8]}}", "{name: a, from: x, tie: {weight: /a.weight}, linear: 8}"],
        [
            "{name: s.a.weight, parameter: {shape: [8, 8]}}",
            "{name: s, from: x, sequence: [{name: a, tie: {weight: /s.a.weight}, linear: 8}]}",
        ],
    ],
)
def test_a_parameter_may_have_the_path_of_the_one_that_it_is_tied_to(items: list[str]) -> None:
    text = lines(*items)
    assert netcalc.loads(f"netcalc: 1{text}").params == 8 * 8 + 8
    assert len(params(program(text))) == 2


def test_a_parameter_with_the_path_of_one_that_it_is_not_tied_to_is_an_error() -> None:
    items = [
        "{name: b.weight, parameter: {shape: [8, 8]}}",
        "{name: a.weight, parameter: {shape: [8, 8]}}",
        "{name: a, from: x, tie: {weight: b.weight}, linear: 8}",
    ]
    assert [problem.code for problem in problems(lines(*items))] == ["E106"]


def repeated(found: Program) -> list[str]:
    """Return every path that two operations, or two parameters, have in the unrolled program.

    An operation of a repeat that shares its weights counts once.
    """
    nodes: Counter[str] = Counter()
    parameters: Counter[str] = Counter()

    def visit(body: Body, prefix: str) -> None:
        for node in body.nodes:
            if isinstance(node, OpNode):
                path = join(prefix, node.name)
                nodes[path] += 1
                parameters.update(join(path, param.name) for param in node.params)
                continue
            for index in range(1 if node.start is None else node.times):
                path = join(prefix, node.instance(index))
                if node.start is None and node.shares is not None and node.shares.target == node.name:
                    continue  # a further iteration of a repeat that shares its weights
                visit(node.body, path)

    visit(found.main, "")
    assert {i.path for i in instances(found)} >= nodes.keys()
    return [path for counts in (nodes, parameters) for path, count in counts.items() if count > 1]


def smallest(name: str) -> dict[str, Any]:
    """Return settings with at most four layers of each kind, so that a spec unrolls quickly."""
    document = load_document(name).document
    return {n: 4 for n, v in document.vars.items() if n.endswith("layers") and isinstance(v, int) and v > 4}


@pytest.mark.parametrize("name", sorted(shipped()))
def test_paths_of_shipped_specs_are_unique(name: str) -> None:
    try:
        found = elaborate(load_document(name), smallest(name))
    except NetcalcError:  # fewer layers do not suit the spec
        found = elaborate(load_document(name))
    assert repeated(found) == []


NAMES = st.sampled_from(["a", "b", "0", "a.a", "a.b", "b.a", "a.0", "a.1", "a_", "a_0", "a.b.a"])


def named(line: dict[str, Any], name: str | None) -> dict[str, Any]:
    return line if name is None else {"name": name, **line}


def lists_of(*targets: dict[str, Any]) -> st.SearchStrategy[list[Any]]:
    """Lists of lines that apply these targets, in sequences and repeats."""
    leaves = st.builds(named, st.sampled_from(targets), NAMES | st.none())

    def groups(items: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        inner, times = st.lists(items, min_size=1, max_size=3), st.integers(1, 3)
        sequences = st.builds(lambda lines, name: named({"sequence": lines}, name), inner, st.none() | NAMES)
        repeats = st.builds(lambda line, times: {"repeat": times, **line}, leaves | sequences, times)
        return (
            sequences | repeats | st.builds(lambda line: {"share": True, **line}, repeats.filter(lambda r: "name" in r))
        )

    return st.lists(st.recursive(leaves, groups, max_leaves=4), min_size=1, max_size=4)


OPERATIONS: tuple[dict[str, Any], ...] = ({"linear": 4}, {"relu": {}})


@given(main=lists_of({"linear": 4}, {"b": {}}, {"c": {}}), b=lists_of(*OPERATIONS, {"c": {}}), c=lists_of(*OPERATIONS))
def test_paths_of_drawn_specs_are_unique_or_refused(main: list[Any], b: list[Any], c: list[Any]) -> None:
    blocks = {"b": {"layers": b}, "c": {"layers": c}}
    try:
        found = elaborate(load_data({"netcalc": 1, "inputs": {"x": [2, 4]}, "blocks": blocks, "layers": main}))
    except NetcalcError as error:
        # E304: a repeat that shares its weights finds another line at its path
        assert {d.code for d in error.diagnostics} <= {"E106", "E304"}
    else:
        assert repeated(found) == []


def test_a_million_iterations_are_compared_as_one() -> None:
    found = layers("- {name: a, repeat: 1000000, sequence: [{linear: 8}, relu]}\n- {name: a.1000000, linear: 8}")
    assert sum(node.times for node in found.main.nodes if isinstance(node, CallNode)) == 1_000_000

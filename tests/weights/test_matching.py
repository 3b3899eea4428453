"""Parameters assembled from checkpoints: joined, stacked, sliced, renamed, optional and ignored tensors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import limits
from netcalc.diagnostics import NetcalcError, nearest
from netcalc.ir import CheckpointEntry, CheckpointLocation, Program, checkpoint
from netcalc.numerics.parameters import check_weights
from netcalc.weights import matching
from netcalc.weights.report import pattern_of
from tests.numerics.programs import program
from tests.numerics.test_parameters import loaded, mismatches

FC = "inputs: {x: [2, 6]}\nlayers: [{name: fc, linear: {out: 4, bias: false}}]\ncheckpoint: "
RNG = np.random.default_rng(0)


def drawn(*shape: int) -> np.ndarray:
    return RNG.normal(size=shape).astype(np.float32)


def weight(entry: str, given: dict[str, Any]) -> np.ndarray:
    """Return ``fc.weight`` of 4×6, loaded with this entry."""
    return loaded(program(f"{FC}{{fc.weight: {entry}}}"), given)["fc.weight"]


def test_a_list_is_joined_along_an_axis() -> None:
    given = {"a": drawn(1, 6), "b": drawn(3, 6), "c": drawn(4, 2), "d": drawn(4, 4)}
    rows, columns = {"a": given["a"], "b": given["b"]}, {"c": given["c"], "d": given["d"]}
    np.testing.assert_array_equal(weight("{from: [a, b]}", rows), np.vstack([given["a"], given["b"]]))
    np.testing.assert_array_equal(weight("{from: [c, d], axis: 1}", columns), np.hstack([given["c"], given["d"]]))


def test_slices_and_nested_entries() -> None:
    qkv, rest = drawn(10, 6), drawn(6, 3)
    np.testing.assert_array_equal(weight("{from: qkv, slice: [3, 7]}", {"qkv": qkv}), qkv[3:7])
    entry = "{from: [{from: qkv, slice: [8, 9]}, {from: rest, transpose: true}]}"
    np.testing.assert_array_equal(weight(entry, {"qkv": qkv, "rest": rest}), np.vstack([qkv[8:9], rest.T]))


def test_lists_are_stacked_along_an_axis() -> None:
    columns = {name: drawn(4) for name in "abcdef"}
    expected = np.array(list(columns.values())).T
    np.testing.assert_array_equal(weight("{from: [a, b, c, d, e, f], stack: true, axis: 1}", columns), expected)
    np.testing.assert_array_equal(weight("{from: [a, b, c, d, e, f], stack: true, transpose: true}", columns), expected)


def test_two_axes_become_one() -> None:
    first, second = drawn(2, 6), drawn(2, 6)
    woven = np.array([first[0], second[0], first[1], second[1]])
    entry = "{from: [a, b], stack: true, axis: 1, flatten: 0}"
    np.testing.assert_array_equal(weight(entry, {"a": first, "b": second}), woven)
    deep = drawn(4, 2, 3)
    np.testing.assert_array_equal(weight("{from: a, flatten: 1}", {"a": deep}), deep.reshape(4, 6))


def test_halves_that_are_stored_in_turn_are_put_together() -> None:
    stored = drawn(4, 6)
    np.testing.assert_array_equal(weight("{from: a, interleaved: 1}", {"a": stored}), stored[[0, 2, 1, 3]])
    np.testing.assert_array_equal(weight("{from: a, interleaved: 2}", {"a": stored}), stored)
    last = "{from: a, axis: -1, interleaved: 1}"
    np.testing.assert_array_equal(weight(last, {"a": stored}), stored[:, [0, 2, 4, 1, 3, 5]])
    both = "{from: a, chunk: [1, 2], interleaved: 1, transpose: true}"
    np.testing.assert_array_equal(weight(both, {"a": (rows := drawn(12, 4))}), rows[[6, 8, 10, 7, 9, 11]].T)


EXPERTS = """
inputs: {x: [2, 6]}
vars: {number: 3}
layers:
  - {name: gate, linear: {out: "${number}", bias: false}}
  - {top_k_router: 1, as: [weights, indices]}
  - {name: experts, from: [x, weights, indices], experts: {experts: "${number}", hidden: 4}}
checkpoint:
  experts.gate_up_proj: %s
  experts.down_proj: {from: "experts.{}.w2", stack: "${number}"}
"""


@pytest.mark.parametrize(
    "entry",
    [
        '{from: ["experts.{}.w1", "experts.{}.w3"], stack: "${number}"}',
        '{from: [{from: "experts.{}.w1", stack: 3}, {from: "experts.{}.w3", stack: 3}], axis: 1}',
    ],
)
def test_a_stack_of_joins_and_a_join_of_stacks(entry: str) -> None:
    net = program(EXPERTS % entry)
    given = {"gate.weight": drawn(3, 6)}
    for number in range(3):
        given |= {f"experts.{number}.w{k}": drawn(4, 6) for k in (1, 3)} | {f"experts.{number}.w2": drawn(6, 4)}
    values = loaded(net, given)
    for number in range(3):
        joined = np.vstack([given[f"experts.{number}.w1"], given[f"experts.{number}.w3"]])
        np.testing.assert_array_equal(values["experts.gate_up_proj"][number], joined)
    del given["experts.1.w3"]
    assert mismatches(net, given) == {("missing", "experts.1.w3")}
    given["experts.1.w3"] = drawn(5, 6)
    (wrong,) = check_weights(net, given).mismatches
    assert (wrong.kind, wrong.name) == ("shape", "experts.0.w1")
    assert wrong.message.startswith("'experts.0.w1' (for experts.gate_up_proj) and 5 more ")


@pytest.mark.parametrize(
    ("entry", "given", "reason"),
    [
        ("{from: [a, b]}", {"a": (2, 6), "b": (3, 6)}, "and 1 more give 5×6, and the spec has 4×6"),
        ("{from: [a, b]}", {"a": (2, 6), "b": (2, 5)}, "cannot be joined along axis 0: 2×6, 2×5"),
        ("{from: [a, b], axis: 2}", {"a": (2, 6), "b": (2, 6)}, "have no axis 2"),
        ("{from: [a, b], stack: true}", {"a": (2, 6), "b": (3, 6)}, "cannot be stacked: 2×6, 3×6"),
        ("{from: a, slice: [2, 6]}", {"a": (5, 6)}, "are 5 long in axis 0, and the slice ends at 6"),
        ("{from: [a, b], chunk: [0, 2]}", {"a": (4, 6), "b": (5, 6)}, "are 9 long in axis 0, which 2 does not divide"),
        ("{from: a, chunk: [0, 2]}", {"a": (5, 6)}, "is 5×6 float32, and the spec has 8×6 float32"),
        ("{from: [a], stack: true}", {"a": (6,)}, "give 1×6, and the spec has 4×6"),
        ("{from: a, interleaved: 3}", {"a": (4, 6)}, "have no 6 equal parts along axis 0"),
        ("{from: a, axis: 2, interleaved: 1}", {"a": (4, 6)}, "have no axis 2"),
        ("{from: a, flatten: 1}", {"a": (4, 6)}, "have 2 axes, and none follows axis 1"),
    ],
)
def test_tensors_that_do_not_give_the_shape(entry: str, given: dict[str, Any], reason: str) -> None:
    net = program(f"{FC}{{fc.weight: {entry}}}")
    arrays = {name: np.zeros(shape, np.float32) for name, shape in given.items()}
    (wrong,) = check_weights(net, arrays).mismatches
    assert (wrong.kind, wrong.path) == ("shape", "fc.weight")
    assert reason in wrong.message


def test_alternatives_in_order_of_preference() -> None:
    entry = "{any: [b, {from: c, transpose: true}]}"
    b, c, own = drawn(4, 6), drawn(6, 4), drawn(4, 6)
    np.testing.assert_array_equal(weight(entry, {"b": b}), b)
    np.testing.assert_array_equal(weight(entry, {"c": c}), c.T)
    np.testing.assert_array_equal(weight(entry, {"fc.weight": own}), own)
    np.testing.assert_array_equal(weight(entry, {"b": b, "c": b.T}), b)


def test_the_shape_tells_how_a_tensor_is_read() -> None:
    entry = "{any: [b, {from: b, transpose: true}]}"
    b = drawn(4, 6)
    np.testing.assert_array_equal(weight(entry, {"b": b}), b)
    np.testing.assert_array_equal(weight(entry, {"b": np.ascontiguousarray(b.T)}), b)
    assert mismatches(program(f"{FC}{{fc.weight: {entry}}}"), {"b": drawn(5, 6)}) == {("shape", "b")}


def test_alternatives_that_are_present_are_copies() -> None:
    net = program(FC + "{fc.weight: {any: [b, c]}}")
    assert mismatches(net, {"b": drawn(4, 6), "c": drawn(4, 5)}) == {("shape", "c")}
    given = {"b": drawn(4, 6), "c": drawn(4, 6)}
    assert check_weights(net, given).ok
    with pytest.raises(NetcalcError, match="'b' and 'c' are one tensor in the spec, and hold different numbers"):
        loaded(net, given)


def test_optional_parameters_are_computed_but_not_drawn() -> None:
    entry = "{'*': {optional: true}}"
    net = program(
        "inputs: {x: [1, 3, 4]}\nlayers: [{name: t, sinusoidal_positions: {max_length: 8, as_parameter: true}}]\n"
        f"checkpoint: {entry}"
    )
    report = check_weights(net, {})
    assert (report.ok, report.initial) == (True, 1)
    np.testing.assert_allclose(loaded(net, {})["t.weight"][1, 0], np.sin(1), rtol=1e-6)
    norm = program(f"inputs: {{x: [1, 4]}}\nlayers: [{{name: n, layer_norm: {{}}}}]\ncheckpoint: {entry}")
    assert check_weights(norm, {}).ok
    random = program(f"{FC}{entry}")
    assert mismatches(random, {}) == {("missing", "fc.weight")}


def prefixed(paths: str, **more: str) -> Program:
    return program(
        "inputs: {x: [2, 6]}\nlayers:\n"
        f"  - {{name: {paths}a, linear: {{out: 6, bias: false}}}}\n"
        + "".join(f"  - {{name: {name}, linear: {{out: 6, bias: false}}}}\n" for name in more.values())
        + "checkpoint: {prefix: model}"
    )


def test_checkpoints_with_and_without_the_prefix() -> None:
    a, head = drawn(6, 6), drawn(6, 6)
    whole = prefixed("model.", head="head")
    base = prefixed("model.")
    bare = prefixed("")
    for net in (base, bare):
        for given in ({"a.weight": a}, {"model.a.weight": a}):
            (value,) = loaded(net, given).values()
            np.testing.assert_array_equal(value, a)
    assert check_weights(whole, {"a.weight": a, "head.weight": head}).ok
    assert mismatches(whole, {"a.weight": a}) == {("missing", "head.weight")}
    report = check_weights(bare, {"model.a.weight": a, "head.weight": head})
    assert (report.ok, report.ignored) == (True, 1)
    assert mismatches(bare, {"a.weight": a, "head.weight": head}) == {("unexpected", "head.weight")}
    assert mismatches(bare, {"model.a.weight": a, "model.b": head}) == {("unexpected", "model.b")}
    assert mismatches(base, {"model.a.weight": a, "a.weight": head}) == {("unexpected", "a.weight")}


def test_ignored_tensors() -> None:
    net = program(FC + "{ignore: ['*.inv_freq', 'rotary*']}")
    given = {"fc.weight": drawn(4, 6), "l.0.inv_freq": drawn(1), "rotary": drawn(1)}
    report = check_weights(net, given)
    assert (report.ok, report.ignored) == (True, 2)
    assert mismatches(net, given | {"inv_freq": drawn(1)}) == {("unexpected", "inv_freq")}


def many(layers: int, names: str) -> dict[str, np.ndarray]:
    return {names.format(i): np.zeros((6, 6), np.float32) for i in range(layers)}


def test_mismatches_are_grouped_by_pattern() -> None:
    net = program("inputs: {x: [2, 6]}\nlayers: [{name: layers, repeat: 32, linear: {out: 6, bias: false}}]")
    report = check_weights(net, many(30, "h.{}.weight"))
    assert [(g.kind, g.name, g.count) for g in report.groups] == [
        ("missing", "layers.*.weight", 32),
        ("unexpected", "h.*.weight", 30),
    ]
    assert [str(d).split(": ", 2)[2] for d in report.diagnostics] == [
        "the parameter 'layers.*.weight' ×32 is missing (the file has 'h.*.weight')",
        "'h.*.weight' ×30 is no parameter of the spec",
    ]
    one = many(32, "layers.{}.weight") | {"layers.3.weight": np.zeros((5, 6), np.float32)}
    (group,) = check_weights(net, one).groups
    assert (group.label, group.message) == (
        "layers.3.weight",
        "'layers.3.weight' is 5×6 float32, and the spec has 6×6 float32",
    )


def test_many_foreign_names_are_few_lines() -> None:
    net = program("inputs: {x: [2, 6]}\nlayers: [{name: layers, repeat: 500, linear: {out: 6, bias: false}}]")
    headers = {f"a{i % 1000:x}.b{i}x.weight": np.zeros(1, np.float32) for i in range(60_000)}
    report = check_weights(net, headers)
    assert len(report.mismatches) == 60_500
    shown = report.diagnostics
    assert len(shown) < 20
    assert "59,988 more of kind 'unexpected'" in str(shown[-1])


@pytest.mark.parametrize(
    "name", ["p{}.layers.0.weight", "layers.{}.weightX", "a{}x", "{}layers.1.weight", "layers.{}x.w"]
)
def test_work_grows_with_the_names_and_not_faster(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    net = program("inputs: {x: [2, 6]}\nlayers: [{name: layers, repeat: 50, linear: {out: 6, bias: false}}]")
    compared = patterns = 0

    def counting_nearest(name: str, candidates: list[str]) -> str | None:
        nonlocal compared
        compared += len(candidates)
        return nearest(name, candidates)

    def counting_pattern_of(name: str) -> str:
        nonlocal patterns
        patterns += 1
        return pattern_of(name)

    monkeypatch.setattr(matching, "nearest", counting_nearest)
    monkeypatch.setattr(matching, "pattern_of", counting_pattern_of)
    zero = np.zeros(1, np.float32)
    for count in (500, 5_000):
        compared = patterns = 0
        report = check_weights(net, {name.format(i): zero for i in range(count)})
        assert len(report.mismatches) == count + 50
        assert compared <= 50 * 100
        assert patterns <= count + 50


@pytest.mark.parametrize(
    ("pattern", "path"),
    [
        ("*a" * 40 + "z", "a" * 900),
        ("*.a" * 40 + ".z", "x.a" * 300),
        ("".join(f"{{n{i}}}" for i in range(40)), "1" * 900 + "x"),
        ("".join(f"*{{n{i}}}" for i in range(40)) + "z", "1" * 900),
    ],
)
def test_patterns_of_paths_are_matched_without_trying_all_divisions(pattern: str, path: str) -> None:
    assert CheckpointEntry(pattern, (CheckpointLocation.of("w"),)).at(path) is None  # would take years


@pytest.mark.parametrize(
    ("pattern", "name", "path", "expected"),
    [
        ("*.a.*.w", "*-*", "x.a.y.a.z.w", "x-y.a.z"),  # a `*` is as short as possible
        ("*{i}.w", "* ${i + 1}", "block12.w", "block 13"),  # and a number has all its digits
        ("*.{i}.*.{i}.w", "*/*/${i}", "a.3.b.3.w", "a/b/3"),
        ("*w", "*", "ww", "w"),
        ("*", "*", "a.b", "a.b"),
    ],
)
def test_texts_of_patterns(pattern: str, name: str, path: str, expected: str) -> None:
    entry = CheckpointEntry(pattern, (CheckpointLocation.of(name),))
    assert entry.matches(path)
    found = entry.at(path)
    assert found is not None
    assert found.alternatives[0].names == (expected,)


def test_work_of_comparing_names_and_patterns_has_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NetcalcError, match="E104: stack: too many tensors, and the limit is 300,000"):
        program(FC + "{fc.weight: {from: 'w{}', stack: 1000000000000}}")
    layers = "inputs: {x: [2, 6]}\nlayers: [{name: l, repeat: 10, linear: {out: 6, bias: false}}]\ncheckpoint: "
    for entry in ("{any: ['a.*', 'b.*', 'c.*']}", "{from: 'w.*.{}', stack: 6}"):
        net = program(layers + "{'l.*': " + entry + "}")
        monkeypatch.setattr(matching, "MAX_LOOKUPS", limits.Limit(70, "", "E603"))
        check_weights(net, {})
        monkeypatch.setattr(matching, "MAX_LOOKUPS", limits.Limit(39, "", "E603"))
        with pytest.raises(NetcalcError, match=r"E603: .* has parameters under more than 39 names"):
            check_weights(net, {})
    monkeypatch.setattr(matching, "MAX_LOOKUPS", limits.Limit(70, "", "E603"))
    for entries, given in [("{'l.*': 'a.*'}", {}), ("{ignore: ['a*']}", {"b" * 80: drawn(1)})]:
        net = program(layers + entries)
        monkeypatch.setattr(checkpoint, "MAX_PATTERN_WORK", limits.Limit(1000, "", "E603"))
        with pytest.raises(NetcalcError, match="E603: checkpoint: too many patterns and names to compare"):
            check_weights(net, given)
        monkeypatch.undo()
    monkeypatch.setattr(checkpoint, "MAX_PATTERN_WORK", limits.Limit(5000, "", "E603"))
    with pytest.raises(NetcalcError, match="E603: checkpoint: too many patterns"):
        program(layers + "{" + ", ".join(f"'l.*.weight{'*' * i}': w" for i in range(9)) + "}")

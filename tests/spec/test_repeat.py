"""``repeat``: folding, loop variables, growing shapes, shared weights."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.walk import instances
from netcalc.ir import CallNode
from tests.spec.harness import layer_problems, layers, params, problems, program, shapes


def folds(found: object) -> list[tuple[str, int | None, int]]:
    return [(n.name, n.start, n.times) for n in found.main.nodes if isinstance(n, CallNode)]  # type: ignore[attr-defined]


def test_equal_iterations_are_one_call() -> None:
    found = layers("- {name: layers, repeat: 126, linear: 8}")
    assert folds(found) == [("layers", 0, 126)]
    assert list(shapes(found))[125] == "layers.125"


@pytest.mark.parametrize("name", ["encoder.layer_", "encoder.layer1-"])
def test_a_name_may_take_the_number_without_a_dot(name: str) -> None:
    found = layers(
        f"""
        - {{name: {name}, repeat: 12, linear: 8}}
        - {{name: head, tie: {{weight: {name}11.weight}}, linear: 8}}
        """
    )
    assert folds(found) == [(name, 0, 12)]
    assert list(shapes(found))[10:] == [f"{name}10", f"{name}11", "head"]
    assert params(found)["head.weight"] == f"{name}11.weight"


def test_the_first_iteration_may_differ() -> None:
    found = layers('- {name: f, repeat: 4, linear: {out: "${4 if index == 0 else 6}"}}')
    # the second iteration has other input features than the later ones
    assert folds(found) == [("f", 0, 1), ("f", 1, 1), ("f", 2, 2)]


def test_a_million_layers_are_one_node() -> None:
    found = layers("- {name: deep, repeat: 1_000_000, sequence: [{linear: 8}, relu]}")
    assert folds(found) == [("deep", 0, 1_000_000)]


def test_growing_channels_keep_every_iteration() -> None:
    found = layers(
        """
        - name: dense
          repeat: 3
          concat:
            axis: 1
            kept: []
            new: [{name: conv, conv2d: {out: 4, kernel: 3, padding: 1}}]
        """,
        shape="[1, 8, 5, 5]",
    )
    assert [s for p, s in shapes(found).items() if p.endswith("concat")] == ["1×12×5×5", "1×16×5×5", "1×20×5×5"]


def test_each_iterates_over_a_list() -> None:
    found = layers("- {name: h, repeat: {each: [5, 7], as: units}, linear: '${units}'}")
    assert shapes(found) == {"h.0": "2×5", "h.1": "2×7"}


def test_an_inner_loop_may_refer_to_the_outer_one() -> None:
    found = layers(
        """
        - name: stages
          repeat: {times: 2, index: stage}
          sequence:
            - {name: blocks, repeat: 2, linear: "${10 * (stage + 1) + index}"}
        """
    )
    assert list(shapes(found).values()) == ["2×10", "2×11", "2×20", "2×21"]
    assert list(shapes(found))[3] == "stages.1.blocks.1"


def test_an_unnamed_repeated_sequence_continues_the_numbering() -> None:
    found = layers("- {name: f, sequence: [{repeat: 2, sequence: [{linear: 8}, relu]}, {linear: 3}]}")
    assert list(shapes(found)) == ["f.0", "f.1", "f.2", "f.3", "f.4"]


def test_an_unnamed_repeated_line_continues_the_numbering() -> None:
    found = layers("- {name: f, sequence: [{repeat: 2, linear: 8}, {linear: 3}]}")
    assert list(shapes(found)) == ["f.0", "f.1", "f.2"]


def test_iterations_can_be_skipped() -> None:
    found = layers("- {name: f, repeat: 5, when: index % 2 == 0, linear: '${index + 1}'}")
    assert list(shapes(found).values()) == ["2×1", "2×3", "2×5"]


def test_no_iterations_pass_the_input_through() -> None:
    found = layers("- {name: f, repeat: 0, linear: 3}\n- {from: [f, x], add: {}}")
    assert shapes(found) == {"add": "2×8"}


def test_values_from_outside_are_captured() -> None:
    found = layers("- {name: f, repeat: 3, sequence: [{linear: 8}, {from: [_, x], add: {}}]}")
    assert folds(found) == [("f", 0, 3)]
    assert found.main.nodes[0].inputs[1] is found.main.inputs[0]


def test_shared_weights_are_owned_once() -> None:
    found = layers("- {name: f, repeat: 3, share: true, linear: 8}")
    assert params(found) == {"f.weight": "f.weight", "f.bias": "f.bias"}
    assert len(list(instances(found))) == 3


def test_every_output_is_carried() -> None:
    found = program(
        """
        inputs: {a: [2, 3], b: [2, 3]}
        blocks:
          swap:
            inputs: [p, q]
            outputs: [q, p]
            layers: [{from: p, relu: {}}]
        layers:
          - {name: s, from: [a, b], repeat: 2, swap: {}}
        """
    )
    (call,) = found.main.nodes
    assert isinstance(call, CallNode)
    assert (call.times, len(call.outputs)) == (2, 2)


def test_several_tensors_may_change_their_shapes() -> None:
    found = program(
        """
        inputs: {a: [2, 3], b: [2, 4]}
        blocks:
          grow:
            inputs: [p, q]
            outputs: [r, s]
            layers:
              - {name: r, from: [p, q], concat: {axis: 1}}
              - {name: s, from: q, linear: {out: "${2 * q.features}"}}
        layers: [{name: g, from: [a, b], repeat: 3, grow: {}}]
        outputs: [g.0, g.1]
        """
    )
    assert [str(value.type) for value in found.main.outputs] == ["2×31", "2×32"]


def test_more_outputs_than_inputs_cannot_be_repeated() -> None:
    text = """
    inputs: {a: [2, 3]}
    blocks:
      two:
        outputs: [r, t]
        layers: [{name: r, relu: {}}, {name: t, tanh: {}}]
    layers: [{name: s, from: a, repeat: 2, two: {}}]
    """
    (problem,) = problems(text)
    assert problem.code == "E403"
    assert "two returns 2 values and takes 1" in problem.message


def test_no_iterations_pass_every_tensor_through() -> None:
    text = """
    inputs: {{a: [2, 3], b: [2, 4]}}
    blocks:
      both:
        inputs: [p, q]
        outputs: [r, s]
        layers: [{{name: r, from: p, linear: 3}}, {{name: s, from: q, linear: 4}}]
    layers:
      - {{name: g, from: [a, b], repeat: {times}, both: {{}}, as: [first, second]}}
      - {{from: second, relu: {{}}}}
    outputs: [first, g.1, relu]
    """
    for times in (0, 1, 2):
        found = program(text.format(times=times))
        assert [str(value.type) for value in found.main.outputs] == ["2×3", "2×4", "2×4"]
        assert len(params(found)) == 4 * times


def test_no_iterations_pass_the_value_under_from() -> None:
    found = layers("- {name: a, linear: 3}\n- {name: f, from: x, repeat: 0, linear: 3}\n- relu")
    assert shapes(found)["relu"] == "2×8"


def test_a_count_under_a_false_condition_is_not_evaluated() -> None:
    found = layers("- {when: d > 8, repeat: '${d - 9}', name: f, linear: 8}\n- relu".replace("d", "in.features"))
    assert shapes(found) == {"relu": "2×8"}
    assert layer_problems("- {repeat: '${in.features - 9}', name: f, linear: 8}")[0].code == "E104"


def test_a_name_may_use_the_variable() -> None:
    found = layers(
        """
        - {name: "stage${index + 1}", repeat: 3, sequence: [{linear: "${4 + index}"}, relu]}
        - {from: stage2, name: head, tie: {weight: stage1.0.weight}, linear: 4}
        """.replace("weight: stage1.0.weight}, linear: 4", "bias: stage1.0.bias}, linear: 4")
    )
    assert list(shapes(found)) == [
        "stage1.0", "stage1.1", "stage2.0", "stage2.1", "stage3.0", "stage3.1", "head",
    ]  # fmt: skip
    assert params(found)["head.weight"] == "head.weight"
    assert params(found)["head.bias"] == "stage1.0.bias"
    assert shapes(found)["head"] == "2×4"
    clash = layer_problems("- {name: 'f${index // 2}', repeat: 3, linear: 8}")
    assert [problem.code for problem in clash] == ["E106"]


def test_shared_iterations_may_have_names_of_their_own() -> None:
    found = layers("- {name: 'f${index}', repeat: 3, share: true, linear: 8}")
    assert params(found)["f2.weight"] == "f0.weight"


@pytest.mark.parametrize("repeat", ["{times: 3, start: 1}", "{each: [1, 2, 3], as: index, index: i, start: 1}"])
def test_iterations_may_start_at_another_number(repeat: str) -> None:
    found = layers(f"- {{name: f, repeat: {repeat}, linear: '${{index}}'}}")
    assert shapes(found) == {"f.1": "2×1", "f.2": "2×2", "f.3": "2×3"}
    equal = layers("- {name: f, repeat: {times: 3, start: 5}, linear: 8}")
    assert list(shapes(equal)) == ["f.5", "f.6", "f.7"]
    assert layer_problems("- {name: f, repeat: {times: 3, start: -1}, linear: 8}")[0].code == "E104"


def test_an_unnamed_repeated_sequence_has_an_input_and_names_for_its_output() -> None:
    found = layers("- {linear: 4}\n- {from: x, repeat: 2, as: y, sequence: [{linear: 8}]}\n- {from: y, relu: {}}")
    assert shapes(found)["linear_1"] == "2×8"
    assert layer_problems("- {repeat: 2, share: true, sequence: [{linear: 8}]}")[0].code == "E107"


@pytest.mark.parametrize("times", ["-1", "true", "2.5", "x"])
def test_invalid_numbers_of_iterations(times: str) -> None:
    assert layer_problems(f"- {{repeat: {times}, linear: 8}}")


@settings(deadline=None, max_examples=30)
@given(st.lists(st.sampled_from([4, 8]), min_size=1, max_size=12))
def test_folded_and_unrolled_repeats_are_equal(widths: list[int]) -> None:
    """A repeat with its variable written out gives the shapes and parameters of the folded one."""
    folded = layers(f"- {{name: f, repeat: {{each: {widths}, as: w}}, linear: '${{w}}'}}")
    lines = "\n".join(f"- {{name: f.{i}, linear: {w}}}" for i, w in enumerate(widths))
    unrolled = layers(lines)
    assert shapes(folded) == shapes(unrolled)
    assert params(folded) == params(unrolled)


PATTERN = """
inputs: {{x: [2, 8]}}
blocks:
  layer: {{args: {{kind: wide}}, layers: [{{linear: "${{16 if kind == 'wide' else 4}}"}}, {{linear: 8}}]}}
layers:
{lines}
"""


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(["wide", "thin"]), min_size=1, max_size=4),
    st.sampled_from(
        [
            "index % {n}",
            "(index + 1) % {n}",
            "index // 3 % {n}",
            "min(index, {n} - 1)",
            "0 if index < 5 else -1",
            "0 if index == 0 else -1",
            "0 if index <= 1 else -1",
        ]
    ),
    st.integers(1, 9),
    st.integers(0, 3),
)
def test_arguments_may_follow_a_pattern(kinds: list[str], position: str, times: int, start: int) -> None:
    """A repeat whose layers take their kind from a list gives the layers that Python takes from it."""
    position = position.format(n=len(kinds))
    repeat = f"{{times: {times}, start: {start}}}"
    folded = program(
        PATTERN.format(lines=f'- {{name: f, repeat: {repeat}, layer: {{kind: "${{{kinds}[{position}]}}"}}}}')
    )
    chosen = {i: kinds[eval(position, {"index": i, "min": min})] for i in range(start, start + times)}
    unrolled = program(
        PATTERN.format(lines="\n".join(f"- {{name: f.{i}, layer: {{kind: {k}}}}}" for i, k in chosen.items()))
    )
    assert shapes(folded) == shapes(unrolled)
    assert params(folded) == params(unrolled)


def test_a_pattern_of_one_kind_is_one_call_for_any_number_of_layers() -> None:
    line = "- {name: f, repeat: 100_000_000, layer: {kind: \"${['thin'][index % 1]}\"}}"
    assert folds(program(PATTERN.format(lines=line))) == [("f", 0, 100_000_000)]


def test_a_pattern_of_two_kinds_has_a_limit() -> None:
    line = "- {name: f, repeat: 100_000_000, layer: {kind: \"${['thin', 'wide'][index % 2]}\"}}"
    assert [problem.code for problem in problems(PATTERN.format(lines=line))] == ["E003"]


@pytest.mark.parametrize(
    "text, at_3",
    [
        ("k${index}", "k3"),
        ("${[index]}", [3]),
        ("${0.5 * index}", 1.5),
        ("${'near' if index < 9 else 'far'}", "near"),
        ("${'last' if index == 3 else 'other'}", "last"),
        ("${'last' if index in [3] else 'other'}", "last"),
        ("${'last' if [index] == [3] else 'other'}", "last"),
    ],
)
def test_arguments_that_depend_on_the_index_differ(text: str, at_3: object) -> None:
    found = program(
        f"""
        inputs: {{x: [2, 8]}}
        blocks:
          layer:
            args: {{of: {{type: any}}}}
            layers: [{{linear: "${{16 if of == expected else 4}}"}}, {{linear: 8}}]
        vars: {{expected: {{type: any, default: {at_3}}}}}
        layers: [{{name: f, repeat: 12, layer: {{of: "{text}"}}}}]
        """
    )
    assert shapes(found)["f.3.linear"] == "2×16"
    assert shapes(found)["f.11.linear"] == "2×4"


def test_iterations_with_names_of_their_own_can_be_patched() -> None:
    found = program(
        """
        inputs: {x: [2, 8]}
        blocks: {b: {args: {units: 8}, layers: [{name: fc, linear: "${units}"}, {linear: 8}]}}
        layers: [{name: "stage${index + 1}", repeat: 2, b: {}}]
        patch: [{at: stage2.fc, set: {out: 5}}]
        """
    )
    assert shapes(found)["stage1.fc"] == "2×8"
    assert shapes(found)["stage2.fc"] == "2×5"

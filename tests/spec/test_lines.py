"""Lines of layers: names, inputs, conditions, sequences, branches."""

from __future__ import annotations

from netcalc.analysis.walk import instances
from tests.spec.harness import layer_problems, layers, params, program, shapes


def test_the_line_before_is_the_implicit_input() -> None:
    assert shapes(layers("- linear: 4\n- relu\n- linear: {out: 3}")) == {
        "linear": "2×4",
        "relu": "2×4",
        "linear_1": "2×3",
    }


def test_from_names_values() -> None:
    found = layers(
        """
        - {name: a, linear: 4}
        - {name: b, from: x, linear: 4}
        - {name: sum, from: [a, b], add: {}}
        """
    )
    assert [v.name for v in found.main.nodes[2].inputs if v] == ["a", "b"]


def test_underscore_is_the_line_before() -> None:
    found = layers("- {name: a, linear: 8}\n- {from: [_, x], add: {}}")
    assert [v.name for v in found.main.nodes[1].inputs if v] == ["a", "x"]


def test_branches_start_from_the_joins_input() -> None:
    found = layers(
        """
        - {name: stem, linear: 8}
        - add:
            left: [{name: l, linear: 4}]
            right: [{name: r, linear: 6}, {name: s, linear: 4}]
        """
    )
    by_name = {n.name: n for n in found.main.nodes}
    stem = by_name["stem"].outputs[0]
    assert by_name["l"].inputs[0] is stem
    assert by_name["r"].inputs[0] is stem
    assert [v.name for v in by_name["add"].inputs if v] == ["l", "s"]


def test_an_empty_branch_is_the_identity() -> None:
    found = layers("- {name: stem, linear: 8}\n- add: {shortcut: [], residual: [{name: r, linear: 8}]}")
    assert [v.name for v in found.main.nodes[-1].inputs if v] == ["stem", "r"]


def test_branches_named_as_ports_fill_them_in_any_order() -> None:
    found = layers(
        """
        - scaled_dot_product_attention:
            value: [{name: v, linear: 8}]
            query: [{name: q, linear: 8}]
            key: [{name: k, linear: 8}]
            causal: true
        """,
        shape="[1, 2, 5, 8]",
    )
    assert [v.name for v in found.main.nodes[-1].inputs if v] == ["q", "k", "v"]


def test_the_name_of_a_skipped_line_refers_to_its_input() -> None:
    found = layers("- {name: a, linear: 8}\n- {name: b, when: false, linear: 3}\n- {from: [a, b], add: {}}")
    assert list(shapes(found)) == ["a", "add"]
    assert found.main.nodes[1].inputs[0] is found.main.nodes[1].inputs[1]


def test_when_may_refer_to_the_incoming_shape() -> None:
    text = "- {when: in.features != 8, linear: 8}\n- relu"
    assert list(shapes(layers(text))) == ["relu"]
    assert list(shapes(layers(text, shape="[2, 9]"))) == ["linear", "relu"]


def test_a_named_sequence_numbers_its_lines() -> None:
    found = layers("- {name: head, sequence: [{linear: 4}, relu, {name: last, linear: 2}, {linear: 1}]}")
    assert list(shapes(found)) == ["head.0", "head.1", "head.last", "head.2"]
    assert "head.0.weight" in params(found)


def test_lines_of_an_unnamed_sequence_continue_the_numbering() -> None:
    found = layers("- {name: f, sequence: [{sequence: [{linear: 4}, relu]}, {linear: 2}]}")
    assert list(shapes(found)) == ["f.0", "f.1", "f.2"]


def test_as_names_outputs() -> None:
    found = layers("- {chunk: {chunks: 2, axis: -1}, as: [a, b]}\n- {from: [b, a], add: {}}")
    assert [v.name for v in found.main.nodes[1].inputs if v] == ["chunk.1", "chunk.0"]


def test_outputs_of_an_operation_are_named_by_port() -> None:
    found = layers("- {name: r, lstm: {hidden: 3, batch_first: true}}\n- {from: r.h_n, relu: {}}", shape="[2, 5, 8]")
    assert found.main.nodes[1].inputs[0] is found.main.nodes[0].outputs[1]


def test_several_inputs_and_outputs() -> None:
    found = program(
        """
        inputs: {a: [2, 3], b: [2, 3]}
        layers:
          - {name: s, from: [a, b], add: {}}
          - {name: p, from: [a, b], mul: {}}
        outputs: {total: s, product: p}
        """
    )
    assert found.output_names == ("total", "product")
    assert [v.name for v in found.main.outputs] == ["s", "p"]


def test_an_operation_as_argument() -> None:
    found = program(
        """
        inputs: {x: [2, 3]}
        vars: {activation: relu}
        layers: ["${activation}"]
        """,
        activation="tanh",
    )
    assert list(shapes(found)) == ["tanh"]


def test_integer_inputs_have_a_range() -> None:
    found = program(
        """
        vars: {vocab: 11}
        inputs: {ids: {shape: [2, 3], dtype: int64, range: [0, "${vocab}"]}}
        layers: [{embedding: {num_embeddings: "${vocab}", embedding_dim: 4}}]
        """
    )
    assert (found.inputs[0].low, found.inputs[0].high, found.inputs[0].type.dtype) == (0, 11, "int64")


def test_duplicate_names_are_reported_with_both_places() -> None:
    (problem,) = layer_problems("- {name: a, linear: 4}\n- {name: a, linear: 4}")
    assert (problem.code, problem.message) == ("E106", "duplicate name 'a'")
    assert problem.span is not None
    assert problem.span.line == 5
    assert problem.related[0].span is not None
    assert problem.related[0].span.line == 4


def test_every_independent_error_is_reported_once() -> None:
    found = layer_problems(
        """
        - {name: a, linear: {out: -1}}
        - {name: b, linear: 4}
        - {name: c, from: x, conv2d: {out: 4, kernel: 3}}
        - {name: d, from: [c, b], add: {}}
        - {name: e, from: nowhere, relu: {}}
        """
    )
    assert [p.code for p in found] == ["E104", "E401", "E301"]


def test_a_value_of_a_later_line_cannot_be_used() -> None:
    (problem,) = layer_problems("- {name: a, from: b, relu: {}}\n- {name: b, relu: {}}")
    assert problem.code == "E302"
    assert problem.related[0].span is not None
    assert problem.related[0].span.line == 5


def test_misspelt_names_get_a_suggestion() -> None:
    hints = {p.code: p.hint for p in layer_problems("- {nme: a, linear: 4}\n- liner: 4\n- linear: {uot: 4, out: 3}")}
    assert hints == {
        "E101": "did you mean 'name'?",
        "E102": "did you mean 'linear'?",
        "E103": "did you mean 'out'? it is given already",
    }


def test_a_missing_attribute_is_named() -> None:
    (problem,) = layer_problems("- linear: {bias: false}")
    assert (problem.code, problem.message) == ("E105", "the linear attribute 'out' is missing")


def test_two_operations_on_one_line() -> None:
    (problem,) = layer_problems("- {linear: {out: 3}, relu: {}}")
    assert problem.code == "E107"


def test_a_shape_mismatch_shows_both_shapes_with_their_origins() -> None:
    (problem,) = layer_problems("- {name: a, linear: 4}\n- {name: b, linear: 5}\n- {from: [a, b], add: {}}")
    assert problem.code == "E401"
    assert [r.span.line for r in problem.related if r.span] == [4, 5]
    assert "2×4" in problem.related[0].text
    assert "2×5" in problem.related[1].text


def test_a_missing_port_is_named() -> None:
    (problem,) = layer_problems("- where", shape="[1, 2, 5, 8]")
    assert (problem.code, problem.message) == ("E303", "where takes 3 inputs, got 1: input and other are missing")


def test_every_name_of_a_skipped_line_refers_to_its_input() -> None:
    found = layers(
        """
        - {when: false, chunk: 2, as: [left, right]}
        - {name: a, from: left, linear: 8}
        - {when: false, name: gone, from: right, linear: 3}
        - {name: b, linear: 8}
        - {from: [b, gone], add: {}}
        """
    )
    assert [v.name for v in found.main.nodes[1].inputs if v] == ["a"]  # the skipped line is the identity
    assert [v.name for v in found.main.nodes[-1].inputs if v] == ["b", "x"]


def test_of_two_lines_with_one_name_the_one_that_is_not_skipped_defines_it() -> None:
    text = """
        - {name: a, linear: 8}
        - {when: FIRST, name: h, from: x, linear: 8, as: out}
        - {when: not FIRST, name: h, from: a, relu: {}, as: out}
        - {name: b, from: out, linear: 2}
        """
    for first, operation in (("true", "linear"), ("false", "relu")):
        found = layers(text.replace("FIRST", first))
        taken, *_ = found.main.nodes[-1].inputs
        (h,) = [i for i in instances(found) if i.path == "h"]
        assert h.node.op.name == operation
        assert taken is h.node.outputs[0]


def test_a_skipped_operation_without_inputs_is_absent() -> None:
    text = """
        - {when: CONDITION, name: sinks, parameter: [2]}
        - {from: {query: x, key: x, value: x, sinks: sinks}, scaled_dot_product_attention: {}}
        """
    for condition, given in (("true", True), ("false", False)):
        found = layers(text.replace("CONDITION", condition), shape="[1, 2, 3, 4]")
        assert (found.main.nodes[-1].inputs[-1] is not None) is given


def test_the_last_port_takes_all_further_values() -> None:
    found = layers("- {name: i, argmax: -1}\n- {from: [x, i, i], index: [0, 1]}")
    assert [v.name for v in found.main.nodes[1].inputs if v] == ["x", "i", "i"]
    (problem,) = layer_problems("- {name: i, argmax: -1}\n- {from: [x], index: 0}")
    assert problem.code == "E303"

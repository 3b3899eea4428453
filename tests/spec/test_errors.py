"""Errors of specs: codes, places and suggestions, and limits on the size of a spec."""

from __future__ import annotations

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.limits import MAX_DEFINITIONS
from netcalc.spec.library import load_text
from tests.spec.harness import layer_problems, layers, params, problems, program

ONE = "inputs: {x: [2, 8]}\n"


@pytest.mark.parametrize(
    ("text", "code", "marked"),
    [
        ("vars: {a: !!int abc}\n", "E001", "!!int abc"),
        ("vars: {a: !!bool maybe}\n", "E001", "!!bool maybe"),
        (f"vars: {{a: {'9' * 5000}}}\n", "E003", "9" * 5000),
        ("dims: {a: 2.5}\n", "E104", "2.5"),
        ("vars: {²: 1}\n", "E104", "²"),
        ("vars: {a: {default: 3, max: high}}\n", "E104", "{default: 3, max: high}"),
        ("inputs: {x: [2, 1.5]}\n", "E104", "1.5"),
        ("inputs: {x: {shape: [2], dtype: float31}}\n", "E104", "float31"),
        ("inputs: {x: {shpe: [2]}}\n", "E101", "shpe"),
        ("inputs: {x: {shape: [2], dtype: int64, range: [0.2, 0.7]}}\n", "E104", "[0.2, 0.7]"),
        ("inputs: {x: {shape: [2], dtype: uint8, range: [0, 257]}}\n", "E104", "[0, 257]"),
        ("inputs: {x: {shape: [2], range: [0, .inf]}}\n", "E104", "[0, .inf]"),
        ("inputs: {x: {shape: [2], dtype: int64, default: 0.5}}\n", "E104", "0.5"),
        ("inputs: {x: {shape: [2], when: nothing}}\n", "E202", "nothing"),
        (ONE + "outputs: []\n", "E104", "[]"),
        (ONE + "outputs: [3]\n", "E104", "3"),
        (ONE + "blocks: {linear: {layers: [relu]}}\n", "E106", "linear"),
        (ONE + "blocks: {b: {outputs: [], layers: [relu]}}\n", "E104", "[]"),
    ],
)
def test_an_error_of_a_document_has_its_code_and_place(text: str, code: str, marked: str) -> None:
    (found,) = problems(text + "layers: [relu]\n")
    assert found.code == code
    assert found.span is not None
    assert found.span.text[found.span.column - 1 :].startswith(marked)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("- {name: null, linear: 3}", "E104"),
        ("- {share: true, linear: 8}", "E107"),
        ("- {name: a, repeat: 3, share: true, linear: '${8 + index}'}", "E304"),
        ("- {name: a, linear: 8}\n- {tie: [a], linear: 8}", "E107"),
        ("- {chunk: {chunks: 2, axis: -1}, as: [a, a]}", "E106"),
        ("- {repeat: {each: [1, 2], as: [w]}, linear: 3}", "E104"),
        ("- {name: p, linear: 8}\n- {from: [x, p], add: {left: [], right: [{linear: 8}]}}", "E303"),
        ("- {repeat: 3, sequence: [{name: a, linear: 8}]}", "E106"),
        ("- linear: {uot: 3}", "E103"),
    ],
)
def test_one_cause_gives_one_error(text: str, code: str) -> None:
    assert [found.code for found in layer_problems(text)] == [code]


@pytest.mark.parametrize(
    "text",
    [
        "- {repeat: 1000000, sequence: [{linear: 8}]}",
        "- {name: a, repeat: 1000000, linear: '${8 + 0 * index}'}",
        "- {name: a, repeat: 1000000, when: index < 3, linear: 8}",
    ],
)
def test_too_many_iterations_that_cannot_be_folded(text: str) -> None:
    (found,) = layer_problems(text)
    assert found.code == "E003"
    assert "cannot be folded" in found.message


@pytest.mark.parametrize("inner", ["repeat: index + 1", "repeat: {times: index + 1}", "when: index > 0, repeat: 3"])
def test_expressions_without_braces_make_iterations_differ(inner: str) -> None:
    found = layers(f"- {{name: s, repeat: 3, sequence: [{{name: a, {inner}, linear: 8}}]}}")
    assert sum(name.endswith("weight") for name in params(found)) == 6


def test_freeze_may_refer_to_the_index() -> None:
    from netcalc.analysis.walk import parameters

    found = layers("- {name: a, repeat: 4, freeze: index < 2, linear: 8}")
    assert [p.path for p in parameters(found) if p.frozen and p.path.endswith("weight")] == ["a.0.weight", "a.1.weight"]


def test_a_default_of_a_boolean_input() -> None:
    text = "inputs: {x: [2, 8], mask: {shape: [2, 8], dtype: bool, default: false}}\nlayers: [relu]"
    assert program(text).inputs[1].default == 0.0


def test_lines_are_counted_by_the_line_breaks_of_yaml() -> None:
    (found,) = problems("about: one\u2028line\ninputs: {x: [1]}\nlayers: [relux]\n")
    assert found.span is not None
    assert (found.span.line, found.span.text) == (4, "layers: [relux]")


@pytest.mark.parametrize(
    "text",
    [
        "vars: {classes: 5}\ninputs: {x: {shape: [2, 8], dtype: int64, range: [0, clases]}}\nlayers: [relu]\n",
        "vars: {classes: 5}\ninputs: {x: [2, clases]}\nlayers: [relu]\n",
        "vars: {classes: 5}\ninputs: {x: {shape: [2, 8], when: clases > 1}}\nlayers: [relu]\n",
        "vars: {classes: 5, more: '${clases}'}\ninputs: {x: [2, 8]}\nlayers: [relu]\n",
        "vars: {classes: 5}\ninputs: {x: [2, 8]}\nlayers: [{linear: '${clases}'}]\n",
        "vars: {classes: 5}\ninputs: {x: [2, 8]}\nlayers: [{name: a, repeat: clases, linear: 8}]\n",
        "inputs: {x: [2, 8]}\nblocks: {b: {args: {classes: 5, m: '${clases}'}, layers: [relu]}}\nlayers: [b]\n",
        "inputs: {x: [2, 8]}\nblocks: {b: {args: {classes: 5}, layers: [{linear: '${clases}'}]}}\nlayers: [b]\n",
    ],
)
def test_an_unknown_name_in_any_expression_gets_a_suggestion(text: str) -> None:
    (found,) = problems(text)
    assert (found.code, found.hint) == ("E202", "did you mean 'classes'?")


def test_a_repeat_whose_body_failed_is_not_reported_again() -> None:
    text = (
        ONE
        + """
blocks:
  two: {inputs: [a, b], outputs: [p, q], layers: [{name: p, from: a, relu: {}}, {name: q, from: b, reshape: [3]}]}
layers:
  - {name: r, repeat: 3, from: [x, x], two: {}}
  - {from: r.1, linear: 8}
"""
    )
    assert [found.code for found in problems(text)] == ["E401"]


def test_the_same_error_in_several_calls_is_said_once() -> None:
    lines = "".join(f"  - {{name: c{i}, from: x, bad: {{n: {i}}}}}\n" for i in range(1, 7))
    blocks = "blocks: {bad: {args: {n: int}, layers: [{linear: '${n}'}, {reshape: [7]}]}}\n"
    (found,) = problems(f"{ONE}{blocks}layers:\n{lines}")
    assert found.code == "E401"
    assert [fact.text for fact in found.chain] == ["in block 'bad', called here"]
    assert found.related[-1].text.startswith("the same in 5 other calls: spec.yaml:6:")
    assert found.related[-1].text.endswith(", …")
    two = "blocks: {bad: {layers: [{linear: {uot: 1}}, {from: x, relu: {}}]}}\nlayers: [bad, {from: x, bad: {}}]\n"
    assert [d.code for d in problems(ONE + two)] == ["E103", "E301"]


@pytest.mark.parametrize("kind", ["dims", "vars"])
def test_a_long_chain_of_definitions_is_refused_at_its_place(kind: str) -> None:
    chain = "".join(f"  v{i}: '${{v{i + 1}}}'\n" for i in range(200))
    (found,) = problems(f"{kind}:\n{chain}  v200: 1\n{ONE}layers: [relu]\n")
    assert found.code == "E204"
    assert found.span is not None
    assert found.span.line == 2 + MAX_DEFINITIONS + 1


def test_definitions_in_order_may_form_a_long_chain() -> None:
    chain = "".join(f"  v{i + 1}: '${{v{i}}}'\n" for i in range(100))
    assert program(f"vars:\n  v0: 4\n{chain}{ONE}layers: [{{linear: '${{v100}}'}}]\n").vars["v100"] == 4


@pytest.mark.parametrize("text", ["nothing(3)", "normal(std=-1)", "normal(", "constant()"])
def test_an_initializer_is_checked_at_its_place(text: str) -> None:
    (found,) = problems(f"{ONE}layers: [relu]\ninit:\n  '*.bias': '{text}'\n")
    assert found.code == "E104"
    assert found.span is not None
    assert (found.span.line, found.span.column) == (5, 13)


def test_a_version_that_is_too_large() -> None:
    with pytest.raises(NetcalcError, match="'netcalc': should be a smaller number, not 100") as caught:
        load_text(f"netcalc: 1{'0' * 500}\n{ONE}layers: [relu]\n", "spec.yaml", None)
    assert [found.code for found in caught.value.diagnostics] == ["E104"]

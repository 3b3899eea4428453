"""Numbers in a spec that would ask for very many parameters, outputs or characters."""

import pytest

import netcalc
from tests.spec.harness import layer_problems, layers, problems


@pytest.mark.parametrize("op", ["rnn", "gru", "lstm"])
def test_stacked_layers_have_a_limit(op: str) -> None:
    (problem,) = layer_problems(f"- {op}: {{hidden: 4, layers: 10000000}}", shape="[2, 5, 4]")
    assert problem.code == "E104"
    assert "less than or equal to 1000" in problem.message or "1,000" in problem.message


@pytest.mark.parametrize("line", ["split: 1", "split: {sizes: 5000, axis: -1}", "chunk: 1000000000", "chunk: 99999999"])
def test_the_pieces_of_a_tensor_have_a_limit(line: str) -> None:
    (problem,) = layer_problems(f"- {line}", shape="[2, 1000000000]")
    assert problem.code == "E401"
    assert "over 10,000 pieces" in problem.message


def test_pieces_up_to_the_limit() -> None:
    assert len(layers("- split: 1", "[2, 10000]").main.outputs) == 1
    assert len(layers("- split: 1", "[2, 10000]").main.nodes[0].outputs) == 10_000


def test_text_has_the_limit_of_lists() -> None:
    doubled = "".join(f"  v{i + 1}: '${{v{i}}}${{v{i}}}'\n" for i in range(31))
    (problem,) = problems(f"inputs: {{x: [1, 4]}}\nvars:\n  v0: aaaa\n{doubled}layers: [relu]\n")
    assert problem.code == "E203"
    assert "10,000 characters" in problem.message
    assert problem.span is not None
    assert problem.span.text == "'${v11}${v11}'" or problem.span.line == 16


@pytest.mark.parametrize(
    "line",
    [
        'relu: , name: \'${"ab" * 4000}${"ab" * 4000}\'',
        "relu: , name: 'a${[10**999] * 99}b'",
        "relu: , name: '${\"ab\" * 40000}'",
        "relu: , repeat: 3, name: '${\"ab\" * 40000}'",
    ],
)
def test_names_have_a_limit(line: str) -> None:
    found = layer_problems(f"- {{{line}}}")
    assert {problem.code for problem in found} <= {"E203"}


def test_text_below_the_limit_is_whole() -> None:
    net = netcalc.loads(
        "netcalc: 1\nvars: {half: \"${'a' * 4000}\", whole: '${half}-${half}'}\ninputs: {x: [1, 4]}\n"
        "layers: [linear: '${len(whole)}']\n"
    )
    assert net.program.main.output_types[0].shape == (1, 8001)

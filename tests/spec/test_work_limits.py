"""Numbers in a spec that would ask for very many parameters, outputs or characters."""

import pytest

import netcalc
from netcalc.dims import symbol
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


TEN = "abcdefghij"


def ten_dims(expression: str) -> netcalc.Network:
    sizes, shape = ", ".join(f"{name}: 3" for name in TEN), " + ".join(TEN)
    return netcalc.loads(
        f"netcalc: 1\ndims: {{{sizes}}}\ninputs: {{x: [1, '{shape}']}}\nlayers: [linear: '${{{expression}}}']\n",
        symbolic=list(TEN),
    )


@pytest.mark.parametrize(
    "expression", ["in.features ** 12", "in.features ** 4 * in.features ** 4", "(in.features ** 3) ** 3"]
)
def test_a_polynomial_has_a_limit(expression: str) -> None:
    with pytest.raises(netcalc.NetcalcError) as caught:
        ten_dims(expression)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E404"
    assert "at most 10,000" in problem.message
    assert problem.span is not None
    assert problem.span.line == 4


def test_a_product_in_a_cost_rule_has_the_limit_of_polynomials() -> None:
    with pytest.raises(netcalc.NetcalcError, match=r"E404: a symbolic size would have .* terms") as caught:
        _ = ten_dims("in.features ** 5").macs
    assert caught.value.diagnostics[0].span is not None


def test_polynomials_in_the_python_interface_have_the_limit() -> None:
    whole = sum(symbol(name) for name in TEN)
    with pytest.raises(netcalc.NetcalcError, match="E404"):
        _ = whole**6


def test_sizes_that_nest_twice_in_each_other_have_a_limit() -> None:
    nested = "".join(f"  v{i + 1}: '${{(v{i} + 1) // (v{i} // 2 + 1)}}'\n" for i in range(40))
    text = f"dims: {{n: 1000}}\nvars:\n  v0: '${{n}}'\n{nested}inputs: {{x: [1, 4]}}\nlayers: [linear: '${{v40}}']\n"
    assert problems(text, symbolic=("n",))[0].code == "E404"


def test_the_work_of_all_expressions_has_a_limit() -> None:
    line = "- {relu: , when: 'sum(range(9999)) > 0', repeat: {times: 40000, index: i}, name: 'n${i}'}"
    (problem,) = layer_problems(line.replace("> 0", "> i"))
    assert problem.code == "E003"
    assert "5,000,000 steps" in problem.message
    assert problem.span is not None


def test_undecided_costs_are_reported_at_the_line() -> None:
    net = netcalc.loads(
        "netcalc: 1\ndims: {n: 40}\ninputs: {x: [1, 1, n]}\nlayers: [adaptive_avg_pool1d: 20003]\n", symbolic=["n"]
    )
    with pytest.raises(netcalc.NetcalcError, match=r":4:10: E404: .*undecided"):
        _ = net.flops


def test_sizes_that_double_have_a_limit() -> None:
    doubled = "\n".join(["- concat: {a: [], b: []}"] * 500)
    assert {p.code for p in layer_problems(doubled)} == {"E401"}
    assert "2**256" in layer_problems(doubled)[0].message


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ("{x: {shape: [1, 4], range: [0, 1" + "0" * 400 + "]}}", "E104"),
        ("{x: {shape: [1, 4], default: 1" + "0" * 400 + "}}", "E104"),
        ("{x: [1, 1" + "0" * 400 + "]}", "E104"),
        ("{x: [" + ", ".join("1" * 65) + "]}", "E104"),
    ],
)
def test_inputs_have_limits(inputs: str, code: str) -> None:
    (problem,) = problems(f"inputs: {inputs}\nlayers: [relu]\n")
    assert problem.code == code
    assert problem.span is not None


def test_the_rank_of_a_result_has_a_limit() -> None:
    shape = ", ".join("1" * 63)
    assert layers("- stack: {a: [], b: []}", f"[{shape}]").main.output_types[0].rank == 64
    (problem,) = layer_problems("- stack: {a: [], b: []}\n- stack: {a: [], b: []}", shape=f"[{shape}]")
    assert problem.code == "E401"
    assert "65 axes" in problem.message

"""Closed forms in dims and vars: published formulas, counts at drawn settings, and what cannot stay symbolic."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import groupby, pairwise
from random import Random
from typing import Any

import pytest

import netcalc
from netcalc import load as _load
from netcalc.diagnostics import NetcalcError
from netcalc.dims import assumptions, symbolic_values
from netcalc.expressions import parse
from netcalc.ir import Body, CallNode
from netcalc.notation_options import Notation
from tests.conftest import CommandResult
from tests.exhaustive.closed_forms import compared, drawn, executed, sizes_of, value_of

DEEP = """
netcalc: 1
vars: {depth: 4, width: 8, rate: 0.5}
inputs: {x: [2, "${width}"]}
layers:
  - {name: body, repeat: "${depth}", linear: "${width}"}
  - {name: drop, dropout: "${rate / depth}"}
"""


def test_gpt_has_the_formula_of_its_papers() -> None:
    # 12·L·d² in Kaplan et al. 2020, arXiv:2001.08361, table 1; biases and norms are 13·L·d + 2·d, tables (V + n)·d
    net = netcalc.load("gpt2", symbolic=["layers", "d_model", "heads", "vocab", "max_length"])
    (form,) = net.summary(view="params").closed_forms
    assert form.formula == ("12·layers·d_model² + 13·layers·d_model + d_model·max_length + d_model·vocab + 2·d_model")
    assert "d_model is a multiple of heads" in net.summary(view="params").claims
    # GPT-3 175B in its table 2.1: 96 layers, 12,288 wide
    at = {"layers": 96, "d_model": 12288, "heads": 96, "vocab": 50257, "max_length": 2048}
    assert round(form.value / 1e6) == 124 and round(int(net.params.at(at)) / 1e9) == 175


def test_tables_have_the_formulas_of_the_totals_in_every_format_for_readers(
    netcalc: Callable[..., CommandResult],
) -> None:
    command = ["params", "gpt2", "--symbolic", "layers", "--symbolic", "d_model"]
    form = "12·layers·d_model² + 13·layers·d_model"
    text, markdown = netcalc(*command).out, netcalc(*command, "--format", "markdown").out
    html = _load("gpt2", symbolic=["layers", "d_model"]).summary(view="params")._repr_html_()
    for page in (text, markdown, html):
        assert page.count(form) >= 2 and "3·d_model² + 3·d_model" in page
        assert "d_model**2" not in page and "*layers" not in page
    command[0] = "shapes"
    assert "1×12×1024×(d_model/12)" in netcalc(*command).out
    assert "1x12x1024x(d_model//12)" in netcalc(*command, "--format", "csv").out
    totals = json.loads(netcalc("params", *command[1:], "--format", "json").out)["totals"]
    assert totals["params"] == "12*d_model**2*layers + 13*d_model*layers + 51283*d_model"


def test_totals_of_both_passes_have_all_of_their_terms(netcalc: Callable[..., CommandResult]) -> None:
    words = ["flops", "gpt2", "--backward", "--depth", "1"]
    page = " ".join(netcalc(*words, "--symbolic", "layers", "--symbolic", "d_model").out.split())
    sizes = {"layers": 3, "d_model": 48}
    settings = [word for name, size in sizes.items() for word in ("--set", f"{name}={size}")]
    counted = json.loads(netcalc(*words, *settings, "--format", "json").out)["totals"]
    for title, figure in (
        ("backward MACs", "macs_backward"),
        ("backward FLOPs", "flops_backward"),
        ("total FLOPs", "flops_total"),
    ):
        formula = page.split(f" {title} = ")[1].split(" MAC" if title.endswith("MACs") else " FLOP")[0]
        assert "…" not in formula
        python = formula.replace(",", "").replace("·", "*").replace("²", "**2")
        assert eval(python, dict(sizes)) == counted[figure]


def test_layers_are_told_in_the_units_of_the_term() -> None:
    # 4·d² of the projections of the attention, 8·d² of the feed-forward network, for each of the layers
    (form,) = netcalc.load("gpt2", symbolic=["layers", "d_model"]).summary(view="params").closed_forms
    assert form.terms[0].text == "12·layers·d_model²" and form.terms[0].coefficient == 12
    assert [layer.coefficient for layer in form.terms[0].layers] == [4, 4, 3, 1]


def test_layers_of_a_symbolic_number_are_explained() -> None:
    net = netcalc.load("gpt2", symbolic=["layers"])
    found = net.explain("transformer.h.0–(layers - 1).mlp.c_fc")
    assert found.sections[:3] == net.explain("transformer.h.0.mlp.c_fc").sections[:3]


def test_layers_of_a_term_add_up_to_its_coefficient() -> None:
    net = netcalc.load("vit_b_16", symbolic=["d_model", "layers"])
    for form in net.summary().closed_forms:
        for term in form.terms:
            assert sum(layer.coefficient for layer in term.layers) == term.coefficient, (form.figure, term.text)
        assert sum(term.share or 0 for term in form.terms) == pytest.approx(1)


@pytest.mark.parametrize("name", ["resnet18", "t5-small", "mixtral-8x7b", "mamba-130m", "beit-base"])
def test_python_formulas_count_what_specs_count(name: str) -> None:
    assert compared(name).endswith("20 of 20 settings")


@pytest.mark.parametrize("notation", ["text", "latex", "sympy"])
def test_other_notations_have_the_value_of_the_figure(notation: Notation) -> None:
    net = netcalc.load("unet", symbolic=["channels", "classes", "height"])
    sizes = {"channels": 32, "classes": 3, "height": 572}
    form = next(form for form in net.formulas(view="flops", formula=notation).formulas if form.figure == "macs")
    text = form.formula
    if notation == "sympy":
        if not find_spec("sympy"):
            pytest.skip("SymPy is not installed")
        lines: dict[str, Any] = {}
        exec(net.formulas(view="flops", formula="sympy").to_text(), lines)
        assert int(lines["macs"].subs({lines[name]: size for name, size in sizes.items()})) == net.macs.at(sizes)
        return
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text)
    for old, new in {"·": "*", "²": "**2", "⌊": "(", "⌋": ")", "−": "-", "/": "//"}.items():
        text = text.replace(old, new)
    if notation == "text":
        assert eval(text, {}, sizes) == net.macs.at(sizes)
    else:
        assert "\\mathrm{channels}^{2}" in form.formula and "\\frac" in form.formula


def test_numbers_of_iterations_names_and_real_numbers_are_symbolic() -> None:
    net = netcalc.loads(DEEP, symbolic=["depth", "width"])
    assert str(net.params) == "depth*width**2 + depth*width"
    assert net.specialize(depth=3, width=5).params == 3 * (25 + 5)
    functions = executed(net)
    for settings in list(drawn(netcalc.loads(DEEP), ["depth", "width"], Random(1)))[:5]:
        assert value_of(functions, net, "params", settings) == settings["depth"] * settings["width"] * (
            settings["width"] + 1
        )


@pytest.mark.parametrize(
    ("name", "var", "values"),
    [
        ("gemma-2-2b", "layers", [5, 26]),  # local and global by turns
        ("jamba-v0.1", "layers", [16, 33]),  # attention and experts in a period of 8
        ("switch-base-8", "decoder_layers", [3, 12]),
        ("swin_t", "depths", [[3, 1, 5, 2]]),  # every other block shifts its windows
    ],
)
def test_iterations_may_take_turns(name: str, var: str, values: list[Any]) -> None:
    net = netcalc.load(name, symbolic=[var])
    for value in values:
        counted = netcalc.load(name, set={var: value})
        sizes = sizes_of({var: value})
        assert [net.params.at(sizes), net.macs.at(sizes)] == [counted.params, counted.macs]
    for form in net.summary().closed_forms:
        for term in form.terms:
            assert sum(layer.coefficient for layer in term.layers) == term.coefficient, (form.figure, term.text)


@pytest.mark.parametrize(
    ("name", "var", "least", "values"),
    [
        ("lfm2-1.2b", "layers", 15, [15, 16, 40]),  # attention in six of the first fifteen layers
        ("bamba-9b", "layers", 28, [28, 33]),
        ("rwkv-4-169m", "layers", 6, [6, 7, 11, 24]),  # features are halved in a period of 6, from the sixth layer on
        ("albert-base", "inner_layers", None, [1, 2, 5]),  # a name numbers them
    ],
)
def test_the_first_iterations_may_differ_from_the_others(
    name: str, var: str, least: int | None, values: list[int]
) -> None:
    net = netcalc.load(name, symbolic=[var])
    claims = [f"{var} >= {least}"] if least else []
    assert list(map(str, net.program.assumptions)) == claims
    for value in values:
        counted, sizes = netcalc.load(name, set={var: value}), {var: value}
        assert [net.params.at(sizes), net.flops.at(sizes)] == [counted.params, counted.flops]
    if least:
        counted, sizes = netcalc.load(name, set={var: least - 1}), {var: least - 1}
        assert net.flops.at(sizes) != counted.flops
        assert net.specialize(**sizes).flops == counted.flops
    for form in net.summary().closed_forms:
        for term in form.terms:
            assert sum(layer.coefficient for layer in term.layers) == term.coefficient, (form.figure, term.text)


@pytest.mark.parametrize("name", ["qwen3-vl-8b", "lfm2-1.2b", "rwkv-4-169m"])
def test_iterations_take_the_results_of_the_first_ones(name: str) -> None:
    program = netcalc.load(name, symbolic=["layers"]).program
    chain = next(chain for chain in chains(program.main) if not isinstance(chain[-1].times, int))
    assert len(chain) > 2
    for before, after in pairwise(chain):
        assert after.inputs[0] is before.outputs[0]


def chains(body: Body) -> Iterator[list[CallNode]]:
    """Yield the calls of each list of layers in a body and in those that it calls."""
    calls = [node for node in body.nodes if isinstance(node, CallNode)]
    for _, chain in groupby(calls, key=lambda call: (re.sub(r"[0-9]+$", "", call.name), call.start is None)):
        yield list(chain)
    for call in calls:
        yield from chains(call.body)


def test_layers_that_take_turns_are_one_in_every_total() -> None:
    net = netcalc.load("gemma-2-2b", symbolic=["layers"])
    report = net.summary(view="flops")
    assert report.masked_attention is not None
    totals = [net.params, net.flops, report.masked_attention.kept, net.memory().weights]
    assert not any("//" in str(total) for total in totals)


def test_conditions_in_a_body_that_is_used_again_are_assumed_again() -> None:
    """A period of 2 is tried and fails; the body of a later iteration is then the one of the first trial."""
    text = """
    netcalc: 1
    vars: {depth: 8, width: 8}
    inputs: {x: [2, "${width}"]}
    blocks:
      layer:
        args: {index: int}
        layers:
          - {name: fc, linear: "${in.features}"}
          - {when: index >= 4 and index % 2 == 0, mul: 2}
    layers:
      - {name: body, repeat: "${depth}", layer: "${index}"}
    """
    net = netcalc.loads(text, symbolic=["depth"])
    (claim,) = net.program.assumptions
    assert str(claim) in ("depth >= 3", "depth >= 4")  # with a turn of its own, the fourth is like the second
    for depth in (4, 5, 8, 9):
        assert net.flops.at({"depth": depth}) == netcalc.loads(text, set={"depth": depth}).flops


@pytest.mark.parametrize("stem", [24, 33, 44, 100])
def test_widths_rounded_to_multiples_are_formulas(stem: int) -> None:
    at = {"stem": stem, "classes": 7}
    net = netcalc.load("efficientnet_b0", symbolic=list(at))
    assert all(claim.holds(at) for claim in net.program.assumptions)
    counted = netcalc.load("efficientnet_b0", set=at)
    assert (net.params.at(at), net.macs.at(at)) == (counted.params, counted.macs)


def test_a_comparison_of_a_real_number_is_an_assumption() -> None:
    net = netcalc.load("gpt2", symbolic=["d_model", "heads"])
    assert str(net.specialize(d_model=24, heads=3).params) == str(
        netcalc.load("gpt2", set={"d_model": 24, "heads": 3}).params
    )
    with symbolic_values(), assumptions() as claims:
        width = netcalc.load("gpt2", symbolic=["d_model"]).vars["d_model"]
        assert parse("(d_model // 12) ** -0.5 < 0.5").evaluate({"d_model": width})
        assert parse("int(d_model * 0.25)").evaluate({"d_model": width}) == width // 4
    assert list(map(str, claims)) == ["(d_model//12)**(-0.5) < 0.5"]
    assert claims[0].holds({"d_model": 768}) and not claims[0].holds({"d_model": 24})


@pytest.mark.parametrize(
    ("name", "var", "code", "said"),
    [
        ("gpt2", "activation", "E501", "is no whole number"),
        ("llama-3-8b", "padding_idx", "E501", "it is null"),
        ("gpt2", "layerz", "E501", "no dim or var of that name"),
        ("lstm", "layers", "E404", "takes numbers here"),
        ("clip-vit-base-patch32", "vision_layers", "E404", "names are numbered behind"),
        ("gpt-neo-125m", "layers", "E203", "the length of a list has to be a number"),
    ],
)
def test_what_cannot_stay_symbolic_is_named_with_its_line(name: str, var: str, code: str, said: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(name, symbolic=[var]).cost()
    problem = caught.value.diagnostics[0]
    assert problem.code == code and said in problem.message
    assert (problem.span is not None) == (var != "layerz")


@pytest.mark.parametrize(
    ("phase", "said"), [("prefill", "values of its own, such as caches"), ("decode", "inputs of a list are numbered")]
)
def test_caches_of_a_symbolic_number_of_layers_are_named_with_their_line(phase: Any, said: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load("gpt2", symbolic=["layers"]).memory(phase=phase)
    (problem,) = caught.value.diagnostics
    assert problem.code == "E404" and said in problem.message and problem.span is not None


@pytest.mark.parametrize("option", [{"unroll": True}, {"exclude": ["*.mlp"]}])
def test_layers_of_a_symbolic_number_are_not_gone_through(option: Any) -> None:
    with pytest.raises(NetcalcError) as caught:
        str(netcalc.load("gemma-2-2b", symbolic=["layers"]).summary(view="params", **option))
    (problem,) = caught.value.diagnostics  # layers that take turns are one line
    assert problem.code == "E404" and "model.layers" in problem.message and problem.span is not None


def test_the_kernel_of_attention_is_counted_at_symbols_too() -> None:
    work: Any = {"backward": True, "attention": "flash"}
    counted = netcalc.load("gpt2", set={"length": 640}).summary(view="flops", **work).totals.flops_total
    net = netcalc.load("gpt2", symbolic=["length"])
    forms = net.formulas(view="flops", formula="python", **work).formulas
    text = next(form.formula for form in forms if form.figure == "flops_total")
    assert eval(text, {"length": 640}) == counted
    scaling = netcalc.load("gpt2").scaling(over="length=640", **work)
    assert f"{counted:,}" in str(scaling)


def test_a_network_without_symbols_has_no_formulas() -> None:
    with pytest.raises(NetcalcError, match="have no symbols"):
        netcalc.load("gpt2").formulas(view="params")


@pytest.mark.parametrize("name", ["gemma-2-2b", "mistral-7b"])
def test_the_window_of_attention_is_a_symbol(name: str) -> None:
    net = netcalc.load(name, symbolic=["window", "length"])
    formed = net.summary(view="flops").masked_attention
    assert formed is not None
    for window, length in ((2, 1), (2, 7), (5, 300), (64, 100), (200, 100), (16, 1000)):
        at = {"window": window, "length": length}
        counted = netcalc.load(name, set=at)
        pairs = counted.summary(view="flops").masked_attention
        assert pairs is not None and net.flops.at(at) == counted.flops
        for form, number in ((formed.kept, pairs.kept), (formed.tiles, pairs.tiles)):
            assert (form if isinstance(form, int) else form.at(at)) == number


def test_the_work_of_a_sparse_window_is_a_formula() -> None:
    attention = '{from: [x, x, x], scaled_dot_product_attention: {window: "${r}", sparse: true}}'
    text = f"netcalc: 1\ndims: {{n: 512}}\nvars: {{r: 8}}\ninputs: {{x: [1, n, 4]}}\nlayers: [{attention}]\n"
    net = netcalc.loads(text, symbolic=["n", "r"])
    for n, r in ((1, 3), (9, 2), (100, 0), (7, 40)):
        pairs = sum(abs(query - key) <= r for query in range(n) for key in range(n))
        assert net.macs.at({"n": n, "r": r}) == 2 * 4 * pairs

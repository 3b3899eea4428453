"""Active parameters and expected work of mixtures of experts."""

from __future__ import annotations

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.summary import Summary
from netcalc.dims import value_at
from netcalc.ir import Program
from netcalc.records import as_dict
from tests.spec.harness import layers, program

#: 64 tokens with 2 of 8 experts are 128 pairs; a capacity of twice the even share is 8·32 = 256 slots.
MIXTURE = """
- {name: gate, linear: {out: 8, bias: false}}
- {name: router, top_k_router: 2, as: [weights, indices]}
- name: experts
  from: [x, weights, indices]
  experts: {experts: 8, hidden: 16, capacity_factor: 2.0}
"""
PAIR = 3 * 16 * 10  # gate, up and down of an expert
GATE = 64 * 10 * 8


def mixture(**changes: str) -> Program:
    text = MIXTURE
    for old, new in changes.items():
        text = text.replace(old, new)
    return layers(text, "[64, 10]")


def torch(program: Program) -> Analysis:
    return Analysis(program, CONVENTIONS["torch"])


def test_a_token_uses_k_experts() -> None:
    total = torch(mixture()).total
    assert total.params == 80 + 8 * PAIR
    assert total.params_active == 80 + 2 * PAIR


def test_executed_work_is_of_all_slots_and_useful_work_of_all_pairs() -> None:
    total = torch(mixture()).total
    assert (total.macs, total.flops) == (GATE + 256 * PAIR, 2 * (GATE + 256 * PAIR))
    assert (total.macs_expected, total.flops_expected) == (GATE + 128 * PAIR, 2 * (GATE + 128 * PAIR))


def test_without_a_capacity_all_executed_work_is_useful() -> None:
    total = torch(mixture(**{", capacity_factor: 2.0": ""})).total
    assert total.macs_expected == total.macs == GATE + 128 * PAIR


def test_repeats_and_shared_weights() -> None:
    block = "- name: layers\n  repeat: 3\n  share: {}\n  mixture_of_experts: {{experts: 4, k: 1, hidden: 5}}"
    own, shared = (torch(layers(block.format(share), "[6, 10]")).total for share in ("false", "true"))
    one = 40 + 3 * 5 * 10
    assert (own.params_active, shared.params_active) == (3 * one, one)
    assert own.flops_expected == shared.flops_expected == own.flops


def test_symbolic_sizes() -> None:
    body = MIXTURE.strip("\n").replace("\n", "\n  ")
    spec = f"dims: {{tokens: 64}}\ninputs: {{x: [tokens, 10]}}\nlayers:\n  {body}\n"
    total = torch(program(spec, symbolic=("tokens",))).total
    assert total.params_active == 80 + 2 * PAIR
    assert value_at(total.macs_expected, {"tokens": 64}) == GATE + 128 * PAIR


def page(analysis: Analysis) -> list[str]:
    return str(Summary(analysis)).split("\n")


def test_active_parameters_and_useful_work_are_reported() -> None:
    analysis = torch(mixture())
    lines = page(analysis)
    assert "1,040 of them active for a token" in lines
    assert "useful work under even routing: 66.56 kMAC, 133.1 kFLOP" in lines
    record = as_dict(Summary(analysis))["totals"]
    assert record["params_active"] == 1040
    assert record["macs_expected"] * 2 == record["flops_expected"] == 2 * (GATE + 128 * PAIR)


@pytest.mark.parametrize("text", ["- {linear: 4}", "- {name: e, linear: 8}\n- relu"])
def test_networks_without_routing_report_no_active_parameters(text: str) -> None:
    analysis = torch(layers(text))
    assert not [line for line in page(analysis) if "active" in line or "useful" in line]
    assert set(as_dict(Summary(analysis))["totals"]).isdisjoint({"params_active", "macs_expected", "flops_expected"})

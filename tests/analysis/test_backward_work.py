"""Work of backward passes and updates: published and recorded figures, and sums over layers."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from textwrap import dedent
from typing import Any

import pytest

import netcalc
from netcalc import ops
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.conventions.convention import ALL
from netcalc.analysis.cost import analyze
from netcalc.analysis.figures import FIGURES, Cost
from netcalc.diagnostics import NetcalcError
from netcalc.spec.shipped import shipped
from tests.numerics.programs import TIED, program
from tests.zoo.harness import FAMILIES, SMALL, built

RECORDED = [
    pytest.param(record, id=record["id"])
    for family in FAMILIES.values()
    for record in family["truth"]
    if "flops_torch_both" in record
]


@pytest.mark.parametrize("record", RECORDED)
def test_forward_and_backward_flops_equal_torch(record: dict[str, Any]) -> None:
    total = analyze(
        built(record["spec"], **record["settings"], **record.get("frozen", {})), "torch", backward=True
    ).total
    assert (total.flops, total.flops_total) == (record["flops_torch"], record["flops_torch_both"])


def test_resnet18_with_the_gradient_of_the_image_is_the_figure_of_torchs_tests() -> None:
    """``test_flop_counter_variety`` and ``test_module`` of PyTorch's test/test_flop_counter.py."""
    total = analyze(built("resnet18"), "torch", backward=True, inputs=["image"]).total
    assert total.flops_total == 10_884_440_064


def test_the_fault_of_grouped_convolutions_is_named_and_netcalc_does_not_have_it() -> None:
    """A depthwise convolution of 16 channels: the gradient of the weight is counted 16 times."""
    text = "inputs: {x: [1, 16, 8, 8]}\nlayers: [{name: c, conv2d: {out: 16, kernel: 3, padding: 1, groups: 16}}]\n"
    macs = 8 * 8 * 16 * 9
    theirs, ours = (analyze(program(text), name, backward=True) for name in ("torch", "netcalc"))
    assert (theirs.total.macs, theirs.total.macs_backward, ours.total.macs_backward) == (macs, 16 * macs, macs)
    assert [remark.rpartition("(")[2] for remark in theirs.remarks] == ["pytorch#183405)"]
    assert ours.remarks == analyze(built("resnet18"), "torch", backward=True).remarks == ()


@pytest.mark.parametrize("convention", ["fvcore", "torchvision"])
def test_conventions_without_backward_passes_refuse_them(convention: str) -> None:
    with pytest.raises(NetcalcError, match="counts no backward pass") as caught:
        analyze(program(TIED), convention, backward=True)
    assert caught.value.diagnostics[0].code == "E701"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", shipped())
def test_parts_add_up_and_weights_stay_the_same(name: str) -> None:
    network = built(name, **SMALL.get(name, {}))
    analysis, forward = analyze(network, optimizer="adamw", loss="sum"), analyze(network)
    assert sum((row.total for row in analysis.leaves()), Cost()) == analysis.total
    assert sum((row.total for row in analysis.tree()), Cost()) == analysis.total
    for figure in FIGURES.values():
        if figure.phase == "forward":
            assert figure.of(analysis.total) == figure.of(forward.total), figure.name
    total = analysis.total
    assert total.flops_total == total.flops + total.flops_backward + total.flops_update


def test_repeats_are_counted_without_unrolling_them() -> None:
    text = "inputs: {x: [2, 8]}\nlayers: [{name: deep, repeat: 1_000_000, sequence: [{linear: 8}, relu]}]"
    total = analyze(program(text), optimizer="sgd").total
    # the first layer computes no gradient of its input
    assert total.macs_backward == (2 * 1_000_000 - 1) * 2 * 8 * 8
    assert total.flops_update == 2 * total.params


def test_folded_equals_unrolled() -> None:
    text = "inputs: {x: [2, 8]}\nlayers: [{name: f, repeat: 7, sequence: [{linear: 8}, relu]}]"
    analysis = analyze(program(text), optimizer="adam")
    unrolled = list(analysis.rows(unroll=True))
    assert len(unrolled) == 14
    assert sum((row.total for row in unrolled), Cost()) == analysis.total


@pytest.mark.parametrize("name", ["gpt2", "resnet18", "swin_t"])
def test_symbolic_sizes_give_the_figures_of_numbers(name: str) -> None:
    symbolic = netcalc.load(name, symbolic=["batch"])
    total = symbolic.analysis(backward=True).total
    for batch in (1, 3):
        other = netcalc.load(name, set={"batch": batch}).analysis(backward=True).total
        assert total.flops_total.at({"batch": batch}) == other.flops_total  # type: ignore[union-attr]


def test_a_tied_parameter_is_updated_once_and_its_gradients_are_added() -> None:
    analysis = analyze(program(TIED), optimizer="sgd")
    assert analysis.backward is not None
    roles = Counter(
        term.role
        for row in analysis.leaves()
        if row.node
        for term in analysis.backward.terms(row.node)  # type: ignore[arg-type]
    )
    assert roles["sum with other uses of weight"] == 1
    assert analysis.total.flops_update == 2 * analysis.total.params


def test_explain_adds_up_to_the_figures() -> None:
    net = netcalc.load("resnext50_32x4d")
    for convention in ("netcalc", "torch"):
        found = net.explain("layer1.0.conv2", convention=convention, backward=True)
        steps = {(s.title, step.label): step.value for s in found.sections for step in s.steps}
        (row,) = [row for row in net.analysis(convention, backward=True).leaves() if row.path == "layer1.0.conv2"]
        assert steps["backward counted", "MACs"] == row.cost.macs_backward
        assert steps["backward counted", "FLOPs"] == row.cost.flops_backward
        rule = next(section.rule for section in found.sections if section.title == "backward counted")
        assert ("pytorch#183405" in rule) == (convention == "torch")


def test_forward_figures_import_no_declaration_of_a_backward_pass() -> None:
    code = (
        "import sys\nfrom netcalc.cli import main\nmain(['flops', 'resnet18', '--depth', '1'])\n"
        "print([name for name in sys.modules if 'backward' in name or 'gradient' in name], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert ran.stderr.strip() == "[]"


def test_rules_of_backward_passes_are_of_registered_operations() -> None:
    for convention in CONVENTIONS.values():
        rules = {} if convention.backward is None else convention.backward.rules
        assert rules.keys() <= {ALL, *ops.names()}


def test_a_step_starts_from_the_loss_of_the_spec() -> None:
    """The layers of the loss are rows of their own, and the rest of the network is unchanged."""
    net = netcalc.load("resnet18")
    step, plain = net.analysis(training="sgd"), net.analysis(training="sgd", loss="sum")
    rows = {row.path: row for row in step.leaves()}
    added = sum((row.total for path, row in rows.items() if path.startswith("loss")), Cost())
    assert added.flops > 0
    assert added.flops_backward > 0
    assert step.total.params == plain.total.params
    assert step.total.flops_backward == plain.total.flops_backward + added.flops_backward
    assert net.analysis(backward=True).total.flops == net.flops


def test_a_pass_from_one_output_leaves_out_what_it_does_not_depend_on() -> None:
    text = """
    inputs: {x: [2, 8]}
    layers: [{name: a, linear: 8}, {name: b, from: x, linear: 4}]
    outputs: {p: a, q: b}
    """
    found = {
        row.path: row.cost.macs_backward for row in analyze(program(dedent(text)), backward=True, loss="q").leaves()
    }
    assert found == {"a": 0, "b": 2 * 8 * 4}
    with pytest.raises(NetcalcError, match="no floating-point output 'r'"):
        analyze(program(dedent(text)), backward=True, loss="r")
    with pytest.raises(NetcalcError, match="are for a backward pass"):
        analyze(program(dedent(text)), loss="q")

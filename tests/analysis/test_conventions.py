"""Counting conventions over the whole operation library."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from netcalc import ops
from netcalc.analysis.conventions import CONVENTIONS, FIRST, Counted
from netcalc.analysis.conventions.convention import ALL
from netcalc.analysis.cost import Analysis
from netcalc.opdef import Context
from netcalc.spec import elaborate, load_document
from tests.nodes import example_node


def counted(name: str, conventions: Iterable[str], *, training: bool = False) -> tuple[dict[str, Counted], bool]:
    """Return the counts of an operation's example by convention, and True if the example has any work."""
    declared = ops.find(name)
    assert declared is not None
    ctx = Context(training=training)
    node = example_node(declared, ctx)
    terms = node.op.cost(ctx, node.input_types, node.output_types)
    counts = {convention: CONVENTIONS[convention].counts(node, terms, training) for convention in conventions}
    return counts, any(term.count != 0 for term in terms)


#: Conventions that count operations one by one.
BY_OPERATION = [name for name in CONVENTIONS if not CONVENTIONS[name].by_network]


@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("name", ops.names())
def test_every_operation_has_a_count_in_whole_numbers(name: str, training: bool) -> None:
    counts, works = counted(name, BY_OPERATION, training=training)
    for convention, count in counts.items():
        assert (type(count.macs), type(count.flops)) == (int, int), convention
        assert 0 <= count.macs <= count.flops, convention
        assert count.incomplete == (works and not count.flops), convention


@pytest.mark.parametrize("name", ops.names())
def test_the_default_convention_counts_every_operation(name: str) -> None:
    counts, works = counted(name, ["netcalc"])
    count = counts["netcalc"]
    assert (count.flops > 0, count.incomplete) == (works, False)


@pytest.mark.parametrize("name", ops.names())
def test_torchvision_counts_half_of_the_count_of_torch(name: str) -> None:
    counts, _ = counted(name, ["torchvision", "torch"])
    ours, torch = counts["torchvision"], counts["torch"]
    assert (ours.macs, 2 * ours.flops, ours.incomplete) == (torch.macs, torch.flops, torch.incomplete)


def test_rules_are_of_registered_operations() -> None:
    for convention in CONVENTIONS.values():
        assert convention.rules.keys() <= {ALL, *ops.names()}


PAGE = Path(__file__).parent.parent.parent / "docs" / "counting.md"
_FIGURES = re.compile(r"^\| `(\w+)` \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \| ([\d,]+) \|$", re.MULTILINE)


def test_figures_of_the_documentation_are_reproduced() -> None:
    found = {
        name: [int(number.replace(",", "")) for number in row] for name, *row in _FIGURES.findall(PAGE.read_text())
    }
    specs = [elaborate(load_document(name)) for name in ("resnet34", "transformer")]
    for name in FIRST:
        convention = CONVENTIONS[name]
        totals = [Analysis(spec, convention).total for spec in specs]
        assert found[name] == [figure for total in totals for figure in (total.macs, total.flops)], name

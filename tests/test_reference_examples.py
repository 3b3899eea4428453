"""The examples on the pages of operations and blocks: each loads, uses what it is about, and runs as predicted."""

from __future__ import annotations

import pytest

import netcalc
from netcalc import ops
from netcalc.ir import Body, CallNode
from netcalc.reference.blocks import block_reference
from netcalc.reference.examples import ExampleReference, operation_example
from netcalc.render.blocks import block_markdown
from netcalc.spec.shipped import shipped_blocks
from tests.ops.harness import NO_KERNEL

OPERATIONS = ops.every()
#: Columns of a terminal.
WIDTH = 80


def targets(body: Body) -> set[str]:
    """Return the operations and blocks in a body, those in the blocks that it calls too."""
    found = set[str]()
    for node in body.nodes:
        found |= {node.body.block, *targets(node.body)} if isinstance(node, CallNode) else {node.op.name}
    return found


def check(name: str, example: ExampleReference) -> None:
    network = netcalc.loads(example.spec)
    assert name in targets(network.program.main)
    assert max(map(len, example.spec.splitlines())) <= WIDTH
    if name not in NO_KERNEL:
        report = network.verify()
        assert report.ok, report.failures


@pytest.mark.parametrize("name", OPERATIONS)
def test_the_example_of_an_operation_runs(name: str) -> None:
    check(name, operation_example(OPERATIONS[name]))


@pytest.mark.parametrize("name", shipped_blocks())
def test_the_example_of_a_block_runs(name: str) -> None:
    check(name, block_reference(name).example)


def test_an_example_gives_the_shapes_of_inputs_and_outputs() -> None:
    """7×7 windows with stride 2 on 224×224 pixels and a border of 3: 112×112 (He et al. 2015, Table 1)."""
    assert operation_example(OPERATIONS["conv2d"]) == ExampleReference(
        "netcalc: 1\n"
        "inputs:\n"
        "  image: [1, 3, 224, 224]\n"
        "layers:\n"
        "  - conv2d: {out: 64, kernel: 7, stride: 2, padding: 3}\n"
        "  - relu\n",
        "1×3×224×224 → 1×64×112×112",
    )


def test_the_page_of_a_block_with_one_argument_has_its_shorthand() -> None:
    """A bare value is the only argument: 768 features are 12 heads of 64."""
    assert "- shorthand: split_heads: HEADS" in list(block_markdown(block_reference("split_heads")))
    spec = "netcalc: 1\ninputs: {x: [1, 128, 768]}\nlayers: [{split_heads: 12}]\n"
    assert netcalc.loads(spec).program.main.output_types[0].shape == (1, 12, 128, 64)

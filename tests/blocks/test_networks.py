"""Networks made of blocks against figures of torchvision and transformers, as a whole and layer by layer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from tests.blocks.harness import built

TRUTH = Path(__file__).parent.parent / "truth"
NETWORKS = {record["id"]: record for record in json.loads((TRUTH / "blocks.json").read_text())["networks"]}
#: model: {layer: [output shape, parameters, buffers, flops]}
LAYERS = json.loads((TRUTH / "layers_blocks.json").read_text())


def analysis(record: dict[str, Any]) -> Analysis:
    return Analysis(built(record["spec"], **record["settings"]), CONVENTIONS["torch"])


@pytest.mark.parametrize("identity", NETWORKS)
def test_totals(identity: str) -> None:
    record = NETWORKS[identity]
    found = analysis(record)
    total = found.total
    assert (total.params, total.flops) == (record["params"], record["flops_torch"])
    if "buffers" in record:
        assert total.buffers == record["buffers"]
    (output,) = found.program.main.outputs
    assert output.type is not None
    assert list(output.type.shape) == record["output"]


@pytest.mark.parametrize("identity", LAYERS)
def test_every_layer_with_parameters(identity: str) -> None:
    """By its name in the reference; what is one module there may be several operations here."""
    rows = list(analysis(NETWORKS[identity]).leaves(unroll=True))
    for name, (output, params, buffers, flops) in LAYERS[identity].items():
        own = [row for row in rows if row.path == name or row.path.startswith(name + ".")]
        assert own, name
        assert sum(row.cost.params for row in own) == params, name
        assert sum(row.cost.flops for row in own) == flops, name
        if identity.startswith("torchvision/"):  # transformers has buffers that netcalc computes
            assert sum(row.cost.buffers for row in own) == buffers, name
        if output is not None:
            last = own[-1].outputs[0].type
            assert last is not None
            assert list(last.shape) == output, name

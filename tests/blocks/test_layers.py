"""Networks built from blocks against torchvision and transformers, layer by layer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from tests.zoo.harness import built

NETWORKS = json.loads((Path(__file__).parent.parent / "truth" / "layers_blocks.json").read_text())


@pytest.mark.parametrize("identity", NETWORKS)
def test_every_layer_with_parameters(identity: str) -> None:
    """Layers are matched by their names in the reference, where one module may stand for several operations."""
    record = NETWORKS[identity]
    program = built(record["spec"], **record["settings"])
    rows = list(Analysis(program, CONVENTIONS["torch"]).leaves(unroll=True))
    for name, (output, params, buffers, flops) in record["layers"].items():
        own = [row for row in rows if row.path == name or row.path.startswith(name + ".")]
        assert own, name
        assert sum(row.cost.params for row in own) == params, name
        assert sum(row.cost.flops for row in own) == flops, name
        if identity.startswith("torchvision/"):  # transformers stores tables of positions that netcalc computes
            assert sum(row.cost.buffers for row in own) == buffers, name
        if output is not None:
            last = own[-1].outputs[0].type
            assert last is not None
            assert list(last.shape) == output, name

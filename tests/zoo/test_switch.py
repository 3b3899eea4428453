"""Switch Transformers, whose useful work depends on the routing of tokens."""

from __future__ import annotations

import numpy as np

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.walk import parameters
from netcalc.ir import CheckpointLocation
from netcalc.numerics.parameters import check_weights
from tests.zoo.harness import FAMILIES, built

#: hf/switch-base-8@s128-t128: transformers 5.23.0 on random weights, where 448 of 1536 tokens found their expert full.
PARAMS, FLOPS, DROPPED = 619_339_008, 54_653_878_272, 448


def test_work_is_that_of_transformers_plus_the_dropped_tokens() -> None:
    total = Analysis(built("switch-base-8", source=128, target=128), CONVENTIONS["torch"]).total
    expert = 2 * 2 * 768 * 3072
    assert total.params == PARAMS
    assert total.flops_expected == FLOPS + DROPPED * expert
    # 12 layers of 8 experts with 64 places each are computed for 12 × 128 tokens
    assert total.flops == total.flops_expected + 12 * (8 * 64 - 128) * expert


def test_checkpoints_of_transformers_store_every_expert_separately() -> None:
    program = built("switch-base-8", **FAMILIES["switch"]["small"]["switch-base-8"])
    weights = {}
    for found in parameters(program):
        place = found.entries[0].alternatives[0] if found.entries else CheckpointLocation.of(found.path)
        shape = found.param.shape if place.numbers is None else found.param.shape[1:]
        if not found.tied:
            weights |= {name: np.zeros(shape, np.float32) for name in place.names}
    assert check_weights(program, weights).ok
    assert weights["encoder.block.1.layer.1.mlp.experts.expert_2.wi.weight"].shape == (24, 32)
    assert weights["decoder.block.1.layer.2.mlp.experts.expert_0.wo.weight"].shape == (32, 24)
    assert weights["decoder.block.0.layer.2.mlp.wi.weight"].shape == (24, 32)
    assert weights["encoder.block.1.layer.1.mlp.router.classifier.weight"].shape == (3, 32)

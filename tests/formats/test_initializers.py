"""Initializers that tables of classes give in place of those of the specs that they extend.

The figures are those of transformers' ``_init_weights`` and of timm; the exhaustive check of initializers draws both.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.analysis.walk import parameters
from netcalc.inits import InitRules


def _spreads(folder: Path, config: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Return mean and variance of the parameters of a configuration, by path."""
    (folder / "config.json").write_text(json.dumps(config))
    program = netcalc.load(folder / "config.json", via="table").program
    rules = InitRules.of(program)
    found = {p.owner: rules.spread(p.owner, p.param) for p in parameters(program)}
    return {path: (spread.mean, spread.variance) for path, spread in found.items() if spread is not None}


def test_transformers_draw_by_the_range_of_the_configuration(tmp_path: Path) -> None:
    config = {"model_type": "vit", "architectures": ["ViTForImageClassification"], "initializer_range": 0.05}
    found = _spreads(tmp_path, {**config, "num_hidden_layers": 1})
    for path in ("cls_token", "pos_embed", "patch_embed.proj.weight", "blocks.0.attn.qkv.weight", "head.weight"):
        assert found[path] == pytest.approx((0.0, 0.05**2), rel=1e-6)
    assert found["patch_embed.proj.bias"] == found["head.bias"] == (0.0, 0.0)
    assert found["blocks.0.norm1.weight"] == (1.0, 0.0)


def test_timm_draws_in_its_own_way(tmp_path: Path) -> None:
    config = {"architecture": "vit_tiny_patch16_224", "num_classes": 10, "num_features": 192}
    found = _spreads(tmp_path, config)
    assert found["heads.head.weight"] == pytest.approx((0.0, 0.02**2), rel=1e-6)  # torchvision has zeros
    assert found["class_token"] == pytest.approx((0.0, 1e-12))
    assert found["conv_proj.weight"] == pytest.approx((0.0, 1 / (3 * 3 * 16 * 16)))  # torch's own
    regnet = _spreads(tmp_path, {"architecture": "regnety_032", "num_classes": 10, "num_features": 1512})
    blocks = [path for path in regnet if path.endswith("f.c.1.weight")]
    assert len(blocks) == 21
    assert {regnet[path] for path in blocks} == {(0.0, 0.0)}

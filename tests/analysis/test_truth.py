"""Whole networks against figures computed with torch and torchvision."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.ir import Program
from netcalc.spec import elaborate, load_document
from tests.spec.harness import program

TRUTH = Path(__file__).parent.parent / "truth"
LAYERS = json.loads((TRUTH / "layers_resnet.json").read_text())
MODELS = {record["id"]: record for record in json.loads((TRUTH / "models.json").read_text())}


def shipped(name: str, **settings: Any) -> Program:
    return elaborate(load_document(name), settings)


def torch_analysis(found: Program) -> Analysis:
    return Analysis(found, CONVENTIONS["torch"])


@pytest.mark.parametrize("name", ["resnet18", "resnet34"])
def test_every_layer_of_a_resnet_equals_torchvision(name: str) -> None:
    rows = list(torch_analysis(shipped(name)).leaves(unroll=True))
    ours = [r for r in rows if r.op not in ("add", "flatten")]  # torchvision has no modules for these
    theirs = LAYERS[name]["layers"]
    assert len(ours) == len(theirs)
    for row, layer in zip(ours, theirs, strict=True):
        # torchvision's ReLU module is used twice; here each use is a layer
        assert row.path.removesuffix("_1" if layer["call"] == 2 else "") == layer["name"]
        output = row.outputs[0].type
        assert output is not None
        figures = (list(output.shape), row.cost.params, row.cost.buffers, row.cost.flops)
        assert figures == (layer["output"], layer["params"], layer["buffers"], layer["flops"]), row.path


@pytest.mark.parametrize("name", ["resnet18", "resnet34"])
def test_resnet_totals(name: str) -> None:
    truth = MODELS[f"torchvision/{name}"]
    total = torch_analysis(shipped(name)).total
    assert (total.params, total.buffers, total.flops) == (truth["params"], truth["buffers"], truth["flops_torch"])


@pytest.mark.parametrize("size", ["base", "big"])
@pytest.mark.parametrize(("source", "target"), [(128, 128), (64, 50)])
def test_transformer_totals(size: str, source: int, target: int) -> None:
    truth = MODELS[f"torchnn/transformer-{size}@s{source}-t{target}"]
    name = "transformer" if size == "base" else "transformer-big"
    found = shipped(name, source=source, target=target)
    total = torch_analysis(found).total
    assert (total.params, total.flops) == (truth["params"], truth["flops_torch"])
    # one embedding in torch serves source and target, and the generator is tied to it: two further uses
    embedding = truth["params_with_tied_duplicates"] - truth["params"]
    assert total.params_tied == 2 * embedding
    assert total.buffers == truth["buffers"]
    (output,) = found.main.outputs
    assert output.type is not None
    assert list(output.type.shape) == truth["output_shapes"]["out"]


BARE = """
dims: {batch: 1, source: 128, target: 128}
vars: {d_model: 512, heads: 8, d_ff: 2048}
inputs:
  src: [batch, source, "${d_model}"]
  tgt: [batch, target, "${d_model}"]
layers:
  - {name: encoder.layers, from: src, repeat: 6, transformer_encoder_layer: {heads: "${heads}", hidden: "${d_ff}"}}
  - {name: encoder.norm, layer_norm: {}}
  - name: decoder.layers
    from: [tgt, encoder.norm]
    repeat: 6
    transformer_decoder_layer: {heads: "${heads}", hidden: "${d_ff}"}
  - {name: decoder.norm, layer_norm: {}}
"""


@pytest.mark.parametrize("identity", [i for i in MODELS if "bare" in i])
def test_bare_transformers(identity: str) -> None:
    truth = MODELS[identity]
    source, target = (int(part[1:]) for part in identity.partition("@")[2].split("-"))
    config = truth["config"]
    found = program(
        BARE,
        source=source,
        target=target,
        d_model=config["d_model"],
        heads=config["nhead"],
        d_ff=config["dim_feedforward"],
    )
    total = torch_analysis(found).total
    assert (total.params, total.flops) == (truth["params"], truth["flops_torch"])


def test_published_figures() -> None:
    """ResNet-34 and the plain nets by Table 1 and Section 3.3 of arXiv:1512.03385 (3.6 and 1.8 G multiply-adds)."""
    for name, giga in {"resnet34": 3.6, "plain34": 3.6, "resnet18": 1.8, "plain18": 1.8}.items():
        macs = Analysis(shipped(name), CONVENTIONS["torchvision"]).total.macs
        assert macs / 1e9 == pytest.approx(giga, abs=0.07), name


def test_the_paper_counts_no_final_norms() -> None:
    with_norms = torch_analysis(shipped("transformer")).total.params
    without = torch_analysis(shipped("transformer", final_norm=False)).total.params
    assert with_norms - without == 2 * (512 + 512)


def test_the_first_linear_layer_of_the_seed_network() -> None:
    rows = {r.path: r for r in torch_analysis(shipped("seed_cnn")).leaves()}
    output = rows["flatten"].outputs[0].type
    assert output is not None
    assert output.shape == (1, 401_408)
    assert rows["fc1"].cost.params == 1_644_167_168 + 4_096

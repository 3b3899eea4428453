"""Blocks that no shipped spec uses: verification, and symbolic sizes."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import instances
from netcalc.spec.library import find_block, load_text
from netcalc.spec.shipped import shipped_blocks, specs_dir
from netcalc.verification.verify import verify
from tests.spec.harness import program, shapes

IMAGES = "{c2: [B, 4, 16, 24], c3: [B, 6, 8, 12], c4: [B, 8, 4, 6], c5: [B, 10, 2, 3]}"

#: block: (inputs, arguments)
ALONE = {
    "feature_pyramid": (IMAGES, "{channels: 6, norm: {group_norm: 3}}"),
    "gpt_layer": ("{x: [B, 5, 12]}", "{heads: 3, norm_first: false}"),
    "last_token": ("{x: [B, 5, 12], ids: [B, 5]}", "{padding_id: 0}"),
    "patch_embedding": ("{x: [B, 3, 32, 16]}", "{features: 12, patch: [8, 4], dropout: 0.1}"),
    "scaled_std_conv2d": ("{x: [B, 4, 9, 10]}", "{out: 6, kernel: 3, stride: 2, padding: same_upper}"),
    "sentence_pooling": ("{x: [B, 5, 12], mask: [B, 5]}", "{mode: mean_sqrt_len_tokens, features: 12}"),
    "weight_norm_conv": ("{x: [B, 4, 16]}", "{out: 6, kernel: [3], conv: {conv1d: {padding: 1}}}"),
    "weight_norm_linear": ("{x: [B, 3, 5]}", "{out: 6}"),
    "retina_pyramid": (IMAGES.replace("c2: [B, 4, 16, 24], ", ""), "{channels: 6}"),
}


def spec(block: str) -> str:
    inputs, args = ALONE[block]
    names = ", ".join(re.findall(r"(\w+): \[", inputs))
    return f"dims: {{B: 2}}\ninputs: {inputs}\nlayers:\n  - {{name: b, from: [{names}], {block}: {args}}}\n"


def test_every_block_is_used_by_a_spec_or_tested_here() -> None:
    texts = {path: path.read_text() for path in specs_dir().rglob("*.yaml")}
    unused = {
        block
        for block in shipped_blocks()
        if not any(re.search(rf"\b{block}\b", text) for path, text in texts.items() if path.stem != block)
    }
    assert unused <= set(ALONE)


@pytest.mark.parametrize("block", shipped_blocks())
def test_every_block_has_a_description(block: str) -> None:
    found = find_block(block, load_text("netcalc: 1"))
    assert found is not None
    assert found.decl.about


@pytest.mark.parametrize("block", ALONE)
def test_predictions_hold(block: str) -> None:
    report = verify(program(spec(block)))
    assert report.ok, report.failures


@pytest.mark.parametrize("block", ALONE)
def test_the_batch_may_be_symbolic(block: str) -> None:
    symbolic = shapes(program(spec(block), symbolic=("B",)))
    assert {path: shape.replace("B", "2") for path, shape in symbolic.items()} == shapes(program(spec(block)))


@pytest.mark.parametrize(("size", "rolls"), [([14, 14], 2), ([7, 14], 2), ([7, 7], 0), ([5, 6], 0)])
def test_windows_shift_only_where_there_are_several(size: list[int], rolls: int) -> None:
    height, width = size
    found = program(
        f"inputs: {{x: [1, {height}, {width}, 12]}}\nlayers:\n"
        "  - {name: a, window_attention: {heads: 3, window: [7, 7], shift: [3, 3]}}\n"
    )
    assert [i.node.op.name for i in instances(found)].count("roll") == rolls
    (output,) = found.main.outputs
    assert output.type is not None
    assert output.type.shape == (1, height, width, 12)


def test_patches_without_class_token_and_positions() -> None:
    text = "inputs: {x: [2, 3, 64, 32]}\nlayers:\n  - {name: p, patch_embedding: {features: 24, patch: [16, 8]OTHER}}\n"
    bare = program(text.replace("OTHER", ", class_token: false, positions: false"))
    assert list(shapes(bare).values())[-1] == "2×16×24"
    assert list(shapes(program(text.replace("OTHER", ""))).values())[-1] == "2×17×24"


@pytest.mark.parametrize(
    ("block", "args"),
    [
        ("multi_head_attention", "{heads: 3, causal: true}"),
        ("multi_head_attention", "{heads: 3, zero_attn: true}"),
        ("grouped_query_attention", "{heads: 4, kv_heads: 2, head_dim: 2}"),
    ],
)
def test_a_single_sequence_is_attended_to_as_a_batch_of_one(block: str, args: str, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((1, 5, 12), np.float32)

    def output(given: np.ndarray) -> np.ndarray:
        file = tmp_path / "spec.yaml"
        file.write_text(f"netcalc: 1\ninputs: {{x: {[*given.shape]}}}\nlayers: [{{{block}: {args}}}]\n")
        return netcalc.load(file).run({"x": given}).outputs["output"]

    np.testing.assert_allclose(output(x[0]), output(x)[0], rtol=1e-6, atol=1e-7)

"""Figures that tools and papers define themselves, against what they print."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

import netcalc as package
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.modules import every_row
from netcalc.analysis.own_figures import own_figures
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.oracle.tool_figures import comparable
from tests.oracle.tool_networks import NETWORKS

RECORD = json.loads((Path(__file__).parent.parent / "truth" / "tool_figures.json").read_text(encoding="utf-8"))
#: Non-embedding and total parameters of the card of EleutherAI/pythia-12b, "Naming convention and parameter count".
PYTHIA = {
    "pythia-70m": (18_915_328, 70_426_624),
    "pythia-410m": (302_311_424, 405_334_016),
    "pythia-1b": (805_736_448, 1_011_781_632),
    "pythia-6.9b": (6_444_163_072, 6_857_302_016),
}
#: Fields of configurations, whose further fields have defaults.
CONFIGURATIONS: Mapping[str, Any] = {
    "vit": {"architectures": ["ViTForImageClassification"]},
    "roberta": {
        "architectures": ["RobertaModel"],
        "vocab_size": 50265,
        "max_position_embeddings": 514,
        "type_vocab_size": 1,
    },
    "electra": {"architectures": ["ElectraModel"]},
}
FIGURES = """
about: ours
source: ours
unit: MAC
forward: []
figures:
  wide: {title: wide layers, unit: elements, rules: [{of: linear, when: op.out > 9, count: output.elements}]}
  twice: {title: twice, unit: elements, total: 2 * wide}
"""
WRONG = [
    ("of: linear", "of: lineal", "E102"),
    ("op.out", "op.outs", "E103"),
    ("2 * wide", "2 * wild", "E202"),
    ("2 * wide", "2 *", "E201"),
    (", total: 2 * wide", "", "E104"),
    ("unit: elements, total", "unit: grams, total", "E104"),
    ("count: output", "counts: output", "E101"),
]


def counted(model: str, convention: str, **settings: Any) -> dict[str, Any]:
    network = package.load(model, set=settings, dtype="float32")
    return {figure.name: figure for figure in own_figures(network.analysis(convention))}


@pytest.mark.parametrize("network", NETWORKS)
@pytest.mark.parametrize("tool", RECORD)
def test_figures_are_those_of_the_tools(tool: str, network: str) -> None:
    reference, theirs = NETWORKS[network], comparable(tool, network, RECORD[tool]["figures"][network])
    ours = counted(reference.spec, tool, **reference.settings)
    # BERT and T5 were called without the further inputs that their specs have
    absent = {"bert-base": 2, "t5-small": 1}.get(network, 0) * (128 * 8 + 64) if "input_size" in theirs else 0
    for name in {"input_size", "total_size"} & theirs.keys():
        theirs[name] += absent
    assert {name: ours[name].value for name in theirs} == theirs


@pytest.mark.parametrize("model", PYTHIA)
def test_non_embedding_parameters_are_as_published(model: str) -> None:
    figure = counted(model, "netcalc")["non_embedding"]
    assert (figure.value, figure.netcalc) == PYTHIA[model]


def test_parameters_by_formulas_of_papers() -> None:
    """Kaplan's 12·layers·d² of GPT-2, and the 123.65 M that nanoGPT prints for it."""
    assert counted("gpt2", "kaplan")["parameters"].value == 12 * 12 * 768**2
    assert f"{counted('gpt2', 'palm')['parameters'].value / 1e6:.2f}M" == "123.65M"


def test_parameters_by_the_formulas_of_narayanan_chinchilla_and_megatron() -> None:
    """Eq. 2 of Narayanan et al.; 13·l·d² + V·d of Hoffmann et al.; compute_weight_and_optimizer_memory of Megatron-LM.

    Megatron counts queries, keys and values by heads, experts with 3 matrices, two norms a layer and one behind them,
    and the vocabulary twice unless tied; no router, no norms of queries and keys.
    """
    sizes = {"vocab": 51200, "length": 2048, "max_length": 2048}
    layers, h, vocab = 96, 12288, 51200
    found = counted("gpt3-175b", "narayanan", **sizes)["parameters"].value
    assert found == 12 * layers * h * h + 13 * layers * h + (vocab + 2048) * h == 174_615_822_336
    assert counted("gpt3-175b", "chinchilla", **sizes)["parameters"].value == 13 * layers * h * h + vocab * h
    layer = 2 * 2048 * (768 * 128 * 3 // 2 + 1) + 2 * 2048 * 2048 * 9 // 8 * 2
    megatron = counted("qwen3-30b-a3b", "megatron")["parameters"]
    assert megatron.value == 48 * layer + 2048 + 2 * 2048 * 151936 == 30_519_527_424
    assert {difference.op: difference.difference for difference in megatron.differences} == {
        "linear": -48 * 128 * 2048,
        "rms_norm": -48 * 2 * 128,
    }
    llama = counted("llama-3-8b", "megatron")["parameters"]
    assert llama.value == llama.netcalc == 8_030_261_248


def test_keras_counts_moving_statistics() -> None:
    """Keras 3.15.1, keras.applications.MobileNetV2(weights=None).summary(): 34,112 are not trainable."""
    figure = counted("mobilenet_v2", "keras")["parameters"]
    assert (figure.value, figure.value - figure.netcalc) == (3_538_984, 34_112)


@pytest.mark.parametrize(
    ("model_type", "largest"), [("vit", 28_351_488), ("roberta", 156_010_528), ("electra", 15_627_264)]
)
def test_modules_are_those_of_the_reference(model_type: str, largest: int, tmp_path: Path) -> None:
    """Sizes by accelerate 1.15.0 and transformers 5.23.0: calculate_maximum_sizes of the classes' defaults.

    A layer of a ViT and the embeddings of RoBERTa stay whole; those of ELECTRA are split.
    """
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type, **CONFIGURATIONS[model_type]}))
    assert counted(str(tmp_path), "accelerate")["largest_layer"].value == largest
    if model_type == "vit":  # torchvision's has no such list
        assert counted("vit_b_16", "accelerate")["largest_layer"].value == 9_449_472


def test_activations_of_timm_count_attention_in_several_operations() -> None:
    """23,895,544 are those of timm's vit_base_patch16_224 without fused attention; the layers are torchvision's."""
    (figure,) = own_figures(package.load("vit_b_16").analysis("timm"), "flops")
    assert (figure.title, figure.value) == ("macts", 23_895_544)


#: fvcore 0.1.5.post20221221, torchvision 0.28.0: ActivationCountAnalysis(module, image).by_module().
BY_MODULE = {
    "resnet18": {
        "": 2_484_712,
        "conv1": 802_816,
        "layer2": 501_760,
        "layer2.0": 301_056,
        "layer2.0.downsample": 100_352,
    },
    "vit_b_16": {
        "": 16_491_496,
        "encoder": 16_339_968,
        "encoder.layers.encoder_layer_3": 1_361_664,
        "encoder.layers.encoder_layer_3.mlp": 756_480,
        "encoder.layers.encoder_layer_3.self_attention": 605_184,
    },
    "swin_t": {"": 17_055_352, "features": 17_054_352, "features.3.1.attn": 983_136, "features.3.1.mlp": 752_640},
}


@pytest.mark.parametrize("model", BY_MODULE)
def test_activations_by_layer(model: str) -> None:
    analysis = package.load(model).analysis("fvcore")
    rows = {row.path: row for row in every_row(analysis.modules(unroll=True))}
    found = {path: rows[path].cost.macts for path in BY_MODULE[model] if path}
    assert {"": analysis.total.macts, **found} == BY_MODULE[model]
    for row in rows.values():
        if row.children:
            assert row.cost.macts == sum(child.total.macts for child in row.children)


def test_activations_are_columns_and_limits(netcalc: Callable[..., CommandResult], tmp_path: Path) -> None:
    for convention, title in (("timm", "macts"), ("fvcore", "activations")):
        table = netcalc("flops", "resnet18", "-c", convention, "--format", "markdown", "--columns", "macts").out
        assert "| conv1 | 802,816 |" in table
        heading = netcalc("flops", "resnet18", "-c", convention, "--depth", "1").out.partition("\nconv1")[0]
        assert f" {title} " in heading
        record = json.loads(netcalc("flops", "resnet18", "-c", convention, "--format", "json").out)
        assert record["totals"]["macts"] == 2_484_712
        assert sum(layer["macts"] * layer["repeat"] for layer in record["layers"]) == 2_484_712
    assert "macts" not in json.loads(netcalc("flops", "resnet18", "--format", "json").out)["totals"]
    ran = netcalc("budget", "resnet18", "--max-macts", "2.4M")
    assert ran.code == 1 and "2,484,712" in ran.out and "macts are counted as timm does" in ran.out
    # fused attention has no activations for fvcore, and 23,895,544 with it are timm's
    assert netcalc("budget", "vit_b_16", "--max-macts", "17M", "-c", "fvcore").code == 0
    assert netcalc("budget", "vit_b_16", "--max-macts", "17M", "-c", "timm").code == 1
    spec = tmp_path / "limited.yaml"
    spec.write_text("netcalc: 1\nextends: resnet18\nbudget: {macts: 2.4M}\n", encoding="utf-8")
    assert netcalc("check", str(spec)).code == 1


@pytest.mark.parametrize("model", ["gpt2", "vit_b_16", "t5-small", "resnet18", "albert-base-v2"])
def test_differences_add_up(model: str) -> None:
    network = package.load(model)
    for convention in CONVENTIONS:
        try:
            figures = own_figures(network.analysis(convention), "params")
        except NetcalcError as error:
            assert error.diagnostics[0].code == "E701" and model in ("vit_b_16", "resnet18")
            continue
        for figure in figures:
            if figure.unit != "parameters":
                continue
            assert figure.netcalc == network.params
            assert sum(one.difference for one in figure.differences) == figure.value - figure.netcalc


def test_pages_and_records(netcalc: Callable[..., CommandResult]) -> None:
    page = " ".join(netcalc("params", "gpt2", "--convention", "torchinfo", "--depth", "1").out.split())
    assert "163,037,184 (163 M) parameters as torchinfo counts them: linear +38,597,376 torchinfo counts tied" in page
    ran = netcalc("params", "gpt2", "--convention", "thop", "--format", "json")
    record: Mapping[str, Any] = json.loads(ran.out)
    assert record["convention"] == "thop"
    assert [figure["value"] for figure in record["figures"]] == [38_635_776]
    assert "2,484,712 (2.48 M) macts as timm counts" in netcalc("flops", "resnet18", "-c", "timm").out
    pages = netcalc("summary", "vit_b_16", "-c", "torchinfo", "--depth", "1").out
    assert "Forward/backward pass size: 104,093,504 B (104.09 MB, 99.27 MiB)" in pages
    assert "torchinfo#366" in pages
    assert netcalc("params", "gpt2", "--convention", "torch").code == 2
    page = " ".join(netcalc("params", "bert-base-cased", "--convention", "accelerate", "--top", "1").out.split())
    assert "Largest Layer: 90,669,056 B (90.67 MB, 86.47 MiB), of embeddings, as accelerate has it" in page
    assert "not their sum" in page


def test_explain_opens_them(netcalc: Callable[..., CommandResult]) -> None:
    assert "sum     2,484,712" in netcalc("explain", "resnet18", "-c", "timm").out
    layer = netcalc("explain", "gpt2", "transformer.h.0.attn.c_attn", "-c", "kaplan").out
    assert "parameters  matrices = 1,769,472" in layer
    assert "85,056,000" in netcalc("explain", "gpt2").out
    whole = " ".join(netcalc("explain", "vit_b_16", "-c", "torchinfo").out.split())
    assert "602,176 + 104,093,504 + 232,268,704 = 336,964,384" in whole


def test_figures_of_a_user(tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(FIGURES, encoding="utf-8")
    wide, twice = own_figures(package.load("mlp").analysis(str(file)), "flops")
    assert twice.value == 2 * wide.value > 0
    for written, instead, code in WRONG:
        assert FIGURES.count(written) == 1
        file.write_text(FIGURES.replace(written, instead), encoding="utf-8")
        with pytest.raises(NetcalcError) as caught:
            package.load("mlp").analysis(str(file))
        assert caught.value.diagnostics[0].code == code, (written, caught.value.diagnostics)

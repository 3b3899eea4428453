"""Working behind bounds of time, splits and answers of fit: every substitution is computed again."""

from __future__ import annotations

import math
import re
from typing import Any

import pytest

import netcalc
from netcalc import Explanation
from netcalc.diagnostics import NetcalcError
from netcalc.opdef import WorkingLine

SMALL = {"layers": 4, "d_model": 64, "heads": 4, "kv_heads": 4, "d_ff": 128, "vocab": 64, "length": 16}
LONG = {name: size for name, size in SMALL.items() if name != "length"}


def computed(text: str) -> float:
    """Return the value of a substitution, as a reader would compute it."""
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("·", "*").replace("⌈", "ceil(").replace("⌉", ")")
    assert re.fullmatch(r"[\d\s.e+*/(),-]*", re.sub(r"max|min|ceil", "", text)), text
    value = eval(text, {"__builtins__": {}}, {"max": max, "min": min, "ceil": math.ceil})
    assert isinstance(value, (int, float))
    return value


def value_of(step: WorkingLine) -> float:
    return float(str(step.value).removesuffix(" s"))


def checked(explanation: Explanation) -> dict[str, dict[str, float]]:
    """Return the values of all steps by section and label, whose substitutions give them."""
    found: dict[str, dict[str, float]] = {}
    substituted = 0
    for section in explanation.sections:
        for step in section.steps:
            if step.substituted:
                substituted += 1
                assert computed(step.substituted) == pytest.approx(value_of(step), rel=2e-7), (section.title, step)
            if re.fullmatch(r"-?[\d.e+-]+( s)?", str(step.value)):
                found.setdefault(section.title, {})[step.label] = value_of(step)
    assert substituted >= 3
    return found


TIMES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "images": ("resnet18", {"dtype": "float16"}, {"device": "rtx-4090"}),
    "winograd": ("vgg16", {}, {"device": "mi300x:4", "attention": "eager"}),
    "decode": ("llama-3-8b", {"set": {"length": 256}}, {"device": "h100", "phase": "decode"}),
    "training": ("gpt2", {"set": {"layers": 2, "length": 64}}, {"device": "l4:2", "training": "adamw"}),
    "no-peak": ("resnet18", {}, {"device": "m4-max"}),
    "experts": (
        "mixtral-8x7b",
        {"set": {**SMALL, "layers": 2}},
        {"device": "h100:16", "training": "adamw", "tp": 2, "dp": 8, "ep": 8, "fsdp": True},
    ),
    "pipeline": (
        "llama-2-7b",
        {"set": {**SMALL, "batch": 4}},
        {"device": "h100:16", "training": "sgd", "tp": 4, "sp": True, "pp": 4, "micro_batch": 1},
    ),
}


@pytest.mark.parametrize("name", TIMES)
def test_the_time_of_every_layer_is_opened(name: str) -> None:
    model, load, options = TIMES[name]
    network = netcalc.load(model, **load)
    report, whole = network.time(**options), checked(network.explain(**options))
    assert whole["time of the layers"]["sum"] == pytest.approx(sum(layer.seconds for layer in report.layers), rel=1e-7)
    if report.split is not None:
        step = whole["step"]
        assert step["bound"] == pytest.approx(report.seconds, rel=1e-7)
        assert step["work"] == pytest.approx(report.split.work, rel=1e-7)
        sent = sum(one.sent for one in report.split.traffic)
        assert sum(whole["bytes that a device sends in a step"].values()) == sent
    if report.mfu is not None:
        assert whole["rates at the bound"]["MFU"] == pytest.approx(report.mfu, rel=1e-7)
    for layer in report.layers[:: max(len(report.layers) // 4, 1)]:
        steps = checked(network.explain(layer.title, **options))
        title = f"{layer.title} ×{layer.repeat:,}" if layer.repeat > 1 else layer.title
        assert steps[title]["FLOPs"] == layer.flops and steps[title]["bytes"] == layer.read + layer.written
        for roof, seconds in layer.roofs.items():
            shown = [value for label, value in steps[title].items() if label.split(",")[0] == roof]
            assert max(shown) == pytest.approx(seconds, rel=1e-6), (layer.title, roof)
        assert steps[title]["at least"] == pytest.approx(layer.seconds, rel=1e-7)


def test_one_of_several_layers_and_the_source_of_a_peak() -> None:
    network = netcalc.load("llama-3-8b", set={"length": 256})
    one = network.explain("model.layers.3.mlp", device="h100", phase="decode")
    assert next(section.title for section in one.sections if "mlp" in section.title) == "model.layers.3.mlp.gate_proj"
    peak = next(section for section in one.sections if section.title.startswith("peak"))
    assert "NVIDIA H100 Tensor Core GPU Architecture" in peak.rule and peak.steps[0].value == 989_400_000_000_000


SPLITS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "decode": ("llama-2-7b", {**SMALL, "batch": 3}, {"phase": "decode", "tp": 4}),
    "prefill": ("llama-2-7b", SMALL, {"phase": "prefill", "tp": 2, "pp": 2}),
    "zero": ("mixtral-8x7b", {**SMALL, "layers": 2}, {"training": "adamw", "tp": 2, "dp": 8, "ep": 4, "zero": "2"}),
    "pipeline": ("llama-2-7b", {**SMALL, "batch": 4}, {"training": "adam", "pp": 2, "dp": 2, "micro_batch": 1}),
    "mixed": ("llama-2-7b", SMALL, {"training": "adamw", "precision": "bf16-mixed", "dp": 4, "fsdp": True}),
}


@pytest.mark.parametrize("name", SPLITS)
def test_the_memory_of_a_split_is_opened(name: str) -> None:
    model, sizes, options = SPLITS[name]
    network = netcalc.load(model, set=sizes)
    split, steps = network.memory(**options).split, checked(network.explain(memory=True, **options))
    assert split is not None
    fullest = split.fullest
    assert steps["fullest device"]["sum"] == fullest.total
    for kind in ("weights", "gradients", "states"):
        if getattr(fullest, kind):
            assert steps[kind]["sum"] == getattr(fullest, kind)
    assert list(steps["activations"].values())[-1] == fullest.activations
    assert sum(steps["bytes that a device sends in a step"].values()) == sum(one.sent for one in split.traffic)
    exchanged = steps["ranks, span and calls of what is exchanged"]
    for one in split.traffic:
        title = f"{one.group} {one.collective} over {one.ranks} ranks"
        found = [exchanged[f"{title}: {field}"] for field in ("ranks", "span", "calls")]
        assert found == [one.ranks, one.span, one.calls], title
    if split.bubble is not None and split.split.pp > 1:
        assert steps["pipeline"]["bubble"] == pytest.approx(split.bubble)


FITS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "serving": ("llama-3.1-8b", {}, {"device": "24GiB"}),
    "decode": ("llama-2-7b", LONG, {"device": "2GiB", "phase": "decode"}),
    "training": ("bert-base", {}, {"device": "t4", "training": "adamw", "precision": "16-mixed"}),
    "split": ("llama-3-70b", {}, {"device": "h100:8", "phase": "decode"}),
    "no": ("llama-3.1-8b", {}, {"device": "8GiB"}),
    "flash": ("mlp", {}, {"device": "cortex-m7"}),
}


@pytest.mark.parametrize("name", FITS)
def test_the_answer_of_fit_is_opened(name: str) -> None:
    model, sizes, options = FITS[name]
    network = netcalc.load(model, set=sizes)
    report, steps = network.fit(**options), checked(network.explain(fit=True, **options))
    assert report.memory is not None
    assert steps["memory of the workload"]["sum"] == report.need.total
    assert list(steps["margin"].values()) == [report.margin]
    assert next(iter(steps["budget"].values())) == report.memory.budget
    for what, edge in (("batch", report.largest_batch), ("length", report.largest_length)):
        if edge is None or edge.number is None:
            assert f"largest {what}" not in steps
            continue
        near = steps[f"largest {what}"]
        left = [value for label, value in near.items() if label == f"{what} {edge.number:,}: left"]
        missing = [value for label, value in near.items() if label.endswith(": left")][len(left) :]
        assert all(value >= 0 for value in left) and all(value < 0 for value in missing)
        assert bool(left) == (edge.number > 0) and bool(missing) != bool(edge.reason)
        if left and not edge.reason:
            assert f"{what} {edge.number:,}: bytes" in near


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"phase": "decode"}, "--phase explains a time, a fit or a split"),
        ({"fit": True}, "a time and a fit are those of a device"),
        ({"tp": 2}, "a time and a fit are those of a device"),
        ({"fit": True, "device": "h100:2", "tp": 2}, "--fit chooses the split itself"),
        ({"memory": True, "device": "h100"}, "--memory explains a split"),
        ({"memory": True, "tp": 2, "path": "lm_head"}, "explain one thing each"),
        ({"device": "h100", "backward": True}, "--backward explains counts"),
        ({"device": "h100", "path": "lm_heat"}, "E503.*lm_head"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict[str, Any], part: str) -> None:
    with pytest.raises(NetcalcError, match=part):
        netcalc.load("llama-2-7b", set=SMALL).explain(**options)

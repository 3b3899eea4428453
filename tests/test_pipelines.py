"""Pipelines of diffusers as lists of their parts: figures, totals, settings, errors and formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import netcalc as package
from tests.conftest import CommandResult
from tests.records.test_records import validated

#: A text encoder: 2 layers of 4 × 32 × 33 + 2 × 32 × 64 + 96 + 128 parameters, embeddings of 1,000 tokens and 77
#: positions, and a norm.
CLIP = {
    "model_type": "clip_text_model",
    "architectures": ["CLIPTextModel"],
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "vocab_size": 1000,
    "projection_dim": 32,
    "torch_dtype": "float16",
}
CLIP_PARAMS = 2 * (4 * 32 * 33 + 2 * 32 * 64 + 96 + 128) + 1000 * 32 + 77 * 32 + 64
#: A second one, without biases: 2 layers, tied relative positions in the first alone.
T5 = {
    "model_type": "t5",
    "architectures": ["T5EncoderModel"],
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_heads": 4,
    "vocab_size": 500,
    "torch_dtype": "float32",
}
T5_PARAMS = 2 * (4 * 32 * 32 + 2 * 32 * 64 + 2 * 32) + 32 * 4 + 500 * 32 + 32
#: A model that only its library builds.
UNET = {"_class_name": "UNet2DConditionModel", "_diffusers_version": "0.6.0"}


def pipeline(folder: Path, **parts: Any) -> Path:
    """Write a pipeline: parts with the content of a configuration, or with the name of a file and no network."""
    folder.mkdir(exist_ok=True)
    kinds = {"scheduler": "PNDMScheduler", "tokenizer": "CLIPTokenizer"}
    index: dict[str, Any] = {
        "_class_name": "TestPipeline",
        "_diffusers_version": "0.30.0",
        "image_encoder": [None, None],
    }
    for name, part in parts.items():
        library = "transformers" if "tokenizer" in name or "architectures" in part else "diffusers"
        kind = part.get("_class_name") or part["architectures"][0] if isinstance(part, dict) else None
        index[name] = [library, kind or kinds[name]]
        (folder / name).mkdir()
        file = "config.json" if isinstance(part, dict) else part
        (folder / name / file).write_text(json.dumps(part if isinstance(part, dict) else {}), encoding="utf-8")
    (folder / "model_index.json").write_text(json.dumps(index | {"requires_safety_checker": True}), encoding="utf-8")
    return folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    others = {"scheduler": "scheduler_config.json", "tokenizer": "tokenizer_config.json"}
    pipeline(tmp_path / "pipe", **others, text_encoder=CLIP, text_encoder_2=T5)
    return "pipe"


def test_parts_and_totals(folder: str) -> None:
    summary = package.summarize_pipeline(folder)
    assert (summary.name, summary.kind, summary.diagnostics) == (folder, "TestPipeline", ())
    found = [(part.name, part.library, part.kind, part.model, part.params) for part in summary.parts]
    assert found == [
        ("scheduler", "diffusers", "PNDMScheduler", None, None),
        ("tokenizer", "transformers", "CLIPTokenizer", None, None),
        ("text_encoder", "transformers", "CLIPTextModel", "pipe/text_encoder", CLIP_PARAMS),
        ("text_encoder_2", "transformers", "T5EncoderModel", "pipe/text_encoder_2", T5_PARAMS),
    ]
    assert summary.totals.params == CLIP_PARAMS + T5_PARAMS
    assert summary.totals.weight_bytes == 2 * CLIP_PARAMS + 4 * T5_PARAMS
    for part in summary.parts[2:]:
        assert part.model is not None
        alone = package.load(part.model)
        assert (part.macs, part.flops, part.inputs) == (alone.macs, alone.flops, alone.inputs)


def test_settings_schemes_and_conventions_of_parts(folder: str) -> None:
    counted = {
        option: package.summarize_pipeline(folder, **arguments).parts[2:]  # type: ignore[arg-type]
        for option, arguments in {
            "none": {},
            "shared": {"set": {"length": 9}},
            "own": {"set": ["text_encoder_2:source=9"]},
            "dtype": {"dtype": "float32"},
            "quantize": {"quantize": "text_encoder_2:int8"},
            "convention": {"convention": "torch"},
        }.items()
    }
    whole = [part.flops for part in counted["none"]]
    shorter = package.load(f"{folder}/text_encoder", set={"length": 9}).flops
    assert [part.flops for part in counted["shared"]] == [shorter, whole[1]]
    shorter = package.load(f"{folder}/text_encoder_2", set={"source": 9}).flops
    assert [part.flops for part in counted["own"]] == [whole[0], shorter]
    assert counted["dtype"][0].weight_bytes == 4 * CLIP_PARAMS
    assert counted["quantize"][0] == counted["none"][0]
    assert counted["quantize"][1].weight_bytes < 4 * T5_PARAMS
    torch = [package.load(f"{folder}/{name}").cost("torch").flops for name in ("text_encoder", "text_encoder_2")]
    assert [part.flops for part in counted["convention"]] == torch


def test_the_record_is_that_of_the_api(folder: str, netcalc: Callable[..., CommandResult]) -> None:
    options = ("--set", "text_encoder:length=9", "--convention", "torch", "--prune", "text_encoder_2:0.5")
    ran = netcalc("summary", folder, *options, "--format", "json")
    assert (ran.code, ran.err) == (0, "")
    summary = package.summarize_pipeline(
        folder, set={"text_encoder:length": 9}, convention="torch", prune="text_encoder_2:0.5"
    )
    assert validated(ran, "pipeline") == package.as_dict(summary)
    assert f"{summary}\n" == netcalc("summary", folder, *options).out
    rows = list(csv.DictReader(io.StringIO(netcalc("summary", folder, *options, "--format", "csv").out)))
    assert [row["params"] for row in rows] == ["", "", str(CLIP_PARAMS), str(T5_PARAMS)]
    assert rows[2]["inputs"].startswith("input_ids 1x9")


def test_a_part_that_is_not_counted(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    folder = pipeline(tmp_path / "pipe", text_encoder=CLIP, unet=UNET)
    ran = netcalc("summary", str(folder), "--via", "table", "--format", "json")
    assert ran.code == 2
    assert "error[E007]: no table describes a model of diffusers (UNet2DConditionModel)" in ran.err
    record = validated(CommandResult(0, ran.out, ""), "pipeline")
    assert record["totals"]["params"] == CLIP_PARAMS
    assert record["parts"][1]["params"] is None
    assert record["parts"][1]["problem"] == "no table describes a model of diffusers (UNet2DConditionModel)"


@pytest.mark.parametrize("format_", ["table", "markdown"])
def test_pages(
    format_: str, folder: str, netcalc: Callable[..., CommandResult], golden: Callable[[str, str], None]
) -> None:
    pipeline(Path("bare"), text_encoder=CLIP, unet=UNET)
    whole = netcalc("summary", folder, "--format", format_)
    bare = netcalc("summary", "bare", "--via", "table", "--format", format_)
    chosen = netcalc("summary", folder, "--filter", "text*", "--sort", "params", "--top", "1", "--format", format_)
    assert (whole.code, bare.code, chosen.code) == (0, 2, 0)
    text = "\n".join(ran.out for ran in (whole, bare, chosen))
    assert format_ != "table" or all(len(line) <= 80 for line in text.splitlines())
    golden(f"pipeline/pages.{'txt' if format_ == 'table' else 'md'}", text)


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--depth", "2"], ["E502", "--depth is for a network", "pipe/PART"]),
        (["--example", "input_ids=int64:1,9"], ["E502", "--example is for a network"]),
        (["--symbolic", "batch"], ["E502", "--symbolic is for a network"]),
        (["--set", "unett:height=9"], ["E501", "there is no part 'unett'"]),
        (["--set", "heigth=9"], ["E501", "no part has a dim or var of this name"]),
        (["--quantize", "3:int8"], ["E502", "there is no part 3"]),
        (["--convention", "nothing"], ["E701", "nothing"]),
        (["--ignore", "nothing"], ["E502", "no configuration has this field"]),
        (["--sort", "nothing"], ["E502", "nothing"]),
    ],
)
def test_what_a_pipeline_does_not_take(
    arguments: list[str], parts: list[str], folder: str, netcalc: Callable[..., CommandResult]
) -> None:
    ran = netcalc("summary", folder, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert all(part in " ".join(ran.err.split()) for part in parts), ran.err


@pytest.mark.parametrize(
    ("index", "parts"),
    [
        ({}, ["E004", "_class_name"]),
        ([], ["E004", "_class_name"]),
        (
            {"_class_name": "P", "unet": ["diffusers", "UNet2DModel"]},
            ["E004", "'unet' (UNet2DModel)", "no config.json"],
        ),
        ({"_class_name": "P", "../unet": ["diffusers", "UNet2DModel"]}, ["E007", "(P) without parts"]),
        ({"_class_name": "P", "unet": [None, None], "vae": "AutoencoderKL"}, ["E007", "(P) without parts"]),
    ],
)
def test_malformed_pipelines(
    index: Any, parts: list[str], tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    (tmp_path / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    ran = netcalc("summary", str(tmp_path))
    assert (ran.code, ran.out) == (2, "")
    assert all(part in " ".join(ran.err.split()) for part in parts), ran.err


def test_commands_on_one_model_name_the_parts(folder: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("params", folder)
    assert (ran.code, ran.out) == (2, "")
    text = " ".join(ran.err.split())
    assert "error[E007]: pipe is a pipeline of diffusers (TestPipeline), which is several models" in text
    assert "`netcalc summary pipe` lists them: pipe/text_encoder, pipe/text_encoder_2" in text
    with pytest.raises(package.NetcalcError, match="E502: resnet18 is no pipeline"):
        package.summarize_pipeline("resnet18")


def test_the_parts_are_drawn(folder: str, netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("summary", folder, "--charts", "-o", "parts.svg")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    texts = [e.text or "" for e in ElementTree.parse("parts.svg").getroot().iter("{http://www.w3.org/2000/svg}text")]
    total = CLIP_PARAMS + T5_PARAMS
    for name, size in (("text_encoder", CLIP_PARAMS), ("text_encoder_2", T5_PARAMS)):
        assert texts[texts.index(name) + 1].endswith(f"· {100 * size / total:.1f} %")
    assert "pipe: parameters by part" in netcalc("summary", folder, "--charts").out

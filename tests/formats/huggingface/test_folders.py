"""Folders with a configuration and weights: audited, executed, and run to the recorded outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import netcalc as api
from netcalc.formats import load_model
from netcalc.formats.huggingface.tables import model_types
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config
from tests.records.test_records import validated

TRUTH = Path(__file__).parents[2] / "truth"
Run = Callable[..., CommandResult]


def _cases() -> dict[str, dict[str, Any]]:
    """Return the recorded runs of transformers whose model type has a table."""
    found = {}
    for path in sorted(TRUTH.glob("*.json")):
        record = json.loads(path.read_text())
        called = re.match(r"transformers\.(\w+)\(", str(record["call"])) if "call" in record else None
        if called and record["config"].get("model_type") in model_types():
            found[path.stem] = record | {"architecture": called[1]}
    return found


CASES = _cases()


#: Fields that these records lack: the number of labels, and those that are null.
MISSING = {"detr_tiny": {"num_labels": 5}, "deepseekv3_mla_mini": {"q_lora_rank": None}}


def model_folder(folder: Path, case: str, *, shards: int = 1) -> Path:
    """Write a recorded model as save_pretrained does: a configuration, and weights in one file or several."""
    record = CASES[case]
    write_config(folder, record["config"] | MISSING.get(case, {}) | {"architectures": [record["architecture"]]})
    tensors = {n.removeprefix("w/"): t for n, t in load_file(TRUTH / f"{case}.safetensors").items() if n[:2] == "w/"}
    if shards == 1:
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
        return folder
    files = {name: f"model-{i % shards + 1:05}-of-{shards:05}.safetensors" for i, name in enumerate(sorted(tensors))}
    for file in set(files.values()):
        save_file({name: tensors[name] for name in files if files[name] == file}, folder / file)
    index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())}, "weight_map": files}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))
    return folder


#: Names of inputs in transformers, where the specs have others.
NAMES = {"pixel_values": "image"}


def dims_of(folder: Path, inputs: dict[str, np.ndarray]) -> dict[str, int]:
    """Return the dims of the spec at which its inputs have the shapes of arrays."""
    document = load_model(folder).document
    dims: dict[str, int] = {}
    for name, array in inputs.items():
        declared = document.inputs[name]
        shape = declared if isinstance(declared, list) else declared.shape
        dims |= {str(dim): size for dim, size in zip(shape, array.shape, strict=True) if dim in document.dims}
    return dims


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("shards", [1, 3])
def test_a_folder_is_audited_and_runs_to_the_recorded_outputs(
    case: str, shards: int, tmp_path: Path, netcalc: Run
) -> None:
    folder = model_folder(tmp_path / "model", case, shards=shards)
    ran = netcalc("verify", str(folder))
    assert (ran.code, ran.err) == (0, ""), ran.out
    assert "every name, shape and type fits" in ran.out
    arrays = load_file(TRUTH / f"{case}.safetensors")
    recorded = {name.removeprefix("in/"): array for name, array in arrays.items() if name.startswith("in/")}
    inputs = {NAMES.get(name, name): array for name, array in recorded.items()}
    if inputs.keys() - load_model(folder).document.inputs.keys():
        return  # an input that the spec has in another form
    network = api.load(folder, set=dims_of(folder, inputs))
    result = network.run(inputs, weights=folder)
    for name, expected in arrays.items():
        if name.startswith("out/"):
            actual = result.outputs[name.removeprefix("out/")]
            assert np.abs(actual - expected).max() <= 1e-5 * np.abs(expected).max()


def test_a_run_takes_the_weights_of_its_folder(tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "model", "llama3rope_l1")
    runs = [
        netcalc("run", str(folder), "--set", "length=4", "-w", weights, "-f", "json") for weights in (".", str(folder))
    ]
    assert [run.code for run in runs] == [0, 0]
    assert json.loads(runs[0].out)["outputs"] == json.loads(runs[1].out)["outputs"]


def test_a_folder_is_audited_and_executed(tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "model", "llama3rope_l1")
    record = validated(netcalc("verify", str(folder), "--execute", "--set", "length=4", "-f", "json"), "verify")
    assert record["ok"] and record["operations"] and record["weights"]["ok"]
    ran = netcalc("verify", str(folder), "--execute", "--set", "length=4")
    assert "every name, shape and type fits" in ran.out
    assert "predictions are correct" in ran.out
    ran = netcalc("verify", str(folder), "--execute", "-f", "csv")
    assert (ran.code, ran.out) == (2, "")


def test_weights_that_do_not_fit_the_configuration_fail(tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "model", "llama3rope_l1")
    config = json.loads((folder / "config.json").read_text())
    write_config(folder, config | {"intermediate_size": config["intermediate_size"] + 8})
    ran = netcalc("verify", str(folder))
    assert ran.code == 1
    assert "do not fit" in ran.out


def test_a_folder_without_weights_is_executed(tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "model", "llama3rope_l1")
    (folder / "model.safetensors").unlink()
    ran = netcalc("verify", str(folder), "--set", "length=4")
    assert "predictions are correct" in ran.out
    assert ran.out.splitlines()[0].endswith("; no weights were checked")
    record = validated(netcalc("verify", str(folder), "--set", "length=4", "-f", "json"), "verify")
    assert record["ok"] and record["weights"] is None
    assert netcalc("verify", str(folder), "--weights", ".").code == 2


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ({"pytorch_model.bin": ""}, "holds pickles only: pytorch_model.bin"),
        ({"pytorch_model-00001-of-00002.bin": "", "training_args.bin": ""}, "holds pickles only"),
        ({"model.pth": ""}, "holds pickles only: model.pth"),
        ({"pytorch_model.bin.index.json": "{}"}, "is not an index of shards"),
        (
            {"pytorch_model.bin.index.json": '{"weight_map": {"a": "b.bin"}}', "training_args.bin": ""},
            "holds an index of pickles, pytorch_model.bin.index.json, without the pickles: b.bin",
        ),
        ({"model.safetensors.index.json": '{"weight_map": {"a": "b.safetensors"}}'}, "b.safetensors is missing"),
    ],
)
def test_weights_that_cannot_be_read_are_no_success(
    files: dict[str, str], reason: str, tmp_path: Path, netcalc: Run
) -> None:
    folder = model_folder(tmp_path / "model", "llama3rope_l1")
    (folder / "model.safetensors").unlink()
    for name, text in files.items():
        (folder / name).write_text(text)
    ran = netcalc("verify", str(folder), "--set", "length=4")
    assert (ran.code, ran.out) == (2, "")
    assert "E605" in ran.err and reason in ran.err
    assert ("convert it with" in ran.err) == ("pickles" in reason)


def test_files_of_training_are_no_weights(tmp_path: Path, netcalc: Run) -> None:
    folder = model_folder(tmp_path / "model", "llama3rope_l1")
    (folder / "model.safetensors").unlink()
    for name in ("training_args.bin", "optimizer.pt", "rng_state_0.pth"):
        (folder / name).write_bytes(b"")
    assert netcalc("verify", str(folder), "--set", "length=4").code == 0

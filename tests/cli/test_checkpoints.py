"""``params`` of a checkpoint without a spec: files that safetensors writes, shards, archives of NumPy."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import netcalc as api
from tests.conftest import CommandResult
from tests.records.test_records import validated

Run = Callable[..., CommandResult]


def decoder(layers: int = 12) -> dict[str, np.ndarray]:
    """Return the tensors of a small decoder, of which each third layer has a gate of another type."""
    half = np.float16
    tensors = {"model.embed_tokens.weight": np.zeros((100, 16), half), "model.norm.weight": np.zeros(16, np.float32)}
    for layer in range(layers):
        name = f"model.layers.{layer}"
        tensors[f"{name}.self_attn.q_proj.weight"] = np.zeros((16, 16), half)
        tensors[f"{name}.mlp.up.weight"] = np.zeros((32, 16), half)
        if layer % 3 == 2:
            tensors[f"{name}.mlp.gate.weight"] = np.zeros((4, 16), np.float32)
    return tensors | {"position_ids": np.zeros((1, 64), np.int64)}


def shards(folder: Path, parts: list[dict[str, np.ndarray]], index: dict[str, str] | None = None) -> Path:
    """Write the shards of a checkpoint, and an index if one is given."""
    folder.mkdir()
    for number, tensors in enumerate(parts, 1):
        save_file(tensors, folder / f"model-{number:05}-of-{len(parts):05}.safetensors")
    if index is not None:
        (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": index}))
    return folder


def test_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Run, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_file(decoder(), "model.safetensors")
    golden("checkpoints/params.txt", netcalc("params", "model.safetensors").out)
    golden("checkpoints/params.md", netcalc("params", "model.safetensors", "-f", "markdown", "--depth", "2").out)
    golden("checkpoints/params-top.txt", netcalc("params", "model.safetensors", "--sort", "bytes", "--top", "3").out)
    assert (
        str(api.read_checkpoint("model.safetensors")).splitlines()[-3]
        == "11,152 (11.2 k) parameters and buffers; 22.7 KiB"
    )


@pytest.mark.parametrize("form", ["safetensors", "npz", "shards", "index"])
def test_every_form_gives_the_same_figures(form: str, tmp_path: Path, netcalc: Run) -> None:
    tensors = decoder()
    names = list(tensors)
    parts = [{name: tensors[name] for name in names[i::3]} for i in range(3)]
    if form == "safetensors":
        save_file(tensors, path := tmp_path / "model.safetensors")
    elif form == "npz":
        np.savez(path := tmp_path / "model.npz", **tensors)
    else:
        index = {name: f"model-{i % 3 + 1:05}-of-00003.safetensors" for i, name in enumerate(names)}
        path = shards(tmp_path / "model", parts, index if form == "index" else None)
    record = validated(netcalc("params", str(path), "-f", "json"), "checkpoint")
    elements = sum(t.size for t in tensors.values())
    totals = {"tensors": len(tensors), "params": elements, "elements": elements}
    assert record["totals"] == totals | {"bytes": sum(t.nbytes for t in tensors.values())}
    assert {row["name"]: (tuple(row["shape"]), row["dtype"]) for row in record["tensors"]} == {
        name: (tensor.shape, tensor.dtype.name) for name, tensor in tensors.items()
    }
    assert record == api.as_dict(api.read_checkpoint(path)) | {"file": str(path)}


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_groups_add_up(depth: int, tmp_path: Path, netcalc: Run) -> None:
    save_file(decoder(), path := tmp_path / "model.safetensors")
    record = validated(netcalc("params", str(path), "--depth", str(depth), "-f", "json"), "checkpoint")
    for figure, total in record["totals"].items():
        assert sum(group[figure] for group in record["groups"]) == total
    assert max(len(group["prefix"].split(".")) for group in record["groups"]) <= depth + 1  # a tensor below one prefix


def test_folded_rows_are_those_of_every_tensor(tmp_path: Path, netcalc: Run) -> None:
    save_file(decoder(), path := tmp_path / "model.safetensors")
    table = netcalc("params", str(path), "--top", "99", "--wide").out
    assert re.search(r"layers\.2,5,…,11\.mlp\.gate\.weight ×4 +4×16 +float32 +64 +256 B +4\.4 %", table)
    unrolled = netcalc("params", str(path), "--top", "99", "--unroll", "--wide").out
    assert unrolled.count("mlp.gate.weight") == 4
    rows = netcalc("params", str(path), "-f", "csv", "--filter", "*.gate.weight").out.splitlines()
    assert rows[0] == "name,dtype,shape,tensors,params,elements,bytes,file,repeat"
    assert "model.layers.2.mlp.gate.weight,float32,4x16,1,64,64,256,model.safetensors,1" in rows
    assert len(rows) == 5


def test_a_name_in_several_files_counts_once(tmp_path: Path, netcalc: Run) -> None:
    first, second = {"a.w": np.zeros((4, 4)), "b.w": np.zeros(3)}, {"a.w": np.zeros((4, 4)), "b.w": np.zeros(5)}
    path = shards(tmp_path / "model", [first, second])
    record = validated(netcalc("params", str(path), "-f", "json"), "checkpoint")
    assert record["totals"] == {"tensors": 2, "params": 19, "elements": 19, "bytes": 152}
    files = [f"model-0000{number}-of-00002.safetensors" for number in (1, 2)]
    assert record["duplicates"] == [
        {"name": "a.w", "files": files, "same": True, "bytes": 128},
        {"name": "b.w", "files": files, "same": False, "bytes": 40},
    ]
    assert "2 counted once; the copies have 168 B more" in netcalc("params", str(path)).out


def test_an_index_decides_between_files(tmp_path: Path) -> None:
    path = shards(
        tmp_path / "model",
        [{"a": np.zeros(2), "b": np.zeros(2)}, {"b": np.zeros(3)}],
        {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"},
    )
    content = api.read_checkpoint(path)
    assert {tensor.name: tensor.shape for tensor in content.tensors} == {"a": (2,), "b": (3,)}
    assert content.duplicates == (
        api.Duplicate("b", ("model-00002-of-00002.safetensors", "model-00001-of-00002.safetensors"), False, 16),
    )


def test_names_that_differ_by_a_prefix_are_reported(tmp_path: Path, netcalc: Run) -> None:
    tensors = decoder(2)
    save_file(tensors | {f"wrapped.{name}": tensor for name, tensor in tensors.items()}, tmp_path / "m.safetensors")
    content = api.read_checkpoint(tmp_path / "m.safetensors")
    size = sum(tensor.nbytes for tensor in tensors.values())
    assert content.copies == (api.Copies("wrapped.", len(tensors), size),)
    printed = netcalc("params", str(tmp_path / "m.safetensors")).out.replace("\n", " ")
    assert "7 under 'wrapped.' (6.69 KiB) have the name, shape and type of others without it" in printed


def test_a_tensor_may_have_others_below_its_name(tmp_path: Path, netcalc: Run) -> None:
    tensors = {"linear.weight": np.zeros((4, 4), np.float32), "linear.weight.scale": np.zeros(4, np.float32)}
    save_file(tensors, path := tmp_path / "m.safetensors")
    rows = netcalc("params", str(path), "-f", "csv").out.splitlines()[1:]
    assert [row.partition(",")[0] for row in rows] == list(tensors)
    assert re.search(r"weight +4×4 +float32 +16", netcalc("params", str(path)).out)


@pytest.mark.parametrize(
    "case",
    [
        ("missing.safetensors", [], "E605"),
        ("model.bin", [], "E605"),
        ("m.safetensors", ["--set", "layers=2"], "E502"),
        ("m.safetensors", ["--dtype", "float16"], "E502"),
        ("m.safetensors", ["--sort", "size"], "E502"),
        ("m.safetensors", ["--filter", "nothing"], "E503"),
    ],
    ids=str,
)
def test_errors(case: tuple[str, list[str], str], tmp_path: Path, netcalc: Run) -> None:
    name, options, code = case
    save_file({"w": np.zeros(2)}, tmp_path / "m.safetensors")
    (tmp_path / "model.bin").write_bytes(b"\x80\x02")
    ran = netcalc("params", str(tmp_path / name), *options)
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err


def test_types_that_numpy_lacks_have_their_bytes(tmp_path: Path) -> None:
    """Elements of less than a byte, and types that are not known here, by the places of their data."""
    entries: dict[str, Any] = {
        "fp4": {"dtype": "F4", "shape": [3, 4], "data_offsets": [0, 6]},
        "new": {"dtype": "F5_E9", "shape": [4], "data_offsets": [6, 16]},
        "fp8": {"dtype": "F8_E5M2FNUZ", "shape": [2], "data_offsets": [16, 18]},
    }
    header = json.dumps(entries).encode()
    (tmp_path / "m.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + bytes(18))
    content = api.read_checkpoint(tmp_path / "m.safetensors")
    assert {tensor.name: (tensor.elements, tensor.bytes) for tensor in content.tensors} == {
        "fp4": (12, 6),
        "new": (4, 10),
        "fp8": (2, 2),
    }
    assert {found.dtype for found in content.types} == {"F4", "F5_E9", "F8_E5M2FNUZ"}


def test_deep_names_do_not_end_the_report(tmp_path: Path, netcalc: Run) -> None:
    name = "a." * 5_000 + "w"
    save_file({name: np.zeros(2), "b.w": np.zeros(2)}, path := tmp_path / "m.safetensors")
    assert netcalc("params", str(path)).code == 0
    assert json.loads(netcalc("params", str(path), "-f", "json").out)["tensors"][0]["name"] in (name, "b.w")

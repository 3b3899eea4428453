"""Files of other kinds that are given in place of a spec."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from netcalc.diagnostics import NetcalcError
from netcalc.spec.library import load_document
from tests.conftest import CommandResult


def write_safetensors(path: Path) -> None:
    save_file({"weight": np.zeros((2, 3), "float32")}, path)


def write_onnx(path: Path) -> None:
    # ModelProto: ir_version (field 1) 10, producer_name (field 2) "pytorch"
    path.write_bytes(b"\x08\x0a\x12\x07pytorch:\x04main")


def write_torch_archive(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({}))


WRITERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "model.safetensors": (write_safetensors, "safetensors"),
    "weights": (write_safetensors, "safetensors"),
    "net": (write_onnx, "ONNX"),
    "model": (lambda path: path.write_bytes(b"GGUF\x03\x00\x00\x00"), "GGUF"),
    "pytorch_model.bin": (write_torch_archive, "pickle"),
    "archive": (write_torch_archive, "pickle"),
    "old": (lambda path: path.write_bytes(pickle.dumps({}, protocol=2)), "pickle"),
    "w.npz": (lambda path: np.savez(path, x=np.zeros(2)), "NumPy"),
    "config.yaml": (lambda path: path.write_text(json.dumps({"model_type": "llama"})), "type llama"),
    "model.safetensors.index.yaml": (lambda path: path.write_text(json.dumps({"weight_map": {}})), "index"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_of_another_kind_is_recognized(name: str, tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    write, kind = WRITERS[name]
    path = tmp_path / name
    write(path)
    ran = netcalc("shapes", str(path))
    assert (ran.code, ran.out) == (2, "")
    message = " ".join(ran.err.split())
    assert "error[E004]" in message
    assert kind in message
    assert "not a spec" in message
    assert "hint: " in message


@pytest.mark.parametrize("text", ["netcalc: 1\ninputs: {x: [1]}\nlayers: [relu]\n", '{"netcalc": 1, "layers": []}'])
def test_a_spec_is_not_taken_for_another_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "spec.json"
    path.write_text(text)
    assert load_document(path).document.netcalc == 1


def test_an_unknown_setting_lists_the_known_ones(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("params", "mlp", "--set", "unheard=3")
    assert ran.code == 2
    assert "its dims are batch; its vars are features, hidden, classes" in " ".join(ran.err.split())


def test_bytes_that_are_nothing_known(tmp_path: Path) -> None:
    path = tmp_path / "noise.yaml"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(NetcalcError, match="UTF-8"):
        load_document(path)

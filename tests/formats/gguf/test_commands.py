"""Commands on models in GGUF, at 80 columns."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import gguf
import pytest

import netcalc
from netcalc.formats.gguf.tables import architectures
from tests.conftest import CommandResult
from tests.formats.gguf.conversion import write
from tests.formats.gguf.small import SMALL, drawn

Run = Callable[..., CommandResult]


@pytest.fixture
def quantized(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    _, arrays = drawn(tmp_path, SMALL["qwen2_moe"])
    monkeypatch.chdir(tmp_path)
    return write(Path("model.gguf"), SMALL["qwen2_moe"], arrays, quantized=gguf.GGMLQuantizationType.Q4_0)


def test_pages(quantized: Path, netcalc: Run, golden: Callable[[str, str], None]) -> None:
    golden("gguf/params-stored.txt", netcalc("params", "model.gguf", "--stored").out)
    golden("gguf/params-stored.md", netcalc("params", "model.gguf", "--stored", "-f", "markdown").out)
    golden("gguf/verify.txt", netcalc("verify", "model.gguf").out)
    golden("gguf/import.txt", netcalc("import", "model.gguf").out)


def test_the_imported_spec_has_the_same_figures(quantized: Path, tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(netcalc.import_spec("model.gguf"))
    found, expected = netcalc.load(spec), netcalc.load(quantized)
    assert (found.params, found.macs) == (expected.params, expected.macs)
    changed = netcalc.load(quantized, set={"block_count": 5, "attention_head_count": 8, "attention_head_count_kv": 8})
    assert changed.params > found.params
    spec.write_text(netcalc.import_spec("model.gguf", set={"block_count": 5}))
    assert netcalc.load(spec).params == netcalc.load(quantized, set={"layers": 5}).params


def test_stored_tensors_are_typed_data(quantized: Path) -> None:
    content = netcalc.read_checkpoint(quantized)
    stored = {tensor.name: (tensor.dtype, tensor.elements, tensor.bytes) for tensor in content.tensors}
    reader = gguf.GGUFReader(quantized)
    names = {"F32": "float32"}
    assert stored == {
        t.name: (names.get(t.tensor_type.name, t.tensor_type.name), t.n_elements, t.n_bytes) for t in reader.tensors
    }
    assert content.params == netcalc.load(quantized).params


def test_records_have_bits(quantized: Path, netcalc: Run) -> None:
    stored = json.loads(netcalc("verify", "model.gguf", "-f", "json").out)["stored"]
    assert stored["bits"] == pytest.approx(8 * stored["bytes"] / stored["params"])
    assert {kind["dtype"] for kind in stored["types"]} == {"Q4_0", "float32"}


def test_runs_say_which_weights_they_use(quantized: Path, netcalc: Run) -> None:
    ran = netcalc("run", "model.gguf", "--weights", ".", "--set", "length=4")
    assert (ran.code, "weights from model.gguf" in ran.out) == (0, True)
    assert netcalc("verify", "model.gguf", "--execute", "--set", "length=4").code == 0
    assert netcalc("compare", "model.gguf", "qwen1.5-moe-a2.7b").code == 0
    assert netcalc("summary", "model.gguf", "--symbolic", "length").code == 0


def test_architectures_are_listed(netcalc: Run) -> None:
    listed = json.loads(netcalc("import", "-f", "json").out)["gguf"]
    assert [found["architecture"] for found in listed] == architectures()
    assert {"architecture": "gpt-oss", "family": "gpt"} in listed
    assert "gpt-oss" in netcalc("import").out


def test_options_of_a_spec_are_refused_with_stored(quantized: Path, netcalc: Run) -> None:
    ran = netcalc("params", "model.gguf", "--stored", "--set", "length=4")
    assert (ran.code, "E502" in ran.err) == (2, True)
    assert netcalc("shapes", "model.gguf", "--stored").code == 2

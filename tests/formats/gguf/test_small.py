"""Small models of every architecture: figures, audits and outputs are those of the model that was converted."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np
import pytest

import netcalc
from netcalc.formats import opened_weights
from netcalc.formats.gguf.tables import architectures
from netcalc.numerics.parameters import check_weights
from tests.formats.gguf.conversion import ARCHITECTURES, write
from tests.formats.gguf.small import SMALL, drawn

IDS = {"input_ids": np.arange(12)[None] * 5 % 60}


def test_there_is_a_small_model_of_every_architecture() -> None:
    assert {ARCHITECTURES[config["model_type"]] for config in SMALL.values()} == set(architectures())


@pytest.mark.parametrize("model", SMALL)
def test_figures_tensors_and_outputs_are_those_of_the_model(model: str, tmp_path: Path) -> None:
    network, arrays = drawn(tmp_path, SMALL[model])
    file = write(tmp_path / "model.gguf", SMALL[model], arrays)
    found = netcalc.load(file, set={"length": 12})
    assert found.params == network.params
    assert found.analysis("torch").total.flops == network.analysis("torch").total.flops
    weights = opened_weights(file)
    report = check_weights(found.program, weights)
    assert report.ok, report.diagnostics
    assert report.ignored == 0
    expected = next(iter(network.run(IDS, weights=arrays).outputs.values()))
    (outputs,) = found.run(IDS, weights=file).outputs.values()
    np.testing.assert_allclose(outputs, expected, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("model", ["llama", "qwen2_moe"])
@pytest.mark.parametrize("kind", ["Q4_0", "Q8_0", "MXFP4", "BF16"])
def test_quantized_models_run_with_the_numbers_that_are_stored(model: str, kind: str, tmp_path: Path) -> None:
    network, arrays = drawn(tmp_path, SMALL[model])
    quantized = gguf.GGMLQuantizationType[kind]
    file = write(tmp_path / "model.gguf", SMALL[model], arrays, quantized=quantized)
    found = netcalc.load(file, set={"length": 12}, dtype="float32")
    assert check_weights(found.program, opened_weights(file)).ok
    stored = sum(int(tensor.n_bytes) for tensor in gguf.GGUFReader(file).tensors)
    assert found.cost().weight_bytes == stored
    assert found.quantized("float32").cost().weight_bytes == network.cost().weight_bytes
    block = gguf.GGML_QUANT_SIZES[quantized][0]
    for name, array in arrays.items():
        if array.ndim > 1 and array.shape[-1] % block == 0:
            arrays[name] = gguf.dequantize(gguf.quantize(array, quantized), quantized)
    expected = network.run(IDS, weights=arrays).outputs["logits"]
    np.testing.assert_allclose(
        found.run(IDS, weights=file).outputs["logits"], expected, rtol=2e-4, atol=2e-4 * np.abs(expected).max()
    )

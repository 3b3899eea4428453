"""Fields of the quantization configurations in transformers: each is known to the scheme, with its default."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from netcalc.formats.huggingface.quantization import quantization_problems
from netcalc.schemes.methods import method_named
from netcalc.spec.cursor import Cursor

transformers = pytest.importorskip("transformers")

CLASSES: dict[str, tuple[str, dict[str, Any]]] = {
    "gptq": ("GPTQConfig", {"bits": 4}),
    "awq": ("AwqConfig", {"bits": 4}),
    "bitsandbytes": ("BitsAndBytesConfig", {"load_in_8bit": True}),
    "fp8": ("FineGrainedFP8Config", {}),
    "fbgemm_fp8": ("FbgemmFp8Config", {}),
    "mxfp4": ("Mxfp4Config", {}),
    "aqlm": ("AqlmConfig", {}),
    "auto-round": ("AutoRoundConfig", {}),
    "bitnet": ("BitNetQuantConfig", {}),
    "eetq": ("EetqConfig", {}),
    "fouroversix": ("FourOverSixConfig", {}),
    "fp_quant": ("FPQuantConfig", {}),
    "gemma": ("GemmaQuantizationConfig", {}),
    "gguf": ("GgufConfig", {}),
    "higgs": ("HiggsConfig", {}),
    "metal": ("MetalConfig", {}),
    "mxfp8": ("FineGrainedFP8Config", {"weight_block_size": [1, 32]}),
    "nvfp4": ("NVFP4Config", {}),
    "quanto": ("QuantoConfig", {}),
    "sinq": ("SinqConfig", {}),
    "spqr": ("SpQRConfig", {}),
    "vptq": ("VptqConfig", {}),
}


@pytest.mark.parametrize("method", CLASSES)
def test_every_argument_is_known(method: str) -> None:
    name, _ = CLASSES[method]
    known = method_named(method)
    assert known is not None
    arguments = set(inspect.signature(getattr(transformers, name).__init__).parameters) - {"self", "kwargs"}
    assert arguments <= {*known.fields.declared, *known.fields.without_effect}


@pytest.mark.parametrize("method", CLASSES)
def test_saved_configurations_are_known(method: str) -> None:
    name, arguments = CLASSES[method]
    saved = getattr(transformers, name)(**arguments).to_dict()
    saved["quant_method"] = method
    saved = {key: value.value if hasattr(value, "value") else value for key, value in saved.items()}
    saved = {key: list(value) if isinstance(value, tuple) else value for key, value in saved.items()}
    problems = quantization_problems(Cursor({"quantization_config": saved}, (), {}))
    assert [problem.message for problem in problems] == []

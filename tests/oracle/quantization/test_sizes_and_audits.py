"""Folders that torchao, hqq and quanto quantize and save: bytes from the configuration alone, and clean audits."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.formats.huggingface.packed import LLAMA
from tests.formats.huggingface.test_storage import NOT_COUNTED

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
safetensors = pytest.importorskip("safetensors.torch")

Torchao = Callable[[Any, Any], Any]
#: Configurations of torchao by name; the arguments are its module of quantization and of microscaling formats.
TORCHAO: dict[str, Torchao] = {
    "int8": lambda ao, mx: ao.Int8WeightOnlyConfig(),
    "int8, tensor": lambda ao, mx: ao.Int8WeightOnlyConfig(granularity=ao.PerTensor()),
    "int8, groups": lambda ao, mx: ao.Int8WeightOnlyConfig(granularity=ao.PerGroup(32)),
    "int8, inputs too": lambda ao, mx: ao.Int8DynamicActivationInt8WeightConfig(),
    "float8": lambda ao, mx: ao.Float8WeightOnlyConfig(),
    "float8, tensor": lambda ao, mx: ao.Float8WeightOnlyConfig(granularity=ao.PerTensor()),
    "float8, groups": lambda ao, mx: ao.Float8WeightOnlyConfig(granularity=ao.PerGroup(32)),
    "int4 in int8": lambda ao, mx: ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(16)),
    "int2 in int8": lambda ao, mx: ao.IntxWeightOnlyConfig(weight_dtype=torch.int2),
    "int4, inputs too": lambda ao, mx: ao.Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4),
    "mxfp8": lambda ao, mx: mx.MXDynamicActivationMXWeightConfig(),
    "mxfp4": lambda ao, mx: mx.MXDynamicActivationMXWeightConfig(
        activation_dtype=torch.float4_e2m1fn_x2, weight_dtype=torch.float4_e2m1fn_x2
    ),
    "nvfp4": lambda ao, mx: mx.NVFP4WeightOnlyConfig(),
    "nvfp4, groups only": lambda ao, mx: mx.NVFP4WeightOnlyConfig(use_dynamic_per_tensor_scale=False),
    "modules": lambda ao, mx: ao.FqnToConfig(
        {
            "re:.*mlp.*": ao.Int8WeightOnlyConfig(),
            "re:.*up_proj": ao.Float8WeightOnlyConfig(),
            "model.layers.0.self_attn.q_proj": ao.Float8WeightOnlyConfig(),
            "model.layers.0.self_attn.k_proj": None,
        }
    ),
    "modules and others": lambda ao, mx: ao.FqnToConfig(
        {"re:.*\\.1\\..*": None, "_default": ao.Int8WeightOnlyConfig(granularity=ao.PerGroup(32))}
    ),
}
HQQ = [{"nbits": bits, "group_size": 32, "axis": axis} for bits in (1, 2, 3, 4, 8) for axis in (0, 1)]


@pytest.fixture(scope="module", params=["bfloat16", "float32"])
def plain(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the model in full precision."""
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("plain")
    config = transformers.LlamaConfig(**{k: v for k, v in LLAMA.items() if k not in ("model_type", "dtype")})
    transformers.LlamaForCausalLM(config).to(getattr(torch, request.param)).save_pretrained(folder)
    return folder


def quantized(plain: Path, config: Any = None) -> Any:
    return transformers.LlamaForCausalLM.from_pretrained(plain, quantization_config=config, dtype="auto")


def saved_as(folder: Path, plain: Path, model: Any, config: dict[str, Any]) -> Path:
    """Write the state of a model with its configuration, for libraries that transformers does not save."""
    content = json.loads((plain / "config.json").read_text()) | {"quantization_config": config}
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(content))
    state = {name: tensor.contiguous().clone() for name, tensor in model.state_dict().items()}
    safetensors.save_file(state, folder / "model.safetensors")
    return folder


def check(folder: Path) -> None:
    with safetensors.safe_open(folder / "model.safetensors", "pt") as file:
        tensors = [file.get_tensor(name) for name in file.keys() if not NOT_COUNTED.match(name)]  # noqa: SIM118
    network = netcalc.load(folder)
    assert network.cost().weight_bytes == sum(tensor.numel() * tensor.element_size() for tensor in tensors)
    report = netcalc.load(folder).audit()
    assert report.ok, report.mismatches


@pytest.mark.parametrize("name", TORCHAO)
def test_torchao(name: str, plain: Path, tmp_path: Path) -> None:
    ao, mx = pytest.importorskip("torchao.quantization"), pytest.importorskip("torchao.prototype.mx_formats")
    if re.match("mxfp", name) and "float32" in (plain / "config.json").read_text():
        pytest.skip("torchao takes bfloat16 only")
    quantized(plain, transformers.TorchAoConfig(TORCHAO[name](ao, mx))).save_pretrained(tmp_path)
    check(tmp_path)


@pytest.mark.parametrize("weights", ["int8", "int4", "int2", "float8"])
def test_quanto(weights: str, plain: Path, tmp_path: Path) -> None:
    pytest.importorskip("optimum.quanto")
    config = transformers.QuantoConfig(weights=weights)
    check(saved_as(tmp_path, plain, quantized(plain, config), {**config.to_dict(), "quant_method": "quanto"}))


@pytest.mark.parametrize("arguments", HQQ, ids=str)
def test_hqq(arguments: dict[str, Any], plain: Path, tmp_path: Path) -> None:
    hqq = pytest.importorskip("hqq.core.quantize")
    model, config = quantized(plain), hqq.BaseQuantizeConfig(**arguments)
    said = {"quant_method": "hqq", "quant_config": json.loads(json.dumps(config)), "skip_modules": ["lm_head"]}
    dtype = model.lm_head.weight.dtype
    for name, module in list(model.named_modules()):
        if isinstance(module, torch.nn.Linear) and name != "lm_head":
            model.set_submodule(name, hqq.HQQLinear(module, config, compute_dtype=dtype, device="cpu"))
    check(saved_as(tmp_path, plain, model, said))


def test_modules_of_hqq(plain: Path, tmp_path: Path) -> None:
    """Modules by their tags, of which those that are not named stay as they are."""
    hqq = pytest.importorskip("hqq.core.quantize")
    tags = {"self_attn.q_proj": {"nbits": 4, "group_size": 64}, "mlp.down_proj": {"nbits": 2, "group_size": 32}}
    config = {tag: hqq.BaseQuantizeConfig(**fields) for tag, fields in tags.items()}
    model = quantized(plain)
    dtype = model.lm_head.weight.dtype
    for name, module in list(model.named_modules()):
        tag = transformers.integrations.hqq.name_to_linear_tag(name)
        if tag in config:
            layer = hqq.HQQLinear(module, config[tag], compute_dtype=dtype, device="cpu")
            model.set_submodule(name, layer)
    said = {"quant_method": "hqq", "quant_config": json.loads(json.dumps(config)), "skip_modules": ["lm_head"]}
    check(saved_as(tmp_path, plain, model, said))

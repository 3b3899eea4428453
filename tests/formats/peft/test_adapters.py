"""Adapters that PEFT saved: figures, tensors and outputs beside the base model."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import netcalc as api
from netcalc.analysis.walk import parameters
from tests.conftest import CommandResult
from tests.formats.huggingface.packed import LLAMA, SCHEMES, packed_llama, write_model

HERE = Path(__file__).parent
CASES: dict[str, Any] = json.loads((HERE / "adapters.json").read_text())["cases"]
TENSORS = load_file(HERE / "adapters.safetensors")
WITH_TENSORS = sorted({name.partition("/")[0] for name in TENSORS})
Run = Callable[..., CommandResult]


def written(case: str, folder: Path, **fields: Any) -> Path:
    """Write the folders of a base model and of its adapter, with other fields of the adapter, and return the latter."""
    files = {"base": "model.safetensors", "adapter": "adapter_model.safetensors"}
    for part, file in files.items():
        (folder / part).mkdir()
        prefix = f"{case}/{part}/"
        tensors = {name.removeprefix(prefix): array for name, array in TENSORS.items() if name.startswith(prefix)}
        if tensors:
            save_file(tensors, folder / part / file)
    (folder / "base" / "config.json").write_text(json.dumps(CASES[case]["base"]))
    (folder / "adapter" / "adapter_config.json").write_text(json.dumps(CASES[case]["adapter"] | fields))
    return folder / "adapter"


@pytest.mark.parametrize("case", CASES)
def test_parameters_are_those_of_peft(case: str, tmp_path: Path) -> None:
    total = api.load(written(case, tmp_path)).analysis().total
    assert (total.params_trainable, total.params) == (CASES[case]["trainable"], CASES[case]["all"])


@pytest.mark.parametrize("case", WITH_TENSORS)
def test_tensors_and_outputs_are_those_of_peft(case: str, tmp_path: Path, netcalc: Run) -> None:
    folder = written(case, tmp_path)
    ran = netcalc("verify", str(folder))
    assert (ran.code, ran.err) == (0, "")
    assert "every name, shape and type fits" in ran.out
    network = api.load(folder, set={"length": 5})
    (logits,) = network.run({"input_ids": np.arange(3, 8)[None]}, weights=folder).outputs.values()
    expected = TENSORS[f"{case}/logits"]
    assert np.abs(logits - expected).max() <= 1e-5 * np.abs(expected).max()
    assert network.verify().ok


def test_the_base_beside_the_adapter_precedes_that_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = written("llama", tmp_path)
    other = tmp_path / "elsewhere" / "base"
    other.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert api.load(folder).params == CASES["llama"]["all"]
    (other / "config.json").write_text(json.dumps(CASES["llama"]["base"] | {"num_hidden_layers": 1}))
    (other / "here").mkdir()
    monkeypatch.chdir(other / "here")
    assert api.load(folder).params == CASES["llama"]["all"]


def test_the_equivalent_spec_has_the_same_figures(tmp_path: Path) -> None:
    folder = written("patterns", tmp_path)
    text = api.import_spec(folder)
    assert "{at: model.layers.0.self_attn.q_proj, set: {lora: {rank: 2, alpha: 4}}}" in text
    total, own = api.loads(text).analysis().total, api.load(folder).analysis().total
    assert (total.params, total.params_trainable, total.flops) == (own.params, own.params_trainable, own.flops)


def test_adapters_of_all_layers_are_one_patch(tmp_path: Path) -> None:
    text = api.import_spec(written("llama", tmp_path))
    assert "{at: model.layers.*.self_attn.q_proj, set: {lora: {rank: 4, alpha: 8, dropout: 0.1}}}" in text
    folder = tmp_path / "adapter"
    assert api.load(folder, set={"num_hidden_layers": 5}).analysis().total.params_trainable == 5 * 448 // 2


@pytest.mark.parametrize(
    ("fields", "part"),
    [
        ({"peft_type": "IA3"}, "adapters of the kind 'IA3' are not known"),
        ({"use_dora": True}, "use_dora = true"),
        ({"bias": "all"}, "bias = 'all'"),
        ({"modules_to_save": ["lm_head"]}, "modules_to_save = ['lm_head']"),
        ({"added": 1}, "the field 'added' of an adapter is not known; it is 1"),
        ({"r": 0}, "r = 0 is not known"),
        ({"r": "8"}, "r = '8' is not known"),
        ({"r": 10**99}, "r = 1000"),
        ({"rank_pattern": {"down_proj": 10**99}}, "rank_pattern = "),
        ({"lora_alpha": 10**400}, "lora_alpha = 1000"),
        ({"lora_alpha": float("nan")}, "lora_alpha = "),
        ({"alpha_pattern": {"down_proj": 10**400}}, "alpha_pattern = "),
        ({"target_modules": "("}, "target_modules = '('"),
        ({"target_modules": "(a+)+b"}, "target_modules = '(a+)+b'"),
        ({"target_modules": ".*" * 20}, "target_modules = "),
        ({"rank_pattern": {"(.|q)*x": 4}}, "rank_pattern = "),
        ({"target_modules": "(?P<layer>q)"}, "target_modules = "),
        ({"rank_pattern": {"(?i)q": 4}}, "rank_pattern = "),
        ({"layers_pattern": "(", "layers_to_transform": [0]}, "layers_pattern = '('"),
        ({"target_modules": ["q"]}, "no module of the base model is one of target_modules"),
        ({"target_modules": ["embed_tokens"]}, "it is embedding in the spec"),
        ({"base_model_name_or_path": "nowhere"}, "the base model 'nowhere' is no folder of a model here"),
        ({"base_model_name_or_path": None}, "base_model_name_or_path should name the base model"),
        ({"base_model_name_or_path": "../adapter"}, "the base model '../adapter' is no folder of a model here"),
    ],
    ids=str,
)
def test_what_is_not_known_is_named(fields: dict[str, Any], part: str, tmp_path: Path, netcalc: Run) -> None:
    ran = netcalc("summary", str(written("llama", tmp_path, **fields)))
    assert (ran.code, ran.out) == (2, "")
    assert "error[E007]" in ran.err
    assert part in " ".join(ran.err.split())


def test_layers_are_found_by_the_pattern_of_their_list(tmp_path: Path) -> None:
    folder = written("llama", tmp_path, layers_to_transform=1, layers_pattern="(layers|blocks)")
    patches = [line for line in api.import_spec(folder).splitlines() if "lora" in line]
    assert [".layers.1." in line for line in patches] == [True, True]


def test_an_adapter_of_a_quantized_model(tmp_path: Path, netcalc: Run) -> None:
    said, pack = SCHEMES["bitsandbytes-4"]
    write_model(tmp_path / "base", LLAMA | said, packed_llama(pack))
    folder = tmp_path / "adapter"
    folder.mkdir()
    fields = {"peft_type": "LORA", "base_model_name_or_path": "../base", "r": 4, "target_modules": ["down_proj"]}
    (folder / "adapter_config.json").write_text(json.dumps(fields))
    found = [parameter for parameter in parameters(api.load(folder).program) if "lora" in parameter.path]
    tensors = {f"base_model.model.{one.path}": np.zeros(one.param.shape, np.float32) for one in found}
    save_file(tensors, folder / "adapter_model.safetensors")
    record = json.loads(netcalc("verify", str(folder), "--cast", "-f", "json").out)
    assert record["ok"], record["mismatches"]
    assert record["stored"]["packed"]
    network = api.load(folder)
    assert record["stored"]["params"] == network.params
    # adapters are in the element type of the model, bfloat16, beside what the base model packs
    adapters = sum(int(one.param.elements) for one in found)
    assert network.cost().weight_bytes == api.load(tmp_path / "base").cost().weight_bytes + 2 * adapters


def test_a_base_is_a_shipped_spec_by_its_name(tmp_path: Path, netcalc: Run) -> None:
    fields = {"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2.5-7B", "r": 8, "lora_alpha": 16}
    (tmp_path / "adapter_config.json").write_text(json.dumps(fields | {"target_modules": ["q_proj", "v_proj"]}))
    network = api.load(tmp_path)
    # 28 layers with 3,584 features in, and 3,584 and 512 out
    assert network.analysis().total.params_trainable == 28 * 8 * (3584 + 3584 + 3584 + 512)
    assert network.params == 7_615_616_512 + 28 * 8 * (3584 + 3584 + 3584 + 512)
    assert api.loads(api.import_spec(tmp_path)).params == network.params
    assert network.program.dtype == "bfloat16"
    small = {"layers": 1, "d_model": 8, "heads": 2, "kv_heads": 1, "d_ff": 8, "vocab": 20, "length": 4}
    adapted = api.load(tmp_path, set=small)
    found = [parameter for parameter in parameters(adapted.program) if "lora" in parameter.path]
    tensors = {f"base_model.model.{one.path}": np.zeros(one.param.shape, np.float32) for one in found}
    save_file(tensors, tmp_path / "adapter_model.safetensors")
    ran = netcalc(
        "verify", str(tmp_path), *(word for name, size in small.items() for word in ("--set", f"{name}={size}"))
    )
    assert ran.code == 1
    assert "model.embed_tokens.weight" in ran.out  # which the adapter's file does not have
    assert "lora" not in ran.out

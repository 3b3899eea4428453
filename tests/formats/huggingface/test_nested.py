"""Configurations within a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.formats.huggingface.harness import config_of, write_config

CLIP = "hf/clip-vit-base-patch32"


def params(folder: Path, **changes: Any) -> int:
    """Return the number of parameters of CLIP with some fields changed."""
    return netcalc.load(write_config(folder, config_of(CLIP) | changes)).analysis("torch").total.params


def test_a_field_within_is_a_setting(tmp_path: Path) -> None:
    within = config_of(CLIP)["vision_config"] | {"num_hidden_layers": 2}
    file = write_config(tmp_path / "set", config_of(CLIP))
    total = netcalc.load(file, set={"vision_config_num_hidden_layers": 2}).analysis("torch").total
    assert total.params == params(tmp_path, vision_config=within)


def test_a_configuration_left_out_has_the_defaults_of_its_class(tmp_path: Path) -> None:
    assert params(tmp_path, text_config=None, vision_config={}) == params(tmp_path)


def test_a_field_of_old_files_takes_precedence(tmp_path: Path) -> None:
    """transformers then takes the rest from the defaults of the class."""
    within = config_of(CLIP)["text_config"] | {"num_hidden_layers": 2}
    assert params(tmp_path, text_config=within, text_config_dict={"vocab_size": 49408}) == params(tmp_path)
    assert params(tmp_path, text_config_dict=within) == params(tmp_path, text_config=within) < params(tmp_path)


@pytest.mark.parametrize(
    ("within", "message"),
    [
        (7, "text_config should be an object, not 7"),
        ({"added": 1}, "the field 'text_config.added' of clip_text_model is not known; it is 1"),
        ({"model_type": "bert"}, "text_config of type 'bert' is not known; clip_text_model is"),
        ({"dtype": "elsewhere"}, "dtype = 'elsewhere' is not known"),
        ({"quantization_config": {}}, "quantization_config: the quant_method null is not known"),
        ({"hidden_act": "unheard_of"}, "text_config.hidden_act: the activation 'unheard_of' is not known"),
    ],
)
def test_what_is_not_known_within_is_refused(within: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(netcalc.NetcalcError) as caught:
        params(tmp_path, text_config=within)
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [message]
    assert caught.value.diagnostics[0].span is not None


QWEN2_VL = {"model_type": "qwen2_vl", "architectures": ["Qwen2VLForConditionalGeneration"]}
#: Fields of the text, and of the images, small.
TEXT = {"vocab_size": 50, "hidden_size": 24, "num_attention_heads": 2, "num_key_value_heads": 1, "num_hidden_layers": 2}
TEXT |= {"intermediate_size": 20}
SECTIONS = {"type": "mrope", "mrope_section": [2, 2, 2]}
IMAGES = {"vision_config": {"model_type": "qwen2_vl", "depth": 1, "embed_dim": 16, "num_heads": 2, "hidden_size": 24}}


def test_fields_of_the_text_may_stand_beside_a_configuration_within(tmp_path: Path) -> None:
    """Released files of Qwen2-VL have them so."""
    flat = QWEN2_VL | IMAGES | TEXT | {"rope_theta": 5.0, "rope_scaling": SECTIONS}
    within = QWEN2_VL | IMAGES | {"text_config": TEXT | {"rope_theta": 5.0, "rope_scaling": SECTIONS}}
    specs = [netcalc.import_spec(write_config(tmp_path / "model", config)) for config in (flat, within)]
    assert specs[0] == specs[1]
    assert "rope_theta: 5.0" in specs[0]


def test_fields_beside_a_configuration_within_have_no_effect(tmp_path: Path) -> None:
    within = QWEN2_VL | IMAGES | {"text_config": TEXT | {"rope_theta": 5.0, "rope_scaling": SECTIONS}}
    specs = [
        netcalc.import_spec(write_config(tmp_path / "model", config))
        for config in (within, within | {"hidden_size": 24})
    ]
    assert specs[0] == specs[1]


def test_a_configuration_within_may_state_the_element_type(tmp_path: Path) -> None:
    text = TEXT | {"rope_theta": 5.0, "rope_scaling": SECTIONS, "dtype": "bfloat16"}
    within = QWEN2_VL | IMAGES | {"text_config": text}
    assert netcalc.load(write_config(tmp_path / "one", within)).program.dtype == "bfloat16"
    other = within | {"vision_config": IMAGES["vision_config"] | {"torch_dtype": "float16"}}
    with pytest.raises(netcalc.NetcalcError, match="text_config of dtype 'bfloat16' in a model of float16"):
        netcalc.load(write_config(tmp_path / "two", other))


def test_sections_are_known_of_models_that_have_them(tmp_path: Path) -> None:
    llama = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "rope_scaling": SECTIONS}
    with pytest.raises(netcalc.NetcalcError, match="rope_type 'mrope' is not known"):
        netcalc.load(write_config(tmp_path, llama))


def test_a_model_may_have_defaults_of_its_own_for_a_configuration_within(tmp_path: Path) -> None:
    llava = {"model_type": "llava", "architectures": ["LlavaForConditionalGeneration"]}
    sizes = {name: [] for name in ("left out", "empty")}
    for name, given in (("left out", {}), ("empty", {"vision_config": {}})):
        spec = netcalc.import_spec(write_config(tmp_path / name, llava | given))
        sizes[name] = [
            line.strip() for line in spec.splitlines() if line.strip().startswith(("patch:", "vision_layers:"))
        ]
    assert sizes == {"left out": ["patch: 14", "vision_layers: 24"], "empty": ["patch: 32", "vision_layers: 12"]}

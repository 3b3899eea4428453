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
        ({"dtype": "bfloat16"}, "text_config of dtype 'bfloat16' in a model of float32 is not known"),
        ({"quantization_config": {}}, "quantization_config: the quant_method null is not known"),
        ({"hidden_act": "unheard_of"}, "text_config.hidden_act: the activation 'unheard_of' is not known"),
    ],
)
def test_what_is_not_known_within_is_refused(within: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(netcalc.NetcalcError) as caught:
        params(tmp_path, text_config=within)
    assert [diagnostic.message for diagnostic in caught.value.diagnostics] == [message]
    assert caught.value.diagnostics[0].span is not None

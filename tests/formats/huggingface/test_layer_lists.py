"""Lists with one item for each layer."""

from __future__ import annotations

from pathlib import Path

import pytest

import netcalc
from tests.formats.huggingface.harness import write_config

GEMMA = {"model_type": "gemma2", "architectures": ["Gemma2ForCausalLM"], "num_hidden_layers": 3}
TYPES = ["full_attention", "sliding_attention", "sliding_attention"]


@pytest.mark.parametrize(
    ("types", "message"),
    [
        (TYPES[:2], "layer_types has 2 items, and num_hidden_layers is 3"),
        ([*TYPES[:2], "chunked_attention"], "should be one of .*, not 'chunked_attention'"),
    ],
)
def test_a_list_that_does_not_fit_is_refused(types: list[str], message: str, tmp_path: Path) -> None:
    with pytest.raises(netcalc.NetcalcError, match=message):
        netcalc.load(write_config(tmp_path, GEMMA | {"layer_types": types}))


def test_fewer_layers_are_the_first(tmp_path: Path) -> None:
    file = write_config(tmp_path, GEMMA | {"layer_types": TYPES})
    network = netcalc.load(file, set={"num_hidden_layers": 2})
    assert network.params < netcalc.load(file).params


def test_layers_with_a_window_need_its_width(tmp_path: Path) -> None:
    config = {"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 3}
    with pytest.raises(netcalc.NetcalcError, match="layers with a sliding window need its width"):
        netcalc.load(write_config(tmp_path, config | {"layer_types": TYPES}))


GEMMA4 = {"model_type": "gemma4_text", "architectures": ["Gemma4ForCausalLM"], "num_hidden_layers": 3, "head_dim": 6}
GEMMA4 |= {"layer_types": ["sliding_attention", "full_attention", "full_attention"], "vocab_size": 50}


def test_fields_of_single_layers(tmp_path: Path) -> None:
    wide = {"01": {"head_dim": 10, "num_key_value_heads": 2}, "2": {"head_dim": 10, "num_key_value_heads": 2}}
    by_layer = write_config(tmp_path, GEMMA4 | {"attention_k_eq_v": True, "per_layer_config": wide})
    stated = netcalc.load(by_layer).params
    by_type = {"attention_k_eq_v": True, "global_head_dim": 10, "num_global_key_value_heads": 2}
    assert netcalc.load(write_config(tmp_path, GEMMA4 | by_type)).params == stated
    # layers without fields of their own have those of the model
    same = netcalc.load(write_config(tmp_path, GEMMA4 | {"per_layer_config": {}})).params
    assert netcalc.load(write_config(tmp_path, GEMMA4 | {"global_head_dim": 6})).params == same


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ({"1": {"head_dim": 10}}, "head_dim of layers of type 'full_attention' differs among them"),
        ({"0": {"head_dim": 10}}, "head_dim of layer 0, of type 'sliding_attention', is not known"),
        ({"1": {"hidden_size": 10}}, "hidden_size of layer 1, of type 'full_attention', is not known"),
        ({"3": {"head_dim": 10}}, "there is no layer '3' of 3"),
        ({"first": {"head_dim": 10}}, "there is no layer 'first' of 3"),
        ([{"head_dim": 10}], "should be an object of an object for each layer"),
        ({"1": 10}, "should be an object of an object for each layer"),
    ],
)
def test_fields_of_single_layers_that_are_not_known(layers: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(netcalc.NetcalcError, match=f"per_layer_config: {message}"):
        netcalc.load(write_config(tmp_path, GEMMA4 | {"per_layer_config": layers}))


def test_fields_of_single_layers_take_the_types_of_all(tmp_path: Path) -> None:
    config = {name: value for name, value in GEMMA4.items() if name != "layer_types"}
    with pytest.raises(netcalc.NetcalcError, match="per_layer_config: takes the layer_types of all layers"):
        netcalc.load(write_config(tmp_path, config | {"per_layer_config": {"1": {"head_dim": 10}}}))
    with pytest.raises(netcalc.NetcalcError, match="'per_layer_config' of gemma2 is not known"):
        netcalc.load(write_config(tmp_path, GEMMA | {"per_layer_config": {"1": {"head_dim": 10}}}))

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

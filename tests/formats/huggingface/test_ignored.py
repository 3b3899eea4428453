"""``--ignore``: configurations that are read without a field."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import netcalc as api
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.huggingface.harness import write_config

Run = Callable[..., CommandResult]
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "vocab_size": 100,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
}
#: Embedding and head, two layers with projections, feed-forward network and norms, and the last norm.
PARAMS = 2 * 100 * 32 + 2 * (4 * 32 * 32 + 3 * 32 * 48 + 2 * 32) + 32
NOTE = "read without the field mixture_depth of its configuration, as --ignore says"


@pytest.mark.parametrize("verb", ["shapes", "params", "flops", "summary", "memory", "explain"])
def test_pages_and_records_name_the_fields(verb: str, tmp_path: Path, netcalc: Run) -> None:
    config = str(write_config(tmp_path, LLAMA | {"mixture_depth": 2}))
    assert netcalc(verb, config).code == 2
    page = netcalc(verb, config, "--ignore", "mixture_depth")
    assert page.code == 0
    assert NOTE in " ".join(page.out.split())
    assert NOTE in json.loads(netcalc(verb, config, "--ignore", "mixture_depth", "--format", "json").out)["notes"]


def test_figures_are_those_without_the_fields(tmp_path: Path) -> None:
    nested = {"quant_method": "gptq", "bits": 4, "group_size": 16, "gate.depth": 3}
    config = write_config(tmp_path, LLAMA | {"mixture_depth": 2, "js.depth": 1, "quantization_config": nested})
    ignored = ["mixture_depth", "js.depth", "quantization_config.gate.depth"]
    assert api.load(config, ignore=ignored).params == PARAMS
    assert api.load(config, ignore=ignored).cost().weight_bytes < 2 * PARAMS
    with pytest.raises(NetcalcError, match="gate"):
        api.load(config, ignore=ignored[:2])


def test_checks_and_imported_specs_name_the_fields(tmp_path: Path, netcalc: Run) -> None:
    config = write_config(tmp_path, LLAMA | {"mixture_depth": 2})
    assert NOTE in [row.detail for row in api.check(config, ignore=["mixture_depth"]).rows]
    spec = api.import_spec(config, ignore=["mixture_depth"])
    assert api.loads(spec).program.notes == (NOTE,)
    assert api.loads(spec).params == PARAMS


def test_a_field_that_no_configuration_has_is_an_error(tmp_path: Path, netcalc: Run) -> None:
    config = str(write_config(tmp_path, LLAMA | {"mixture_depth": 2}))
    known = write_config(tmp_path / "known", LLAMA)
    assert "--ignore hidden_depth: no configuration has" in netcalc("summary", "mlp", "--ignore", "hidden_depth").err
    with pytest.raises(NetcalcError, match="--ignore mixture: no configuration has this field"):
        api.import_spec(known, ignore=["mixture"])
    both = netcalc("compare", str(known), config, "--ignore", "mixture_depth")  # which one of the two has
    assert both.code == 0
    assert NOTE in " ".join(both.out.split())


def test_fields_of_an_adapter_and_of_its_base(tmp_path: Path) -> None:
    write_config(tmp_path / "base", LLAMA | {"mixture_depth": 2})
    adapter = {"peft_type": "LORA", "base_model_name_or_path": "base", "r": 8, "target_modules": ["q_proj"], "depth": 1}
    (tmp_path / "adapter_config.json").write_text(json.dumps(adapter))
    assert api.load(tmp_path, ignore=["depth", "mixture_depth"]).params == PARAMS + 2 * 2 * 8 * 32
    with pytest.raises(NetcalcError, match="mixture_depth"):
        api.load(tmp_path, ignore=["depth"])

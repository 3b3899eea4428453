"""Fields that classes of transformers do not read: accepted with the value that says what the class computes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.huggingface.tables import Table
from tests.formats.huggingface.harness import tables, write_config
from tests.formats.huggingface.tiny_models import TINY

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

#: Fields, each with the names of the parameters of the part that it speaks of.
PARTS = {
    "use_qk_norm": r"(attn|attention)\.(q|k|query|key)_(norm|layernorm|ln)\.",
    "qkv_bias": r"(attn|attention)\.((q|k|v|qkv|query|key|value)_proj|query_key_value|c_attn)\.bias$",
}
CASES = [
    pytest.param(table, field, id=f"{table.model_type}-{field}")
    for table in tables()
    for field in PARTS
    if any(architecture.endswith("ForCausalLM") for architecture in table.part("models")) and table.model_type in TINY
]


@pytest.mark.parametrize(("table", "field"), CASES)
def test_a_stated_part_is_that_of_the_class(table: Table, field: str, tmp_path: Path) -> None:
    if field in {*table.part("fields"), *table.part("without_effect")}:
        pytest.skip("the class reads the field")
    architecture = next(name for name in table.part("models") if name.endswith("ForCausalLM"))
    config = transformers.CONFIG_MAPPING[table.model_type](**TINY[table.model_type])
    with torch.device("meta"):
        names = [name for name, _ in getattr(transformers, architecture)(config).named_parameters()]
    has = any(re.search(PARTS[field], name) for name in names)
    fields: dict[str, Any] = TINY[table.model_type] | {"architectures": [architecture], "dtype": "float32"}
    path = write_config(tmp_path, fields | {"model_type": table.model_type, field: has})
    assert netcalc.load(path, via="table").params > 0
    if has:
        with pytest.raises(NetcalcError, match=field):
            netcalc.load(write_config(tmp_path, fields | {"model_type": table.model_type, field: False}), via="table")

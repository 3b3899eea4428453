"""Configurations with a field that is added, renamed or of another type are errors, never silent figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import NetcalcError
from netcalc.formats import load_model
from netcalc.formats.huggingface.tables import read_table
from netcalc.spec.settings import resolve_settings
from tests.formats.huggingface.harness import config_of, write_config
from tests.formats.huggingface.test_recorded import KNOWN

#: A value of another type for a value of each type.
OTHERS: dict[type, list[Any]] = {
    bool: [1, "true", None],
    int: ["3", 2.5, True, [3], None],
    float: ["0.1", True, [0.1], None],
    str: [3, ["gelu"], True, None],
    list: [3, "full"],
}


def read(folder: Path, config: dict[str, Any]) -> None:
    """Read a configuration and evaluate the dims and vars of its spec."""
    resolve_settings(load_model(write_config(folder, config)), {}, ())


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(model=st.sampled_from(KNOWN), form=st.sampled_from(["as_saved", "full"]), data=st.data())
def test_a_mutated_configuration_is_an_error(model: str, form: str, data: st.DataObject, tmp_path: Path) -> None:
    config = config_of(model, form)
    table = read_table(config["model_type"])
    assert table is not None
    declared = table.part("fields")
    typed = [name for name, value in config.items() if name in declared and type(value) in OTHERS]
    nullable = {n for n, d in declared.items() if d is None or (isinstance(d, dict) and "?" in str(d.get("type", "")))}
    free = {n for n, d in declared.items() if isinstance(d, dict) and (d.get("type") == "any" or "|" in str(d))}
    kind = data.draw(st.sampled_from(["added", "renamed", "type"]))
    if kind == "added":
        config[data.draw(st.from_regex(r"[a-z]{3,8}_of_nothing", fullmatch=True))] = data.draw(st.integers(0, 3))
    elif kind == "renamed":
        field = data.draw(st.sampled_from(typed))
        config[f"{field}_renamed"] = config.pop(field)
    else:
        field = data.draw(st.sampled_from([name for name in typed if name not in free]))
        others = [v for v in OTHERS[type(config[field])] if v is not None or field not in nullable]
        config[field] = data.draw(st.sampled_from(others))
    with pytest.raises(NetcalcError):
        read(tmp_path, config)

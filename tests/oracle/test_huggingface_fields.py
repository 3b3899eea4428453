"""Tables of model types against the classes of transformers: every field is named, and defaults are the same."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.formats import load_model
from netcalc.formats.huggingface.tables import Table, table_of
from netcalc.formats.reading import Reading
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import words_in
from netcalc.spec.settings import resolve_settings
from tests.formats.huggingface.harness import tables, write_config

transformers = pytest.importorskip("transformers")

CASES = [
    pytest.param(table, architecture, id=architecture) for table in tables() for architecture in table.part("models")
]

#: Fields without which the configuration of a class makes no model, or which a class writes in another form.
NEEDED: dict[str, dict[str, Any]] = {
    "esm": {"vocab_size": 33, "pad_token_id": 1},
    # as long as there are layers, which the table does not need
    "gemma3n": {
        "text_config": {
            "intermediate_size": [16384] * 35,
            "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
        }
    },
    "gemma3n_text": {"intermediate_size": [16384] * 35},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"] * 16},
}
#: Defaults in place of which classes fill in a value, as the expressions of tables do.
FILLED = (None, "auto", -1)


def vars_of(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """Return the values of dims and vars of an imported configuration.

    A field whose default stands for another value is left out, and a var that repeats such a field.
    """
    loaded = load_model(write_config(folder, config))
    table = table_of(Cursor(config, (), {}))
    declared = {
        field: place.data.get("default") if isinstance(place.data, dict) else place.data
        for field, place in table.declarations().items()
    }
    values = resolve_settings(loaded, {}, ())
    computed = {field for field, default in declared.items() if default in FILLED}
    computed |= {name for name, text in table.part("vars").items() if words_in(text) and words_in(text) <= computed}
    return {name: value for name, value in values.items() if name.removeprefix("config_") not in computed}


def declared_or(default: Any, value: Any) -> Any:
    """Return the number that a class declares, if an instance drops it, and otherwise the value of the instance."""
    return default if not value and isinstance(default, int) else value


def declared_by(config: Any, stated: Collection[str] = ()) -> dict[str, Any]:
    """Return all fields of a configuration, of which the class around it states some.

    A class may drop a default since another field makes it useless, such as the width of a window that is not used.
    """
    fields = config.to_dict()
    return {n: fields[n] if n in stated else declared_or(getattr(type(config), n, None), fields[n]) for n in fields}


@pytest.mark.parametrize(("table", "architecture"), CASES)
def test_every_field_is_known_and_has_the_default_of_its_class(table: Table, architecture: str, tmp_path: Path) -> None:
    config_class = transformers.CONFIG_MAPPING[table.model_type]
    needed = NEEDED.get(table.model_type, {})
    config = config_class(**needed)
    full = declared_by(config)
    nested = [field for field in table.nested if full.get(field) is not None]
    full |= {field: declared_by(getattr(config, field), table.defaults_of(field)) for field in nested}
    least = {"model_type": table.model_type, "architectures": [architecture]} | needed
    assert vars_of(tmp_path / "full", full | least) == vars_of(tmp_path / "least", least)


@pytest.mark.parametrize("table", [pytest.param(table, id=table.model_type) for table in tables()])
def test_a_field_without_a_default_elsewhere_is_read(table: Table, tmp_path: Path) -> None:
    """A field that is added to a configuration, or renamed, is an error."""
    architecture = next(iter(table.part("models")))
    config = {"model_type": table.model_type, "architectures": [architecture], "added_by_nobody": 1}
    with pytest.raises(netcalc.NetcalcError, match="added_by_nobody"):
        load_model(write_config(tmp_path, config), Reading(via="table"))

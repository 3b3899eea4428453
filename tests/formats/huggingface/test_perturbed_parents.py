"""Imports do not depend on the defaults of the spec that they extend."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc as api
from netcalc.formats.huggingface.tables import model_types
from netcalc.spec import library
from netcalc.spec.cursor import Cursor
from netcalc.spec.inheritance import merged
from tests.formats.huggingface.harness import NOT_READ, tables, write_config
from tests.formats.huggingface.tiny_models import TINY

CASES = [(table, name) for table in tables() for name in table.part("models")]


def test_every_model_type_has_a_small_configuration() -> None:
    assert sorted(TINY) == sorted(model_types())


def perturbed(value: Any) -> Any:
    """Return another value of the same type, as far as there is one."""
    match value:
        case dict() if "default" in value:
            return value | {"default": perturbed(value["default"])}
        case bool():
            return not value
        case int() | float():
            return value + 1
        case list():
            return [*map(perturbed, value), *value[:1]]
        case None:
            return 3
    return value


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("table", "architecture"), CASES, ids=[name for _, name in CASES])
def test_an_import_keeps_its_figures_when_its_parent_changes(
    table: Any, architecture: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {"model_type": table.model_type, "architectures": [architecture]}
    config = write_config(tmp_path / "perturbed", given | TINY[table.model_type])
    expected = api.as_dict(api.load(config).summary("torch"))
    changed: list[str] = []

    def with_other_defaults(parent: Cursor, child: Cursor) -> Cursor:
        if child.data.get("name") != "perturbed":
            return merged(parent, child)
        old = parent.data["vars"]
        new = {name: value if name in NOT_READ else perturbed(value) for name, value in old.items()}
        changed.extend(name for name in new if new[name] != old[name])
        return merged(Cursor(parent.data | {"vars": new}, parent.path, parent.spans), child)

    monkeypatch.setattr(library, "merged", with_other_defaults)
    assert api.as_dict(api.load(config).summary("torch")) == expected
    assert len(changed) > 3

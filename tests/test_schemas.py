"""The schemas that `netcalc schema` prints against the declarations (``pytest --update`` writes them)."""

from __future__ import annotations

import json

import pytest

from netcalc.cli.schema import schema_file
from netcalc.records import VERSIONS
from netcalc.render.json_lines import json_lines
from tests.generators.record_schema import record_schema
from tests.generators.spec_schema import spec_schema


@pytest.mark.parametrize("name", ["spec", *VERSIONS])
def test_a_schema_is_that_of_the_declarations(name: str, request: pytest.FixtureRequest) -> None:
    schema = spec_schema() if name == "spec" else record_schema(name)
    path = schema_file(name)
    if request.config.getoption("--update"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(f"{line}\n" for line in json_lines(schema)), encoding="utf-8")
    stale = json.loads(path.read_text(encoding="utf-8")) != schema
    assert not stale, "the schema is not that of the declarations: pytest tests/test_schemas.py --update"


def test_every_file_is_a_schema() -> None:
    assert {path.stem for path in schema_file("spec").parent.iterdir()} == {"spec", *VERSIONS}

"""Tables of model types: complete, and independent of the defaults of the specs that they extend."""

from __future__ import annotations

import pytest

from netcalc.formats.huggingface.common_fields import READ
from netcalc.formats.huggingface.tables import KEYS, Table
from netcalc.spec.evaluate import words_in
from netcalc.spec.library import load_document
from tests.formats.huggingface.harness import NOT_READ, tables

TABLES = [pytest.param(table, id=table.model_type) for table in tables()]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_has_the_keys_of_tables(table: Table) -> None:
    assert table.cursor.data.keys() <= set(KEYS)
    assert table.part("source") and table.part("models")


@pytest.mark.parametrize("table", TABLES)
def test_every_field_is_used(table: Table) -> None:
    """A field without an effect is listed as such, so that none is forgotten."""
    expressions = {key: table.part(key) for key in ("models", "vars", "dims", "require", "init")}
    words = words_in(expressions)
    specs = [load_document(entry["extends"]) for entry in table.part("models").values()]
    for field in table.declarations():
        used = field in words or f"config_{field}" in words
        assert used or all(field in {*spec.document.vars, *spec.document.dims} for spec in specs), field


@pytest.mark.parametrize("table", TABLES)
def test_every_var_of_the_spec_is_set(table: Table) -> None:
    for architecture, entry in table.part("models").items():
        given = {*table.part("vars"), *table.declarations(), *entry.get("vars", ())}
        expected = set(load_document(entry["extends"]).document.vars) - NOT_READ
        assert expected - given == set(), architecture


@pytest.mark.parametrize("table", TABLES)
def test_no_field_is_named_twice(table: Table) -> None:
    fields, others = set(table.part("fields")), list(table.part("without_effect"))
    assert len(others) == len(set(others))
    assert not fields & {*others, *table.also}
    assert not fields & (READ - {"num_labels"})
    assert not set(others) & {*READ, *table.also}

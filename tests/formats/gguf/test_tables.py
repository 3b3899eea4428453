"""Tables of architectures: what a table names is used, and nothing of the shipped spec is left to its defaults."""

from __future__ import annotations

from itertools import product

import gguf
import pytest

from netcalc.formats.gguf.tables import KEYS, GgufTable, architectures, read_table
from netcalc.formats.gguf.translation import field_name
from netcalc.spec.evaluate import words_in
from netcalc.spec.library import load_document
from netcalc.weights.gguf.undoing import CHANGES
from tests.formats.huggingface.harness import NOT_READ

TABLES = [table for name in architectures() if (table := read_table(name)) is not None]


#: Vars of initial values, of which a file of trained weights says nothing.
INITIAL = {"initializer_range"}


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.architecture)
def test_every_var_of_the_shipped_spec_is_set(table: GgufTable) -> None:
    for name, entry in table.part("models").items():
        given = {*table.part("vars"), *table.part("tensors"), *map(field_name, table.part("fields"))}
        given |= set(entry.get("vars", ()))
        missing = set(load_document(entry["extends"]).document.vars) - given - NOT_READ - INITIAL
        assert not missing, name


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.architecture)
def test_every_field_is_used(table: GgufTable) -> None:
    assert set(table.cursor.data) <= set(KEYS)
    words = words_in([table.part(key) for key in ("models", "vars", "dims", "require", "checkpoint", "changes")])
    own = set().union(*(load_document(entry["extends"]).document.vars for entry in table.part("models").values()))
    for field in (*map(field_name, table.part("fields")), *table.part("tensors")):
        assert field in words or field in own, field


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.architecture)
def test_the_last_model_has_no_condition_and_changes_are_known(table: GgufTable) -> None:
    *conditional, last = table.part("models").values()
    assert all("when" in entry for entry in conditional)
    assert "when" not in last
    for entry in table.part("changes"):
        assert entry.keys() == {"tensors", "undo"}
        assert set(entry["undo"]) <= set(CHANGES)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.architecture)
def test_architectures_and_keys_are_those_of_the_library(table: GgufTable) -> None:
    assert table.architecture in gguf.MODEL_ARCH_NAMES.values()
    groups = (gguf.Keys.LLM, gguf.Keys.Attention, gguf.Keys.Rope, gguf.Keys.SSM)
    keys = {value for group in groups for value in vars(group).values() if isinstance(value, str)}
    for field in (*table.part("fields"), *table.part("without_effect")):
        known = {f"{{arch}}.{field}", f"{{arch}}.{field}.type"}
        assert known & keys, field


def test_tensors_have_the_names_of_the_library() -> None:
    names = {f"{name.replace('{bid}', '*')}" for name in gguf.TENSOR_NAMES.values()}
    for table, key in product(TABLES, ("checkpoint", "tensors", "changes")):
        for word in _names(table.part(key)):
            stem = word.removesuffix(".weight").removesuffix(".bias").removesuffix(".*")
            matching = stem.replace("?", "q")
            assert word.startswith("*") or matching in names, (table.architecture, word)


def _names(data: object) -> list[str]:
    """Return the names and patterns of tensors in an entry of a table."""
    if isinstance(data, dict):
        skipped = ("undo", "axis")
        return [name for key, value in data.items() if key not in skipped for name in _names(value)]
    if isinstance(data, list):
        return [name for value in data for name in _names(value)]
    return [data] if isinstance(data, str) and not data.startswith("rope_f") else []

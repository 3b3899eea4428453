"""Registry of operations, kernels and lowerings."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from netcalc.registry import Registry


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the name of a package whose only module registers ``cube`` on import."""
    name = "shapes_of_the_registry_test"
    (tmp_path / f"{name}.py").write_text("from tests.test_registry import SOLIDS\n\nSOLIDS.register('cube')(6)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, name, raising=False)
    return name


SOLIDS: Registry[int]


def test_a_module_is_imported_when_its_name_is_looked_up(package: str) -> None:
    global SOLIDS
    SOLIDS = Registry("solid", {"cube": package, "sphere": package})
    assert SOLIDS.names() == ("cube", "sphere")
    assert package not in sys.modules
    assert SOLIDS.get("cube") == 6
    assert package in sys.modules
    assert SOLIDS.get("sphere") is None
    assert SOLIDS.get("torus") is None
    assert SOLIDS.missing(["cube", "sphere", "torus"]) == ("sphere", "torus")


def test_one_entry_for_several_names() -> None:
    table: Registry[str] = Registry("word", {})
    assert table.register("one", "two")("entry") == "entry"
    assert (table.get("one"), table.get("two")) == ("entry", "entry")


def test_a_second_entry_is_refused() -> None:
    table: Registry[str] = Registry("word", {})
    table.register("one")("first")
    with pytest.raises(ValueError, match="one has two entries in the table of words"):
        table.register("one")("second")
    assert table.get("one") == "first"


def test_a_caller_may_know_the_module_of_a_name_that_the_table_lacks(package: str) -> None:
    global SOLIDS
    SOLIDS = Registry("solid", {})
    assert SOLIDS.get("cube") is None
    assert SOLIDS.get("cube", package) == 6
    assert SOLIDS.names() == ()

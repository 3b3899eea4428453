"""The page on precision names every scheme and every type of file."""

from pathlib import Path

from netcalc.analysis.precision.recipes import file_names
from netcalc.schemes.scheme import scheme_named, scheme_names

PAGE = (Path(__file__).parents[3] / "docs" / "precision.md").read_text(encoding="utf-8")


def test_every_scheme_is_described() -> None:
    assert [name for name in (*scheme_names(), *file_names()) if f"`{name}`" not in PAGE] == []


def test_every_scheme_has_a_source() -> None:
    for name in scheme_names():
        scheme = scheme_named(name)
        assert scheme.about and scheme.source, name

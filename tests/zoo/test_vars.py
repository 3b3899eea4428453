"""The page on the vars of the shipped specs (``pytest --update`` writes it)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from netcalc.spec.common_vars import COMMON_VARS

ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "vars.md"


@cache
def documents() -> list[tuple[str, Mapping[str, Any]]]:
    """Return the family and the document of every shipped spec, without what it inherits."""
    paths = [
        path
        for path in sorted((ROOT / "specs").rglob("*.yaml"))
        if not {"blocks", "gguf", "huggingface", "timm"} & set(path.relative_to(ROOT).parts)
    ]
    read = [YAML(typ="safe").load(path.read_text(encoding="utf-8")) for path in paths]
    return [(document.get("family", ""), document) for document in read]


def is_first(document: Mapping[str, Any]) -> bool:
    """Return True for a spec that is not a version of another one of its family."""
    return "extends" not in document or "family" in document


def meanings(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the vars of a spec and their meanings, those inherited from other families included."""
    parents = {other["name"]: other for _, other in documents()}
    found = meanings(parents[document["extends"]]) if "extends" in document else {}
    for var, value in document.get("vars", {}).items():
        about = value.get("about", "") if isinstance(value, dict) else ""
        found[var] = about or found.get(var, "")
    return found


def declared() -> dict[str, dict[str, list[tuple[str, str]]]]:
    """Return by var and family its (spec, meaning) in the specs that declare it."""
    found: dict[str, dict[str, list[tuple[str, str]]]] = defaultdict(lambda: defaultdict(list))
    for family, document in documents():
        if is_first(document):
            for var, about in meanings(document).items():
                found[var][family].append((document["name"], about))
    return found


def common_names() -> Iterator[str]:
    """Yield the rows of the table of names that all specs share."""
    sizes: dict[str, int] = defaultdict(int)
    for family, document in documents():
        sizes[family] += is_first(document)
    found = declared()
    for var, (type_, meaning) in COMMON_VARS.items():
        specs = [
            family if len(entries) == sizes[family] else ", ".join(f"`{name}`" for name, _ in entries)
            for family, entries in sorted(found[var].items())
        ]
        yield f"| `{var}` | {type_} | {meaning} | {', '.join(specs)} |"


def names_of_families() -> Iterator[str]:
    """Yield the rows of the table of the other names."""
    rows = {
        (family, var, about)
        for var, families in declared().items()
        if var not in COMMON_VARS
        for family, entries in families.items()
        for _, about in entries
    }
    for family, var, about in sorted(rows):
        yield f"| {family} | `{var}` | {about} |"


def page() -> str:
    """Return the page with the rows of its first two tables generated anew."""
    parts = re.split(
        r"(?<=^\|:--\|)(.*\n)(?:\|.*\n)*", PAGE.read_text(encoding="utf-8"), maxsplit=2, flags=re.MULTILINE
    )
    text = parts[0]
    for rows, rule, after in zip((common_names(), names_of_families()), parts[1::2], parts[2::2], strict=True):
        text += rule + "".join(f"{row}\n" for row in rows) + after
    return text


def test_the_page_is_up_to_date(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update"):
        PAGE.write_text(page(), encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_var_has_a_common_name_or_a_meaning() -> None:
    unexplained = {
        (name, var)
        for var, families in declared().items()
        if var not in COMMON_VARS
        for entries in families.values()
        for name, about in entries
        if not about
    }
    assert not unexplained


def test_common_names_are_used() -> None:
    assert COMMON_VARS.keys() <= declared().keys()


def test_a_spec_with_hidden_units_of_its_own_has_no_ratio() -> None:
    assert not [var for var in declared() if "ratio" in var and var != "se_ratio"]

"""The specs and blocks that ship with netcalc, and the catalogue of their figures."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import did_you_mean, simplified
from netcalc.files import is_file

#: File of the catalogue in the folder of the specs.
CATALOGUE = "catalogue.json"
#: Specs that a hint lists.
_MOST_LISTED = 8


class CatalogueEntry(NamedTuple):
    """A shipped spec with its figures at the default sizes; ``macs`` gives the multiply-adds by convention."""

    name: str
    file: str
    family: str
    about: str
    source: str
    aliases: tuple[str, ...]
    tags: tuple[str, ...]
    params: int
    macs: Mapping[str, int]


@cache
def specs_dir() -> Path:
    """Return the folder of the specs that ship with netcalc."""
    package = Path(__file__).parent.parent
    inside = package / "specs"
    return inside if inside.is_dir() else package.parent / "specs"


@cache
def shipped() -> dict[str, Path]:
    """Return the files of the shipped specs by name, without the shared blocks."""
    root = specs_dir()
    paths = (*sorted(root.glob("*.yaml")), *sorted(root.glob("*/*.yaml")))  # a folder for each family
    return {path.stem: path for path in paths if path.parent.name != "blocks"}


@cache
def shipped_file(name: str) -> Path | None:
    """Return the file of a shipped spec without listing all of them; None if there is none."""
    root = specs_dir()
    folders = (Path(entry) for entry in os.scandir(root) if entry.is_dir() and entry.name != "blocks")
    candidates = (folder / f"{name}.yaml" for folder in (root, *folders))
    return next((path for path in candidates if is_file(path)), None) if "/" not in name else None


@cache
def shipped_blocks() -> tuple[str, ...]:
    """Return the names of the shipped blocks."""
    return tuple(sorted(path.stem for path in (specs_dir() / "blocks").glob("*.yaml")))


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """Return the catalogue of the shipped specs by name, read from a file without loading a spec."""
    data: dict[str, Any] = json.loads((specs_dir() / CATALOGUE).read_text(encoding="utf-8"))
    for entry in data.values():
        entry |= {field: tuple(entry[field]) for field in ("aliases", "tags")}
    return {name: CatalogueEntry(name, **entry) for name, entry in data.items()}


def unaliased(name: str) -> str | None:
    """Return the shipped spec that an alias stands for, or None.

    Upper and lower case are the same, and the organization before a slash may be left out: ``bert-base-uncased`` is
    ``google-bert/bert-base-uncased``.

    >>> unaliased("bert-base-uncased")
    'bert-base'
    """
    return aliases().get(name.lower())


def respelled(name: str) -> str | None:
    """Return the only shipped spec with a name or alias that differs in case, hyphens and underscores; None for others.

    >>> respelled("ResNet50"), respelled("vit-b16"), respelled("RegNet-X-16GF"), respelled("regnetx16gf")
    ('resnet50', 'vit_b_16', 'regnet_x_16gf', None)
    """
    for spelling in (_without_hyphens, simplified):
        specs = _specs_spelled(spelling).get(spelling(name))
        if specs is not None:
            return next(iter(specs)) if len(specs) == 1 else None
    return None


def _without_hyphens(name: str) -> str:
    return name.lower().replace("-", "_")


@cache
def _specs_spelled(spelling: Callable[[str], str]) -> dict[str, set[str]]:
    """Return the shipped specs by what a spelling makes of their names and aliases."""
    specs: dict[str, set[str]] = {}
    for name, spec in (*((own, own) for own in catalogue()), *aliases().items()):
        specs.setdefault(spelling(name), set()).add(spec)
    return specs


def spec_hint(name: str) -> str | None:
    """Return the hint for an unknown name of a spec: the shipped specs that begin so, or the nearest name.

    >>> spec_hint("gpt-2-m"), spec_hint("llama2")
    ("did you mean 'gpt2-medium'?", 'shipped specs that begin so: llama-2-13b, llama-2-70b, llama-2-7b')
    """
    beginning = simplified(name)
    longer = [spec for spec in catalogue() if beginning and simplified(spec).startswith(beginning)]
    if len(longer) > 1:
        more = ", …" if len(longer) > _MOST_LISTED else ""
        return f"shipped specs that begin so: {', '.join(longer[:_MOST_LISTED])}{more}"
    return did_you_mean(name, longer or [*catalogue(), *aliases()])


@cache
def aliases() -> dict[str, str]:
    """Return the shipped spec of every alias in lower case, with and without its organization."""
    names: dict[str, str] = {}
    for entry in catalogue().values():
        for alias in entry.aliases:
            names[alias.lower()] = names[alias.lower().rpartition("/")[2]] = entry.name
    return names

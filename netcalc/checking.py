"""Checks of specs and of files of counting conventions, by their names."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from glob import glob
from pathlib import Path
from typing import TypeAlias

from netcalc.analysis.checks import (
    CheckReport,
    CheckRow,
    checked_convention,
    checked_spec,
    failed_spec,
    limited_spec,
    warned_spec,
)
from netcalc.analysis.conventions import convention_named
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists, is_file, is_folder
from netcalc.formats.table import FOLDER_FILES
from netcalc.planning.budget import own_budget
from netcalc.request import Request
from netcalc.spec.library import Loaded
from netcalc.spec.spec_files import looks_like_spec, read_spec

_SUFFIXES = (".yaml", ".yml")
#: Keys of which a file of a network has one; a file of shared blocks has neither.
_NETWORK = re.compile(r"^(layers|extends)\s*:", re.MULTILINE)
#: Keys of which a file of a counting convention has all.
_CONVENTION = tuple(re.compile(rf"^{key}\s*:", re.MULTILINE) for key in ("unit", "kinds|forward"))
#: Function that reads a model by its name.
Load: TypeAlias = Callable[[str | Path], Loaded]


def checked(
    specs: Iterable[str | Path], max_size: int, load: Load, progress: Callable[[int, int, str], None] | None = None
) -> CheckReport:
    """Return the checks of specs, folders, patterns and conventions; errors are part of the report."""
    rows: list[CheckRow] = []
    problems: list[Diagnostic] = []
    for given in specs:
        try:
            named = [*_members([given], max_size)]
        except NetcalcError as error:
            problems += error.diagnostics
            rows += failed_spec(str(given), error.diagnostics)
            continue
        for done, spec in enumerate(named):
            if progress is not None:
                progress(done, len(named), str(spec))
            try:
                rows += _rows(spec, max_size, load)
            except NetcalcError as error:
                problems += error.diagnostics
                rows += failed_spec(str(spec), error.diagnostics)
    return CheckReport(tuple(rows), tuple(problems))


def _rows(spec: str | Path, max_size: int, load: Load) -> Iterator[CheckRow]:
    name = str(spec)
    if _is_convention(name, max_size):
        yield checked_convention(name, convention_named(name))
        return
    source = load(spec)
    request = Request(source)
    yield from checked_spec(name, source, request.program)
    yield from warned_spec(name, request.program.warnings)
    if source.document.budget is not None:
        yield from limited_spec(name, source, own_budget(request))


def _is_convention(name: str, max_size: int) -> bool:
    is_yaml = name.endswith((".yaml", ".yml"))
    return is_yaml and is_file(name) and _has_keys_of_convention(read_spec(Path(name), name, max_size))


def _members(names: Iterable[str | Path], max_size: int) -> Iterator[str | Path]:
    """Yield specs: those that are named, the files that a pattern such as ``nets/**/*.yaml`` matches, and of a folder
    without a model all YAML files of networks and counting conventions in it.

    Raises:
        NetcalcError: E004 for a folder or a pattern that stands for nothing.
    """
    for name in names:
        text = str(name)
        if any(sign in text for sign in "*?[") and not exists(text):
            yield from _nonempty(text, _matching(text), "no file matches the pattern")
        elif is_folder(text) and not any(exists(Path(text) / file) for file in FOLDER_FILES):
            files = sorted(path for path in Path(text).rglob("*.y*ml") if path.suffix in _SUFFIXES)
            found = [path for path in files if _is_checked(path, max_size)]
            yield from _nonempty(text, found, "no file of the folder is a spec")
        else:
            yield name


def _matching(pattern: str) -> list[str]:
    return sorted(glob(pattern, recursive=True))  # noqa: PTH207 - a pattern may be absolute


def _has_keys_of_convention(text: str) -> bool:
    """Return True if the text of a file is that of a counting convention, also one with errors."""
    return not looks_like_spec(text) and all(key.search(text) for key in _CONVENTION)


def _is_checked(path: Path, max_size: int) -> bool:
    text = read_spec(path, str(path), max_size)
    return _has_keys_of_convention(text) or (looks_like_spec(text) and _NETWORK.search(text) is not None)


def _nonempty(name: str, found: list[str] | list[Path], problem: str) -> Iterator[str]:
    if not found:
        raise NetcalcError(Diagnostic("E004", f"{name}: {problem}", hint="specs are YAML files with the key netcalc"))
    yield from map(str, found)

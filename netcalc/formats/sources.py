"""Files that describe models in foreign formats, found by what a command line names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists, is_folder
from netcalc.formats.hub import PREFIX, HubName, Repository
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.shipped import shipped_file, unaliased

__all__ = ["Source", "find_source"]

#: File of a folder or repository that describes its model.
CONFIG = "config.json"


class Source(NamedTuple):
    """A file that describes a model."""

    path: Path
    label: str  # in messages
    name: str  # of the model
    repository: Repository | None = None

    @property
    def is_of_folder(self) -> bool:
        """True if the weights of the model are beside the file."""
        return self.path.name == CONFIG


def find_source(model: str, max_size: int = MAX_SPEC_SIZE) -> Source | None:
    """Return the file that a text may name, itself or by its folder or repository; None for a spec.

    As for specs, a text with a separator or a suffix is a path, and another one first of all a shipped name.

    Raises:
        NetcalcError: E004 for a folder without a configuration, E008 for a repository that cannot be read.
    """
    if model.startswith(PREFIX):
        return _in_repository(Repository(HubName.of(model)), max_size)
    path = Path(model)
    if path.suffix == ".json":
        name = path.resolve().parent.name if path.name == CONFIG else path.stem
        return Source(path, str(path), name)
    named = path.suffix == "" and "/" not in model and os.sep not in model
    if model in ("", "-") or not is_folder(path) or (named and (shipped_file(model) or unaliased(model))):
        return None
    if exists(path / CONFIG):
        return Source(path / CONFIG, str(path / CONFIG), path.resolve().name)
    hint = "a folder of a Hugging Face model has one; a spec is named by its file"
    raise NetcalcError(Diagnostic("E004", f"{model} is a folder without {CONFIG}", hint=hint))


def _in_repository(repository: Repository, max_size: int) -> Source:
    path = repository.file(CONFIG, max_size)
    if path is None:
        raise repository.lacks(CONFIG)
    return Source(path, f"{repository.name}/{CONFIG}", repository.name.last, repository)

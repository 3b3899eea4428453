"""Files that describe models in foreign formats, found by what a command line names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists, is_folder
from netcalc.formats.hub import PREFIX, HubName, Repository
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.shipped import shipped_file, unaliased

__all__ = ["ADAPTER", "CONFIG", "FOLDER_FILES", "MODULES", "Source", "find_source", "named_folder", "repository_source"]

#: Files of a folder or repository that describe its model, the first of which counts: that of sentence-transformers,
#: of transformers and timm, of PEFT, and of diffusers.
FOLDER_FILES = ("modules.json", "config.json", "adapter_config.json", "model_index.json")
MODULES, CONFIG, ADAPTER, PIPELINE = FOLDER_FILES


class Source(NamedTuple):
    """A file that describes a model."""

    path: Path
    label: str  # in messages
    name: str  # of the model
    repository: Repository | None = None

    @property
    def is_of_folder(self) -> bool:
        """True if the weights of the model are beside the file."""
        return self.path.name in FOLDER_FILES

    def beside(self, filename: str, max_size: int) -> Source | None:
        """Return another file of the folder or repository, None if there is none of the name."""
        label = self.label.removesuffix(self.path.name) + filename
        if self.repository is None:
            path = self.path.parent / filename
            return self._replace(path=path, label=label) if exists(path) else None
        found = self.repository.file(filename, max_size)
        return None if found is None else self._replace(path=found, label=label)


def find_source(model: str, max_size: int = MAX_SPEC_SIZE) -> Source | None:
    """Return the file that a text may name, itself or by its folder or repository; None for a spec.

    As for specs, a text with a separator or a suffix is a path, and another one first of all a shipped name.

    Raises:
        NetcalcError: E004 for a folder without a configuration, E008 for a repository that cannot be read.
    """
    if model.startswith(PREFIX):
        return repository_source(Repository(HubName.of(model)), max_size)
    path = Path(model)
    if path.suffix == ".json":
        name = path.resolve().parent.name if path.name in FOLDER_FILES else path.stem
        return Source(path, str(path), name)
    if named_folder(model) is None:
        return None
    for name in FOLDER_FILES:
        if exists(path / name):
            return Source(path / name, str(path / name), path.resolve().name)
    hint = "a folder of a Hugging Face model has one; a spec is named by its file"
    raise NetcalcError(Diagnostic("E004", f"{model} is a folder without {CONFIG}", hint=hint))


def repository_source(repository: Repository, max_size: int, names: Sequence[str] = FOLDER_FILES) -> Source:
    """Return the first of some files that a repository has.

    Raises:
        NetcalcError: E008 if it has none of them, or cannot be read.
    """
    config = repository.file(CONFIG, max_size)
    for name in names:
        path = config if name == CONFIG else repository.file(name, max_size)
        if path is not None:
            return Source(path, f"{repository.name}/{name}", repository.name.last, repository)
    raise repository.lacks(CONFIG)


def named_folder(model: str) -> Path | None:
    """Return the folder that a text names, None for anything else; shipped specs precede folders of their names."""
    path = Path(model)
    named = path.suffix == "" and "/" not in model and os.sep not in model
    if model in ("", "-") or not is_folder(path) or (named and (shipped_file(model) or unaliased(model))):
        return None
    return path

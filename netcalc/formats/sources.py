"""Models in foreign formats, found by what a command line names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, with_hint
from netcalc.files import exists, is_folder
from netcalc.formats.hub import PREFIX
from netcalc.formats.ignored import Ignored
from netcalc.formats.table import CONFIG, FOLDER_FILES, FORMATS, Format, implementation, json_format, named_format
from netcalc.limits import MAX_SPEC_SIZE
from netcalc.spec.shipped import shipped_file, unaliased
from netcalc.spec.spec_files import looks_like_spec, read_spec

if TYPE_CHECKING:
    from netcalc.formats.documents import Description
    from netcalc.formats.hub.repository import Repository
    from netcalc.formats.reading import Reading
    from netcalc.spec.cursor import Cursor


class Source(NamedTuple):
    """A file that describes a model, or is one."""

    path: Path
    label: str  # in messages
    name: str  # of the model
    repository: Repository | None = None
    content: Cursor | None = None  # of a JSON file that has been read
    ignored: Ignored | None = None  # fields that are left out

    @property
    def format(self) -> Format | None:
        """The format of the name; None for a JSON file of a name that no format has, whose content tells."""
        of_file = (row for row in FORMATS if row.filename == self.path.name)
        return named_format(self.label) or next(of_file, None)

    @property
    def is_shipped(self) -> bool:
        """True for the file of a shipped spec, which stands for a model of this name."""
        return self.path.suffix == ".yaml"

    def is_spec(self, max_size: int) -> bool:
        """Return True for a spec in JSON, which has a name that no format has."""
        return self.format is None and looks_like_spec(read_spec(self.path, self.label, max_size))

    def parsed(self, max_size: int) -> Cursor:
        """Return the content of a JSON file; NetcalcError (E001 to E004) if it cannot be read or is malformed."""
        from netcalc.formats.json_document import parse_json

        if self.content is not None:
            return self.content
        content = parse_json(read_spec(self.path, self.label, max_size), self.label)
        if self.ignored is None:
            return content
        from netcalc.spec.cursor import Cursor

        return Cursor(self.ignored.without(content.data), content.path, content.spans)

    def beside(self, filename: str, max_size: int) -> Source | None:
        """Return another file of the folder or repository, None if there is none of the name."""
        label = self.label.removesuffix(self.path.name) + filename
        if self.repository is None:
            path = self.path.parent / filename
            return self._replace(path=path, label=label, content=None) if exists(path) else None
        file = self.repository.file(filename, max_size)
        return None if file is None else self._replace(path=file, label=label, content=None)


def find_source(model: str, max_size: int = MAX_SPEC_SIZE) -> Source | None:
    """Return the model that a text may name by its file, folder or repository; None for a spec.

    As for specs, a text with a separator or a suffix is a path, and another one first of all a shipped name.

    Raises:
        NetcalcError: E004 for a folder without a configuration, E008 for a repository that cannot be read.
    """
    if model.startswith(PREFIX):
        from netcalc.formats.hub.names import HubName
        from netcalc.formats.hub.repository import Repository

        return repository_source(Repository(HubName.of(model)), max_size)
    path = Path(model)
    row = named_format(model)
    if row is not None and row.key is not None:
        from netcalc.spec.plain_data import read_data

        name = model.removeprefix(row.prefix)
        return Source(path, model, name, content=read_data({row.key: name}, model))
    if row is not None:
        return Source(path, model, path.stem)
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


def described(source: Source, reading: Reading, refusal: NetcalcError | None = None) -> Description:
    """Return the spec document of a model, whose file is no spec.

    The table of its type comes first, and then the library that builds it, unless ``reading.via`` names one of them.
    ``refusal`` is the error of a document of the table that the configuration does not suit.

    Raises:
        NetcalcError: E007 for what netcalc does not know; E001 to E004 if a file is unreadable or malformed; E008 if
            the Hub cannot be read; E009 if its library cannot build it; E502 for a model that only ``import`` takes.
    """
    row = named_format(source.label)
    if row is None:
        content = source.parsed(reading.max_size)
        row, source = json_format(source.path.name, content.data), source._replace(content=content)
    if row.only_import is not None:
        model, (kind, in_python) = source.label, row.only_import
        hint = f"write its spec first, by `netcalc import {model} -o net.yaml`; in Python use {in_python}"
        raise NetcalcError(Diagnostic("E502", f"{model} is {kind}, which only `import` takes", hint=hint))
    if reading.via == "library" and row.library is None:
        raise NetcalcError(Diagnostic("E502", f"no library builds {source.label}", hint="leave out --via library"))
    if refusal is not None and (row.library is None or reading.via == "table"):
        raise refusal
    if refusal is None and row.document is not None and reading.via != "library":
        try:
            by_table: Description = implementation(row.document).describe(source, reading.max_size)
            return by_table
        except NetcalcError as error:
            if row.library is None or reading.via == "table" or any(p.code != "E007" for p in error.diagnostics):
                raise with_hint(error) from None
            refusal = error
    description: Description = implementation("libraries.description").describe(source, row, reading, refusal)
    return description


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

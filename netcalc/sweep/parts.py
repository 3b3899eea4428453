"""Parts of a sweep in a folder: chunks of its points, each written once, and the file that is merged from them."""

from __future__ import annotations

import csv
import json
import re
from bisect import insort
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists, make_folder, remove_file, replacing, write_file
from netcalc.render.table_csv import safe
from netcalc.sweep import manifest as manifests
from netcalc.sweep.plan import Plan
from netcalc.sweep.recipe import Chunk
from netcalc.sweep.values import REASON, Kind, kinds, plain

_NAME = re.compile(r"points-([0-9]+)-([0-9]+)\.(?:json|parquet)")
#: Beginning of the names of parts, of the manifest, and of what they are written to until they are complete.
_OWN = re.compile(r"\.?(?:points-[0-9]+-[0-9]+\.|manifest\.json)")

Columns = Mapping[str, Sequence[Any]]


def part_format(output: str | Path) -> str:
    """Return the format of the parts of a file by its suffix.

    Parts of a Parquet file are Parquet files, so that an unfinished sweep can be read like a finished one.  Those of
    other files are JSON, which needs no further package and has integers of any size.

    Raises:
        NetcalcError: E502 for another suffix, and for a Parquet file without pyarrow.
    """
    suffix = Path(output).suffix.lower()
    if suffix not in SUFFIXES:
        hint = f"one of {', '.join(SUFFIXES)}"
        raise NetcalcError(Diagnostic("E502", f"-o {output}: not a file of a sweep", hint=hint))
    if suffix != ".parquet":
        return "json"
    from netcalc.sweep.parquet import require_pyarrow

    require_pyarrow()
    return "parquet"


@dataclass(frozen=True)
class Folder:
    """The folder of a sweep that is being written.

    A part is named by the places of its points, and appears when it is complete.  Sizes of parts make no difference.

    Attributes:
        path: the folder.
        plan: points of the sweep.
        record: manifest of the sweep.
        finished: places of the points that have been evaluated, as ranges in their order.
    """

    path: Path
    plan: Plan
    record: Mapping[str, Any]
    finished: list[range] = field(default_factory=list)

    @classmethod
    def opened(cls, path: Path, plan: Plan, record: Mapping[str, Any], resume: bool) -> Folder:
        """Return the folder at a path, with the parts that it may have; nothing is written yet.

        Raises:
            NetcalcError: E502 if there is something else, the parts of another sweep, or those of this one without
                ``resume``.
        """
        folder = cls(path, plan, record)
        if exists(path):
            manifests.require_same(path, record)
            folder.finished.extend(folder._found())
        if folder.finished and not resume:
            hint = "--resume continues it; remove the folder to begin anew"
            raise NetcalcError(Diagnostic("E502", f"{path} has parts of this sweep, which was stopped", hint=hint))
        return folder

    def make(self) -> None:
        """Make the folder with the manifest; NetcalcError (E502) if that is not possible."""
        if self.finished:
            return
        try:
            make_folder(self.path)
        except OSError as error:
            message = f"-o {self.path} cannot be written: {(error.strerror or str(error)).lower()}"
            raise NetcalcError(Diagnostic("E502", message)) from None
        manifests.write_manifest(self.path, self.record)

    def write(self, chunk: Chunk) -> None:
        """Write a chunk as a part; NetcalcError (E502) if that is not possible."""
        path = self._part(chunk.start, chunk.stop)
        if self.record["parts"] == "parquet":
            from netcalc.sweep.parquet import write_part

            with _writing(path) as temporary:
                write_part(temporary, rows(chunk))
        else:
            figures = {name: plain(values) for name, values in chunk.figures.items()}
            write_file([json.dumps([figures, [*chunk.reasons]]).encode()], str(path))
        insort(self.finished, range(chunk.start, chunk.stop), key=lambda places: places.start)

    def read(self, places: range) -> Chunk:
        """Return a chunk that was written; NetcalcError (E004) if it cannot be read."""
        path, names = self._part(places.start, places.stop), self.record["figures"]
        try:
            if self.record["parts"] == "parquet":
                from netcalc.sweep.parquet import read_part

                columns = read_part(path, [*names, REASON])
                figures = {name: [None if value is None else int(value) for value in columns[name]] for name in names}
                reasons = columns[REASON]
            else:
                figures, reasons = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError) as error:
            hint = "remove the file; --resume evaluates its points again"
            raise NetcalcError(Diagnostic("E004", f"{path} cannot be read: {error}", hint=hint)) from None
        return Chunk(places.start, places.stop, self.plan.columns(places.start, places.stop), figures, reasons)

    def merge(self, output: str, added: Callable[[Columns], Columns] | None = None) -> None:
        """Write the file of all points in the order of the plan, and remove the parts.

        Its bytes depend on the sweep alone, not on the parts.

        Args:
            output: the file.
            added: function that gives further figures of points by the columns of the plan.

        Raises:
            NetcalcError: E502 if the file cannot be written.
        """
        suffix = Path(output).suffix.lower()
        if suffix == ".parquet":
            from netcalc.sweep.parquet import types_of, write_rows

            types = types_of(self._kinds(added))
            with _writing(output, "-o ") as temporary:
                write_rows(temporary, self._rows(added), types, json.dumps(self.record))
        else:
            write_file(_TEXTS[suffix](self._rows(added)), output, "-o ")
        self.remove()

    def _rows(self, added: Callable[[Columns], Columns] | None) -> Iterator[Columns]:
        """Yield the columns of all points, some of them at a time."""
        for places in self.finished:
            chunk = self.read(places)
            further = {} if added is None else added(chunk.columns)
            yield rows(chunk._replace(figures={**chunk.figures, **further}))

    def _kinds(self, added: Callable[[Columns], Columns] | None) -> Iterator[Mapping[str, Collection[Kind]]]:
        """Yield the kinds of values by column for some points at a time, in the order of the columns of a file."""
        from netcalc.sweep.parquet import kinds_of_part

        for places in self.finished:
            known = kinds_of_part(self._part(places.start, places.stop))
            reasons = known.pop(REASON)
            if added is not None:
                further = added(self.plan.columns(places.start, places.stop))
                known |= {name: kinds(values) for name, values in further.items()}
            yield {**known, REASON: reasons}

    def remove(self) -> None:
        """Remove the parts, also unfinished ones of processes that were killed, and the folder if it is empty then."""
        for entry in [*self.path.iterdir()]:
            if _OWN.match(entry.name):
                remove_file(entry)
        with suppress(OSError):
            self.path.rmdir()

    def _part(self, start: int, stop: int) -> Path:
        return self.path / f"points-{start:012}-{stop:012}.{self.record['parts']}"

    def _found(self) -> Iterator[range]:
        """Yield the places of the parts in the folder, without those that others have too."""
        names = sorted(entry.name for entry in self.path.iterdir())
        matches = [match for name in names if (match := _NAME.fullmatch(name))]
        place = 0
        for places in (range(int(match[1]), int(match[2])) for match in matches):
            if place <= places.start < places.stop <= len(self.plan):
                place = places.stop
                yield places


def missing_places(finished: Iterable[range], total: int) -> list[range]:
    """Return the places below a number that are not in ranges, which are in their order and apart, as ranges."""
    missing, place = [], 0
    for places in [*finished, range(total, total)]:
        if place < places.start:
            missing.append(range(place, places.start))
        place = places.stop
    return missing


def rows(chunk: Chunk) -> dict[str, list[Any]]:
    """Return the columns of the rows of a chunk: values of the plan, figures, and reasons of refusals."""
    columns = {name: plain(values) for name, values in (*chunk.columns.items(), *chunk.figures.items())}
    return {**columns, REASON: [*chunk.reasons]}


@contextmanager
def _writing(path: str | Path, option: str = "") -> Iterator[Path]:
    """Give a temporary path to write to, as :func:`~netcalc.files.replacing`; NetcalcError (E502) if that fails."""
    try:
        with replacing(path) as temporary:
            yield temporary
    except OSError as error:
        message = f"{option}{path} cannot be written: {(error.strerror or str(error)).lower()}"
        raise NetcalcError(Diagnostic("E502", message, hint="--resume continues the sweep")) from None


def _csv(batches: Iterable[Columns]) -> Iterator[bytes]:
    for place, batch in enumerate(batches):
        text = StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        if not place:
            writer.writerow(batch)
        writer.writerows(zip(*map(_cells, batch.values()), strict=True))
        yield text.getvalue().encode()


def _cells(values: Iterable[Any]) -> list[Any]:
    """Return the values of a column as cells, as reports have them."""
    return [safe(value) if isinstance(value, str) else value for value in values]


def _json_lines(batches: Iterable[Columns]) -> Iterator[bytes]:
    for batch in batches:
        for row in zip(*batch.values(), strict=True):
            yield (json.dumps(dict(zip(batch, row, strict=True)), ensure_ascii=False) + "\n").encode()


_TEXTS: dict[str, Callable[[Iterable[Columns]], Iterator[bytes]]] = {".csv": _csv, ".jsonl": _json_lines}

#: Suffixes of the files of sweeps.
SUFFIXES = (".parquet", *_TEXTS)

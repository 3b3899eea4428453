"""Parquet files of sweeps, by pyarrow: rows with the types that all of their values have."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.sweep.values import ColumnType, Kind, column_types, kinds, texts

#: Rows of a group in a merged file, which depends on nothing but the rows.
_GROUP = 1 << 17
#: Key of the kinds of values among the metadata of a part.
_KINDS = b"netcalc.kinds"


def require_pyarrow() -> None:
    """Import pyarrow; NetcalcError (E502) if it is not installed."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        hint = 'pip install "pyarrow>=18.0", or write a .csv or .jsonl'
        raise NetcalcError(Diagnostic("E502", "-o: Parquet needs pyarrow, which is not installed", hint=hint)) from None


def write_part(path: Path, columns: Mapping[str, Sequence[Any]]) -> None:
    """Write columns as a file whose metadata has the kinds of their values."""
    import pyarrow.parquet

    known = {name: kinds(values) for name, values in columns.items()}
    table = _table(columns, column_types(known))
    text = json.dumps({name: sorted(found) for name, found in known.items()})
    table = table.replace_schema_metadata({_KINDS: text.encode()})
    pyarrow.parquet.write_table(table, path, compression="zstd")


def read_part(path: Path, names: Iterable[str]) -> dict[str, list[Any]]:
    """Return columns of a part by name, of which figures may be decimals or texts."""
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(path, columns=[*names], partitioning=None)
    return {name: table.column(name).to_pylist() for name in table.column_names}


def kinds_of_part(path: Path) -> dict[str, set[Kind]]:
    """Return the kinds of values by column of a part."""
    import pyarrow.parquet

    metadata = pyarrow.parquet.read_schema(path).metadata
    return {name: set(listed) for name, listed in json.loads(metadata[_KINDS]).items()}


def types_of(parts: Iterable[Mapping[str, Collection[Kind]]]) -> dict[str, ColumnType]:
    """Return the type of each column for the values of all parts together, by their kinds in each."""
    found: dict[str, set[Kind]] = {}
    for part in parts:
        for name, listed in part.items():
            found.setdefault(name, set()).update(listed)
    return column_types(found)


def write_rows(
    path: Path, batches: Iterable[Mapping[str, Sequence[Any]]], types: Mapping[str, ColumnType], about: str
) -> None:
    """Write batches of rows as one file, whose bytes do not depend on how the rows are split into batches.

    Args:
        path: the file.
        batches: columns of consecutive rows.
        types: types of the columns, in their order.
        about: JSON that the metadata of the file has under ``netcalc``.
    """
    import pyarrow.parquet

    schema = pyarrow.schema([(name, _type(kind)) for name, kind in types.items()], metadata={"netcalc": about})
    waiting: dict[str, list[Any]] = {name: [] for name in types}
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        rows = 0
        for batch in batches:
            for name, values in batch.items():
                waiting[name].extend(values)
                rows = len(waiting[name])
            while rows >= _GROUP:
                writer.write_table(_table({name: values[:_GROUP] for name, values in waiting.items()}, types, schema))
                waiting = {name: values[_GROUP:] for name, values in waiting.items()}
                rows -= _GROUP
        if rows:
            writer.write_table(_table(waiting, types, schema))


def _table(columns: Mapping[str, Sequence[Any]], types: Mapping[str, ColumnType], schema: Any = None) -> Any:
    import pyarrow

    arrays = [
        pyarrow.array(texts(values) if types[name] == "text" else values, _type(types[name]))
        for name, values in columns.items()
    ]
    return pyarrow.table(arrays, schema=schema or pyarrow.schema([(name, _type(types[name])) for name in columns]))


def _type(name: ColumnType) -> Any:
    import pyarrow

    if name == "decimal":
        return pyarrow.decimal128(38, 0)
    return {"int64": pyarrow.int64, "bool": pyarrow.bool_, "double": pyarrow.float64, "text": pyarrow.string}[name]()

"""The spec extends a shipped one, whose vars it sets; it gives the same figures as the source, which every command
takes as it is too: `netcalc summary FOLDER`. Without SOURCE the known model types are listed.

SOURCE is a config.json, the folder that has it, a .gguf file, or the name of a model on the Hub, hf:org/name or
hf:org/name@revision, of which only the configuration is downloaded.

A field, a value or an architecture that netcalc does not know is an error, so that no figure is a guess. --set takes
fields of the configuration, and dims and vars of the spec.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

import typer

from netcalc.cli import options
from netcalc.limits import MAX_SPEC_SIZE


def command(
    source: Annotated[
        str | None, typer.Argument(metavar="SOURCE", help="A config.json, its folder, a .gguf file, or hf:org/name.")
    ] = None,
    set_: options.Set = None,
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    wide: options.Wide = False,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
) -> None:
    """Write the spec of a model in a foreign format, or the list of model types."""
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats import import_model

    if source is None:
        return write(_model_types(format_, output, wide), output)
    if format_ is not options.Format.TABLE:
        raise NetcalcError(Diagnostic("E502", "--format is for the list of model types; a spec is YAML"))
    text = import_model(source, options.read_settings(set_), max_spec_size)
    return write(text.rstrip("\n").split("\n"), output)


def _model_types(format_: options.Format, output: str | None, wide: bool) -> Iterable[str]:
    """The model types that have a table, with their architectures, and the architectures of models in GGUF."""
    from netcalc.cli.output import json_lines, terminal_for
    from netcalc.formats.gguf import tables as gguf
    from netcalc.formats.huggingface.tables import model_types, read_table
    from netcalc.records.model_types import model_types_record
    from netcalc.render.table import Column, Row, Table
    from netcalc.render.table_csv import table_csv
    from netcalc.render.table_markdown import table_markdown
    from netcalc.render.table_text import table_text

    known = [table for name in model_types() if (table := read_table(name)) is not None]
    listed = [(table.model_type, table.family, list(table.part("models"))) for table in known]
    others = [(name, found.family) for name in gguf.architectures() if (found := gguf.read_table(name)) is not None]
    if format_ is options.Format.JSON:
        return json_lines(model_types_record(listed, others), rows="model_types")
    columns = [Column("model type", "name"), Column("family"), Column("architectures", "prose")]
    rows = [Row([name, family, ", ".join(models)]) for name, family, models in listed]
    page = Table(columns, [*rows, *(Row([name, family, "(GGUF)"]) for name, family in others)])
    match format_:
        case options.Format.CSV:
            return table_csv(page)
        case options.Format.MARKDOWN:
            return table_markdown(page)
    return [table_text(page, terminal_for(output, wide=wide))]

"""Each can be given by name wherever a SPEC is wanted, and changed with --set or extended by a file of your own."""

from __future__ import annotations

from netcalc.cli import options


def command(format_: options.FormatChoice = options.Format.TABLE, output: options.Output = None) -> None:
    from netcalc.cli.output import json_lines, look_for, write
    from netcalc.render.grid import Column, csv_lines, grid, markdown
    from netcalc.spec.library import load_document, shipped

    documents = {name: load_document(path).document for name, path in shipped().items()}
    fields = ("name", "family", "about", "source")
    rows = [[name, d.family, d.about, d.source] for name, d in documents.items()]
    match format_:
        case options.Format.JSON:
            items = [dict(zip(fields, row, strict=True)) for row in rows]
            return write(json_lines({"specs": items}, rows="specs"), output)
        case options.Format.CSV:
            return write(csv_lines(fields, rows), output)
        case options.Format.MARKDOWN:
            return write(markdown([Column(name) for name in fields], rows), output)
    rows = sorted((row[:3] for row in rows), key=lambda row: row[1])
    columns = [Column("name"), Column("family", spare=1), Column("what it is")]
    return write([grid(columns, rows, look_for(output))], output)

"""The spec extends a shipped one, whose vars it sets; it gives the same figures as the source, which every command
takes as it is too: `netcalc summary FOLDER`. Without SOURCE the known model types are listed.

SOURCE is a config.json, the folder that has it, a .gguf file, or the name of a model on the Hub, hf:org/name or
hf:org/name@revision, of which only the configuration is downloaded.

torch:package.module:factory is a module of PyTorch: an instance, or a class or function that makes one, with the
arguments of --set. Its code is run, without memory for parameters. --example gives the arguments of its forward:
image=float32:1,3,224,224, or with sizes that stay symbolic ids=int64:batch=1,length=16, or a constant,
use_cache=false. A .pt2 file of torch.export.save has its arguments already.

A field, a value or an architecture that netcalc does not know is an error, so that no figure is a guess. --set takes
fields of the configuration, and dims and vars of the spec.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

from netcalc.cli import options
from netcalc.cli.declarations import Argument, Option
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.verification.agreement import Agreement


def command(
    source: Annotated[
        str | None,
        Argument(metavar="SOURCE", help="A config.json, its folder, a .gguf or .pt2 file, hf:org/name, or torch:…"),
    ] = None,
    example: Annotated[
        list[str] | None,
        Option("--example", "-e", metavar="NAME=TYPE:SIZES", help="An argument of a PyTorch module; repeatable."),
    ] = None,
    verify: Annotated[
        bool,
        Option("--verify", help="Compare outputs, FLOPs and parameters with those of the PyTorch module."),
    ] = False,
    allow_unknown: Annotated[
        bool,
        Option("--allow-unknown", help="Lines of unknown work for operators of PyTorch without a rule."),
    ] = False,
    seed: options.Seed = 0,
    set_: options.Set = None,
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    wide: options.Wide = False,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
) -> int:
    """Write the spec of a model in a foreign format, or the list of model types."""
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats import import_model, is_torch

    if source is None:
        write(_model_types(format_, output, wide), output)
        return 0
    settings = options.read_settings(set_)
    if is_torch(source):
        return _import_module(source, example or [], settings, allow_unknown, seed if verify else None, format_, output)
    if example or verify or allow_unknown:
        message = f"--example, --verify and --allow-unknown are for modules of PyTorch, not for {source}"
        raise NetcalcError(Diagnostic("E502", message))
    if format_ is not options.Format.TABLE:
        raise NetcalcError(Diagnostic("E502", "--format is for the list of model types; a spec is YAML"))
    write(_lines(import_model(source, settings, max_spec_size)), output)
    return 0


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


def _import_module(
    source: str,
    examples: list[str],
    settings: dict[str, object],
    allow_unknown: bool,
    seed: int | None,
    format_: options.Format,
    output: str | None,
) -> int:
    """Write the spec of a PyTorch module, after a note that its code is run; return the exit code.

    With a seed the network is compared with the module.  The report goes to standard output if the spec goes to a
    file, and else to standard error.
    """
    from netcalc.cli import EXIT_CHECK
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats.spec_text import spec_text
    from netcalc.formats.torch.factories import PREFIX, split_name
    from netcalc.formats.torch.sources import import_torch

    if format_ not in (options.Format.TABLE, options.Format.JSON) or (format_ is options.Format.JSON and seed is None):
        hint = "with --verify, --format json writes its report"
        raise NetcalcError(Diagnostic("E502", "a spec is YAML, without --format", hint=hint))
    if source.startswith(PREFIX):
        split_name(source)
        print(f"{source}: the code of this module is run", file=sys.stderr)
    found = import_torch(source, examples, settings, allow_unknown=allow_unknown)
    write(_lines(spec_text(found.document)), output)
    if seed is None:
        return 0
    from netcalc.formats.torch.agreement import compare_module
    from netcalc.spec import elaborate
    from netcalc.spec.library import load_data

    report = compare_module(elaborate(load_data(found.document), {}), found.module, *found.call[:2], seed)
    shown = sys.stderr if output is None else sys.stdout
    shown.writelines(line + "\n" for line in _report(report, format_))
    if not report.ok:
        return EXIT_CHECK
    return 0


def _report(report: Agreement, format_: options.Format) -> Iterable[str]:
    """The lines of the comparison with a module."""
    from netcalc.records.agreement import agreement_record
    from netcalc.render.agreement import agreement_page
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_text
    from netcalc.render.text import terminal_of

    if format_ is options.Format.JSON:
        return json_lines(agreement_record(report))
    return page_text(agreement_page(report), terminal_of(sys.stderr))


def _model_types(format_: options.Format, output: str | None, wide: bool) -> Iterable[str]:
    """The model types that have a table, with their architectures, and the architectures of models in GGUF."""
    from netcalc.cli.output import terminal_for
    from netcalc.formats.gguf import tables as gguf
    from netcalc.formats.huggingface.tables import model_types, read_table
    from netcalc.records.model_types import model_types_record
    from netcalc.render.json_lines import json_lines
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

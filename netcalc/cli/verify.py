"""Shapes, types, parameter sizes and the kernels' own counts of work are compared with the prediction, layer by layer.
The outputs of a planned run are compared with those of the kernels, and with --values each distinct operation with an
independent definition, element by element at sampled positions. With --backward the work of each gradient's product is
compared too. The report names what was not checked.

With --weights nothing is executed: the names, shapes and types in the file's header are compared with the spec. The
folder of a model that holds its weights is its own --weights, and so is a model on the Hub, of whose weights only the
headers are read; --execute runs the network as well, with random weights. The exit code is 1 if anything differs.
--sort, --top and --filter select failures, or checks in JSON and CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from netcalc.cli import options
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.ir import Program
    from netcalc.render.selection import Selection
    from netcalc.render.text import Terminal
    from netcalc.verification.report import Check, VerifyReport
    from netcalc.weights.report import WeightsReport

#: Groups of mismatches that a page shows unless --top is given.
MAX_GROUPS = 40


def command(
    spec: options.Spec,
    set_: options.Set = None,
    weights: options.Weights = None,
    cast: options.Cast = False,
    seed: options.Seed = 0,
    format_: options.TextFormatChoice = options.TextFormat.TABLE,
    output: options.Output = None,
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    wide: options.Wide = False,
    mode: options.ModeChoice = None,
    train: options.Train = False,
    dtype: options.Dtype = None,
    lora: options.Lora = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
    receptive_field: options.ReceptiveFieldCheck = False,
    values: options.Values = False,
    backward: options.VerifyBackward = False,
    max_work: options.MaxWork = None,
    execute: options.Execute = False,
) -> int:
    """Run and check the network, or check a file of weights, or both."""
    from netcalc.cli import EXIT_CHECK
    from netcalc.cli.output import terminal_for, write

    program = options.read_program(
        spec, set_, training=options.is_training(mode, train), dtype=dtype, max_spec_size=max_spec_size, lora=lora
    )
    selection = options.read_selection(sort, top, filter_)
    terminal = terminal_for(output, wide=wide)
    given = options.read_weights(weights, spec, own=True)
    audit = execution = None
    if given:
        from netcalc.numerics.parameters import check_weights

        audit = check_weights(program, given, cast=cast)
    if execute or not given:
        execution = _execution(program, seed, selection, receptive_field, values, backward, max_work)
    write(_lines(audit, execution, program.name, selection, format_, terminal), output)
    if not all(report.ok for report in (audit, execution) if report is not None):
        return EXIT_CHECK
    return 0


def _lines(
    audit: WeightsReport | None,
    execution: VerifyReport | None,
    name: str,
    selection: Selection,
    format_: options.TextFormat,
    terminal: Terminal,
) -> Iterable[str]:
    """The lines of the reports that there are; in JSON that of the audit is part of the other."""
    if audit is not None and execution is not None and format_ is options.TextFormat.CSV:
        from netcalc.diagnostics import Diagnostic, NetcalcError

        raise NetcalcError(Diagnostic("E502", "--format csv writes one table; leave out --execute, or --weights"))
    if execution is None:
        assert audit is not None
        return _audit(audit, name, selection, format_, terminal)
    lines = _verification(execution, audit, name, selection, format_, terminal)
    if audit is None or format_ is options.TextFormat.JSON:
        return lines
    return [*_audit(audit, name, selection._replace(sort=None), format_, terminal), "", *lines]


def _audit(
    report: WeightsReport, name: str, selection: Selection, format_: options.TextFormat, terminal: Terminal
) -> Iterable[str]:
    """The lines of a report on the header of a file of weights."""
    from netcalc.records.weights import weights_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.runs import mismatches_table, weights_page
    from netcalc.render.selection import Selection, keys_of
    from netcalc.render.table_csv import table_csv
    from netcalc.weights.report import grouped

    keys, names = keys_of("name", "kind"), attrgetter("name", "kind")
    match format_:
        case options.TextFormat.JSON:
            shown = tuple(selection.apply(report.mismatches, keys, names).shown)
            return json_lines(weights_record(report, shown), "mismatches")
        case options.TextFormat.CSV:
            return table_csv(mismatches_table(selection.apply(report.mismatches, keys, names).shown))
    matching = grouped(Selection(patterns=selection.patterns).apply(report.mismatches, keys, names).shown)
    ranked = Selection(selection.sort, selection.top or MAX_GROUPS).apply(matching, keys, names).shown
    page = weights_page(report, name, ranked, len(report.groups) - len(ranked))
    return page_markdown(page) if format_ is options.TextFormat.MARKDOWN else page_text(page, terminal)


def _execution(
    program: Program,
    seed: int,
    selection: Selection,
    receptive_field: bool,
    values: bool,
    backward: bool,
    max_work: float | None,
) -> VerifyReport:
    """Execute the network, with a progress bar, and return the report."""
    from netcalc.render.progress import Progress
    from netcalc.verification.verify import verify

    selection.check(_keys())
    with Progress() as progress:
        return verify(
            program,
            seed=seed,
            progress=progress,
            receptive_field=receptive_field,
            values=values,
            backward=backward,
            max_work=max_work,
        )


def _keys() -> Mapping[str, Callable[[Check], Any]]:
    from netcalc.render.selection import keys_of

    return keys_of("path", "op", "what", "predicted", "executed", "times", "ok")


def _verification(
    report: VerifyReport,
    audit: WeightsReport | None,
    name: str,
    selection: Selection,
    format_: options.TextFormat,
    terminal: Terminal,
) -> Iterable[str]:
    """The lines of a report on an execution; in JSON with that of an audit."""
    from netcalc.records.verify import verification_record
    from netcalc.render.json_lines import json_lines
    from netcalc.render.page import page_markdown, page_text
    from netcalc.render.runs import checks_data, verification_page
    from netcalc.render.table_csv import table_csv

    checks = tuple(selection.apply(report.checks, _keys()).shown)
    match format_:
        case options.TextFormat.JSON:
            return json_lines(verification_record(report, checks, audit), "checks")
        case options.TextFormat.CSV:
            return table_csv(checks_data(checks))
    matching = selection._replace(top=None).apply(report.checks, _keys()).shown
    failures = [check for check in matching if not check.ok][: selection.top]
    page = verification_page(report, name, failures)
    return page_markdown(page) if format_ is options.TextFormat.MARKDOWN else page_text(page, terminal)

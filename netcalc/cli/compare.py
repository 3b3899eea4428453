"""Totals, operations, and the layers that differ, matched by their paths. Differences are relative to the first spec.

--set changes every spec that has the dim or var; --set 2:NAME=VALUE changes the second one only, as --quantize 2:int8
and --prune 2:0.5 do. --sort sorts layers by the size of a difference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Annotated, Any

from netcalc.cli import options
from netcalc.cli.declarations import Argument, Option
from netcalc.limits import MAX_SPEC_SIZE

if TYPE_CHECKING:
    from netcalc.analysis.compare import Comparison
    from netcalc.render.compare import Entry
    from netcalc.render.selection import Selection
    from netcalc.render.text import Terminal
    from netcalc.spec.library import Loaded


def command(
    specs: Annotated[
        list[str],
        Argument(
            metavar="SPEC SPEC [SPEC]...", help="Two or more: files, shipped names, models, or - for one of them."
        ),
    ],
    set_: Annotated[
        list[str] | None,
        Option("--set", "-s", metavar="[N:]NAME=VALUE", help="Change a dim or var, or that of spec N; repeatable."),
    ] = None,
    depth: options.Depth = None,
    all_: Annotated[bool, Option("--all", "-a", help="Also show what does not differ.")] = False,
    convention: options.Convention = "netcalc",
    sort: options.Sort = None,
    top: options.Top = None,
    filter_: options.Filter = None,
    format_: options.FormatChoice = options.Format.TABLE,
    wide: options.Wide = False,
    output: options.Output = None,
    mode: options.ModeChoice = None,
    train: options.Train = False,
    dtype: options.Dtype = None,
    quantize: options.Quantize = None,
    prune: options.Prune = None,
    max_spec_size: options.MaxSpecSize = MAX_SPEC_SIZE,
) -> None:
    """Compare the specs, each with its own settings."""
    from netcalc.analysis.compare import compare
    from netcalc.analysis.cost import analyse
    from netcalc.cli.output import print_warnings, terminal_for, write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats import load_model
    from netcalc.spec import elaborate

    if len(specs) < 2:
        raise NetcalcError(Diagnostic("E502", "a comparison takes two specs or more"))
    if specs.count("-") > 1:
        raise NetcalcError(Diagnostic("E502", "only one of the specs can be standard input"))
    documents = [load_model(spec, max_spec_size) for spec in specs]
    settings = _settings(set_, documents)
    training = options.is_training(mode, train)
    quantised, pruned = (_assigned(texts, len(documents)) for texts in (quantize, prune))
    programs = [
        options.store(elaborate(document, values, training=training, dtype=dtype), *assigned)
        for document, values, *assigned in zip(documents, settings, quantised, pruned, strict=True)
    ]
    print_warnings(warning for program in programs for warning in program.warnings)
    comparison = compare([analyse(program, convention) for program in programs])
    selection = options.read_selection(sort, top, filter_)
    terminal = terminal_for(output, wide=wide)
    write(_lines(comparison, selection, depth, all_, format_, terminal), output)


def _lines(
    comparison: Comparison,
    selection: Selection,
    depth: int | None,
    all_: bool,
    format_: options.Format,
    terminal: Terminal,
) -> Iterable[str]:
    """The lines of the comparison in the chosen format."""
    from netcalc.analysis.compare import COMPARED
    from netcalc.render.compare import comparison_data, comparison_list, comparison_tree, entries
    from netcalc.render.page import page_markdown, page_text

    if format_ is options.Format.TABLE and not selection.active:
        return page_text(comparison_tree(comparison, depth=depth, all=all_), terminal)
    rows = entries(comparison, depth=depth, all=all_)
    keys: dict[str, Callable[[Entry], Any]] = {
        "path": lambda entry: entry.match.path,
        "op": lambda entry: entry.op,
        "repeat": lambda entry: entry.match.repeat,
    }
    for figure in COMPARED:
        keys[figure.name] = lambda entry, figure=figure: abs(entry.difference(figure))  # type: ignore[misc]
    shown, others = selection.apply(rows, keys, lambda entry: (entry.match.path, entry.op))
    if format_ is options.Format.JSON:
        from netcalc.records.compare import comparison_record
        from netcalc.render.json_lines import json_lines

        record = comparison_record(comparison, [entry.match for entry in shown], all=all_)
        return json_lines(record, rows="layers")
    if format_ is options.Format.CSV:
        from netcalc.render.table_csv import table_csv

        return table_csv(comparison_data(comparison, shown))
    page = comparison_list(comparison, shown, depth=depth, all=all_, omitted=len(others))
    return page_markdown(page) if format_ is options.Format.MARKDOWN else page_text(page, terminal)


def _assigned(texts: list[str] | None, count: int) -> list[list[str]]:
    """Return the assignments of each spec: those of all, and those for this spec alone, without its number."""
    assigned: list[list[str]] = [[] for _ in range(count)]
    for text in texts or ():
        place, colon, single = text.partition(":")
        numbered = bool(colon) and place.isdecimal() and not single.isdecimal()  # 2:4 is a pattern of pruning
        if numbered and not 0 < int(place) <= count:
            from netcalc.diagnostics import Diagnostic, NetcalcError

            raise NetcalcError(Diagnostic("E502", f"{text}: there is no spec number {place}"))
        for values in [assigned[int(place) - 1]] if numbered else assigned:
            values.append(single if numbered else text)
    return assigned


def _settings(texts: list[str] | None, documents: list[Loaded]) -> list[dict[str, object]]:
    """Return the settings of each spec: shared settings whose name the spec has, and settings for this spec alone."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
    from netcalc.spec.settings import setting_names

    known = [setting_names(loaded) for loaded in documents]
    settings: list[dict[str, object]] = [{} for _ in documents]
    problems: list[Diagnostic] = []
    for name, value in options.read_settings(texts).items():
        place, colon, single = name.rpartition(":")
        if not colon:
            targets = [values for values, names in zip(settings, known, strict=True) if name in names]
            if not targets:
                hint = did_you_mean(name, sorted(set().union(*known)))
                problems.append(Diagnostic("E501", f"--set {name}: no spec has a dim or var of this name", hint=hint))
            for values in targets:
                values[name] = value
        elif place.isdecimal() and 0 < int(place) <= len(documents):
            settings[int(place) - 1][single] = value
        else:
            hint = f"2:{single}=… sets it in the second spec only"
            problems.append(Diagnostic("E501", f"--set {name}: there is no spec number {place!r}", hint=hint))
    if problems:
        raise NetcalcError(problems)
    return settings

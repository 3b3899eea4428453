"""Totals, operations, and the layers that differ, matched by their paths; differences are from the first spec.

--set changes every spec that has the dim or var; --set 2:NAME=VALUE changes the second one only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from netcalc.cli import options

if TYPE_CHECKING:
    from netcalc.spec.library import Loaded


def command(
    specs: Annotated[
        list[str],
        typer.Argument(metavar="SPEC SPEC [SPEC]...", help="Two or more: files, shipped names, or - for one of them."),
    ],
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", "-s", metavar="[N:]NAME=VALUE", help="Change a dim or var, of the N-th; repeatable."),
    ] = None,
    depth: options.Depth = None,
    all_: Annotated[bool, typer.Option("--all", "-a", help="Also layers and operations that are the same.")] = False,
    convention: options.Convention = "netcalc",
    format_: options.FormatChoice = options.Format.TABLE,
    output: options.Output = None,
    train: options.Train = False,
) -> None:
    """Compares the specs, each at its own settings."""
    from netcalc.analysis.compare import compare
    from netcalc.analysis.cost import analyse
    from netcalc.cli.output import json_lines, look_for, write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.render.compare import comparison_csv, comparison_markdown, render_comparison
    from netcalc.spec import elaborate, load_document

    if len(specs) < 2:
        raise NetcalcError(Diagnostic("E502", "a comparison takes two specs or more"))
    if specs.count("-") > 1:
        raise NetcalcError(Diagnostic("E502", "standard input can be one of the specs only"))
    documents = [load_document(spec) for spec in specs]
    settings = _settings(set_, documents)
    programs = [elaborate(d, given, training=train) for d, given in zip(documents, settings, strict=True)]
    comparison = compare([analyse(program, convention) for program in programs])
    match format_:
        case options.Format.JSON:
            return write(json_lines(comparison.as_dict(depth=depth, all=all_), rows="layers"), output)
        case options.Format.CSV:
            return write(comparison_csv(comparison, depth=depth, all=all_), output)
        case options.Format.MARKDOWN:
            return write(comparison_markdown(comparison, depth=depth, all=all_), output)
    return write([render_comparison(comparison, look_for(output), depth=depth, all=all_)], output)


def _settings(texts: list[str] | None, documents: list[Loaded]) -> list[dict[str, object]]:
    """What is set in each spec: what it has of that which is for all, and all that is for it alone."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean

    known = [{*loaded.document.dims, *loaded.document.vars} for loaded in documents]
    settings: list[dict[str, object]] = [{} for _ in documents]
    problems: list[Diagnostic] = []
    for name, value in options.read_settings(texts).items():
        place, colon, own = name.rpartition(":")
        if not colon:
            having = [given for given, names in zip(settings, known, strict=True) if name in names]
            if not having:
                hint = did_you_mean(name, sorted(set().union(*known)))
                problems.append(Diagnostic("E501", f"--set {name}: no spec has a dim or var of this name", hint=hint))
            for given in having:
                given[name] = value
        elif place.isdecimal() and 0 < int(place) <= len(documents):
            settings[int(place) - 1][own] = value
        else:
            hint = f"2:{own}=… sets it in the second spec only"
            problems.append(Diagnostic("E501", f"--set {name}: there is no spec number {place!r}", hint=hint))
    if problems:
        raise NetcalcError(problems)
    return settings

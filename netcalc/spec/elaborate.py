"""Elaboration of a loaded spec: lines become nodes, blocks become bodies, every value gets its type.

A block is elaborated once for each distinct (block, arguments, input types), as functions are compiled by a jit.  After
an error a line's outputs have no type, what depends on them is skipped, and elaboration continues, so that one run
reports every independent error.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.dims import assumptions, limited_work
from netcalc.dtypes import DTYPES, FLOATS, DType
from netcalc.inits import parse_init
from netcalc.ir import Body, Program
from netcalc.limits import MAX_ERRORS
from netcalc.opdef import Context
from netcalc.spec.checkpoint import checkpoint_entries
from netcalc.spec.collisions import shared_paths
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.library import Loaded
from netcalc.spec.lines import elaborate_lines
from netcalc.spec.loss import spec_loss
from netcalc.spec.program_io import program_inputs, program_outputs
from netcalc.spec.scope import Outputs
from netcalc.spec.settings import resolve_settings
from netcalc.spec.unmatched import unmatched_entries
from netcalc.spec.unused import unused_names

__all__ = ["elaborate"]


def elaborate(
    loaded: Loaded,
    settings: Mapping[str, Any] | None = None,
    *,
    symbolic: Collection[str] = (),
    training: bool = False,
    dtype: str | None = None,
) -> Program:
    """Return the program of a spec.

    Args:
        loaded: the spec.
        settings: values of dims and vars by name, in place of the spec's own.
        symbolic: names of dims that stay symbols.
        training: elaborate the training mode of each operation.
        dtype: element type of floating-point tensors; None for the spec's own.

    Raises:
        NetcalcError: with every independent error found.
    """
    document, cursor = loaded.document, loaded.cursor
    ctx = Context(training=training, dtype=document.dtype if dtype is None else _float_type(dtype))
    with assumptions() as assumed, limited_work():
        used = resolve_settings(loaded, settings or {}, symbolic)
        elaboration = Elaboration(loaded, used, ctx, elaborate_lines)
        main = elaboration.main
        scope = elaboration.root_scope(main, patches=elaboration.patches)
        inputs = tuple(program_inputs(elaboration, scope, document.inputs, cursor.at(("inputs",))))
        main.inputs = [scope.defined[spec.name].first for spec in inputs]
        if not document.layers:
            raise NetcalcError(Diagnostic("E105", "the spec has no layers", cursor.span))
        current = main.inputs[0] if main.inputs else None
        if current is not None:
            scope.defined["in"] = Outputs.single(current, current.span)
        current = elaboration.lines(cursor["layers"], scope, current)
        outputs = program_outputs(elaboration, scope, current)
        _check_initialisers(elaboration)
        places = document.checkpoint
        checkpoint = checkpoint_entries(elaboration.reporter, places.__pydantic_extra__ or {}, cursor, scope)
    elaboration.reporter.raise_if_any()
    body = main.finish(tuple(outputs.values()), checkpoint)
    _check(elaboration, body, is_default=not settings)
    return Program(
        name=document.name or loaded.label,
        main=body,
        inputs=inputs,
        output_names=tuple(outputs),
        training=training,
        dtype=ctx.dtype,
        init=tuple((pattern, text, cursor["init"][pattern].span) for pattern, text in document.init.items()),
        about=document.about,
        source=document.source,
        dims={name: used[name] for name in used.dims},
        vars={name: used[name] for name in used.vars},
        assumptions=tuple(assumed),
        warnings=(*loaded.warnings, *used.warnings, *unused_names(loaded, elaboration.called)),
        checkpoint_prefix=places.prefix,
        checkpoint_ignore=tuple(places.ignore),
        loss=spec_loss(loaded, used, ctx, elaborate_lines, inputs, outputs, is_default=not settings),
    )


def _check(elaboration: Elaboration, main: Body, *, is_default: bool) -> None:
    """Raise NetcalcError for patches and checkpoint entries that match nothing, and for paths that two lines share.

    Entries may depend on the settings, and are checked for a program with the default ones.
    """
    problems = [*elaboration.patch_log.unmatched(elaboration.patches), *shared_paths(main)]
    if is_default:
        problems += islice(unmatched_entries(elaboration, main), MAX_ERRORS + 1)
    if problems:
        raise NetcalcError(problems)


def _check_initialisers(elaboration: Elaboration) -> None:
    for pattern, text in elaboration.loaded.document.init.items():
        place = elaboration.loaded.cursor["init"][pattern].span
        elaboration.reporter.guard(_check_initialiser, text, place)


def _check_initialiser(text: str, place: Span | None) -> None:
    try:
        parse_init(text)
    except NetcalcError as error:
        raise NetcalcError(d._replace(code="E104", span=place) for d in error.diagnostics) from None


def _float_type(name: str) -> DType:
    found = next((dtype for dtype in DTYPES if dtype == name and dtype in FLOATS), None)
    if found is None:
        hint = f"known here: {', '.join(dtype for dtype in DTYPES if dtype in FLOATS)}"
        raise NetcalcError(Diagnostic("E502", f"a network cannot have the element type {name!r}", hint=hint))
    return found

"""Elaboration of a loaded spec: lines become nodes, blocks become bodies, every value gets its type.

A block is elaborated once for each distinct (block, arguments, input types), as functions are compiled by a jit.  After
an error a line's outputs have no type, what depends on them is skipped, and elaboration continues, so that one run
reports every independent error.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from itertools import islice
from typing import Any

from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Assumption, assumed_divisors, assumptions, limited_work, symbol, symbolic_values
from netcalc.dtypes import DTYPES, FLOATS, DType
from netcalc.ir import Body, CheckpointMap, Program
from netcalc.ir.storage import OWN
from netcalc.limits import MAX_ERRORS
from netcalc.opdef import Context
from netcalc.spec.checkpoint import checkpoint_entries
from netcalc.spec.collisions import shared_paths
from netcalc.spec.decoding import declared_caches
from netcalc.spec.elaboration import Elaboration, Watch
from netcalc.spec.evaluate import evaluate, evaluate_expression
from netcalc.spec.initializers import initializers
from netcalc.spec.input_ranges import with_ranges
from netcalc.spec.library import Loaded
from netcalc.spec.lines import elaborate_lines
from netcalc.spec.loss import declares_loss, elaborated_loss
from netcalc.spec.main_sketches import Main, sketched_main
from netcalc.spec.program_io import move_channels, program_inputs, program_outputs
from netcalc.spec.scope import Outputs, Scope
from netcalc.spec.settings import Settings, resolve_settings
from netcalc.spec.unmatched import unmatched_entries
from netcalc.spec.unread import unread_inputs
from netcalc.spec.unused import unused_names


def elaborate(
    loaded: Loaded,
    settings: Mapping[str, Any] | None = None,
    *,
    symbolic: Collection[str] = (),
    training: bool = False,
    dtype: str | None = None,
    watch: Watch | None = None,
) -> Program:
    """Return the program of a spec.

    Args:
        loaded: the spec.
        settings: values of dims and vars by name, in place of the spec's own.
        symbolic: names of dims that stay symbols.
        training: elaborate the training mode of each operation.
        dtype: element type of floating-point tensors; None for the spec's own.
        watch: witness of the lines as they are elaborated, for which no sketch stands in.

    Raises:
        NetcalcError: with every independent error found.
    """
    document = loaded.document
    ctx = Context(training=training, dtype=document.dtype if dtype is None else float_type(dtype))
    used, main, assumed = _settled(loaded, settings or {}, symbolic, ctx, watch)
    unread = unread_inputs(loaded, main.untaken)
    is_stored = bool(loaded.storage.rules) and (dtype is None or loaded.storage.of_file)
    storage_notes = tuple(_storage_notes(loaded, ctx.dtype, is_replaced=dtype is not None and not is_stored))
    program = Program(
        name=document.name or loaded.label,
        main=main.body,
        inputs=main.inputs,
        output_names=tuple(main.outputs),
        training=training,
        dtype=ctx.dtype,
        init=(*main.initializers, *initializers(loaded, used)),
        about=document.about,
        source=document.source,
        origin_notes=loaded.notes,
        work_notes=tuple(work_notes(loaded, used)),
        storage_notes=storage_notes,
        architecture=document.architecture,
        dims={name: used[name] for name in used.dims},
        vars={name: used[name] for name in used.vars},
        assumptions=assumed,
        symbolic=tuple(dict.fromkeys(map(composed, symbolic))),
        unread=unread,
        warnings=(*loaded.warnings, *used.warnings, *unused_names(loaded, used, main, unread)),
        checkpoint_dtype=document.checkpoint.dtype,
        checkpoint_prefix=document.checkpoint.prefix,
        checkpoint_ignore=tuple(document.checkpoint.ignore),
        added=loaded.added,
        caches=main.caches,
        assigned={OWN: loaded.storage.rules} if is_stored else {},
        stored_as=loaded.storage.text if is_stored or (loaded.storage.unsettled and dtype is None) else "",
    )
    if not settings and declares_loss(loaded):
        elaborated_loss(loaded, {}, symbolic, program)  # for its errors
    return program


def _settled(
    loaded: Loaded, settings: Mapping[str, Any], symbolic: Collection[str], ctx: Context, watch: Watch | None
) -> tuple[Settings, Main, tuple[Assumption, ...]]:
    """Return the values of dims and vars, the main body, and what was assumed of symbolic sizes.

    A number that was assumed to divide a size is one by form in another pass, so that 8·⌊d/8⌋ is d.
    """
    divisors: dict[str, int] = {}
    has_vars = any(composed(name) in loaded.document.vars for name in symbolic)
    while True:
        with assumptions() as assumed, limited_work(), symbolic_values() if has_vars else nullcontext():
            used = resolve_settings(loaded, settings, symbolic, divisors)
            main = None
            if settings and not symbolic and watch is None:
                main = sketched_main(loaded, used, ctx, elaborate_lines, main_body)
            if main is None:
                elaboration = Elaboration(loaded, used, ctx, elaborate_lines)
                elaboration.watch, elaboration.may_count = watch, has_vars
                if watch is not None:
                    watch.begin(elaboration)
                main = main_body(elaboration, is_default=not settings)
            for _ in work_notes(loaded, used):
                pass  # may assume more
        known = [Assumption(symbol(name) % divisor, "==", 0) for name, divisor in divisors.items()]
        named = assumed_divisors(assumed).items()
        found = {name: number for name, number in named if name in used and divisors.get(name, 1) % number}
        if not found:
            return used, main, (*known, *assumed)
        divisors |= found


def _storage_notes(loaded: Loaded, dtype: DType, *, is_replaced: bool) -> Iterator[str]:
    """Yield remarks on the type in which bytes are counted, where it is not the one that the model says."""
    storage, packed = loaded.storage, loaded.document.checkpoint.packed
    if packed and not storage.rules:
        yield f"the published checkpoint packs most parameters as {packed}, which --quantize {packed} counts"
    if is_replaced and storage.text:
        yield f"--dtype {dtype} replaces the form in which the checkpoint stores parameters: {storage.text}"
    elif storage.assumed and not is_replaced:
        yield f"element type {dtype} is assumed, as nothing names one; --dtype sets it"


def work_notes(loaded: Loaded, settings: Mapping[str, Any]) -> Iterator[str]:
    """Yield the remarks of a spec on its counts, with the values of its settings."""
    for place in loaded.cursor["notes"].elements() if loaded.document.notes else ():
        if "when" not in place.data or evaluate_expression(place["when"], settings):
            yield str(evaluate(place["text"], settings))


def main_body(elaboration: Elaboration, *, is_default: bool = False) -> Main:
    """Return the main body with all that belongs to it; NetcalcError with every error found."""
    loaded, cursor, main = elaboration.loaded, elaboration.loaded.cursor, elaboration.main
    scope = elaboration.root_scope(main, patches=elaboration.patches)
    inputs = tuple(program_inputs(elaboration, scope, loaded.document.inputs, cursor.at(("inputs",))))
    main.inputs = [scope.defined[spec.name].first for spec in inputs]
    if not loaded.document.layers:
        raise cursor.error(
            "E105", "the spec has no layers", "list them under `layers`, as in `layers: [relu, {linear: 8}]`"
        )
    move_channels(elaboration, scope, loaded.document.inputs, cursor.at(("inputs",)))
    if (current := scope.defined[inputs[0].name].first if inputs else None) is not None:
        scope.defined["in"] = Outputs.single(current, current.span)
    outputs = program_outputs(elaboration, scope, elaboration.lines(cursor["layers"], scope, current))
    caches = declared_caches(elaboration, inputs, outputs)
    entries = _checkpoint(elaboration, scope)
    elaboration.reporter.raise_if_any()
    body = main.finish(tuple(outputs.values()), entries)
    if not elaboration.may_count:  # whether paths collide depends on the number of iterations
        _check(elaboration, body, is_default=is_default)
    inputs = with_ranges(inputs, main.inputs, body, main.inputs)
    taken = {value for node in body.nodes for value in node.inputs} | {*body.outputs}
    untaken = tuple(spec.name for spec, value in zip(inputs, main.inputs, strict=True) if value not in taken)
    return Main(body, inputs, outputs, tuple(elaboration.initializers), caches, frozenset(elaboration.called), untaken)


def _checkpoint(elaboration: Elaboration, scope: Scope) -> CheckpointMap:
    """Return the places of the parameters that the spec declares beside its layers."""
    declared = elaboration.loaded.document.checkpoint
    places = declared.model_extra or {}
    return checkpoint_entries(elaboration.reporter, places, elaboration.loaded.cursor, scope, declared.reference)


def _check(elaboration: Elaboration, main: Body, *, is_default: bool) -> None:
    """Raise NetcalcError for patches and checkpoint entries that match nothing, and for paths that two lines share.

    Entries may depend on the settings, and are checked for a program with the default ones.
    """
    problems = [*elaboration.patch_log.unmatched(elaboration.patches), *shared_paths(main)]
    if is_default:
        problems += islice(unmatched_entries(elaboration, main), MAX_ERRORS + 1)
    if problems:
        raise NetcalcError(problems)


def float_type(name: str) -> DType:
    """Return the floating-point type of a name; NetcalcError (E502) if there is none."""
    found = next((dtype for dtype in DTYPES if dtype == name and dtype in FLOATS), None)
    if found is None:
        hint = f"known here: {', '.join(dtype for dtype in DTYPES if dtype in FLOATS)}"
        raise NetcalcError(Diagnostic("E502", f"a network cannot have the element type {name!r}", hint=hint))
    return found

"""Caches that a spec declares among its inputs, for decoding step by step."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.dims import Poly, keeps_formulas
from netcalc.ir import InputSpec, Value
from netcalc.ir.caches import Cache, Caches
from netcalc.limits import MAX_ITEMS
from netcalc.spec.cursor import Cursor
from netcalc.spec.document import CacheDecl, DimDecl, InputDecl
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.program_io import input_names


def declared_caches(elaboration: Elaboration, inputs: Collection[InputSpec], outputs: Mapping[str, Value]) -> Caches:
    """Return the caches among the inputs and outputs that are present."""
    declared = elaboration.loaded.document.inputs
    if not any(isinstance(decl, InputDecl) and decl.cache is not None for decl in declared.values()):
        return Caches()
    past, new = elaboration.reporter.guard(_dims, elaboration) or (None, None)
    names = {spec.name for spec in inputs}
    entries: list[Cache] = []
    for name, decl in declared.items():
        if isinstance(decl, InputDecl) and decl.cache is not None:
            place = elaboration.loaded.cursor.at(("inputs", name))
            caches = elaboration.reporter.guard(_caches_of_input, name, decl, decl.cache, place, elaboration) or ()
            is_list = decl.repeat is not None and "*" in decl.cache.next
            if is_list and decl.cache.next.replace("*", str(MAX_ITEMS)) in outputs:
                message = f"repeat: {name!r} has outputs for the next step, so it should be at most {MAX_ITEMS:,}"
                elaboration.reporter.report(place["repeat"].error("E104", message))
            entries += (entry for entry in caches if entry.input in names or entry.output in outputs)
    return Caches(past, new, tuple(entries))


def _dims(elaboration: Elaboration) -> tuple[str | None, str | None]:
    """Return the names of the dims that count the positions before a step and in the step."""
    dims = elaboration.loaded.document.dims
    for name, decl in dims.items():
        if isinstance(decl, DimDecl) and decl.precedes is not None:
            if decl.precedes not in dims:
                place = elaboration.loaded.cursor["dims"][name]["precedes"].span
                message = f"precedes: the spec has no dim {decl.precedes!r}"
                raise NetcalcError(Diagnostic("E202", message, place, hint=did_you_mean(decl.precedes, dims)))
            return name, decl.precedes
    return None, None


def _caches_of_input(
    name: str, decl: InputDecl, cache: CacheDecl, place: Cursor, elaboration: Elaboration
) -> list[Cache]:
    """Return the caches of an input or of a list; NetcalcError (E104) if the name of its output has another form."""
    if ("*" in name) != ("*" in cache.next):
        message = f"next: {cache.next!r} should have a * " + ("as" if "*" in name else "only if") + f" {name!r} has one"
        raise place["cache"]["next"].error("E104", message)
    caches = []
    for number, (label, settings) in enumerate(input_names(name, decl, place, elaboration.settings)):
        if keeps_formulas() and "*" in name and isinstance(settings.get("index"), Poly):
            return []  # of a list of symbolic length, whose inputs are absent
        window = evaluate_expression(place["cache"]["window"], settings) if cache.window is not None else None
        if window is not None and (isinstance(window, bool) or not isinstance(window, (int, Poly))):
            message = f"window: should be a whole number or null, not {written(window, quoted=True)}"
            raise place["cache"]["window"].error("E104", message)
        caches.append(Cache(label, cache.next.replace("*", str(number)), cache.axis, window))
    return caches

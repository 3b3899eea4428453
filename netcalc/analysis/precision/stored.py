"""A program whose parameters are quantized and pruned as assignments say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import islice

from netcalc.analysis.counting import require_visits
from netcalc.analysis.precision.assignments import Assignment, assignments
from netcalc.analysis.precision.choice import Choice
from netcalc.analysis.precision.unmatched_lists import unmatched_lists
from netcalc.analysis.walk import parameters
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import assumptions as recorded
from netcalc.ir import Program
from netcalc.ir.storage import OWN, with_storage
from netcalc.schemes.configuration import described as text_of
from netcalc.schemes.rules import StorageRule

#: Paths that are candidates for a misspelt pattern.
_CANDIDATES = 2000


def stored(program: Program, quantize: str | Iterable[str] = (), prune: str | Iterable[str] = ()) -> Program:
    """Return the program with its parameters stored as the assignments say, those that it has coming first.

    Behind them come the assignments of a model's checkpoint, which need not match a parameter.

    Args:
        program: the program.
        quantize: ``[PATTERN=]SCHEME``, for example ``"int8"`` or ``"*.mlp.*=int4-g128"``; the first that matches the
            path of a parameter counts.  Without a pattern a scheme quantizes what its library does, with one all that
            have rows and columns.
        prune: ``[PATTERN=]SHARE``, for example ``"0.5"``, ``"0.5-csr"`` or ``"*.q_proj.*=2:4"``.

    Raises:
        NetcalcError: E502 for an unknown scheme, or one that cannot be combined with pruning; E503 for every pattern
            that matches no parameter.
    """
    quantized, pruned = (
        (*assignments(option, program.assigned.get(option, ())), *assignments(option, texts))
        for option, texts in (("--quantize", quantize), ("--prune", prune))
    )
    rules = [rule for rule in program.assigned.get(OWN, ()) if isinstance(rule, StorageRule)]
    own = assignments(OWN, [text for text in program.assigned.get(OWN, ()) if isinstance(text, str)])
    if not quantized and not pruned and not own and not rules:
        return program
    choice = Choice(program, (*quantized, *own), pruned, rules)
    if choice.by_iteration:
        require_visits(program)
    with recorded() as assumptions:
        result = with_storage(program, choice.choose, by_iteration=choice.by_iteration)
    _check_used(program, (*quantized, *pruned), choice.used)
    if choice.problems:
        raise NetcalcError(choice.problems)
    remarks = [*unmatched_lists(rules, choice.names)]
    if rules and not choice.used_own and not choice.replaces_own:
        described = f"is stored as {program.stored_as}" if program.stored_as else "is quantized by its configuration"
        raise NetcalcError(Diagnostic("E007", f"no parameter of {program.name} {described}", rules[-1].place))
    stored_as = program.stored_as
    if stored_as and quantized and (choice.replaces_own or not rules):
        remarks.append(_replaced([rule.text for rule in quantized], stored_as, is_all=not choice.used_own))
        stored_as = text_of(rule for rule in rules if rule in choice.used_own)
    return replace(
        result,
        storage_notes=(*program.storage_notes, *remarks),
        stored_as=stored_as,
        assumptions=tuple(dict.fromkeys((*program.assumptions, *assumptions))),
        assigned={
            "--quantize": tuple(rule.text for rule in quantized),
            "--prune": tuple(rule.text for rule in pruned),
            **({OWN: program.assigned[OWN]} if OWN in program.assigned else {}),
        },
    )


def _replaced(texts: Iterable[str], stored_as: str, *, is_all: bool) -> str:
    """Return the remark that assignments count in place of what the checkpoint stores."""
    where = "" if is_all else ", where it applies,"
    return (
        f"--quantize {', '.join(texts)} replaces{where} the form in which the checkpoint stores parameters: {stored_as}"
    )


def _check_used(program: Program, rules: Iterable[Assignment], used: set[Assignment]) -> None:
    """Raise NetcalcError (E503) with every pattern that counts for no parameter."""
    unused = [rule for rule in rules if rule not in used]
    if not unused:
        return
    candidates = islice((p for p in parameters(program) if not p.param.is_buffer), _CANDIDATES)
    owners = {parameter.path: parameter.owner for parameter in candidates}
    raise NetcalcError(_unused(rule, owners) for rule in unused)


def _unused(rule: Assignment, owners: Mapping[str, str]) -> Diagnostic:
    """Return the error of an assignment that counts for no parameter; ``owners`` are the owners of known paths."""
    matched = [path for path in owners if rule.pattern is None or rule.matches.match(path)]
    if not matched:
        message = "no parameter has a path that matches"
        hint = _nearest_hint(rule.pattern or "", owners) or "a pattern may have *, as in '*.mlp.*'"
    elif all(owners[path] != path for path in matched):
        message = f"{matched[0]} is tied to {owners[matched[0]]}"
        hint = f"a tied parameter is stored once: {owners[matched[0]]}={rule.value}"
    else:
        message = "earlier assignments match all that it does"
        hint = "the first pattern that matches counts: put it before them"
    return Diagnostic("E503", f"{rule.option} {rule.text}: {message}", hint=hint)


def _nearest_hint(pattern: str, paths: Iterable[str]) -> str | None:
    """Return a hint for a misspelt pattern: the nearest path, or the nearest part of one."""
    paths = list(paths)
    if "*" not in pattern:
        return did_you_mean(pattern, paths)
    parts = dict.fromkeys(part for path in paths for part in path.split("."))
    strange = (part for part in pattern.split(".") if "*" not in part and part not in parts)
    return next((hint for part in strange if (hint := did_you_mean(part, parts))), None)

"""Requirements: conditions that the dims and vars of a spec, or the arguments and inputs of a block, must meet."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from netcalc.characters import PART
from netcalc.diagnostics import Diagnostic, NetcalcError, Related, Span
from netcalc.limits import MAX_ERRORS
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate_requirement, names_in


def unmet_by_settings(
    document: Cursor, label: str, settings: Mapping[str, Any], overridden: Collection[str]
) -> tuple[list[Diagnostic], list[Diagnostic]]:
    """Return the errors (E108) of requirements of a spec that do not hold, and of those that cannot be evaluated.

    Args:
        document: the spec.
        label: name of its file; an error is placed at a value in this file if the requirement is in another.
        settings: values of the dims and vars.
        overridden: names whose values are given in place of the spec's own.
    """
    unmet: list[Diagnostic] = []
    undefined: list[Diagnostic] = []
    for requirement in document["require"].elements() if "require" in document.data else ():
        is_inherited = requirement.span is not None and requirement.span.file != label

        def place_of(names: Sequence[str], is_inherited: bool = is_inherited) -> Span | None:
            return place_in(label, document, names, overridden) if is_inherited else None

        try:
            problem = _error_if_unmet(requirement, settings, place_of, overridden)
        except NetcalcError as error:
            undefined += error.diagnostics
            if len(undefined) > MAX_ERRORS:
                break
        else:
            unmet += [problem] if problem is not None else []
    return unmet, undefined


def place_in(label: str, document: Cursor, names: Sequence[str], overridden: Collection[str]) -> Span | None:
    """Return the first place in a file that gives a dim or var its value, or else a value that one follows from.

    Of several names the last one that follows from a value counts: ``heads`` in ``d_model % heads``. What it follows
    from is tried from its own longer name on (``config_heads``).
    """
    for name in names:
        if name not in overridden and (span := _given(label, document, name)) is not None:
            return span
    pending, seen = list(names), {*names, *overridden}
    while pending:
        name = pending.pop()
        place = _declared(document, name)
        if place is None or name in overridden:
            continue
        if (span := _given(label, document, name)) is not None:
            return span
        default = place.data.get("default") if isinstance(place.data, dict) else place.data
        further = names_in(default) - seen
        seen |= further
        pending += sorted(further, key=lambda other: (other.endswith(name), other))
    return None


def _declared(document: Cursor, name: str) -> Cursor | None:
    """Return the declaration of a dim or var; None for another name."""
    kind = next((kind for kind in ("dims", "vars") if name in document.data.get(kind, ())), None)
    return None if kind is None else document[kind][name]


def _given(label: str, document: Cursor, name: str) -> Span | None:
    """Return the place of the value of a dim or var, if it is in the file."""
    place = _declared(document, name)
    return place.span if place is not None and place.span is not None and place.span.file == label else None


def require_met(
    block: Cursor, scope: Mapping[str, Any], passed: Mapping[str, Cursor], call: Span | None = None
) -> None:
    """Raise NetcalcError for requirements of a block that a call does not meet.

    Args:
        block: the declaration of the block.
        scope: values of its arguments and inputs.
        passed: the arguments that the call gives.
        call: the place of the call, for a condition that names none of them.

    Raises:
        NetcalcError: E108 with every condition that does not hold; E201 to E203 or E404 if one cannot be evaluated.
    """
    declared = block["require"].elements() if "require" in block.data else ()

    def place_of(names: Sequence[str]) -> Span | None:
        return next((passed[name].span for name in names if name in passed), None)

    problems = [_error_if_unmet(requirement, scope, place_of, call=call) for requirement in declared]
    if any(problems):
        raise NetcalcError(filter(None, problems))


def _error_if_unmet(
    requirement: Cursor,
    scope: Mapping[str, Any],
    place_of: Callable[[Sequence[str]], Span | None],
    overridden: Collection[str] = (),
    call: Span | None = None,
) -> Diagnostic | None:
    """Return the error of a requirement, None if it holds.

    It is placed at the first value that is given for one of its names, at the call, or at the requirement itself.
    """
    condition, text = requirement["that"], requirement["that"].data
    if evaluate_requirement(condition, scope):
        return None
    words = re.findall(PART, text)
    names = sorted(names_in(text, is_expression=True), key=words.index)
    values = [f"{name} = {_shown_value(scope[name])}{' (--set)' if name in overridden else ''}" for name in names]
    message = f"{requirement['message'].data}: {text.strip()} does not hold"
    if values:
        message += f" for {', '.join(values)}"
    span = place_of(names) or call
    if span is None:
        return Diagnostic("E108", message, condition.span)
    return Diagnostic("E108", message, span, (Related("required here", condition.span),))


def _shown_value(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return str(value)

"""What feeds a line: the line before it, or what ``from`` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc.diagnostics import Diagnostic, NetcalcError, Related, did_you_mean
from netcalc.ir import Value
from netcalc.opdef import Port
from netcalc.spec.lines import Line
from netcalc.spec.scope import Frame, Named
from netcalc.spec.source import Cursor

__all__ = ["resolve_inputs", "resolve_value"]


def resolve_value(text: str, cursor: Cursor, frame: Frame, current: Value | None) -> Value | None:
    """The value that ``text`` names: ``name``, ``name.port``, or ``_`` for the line before.

    None for an optional input that is absent; NetcalcError (E301, E302) where there is no such value.
    """
    if text == "_":
        return current
    named = frame.lookup(text)
    if named is not None:
        return named.first
    base, _, port = text.rpartition(".")
    owner = frame.lookup(base) if base else None
    if owner is not None:
        if port in owner.outputs:
            return owner.outputs[port]
        message = f"{base!r} has no output {port!r}"
        raise NetcalcError(Diagnostic("E303", message, cursor.span, hint=_listed("it has", owner)))
    later = frame.defined_later(text.split(".")[0])
    if later is not None:
        raise NetcalcError(
            Diagnostic(
                "E302",
                f"{text!r} is defined further down; a line can only use what stands before it",
                cursor.span,
                (Related(f"{text!r} is defined here", later),),
                hint="networks are acyclic: for recurrence use rnn, lstm, gru, or repeat",
            )
        )
    hint = did_you_mean(text, dict.fromkeys(frame.visible()))
    raise NetcalcError(Diagnostic("E301", f"there is no value {text!r} here", cursor.span, hint=hint))


def resolve_inputs(
    line: Line,
    declared: Sequence[Port],
    frame: Frame,
    current: Value | None,
    branches: Mapping[str, Value | None],
    what: str,
) -> list[Value | None]:
    """The values for the declared ports, in order; None for optional ones left out.

    Without ``from`` the first port takes the line before; branches named as ports fill those, others go in order.
    """
    source = line.modifier("from")
    names = [port.name for port in declared]
    if branches and source is not None and isinstance(source.data, list):
        message = "branches start from one value: from: should be a name"
        raise NetcalcError(Diagnostic("E303", message, source.span))
    if branches and any(label in names for label in branches):
        given: dict[str, Value | None] = _by_port(branches, declared, line, what)
        if isinstance(source and source.data, dict):
            given |= _from_mapping(source, declared, frame, current, what)  # type: ignore[arg-type]
        return _filled(given, declared, line, what)
    if branches:
        return _in_order(list(branches.values()), declared, line, what)
    if not declared:
        if source is not None:
            raise NetcalcError(Diagnostic("E303", f"{what} takes no inputs", source.span))
        return []
    if source is None:
        return _filled({} if current is None else {names[0]: current}, declared, line, what, variadic=[current])
    if isinstance(source.data, dict):
        given = _from_mapping(source, declared, frame, current, what)
        if names[0] not in given and current is not None and not declared[0].variadic:
            given[names[0]] = current
        return _filled(given, declared, line, what)
    items = (
        [source] if isinstance(source.data, str) else list(source.elements()) if isinstance(source.data, list) else None
    )
    if items is None:
        raise NetcalcError(
            Diagnostic("E107", "from: should be a name, a list of names, or a mapping from port to name", source.span)
        )
    values = [_one(item, frame, current) for item in items]
    if len(values) == 1 and len(declared) > 1 and not declared[0].variadic:
        return _filled({names[0]: values[0]}, declared, line, what)
    return _in_order(values, declared, line, what)


def _one(item: Cursor, frame: Frame, current: Value | None) -> Value | None:
    if item.data is None:
        return None
    if not isinstance(item.data, (str, int)) or isinstance(item.data, bool):
        raise NetcalcError(Diagnostic("E107", "from: should name values", item.span))
    return resolve_value(str(item.data), item, frame, current)


def _from_mapping(
    source: Cursor, declared: Sequence[Port], frame: Frame, current: Value | None, what: str
) -> dict[str, Value | None]:
    names = [port.name for port in declared]
    given: dict[str, Value | None] = {}
    for name, item in source.items():
        if name not in names:
            hint = did_you_mean(name, names)
            raise NetcalcError(Diagnostic("E303", f"{what} has no input {name!r}", item.key_span, hint=hint))
        given[name] = _one(item, frame, current)
    return given


def _by_port(
    branches: Mapping[str, Value | None], declared: Sequence[Port], line: Line, what: str
) -> dict[str, Value | None]:
    names = [port.name for port in declared]
    for label in branches:
        if label not in names:
            span = line.args[label].key_span if line.args is not None else line.cursor.span
            hint = did_you_mean(label, names)
            raise NetcalcError(Diagnostic("E303", f"{what} has no input {label!r}", span, hint=hint))
    return dict(branches)


def _filled(
    given: Mapping[str, Value | None],
    declared: Sequence[Port],
    line: Line,
    what: str,
    variadic: Sequence[Value | None] = (),
) -> list[Value | None]:
    if declared[0].variadic:
        present = [value for value in variadic or given.values() if value is not None]
        return _in_order(present, declared, line, what)
    missing = [port.name for port in declared if not port.optional and given.get(port.name) is None]
    if missing:
        wanted = ", ".join(f"{p.name}{'?' if p.optional else ''}" for p in declared)
        raise NetcalcError(
            Diagnostic(
                "E303",
                f"{what} needs {' and '.join(missing)}",
                (line.modifier("from") or line.args or line.cursor).key_span,
                hint=f"its inputs are {wanted}; name them with `from: {{{missing[0]}: …}}` or `from: [{wanted}]`",
            )
        )
    return [given.get(port.name) for port in declared]


def _in_order(values: Sequence[Value | None], declared: Sequence[Port], line: Line, what: str) -> list[Value | None]:
    if declared[0].variadic:
        present = [value for value in values if value is not None]
        if not present:
            raise NetcalcError(Diagnostic("E303", f"{what} needs at least one input", line.cursor.span))
        return list(present)
    if len(values) > len(declared):
        span = (line.modifier("from") or line.args or line.cursor).span
        plural = "input" if len(declared) == 1 else "inputs"
        raise NetcalcError(
            Diagnostic("E303", f"{what} takes {len(declared)} {plural}, and here are {len(values)}", span)
        )
    given = {port.name: value for port, value in zip(declared, values, strict=False)}
    return _filled(given, declared, line, what)


def _listed(what: str, named: Named) -> str:
    return f"{what} {', '.join(named.outputs)}"

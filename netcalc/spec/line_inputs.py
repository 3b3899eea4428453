"""The inputs of a line: the value of the line before it, or the values that ``from`` names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.ir import Value
from netcalc.opdef import Port
from netcalc.spec.cursor import Cursor
from netcalc.spec.line_syntax import Line
from netcalc.spec.scope import AbsentList, Scope
from netcalc.spec.value_paths import value_at
from netcalc.tensor_type import TensorType

#: Value of an input that is not given and has a default.
DEFAULT = Value(None, "default")


def resolve_value(text: str, cursor: Cursor, scope: Scope, current: Value | None) -> Value | None:
    """Return the value that ``text`` names: ``name``, ``name.port``, a path, or ``_`` for the line before.

    A name goes before a path. None is an optional input that is absent.

    Raises:
        NetcalcError: E301 (no such value), E302 (defined by a later line) or E303 (no such port).
    """
    if text == "_":
        return current
    outputs = scope.lookup(text)
    if outputs is not None and outputs.is_list:
        hint = f"name one of them, as in {text}.0, or take: one in each iteration of a repeat"
        raise cursor.error("E303", f"{text!r} is a list of {len(outputs.by_port)} values, and one is needed here", hint)
    if outputs is not None:
        return outputs.first
    base, _, port = text.rpartition(".")
    owner = scope.peek(base) if base else None
    if owner is not None and port in owner.by_port:
        visible = scope.lookup(base)
        return None if visible is None else visible.by_port[port]
    value = value_at(text, scope)
    if value is None:
        raise NetcalcError(scope.unknown_value(text, cursor.span))
    return value


def resolve_values(text: str, cursor: Cursor, scope: Scope, current: Value | None) -> tuple[list[Value | None], bool]:
    """Return the values of the list that ``text`` names, or the single value, and True if it is a list.

    Raises:
        NetcalcError: as :func:`resolve_value` does.
    """
    outputs = None if text == "_" else scope.peek(text)
    if outputs is None or not outputs.is_list:
        return [resolve_value(text, cursor, scope, current)], False
    visible = scope.lookup(text)
    return ([] if visible is None else list(visible.by_port.values())), True


def output_values(text: str, cursor: Cursor, scope: Scope, current: Value | None) -> tuple[list[Value | None], bool]:
    """Return the values that an item of ``outputs`` names, and True if it names a list, whose items may be absent.

    An output ``name?`` has no value if ``when`` omits its line, or if it stands for an optional value that is absent.

    Raises:
        NetcalcError: E303 if another output is absent, and as :func:`resolve_value` does.
    """
    name = text.removesuffix("?")
    if name != text and is_absent(name, scope):
        return [], False
    listed = scope.peek(name)
    if name != text and listed is not None and isinstance(listed.by_port, AbsentList):
        return [], True
    values, is_list = resolve_values(name, cursor, scope, current)
    if name == text and None in values:
        raise cursor.error("E303", f"the output {name!r} is absent", f"write `{name}?` if it may be")
    return values if is_list else [value for value in values if value is not None], is_list


def is_absent(name: str, scope: Scope) -> bool:
    """Return True if ``when`` omits the line of a name, or the block before a dot has no such output."""
    named = scope.peek(name)
    if named is not None:
        return named.skipped
    base, _, port = name.rpartition(".")
    owner = scope.peek(base) if base else None
    return owner is not None and (owner.skipped or port not in owner.by_port)


def start_value(line: Line, scope: Scope, current: Value | None) -> Value | None:
    """Return the single value that ``from`` names, or ``current`` if ``from`` is absent or names several."""
    cursor = line.modifier("from")
    if cursor is None or not isinstance(cursor.data, str):
        return current
    return resolve_value(cursor.data, cursor, scope, current)


def with_taken(
    ports: Sequence[Port],
    taken: Mapping[str, Value | None],
    line: Line,
    kind: str,
    scope: Scope,
    current: Value | None,
    branches: Mapping[str, Value | None] | None = None,
    carried: Sequence[Value | None] = (),
) -> list[Value | None]:
    """Return a value for each port: those that an iteration takes, and the others from the line.

    An input that is not given and has a default is :data:`DEFAULT`.

    ``carried`` are the outputs of the iteration before, which replace the first values from the line.

    Raises:
        NetcalcError: E303 if there is no port of the name that is taken, and the errors of :meth:`Inputs.resolve`.
    """
    names = [port.name for port in ports]
    for name in taken:
        if name not in names:
            hint = did_you_mean(name, names) or f"its inputs are {', '.join(names) or 'none'}"
            place = line.modifiers["repeat"].at(("take", name)).key_span
            raise NetcalcError(Diagnostic("E303", f"take: {kind} has no input {name!r}", place, hint=hint))
    own = [port for port in ports if port.name not in taken]
    values = Inputs(line, own, kind, scope, current).resolve(branches or {}) if own or not taken else []
    values[: len(carried)] = carried
    if not taken:
        return values
    missing = [port.name for port in ports if not port.optional and taken.get(port.name, port) is None]
    if missing:
        place = line.modifiers["repeat"].at(("take", missing[0])).span
        raise NetcalcError(Diagnostic("E303", f"take: {kind} requires {missing[0]!r}, which is absent", place))
    by_name = {**dict(zip((port.name for port in own), values, strict=False)), **taken}
    return [by_name.get(name) for name in names]


def with_defaults(ports: Sequence[Port], values: Sequence[Value | None]) -> list[Value | None]:
    """Return the values with each :data:`DEFAULT` replaced by the value of the input that it is.

    The value is None if that input is not among the ports.
    """
    by_name: dict[str | None, Value | None] = {}
    for port, value in zip(ports, values, strict=False):
        by_name[port.name] = by_name.get(port.default) if value is DEFAULT else value
    return [*by_name.values(), *values[len(ports) :]]


def _count_of_items(cursor: Cursor | None) -> int:
    """Return the number of inputs that ``from`` names."""
    if cursor is None:
        return 0
    return len(cursor.data) if isinstance(cursor.data, (list, dict)) else 1


def _number_of(ports: Sequence[Port]) -> str:
    """Return the number of inputs that ports take, in words: ``1 input``, ``2 to 3 inputs``, ``1 or more inputs``."""
    least = sum(not (port.optional or port.default or (port.variadic and place)) for place, port in enumerate(ports))
    if ports and ports[-1].variadic:
        return f"{least} or more inputs"
    number = f"{least} to {len(ports)}" if least < len(ports) else f"{least}" if ports else "no"
    return f"{number} {'input' if number == '1' else 'inputs'}"


class Inputs(NamedTuple):
    """Resolver of a line's inputs; ``kind`` is the operation or block, which diagnostics name."""

    line: Line
    ports: Sequence[Port]
    kind: str
    scope: Scope
    current: Value | None

    def resolve(self, branches: Mapping[str, Value | None]) -> list[Value | None]:
        """Return one value for each port in order, None for an optional one that is not given, or :data:`DEFAULT`.

        Without ``from`` the first port takes the line before.  Branches named after ports fill these ports; other
        branches fill the ports in order.

        Raises:
            NetcalcError: E303 for missing, unknown or surplus inputs, and the errors of :func:`resolve_value`.
        """
        cursor = self.line.modifier("from")
        if not self.ports:
            if cursor is not None or branches:
                raise self._miscounted(len(branches) or _count_of_items(cursor))
            return []
        if branches:
            return self._from_branches(branches)
        if cursor is None:
            return self._in_order([self.current])
        if isinstance(cursor.data, dict):
            by_port = self._named(cursor)
            first = self.ports[0]
            if not first.variadic:
                by_port.setdefault(first.name, self.current)
            return self._filled(by_port)
        if isinstance(cursor.data, str):
            return self._in_order(self._values(cursor))
        if isinstance(cursor.data, list):
            return self._in_order([value for item in cursor.elements() for value in self._values(item)])
        raise cursor.error("E107", "from: should be a name, a list of names, or a mapping from port to name")

    def _from_branches(self, branches: Mapping[str, Value | None]) -> list[Value | None]:
        cursor = self.line.modifier("from")
        if cursor is not None and isinstance(cursor.data, list):
            raise cursor.error("E303", "branches start from one value, so from: should be a name")
        names = [port.name for port in self.ports]
        if not any(label in names for label in branches):
            return self._in_order(list(branches.values()))
        for label in branches:
            if label not in names:
                args = self.line.args
                raise NetcalcError(self._unknown_port(label, args[label] if args is not None else self.line.cursor))
        by_port = dict(branches)
        if cursor is not None and isinstance(cursor.data, dict):
            by_port |= self._named(cursor)
        return self._filled(by_port)

    def _values(self, item: Cursor) -> list[Value | None]:
        """Return the value that an item of ``from`` names, or all values of a list if there may be any number."""
        if isinstance(item.data, str) and self.ports[0].variadic:
            return resolve_values(item.data, item, self.scope, self.current)[0]
        return [self._value(item)]

    def _value(self, item: Cursor) -> Value | None:
        if item.data is None:
            return None
        if not isinstance(item.data, (str, int)) or isinstance(item.data, bool):
            raise item.error("E107", f"from: should name values, not {written(item.data, quoted=True)}")
        return resolve_value(str(item.data), item, self.scope, self.current)

    def _named(self, cursor: Cursor) -> dict[str, Value | None]:
        """Return the values under ``from`` by port."""
        names = [port.name for port in self.ports]
        by_port: dict[str, Value | None] = {}
        for name, item in cursor.items():
            if name not in names:
                raise NetcalcError(self._unknown_port(name, item))
            by_port[name] = self._value(item)
        return by_port

    def _in_order(self, values: Sequence[Value | None]) -> list[Value | None]:
        """Return the values in the places of the ports, in order."""
        if self.ports[0].variadic:
            return self._variadic(values)
        count = len(self.ports)
        more: Sequence[Value | None] = []
        if self.ports[-1].variadic:
            values, more = values[:count], values[count:]
        while len(values) > count and values[-1] is None:  # absent, so that a block of fewer inputs fits
            values = values[:-1]
        if len(values) > count:
            raise self._miscounted(len(values))
        return [*self._filled({port.name: value for port, value in zip(self.ports, values, strict=False)}), *more]

    def _filled(self, by_port: Mapping[str, Value | None]) -> list[Value | None]:
        """Return the values in the order of the ports; NetcalcError if a required one is missing."""
        if self.ports[0].variadic:
            return self._variadic(list(by_port.values()))
        by_port = {**{port.name: DEFAULT for port in self.ports if port.default is not None}, **by_port}
        missing = [port.name for port in self.ports if not port.optional and by_port.get(port.name) is None]
        if missing:
            names = ", ".join(f"{port.name}{'?' if port.optional or port.default else ''}" for port in self.ports)
            hint = f"its inputs are {names}; name them with `from: {{{missing[0]}: …}}` or `from: [{names}]`"
            if "from" in self.line.modifiers and missing[0] in by_port:
                hint = "the value under from: is absent: an optional input or output that is not given"
            present = sum(value is not None and value is not DEFAULT for value in by_port.values())
            raise self._miscounted(present, missing, self._undeclared(missing[0]) or hint)
        return [by_port.get(port.name) for port in self.ports]

    def _variadic(self, values: Sequence[Value | None]) -> list[Value | None]:
        present: list[Value | None] = [value for value in values if value is not None]
        if not present:
            raise self._miscounted(0, hint=self._undeclared(self.ports[0].name))
        return present

    def _miscounted(self, count: int, missing: Sequence[str] = (), hint: str | None = None) -> NetcalcError:
        """Return the error (E303) of a line with a wrong number of inputs."""
        place = self.line.modifier("from") or self.line.args or self.line.cursor
        lacks = f": {' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing" if missing else ""
        message = f"{self.kind} takes {_number_of(self.ports)}, got {count}{lacks}"
        return NetcalcError(Diagnostic("E303", message, place.key_span if missing else place.span, hint=hint))

    def _undeclared(self, port: str) -> str | None:
        """Return how to declare the inputs that a spec lacks, if the first line needs one; else None."""
        scope = self.scope
        while scope.body.outer is not None:
            scope = scope.body.outer
        is_block = scope.body.block in scope.home.blocks
        if self.current is not None or port != self.ports[0].name or scope.body.inputs or is_block:
            return None
        operation = ops.find(self.kind)
        types = TensorType((1, 8)) if operation is None else operation.example.types()[0]
        shape = written(list(types.shape))
        declaration = shape if types.is_float else f"{{shape: {shape}, dtype: {types.dtype}}}"
        return f"the spec has no inputs; declare them beside `layers`, as in `inputs: {{x: {declaration}}}`"

    def _unknown_port(self, name: str, cursor: Cursor) -> Diagnostic:
        hint = did_you_mean(name, [port.name for port in self.ports])
        return Diagnostic("E303", f"{self.kind} has no input {name!r}", cursor.key_span, hint=hint)

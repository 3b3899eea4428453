"""Values that a repeat takes and collects iteration by iteration: ``take`` and ``collect``."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from netcalc import ops
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.dims import Dim, Poly, UndecidedError
from netcalc.ir import Value, join
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.line_inputs import is_absent, resolve_values
from netcalc.spec.line_syntax import Line
from netcalc.spec.nodes import add_operation
from netcalc.spec.scope import AbsentList, Outputs, Poisoned, Scope

_Item = TypeVar("_Item", bound=Value | None)


class Streams(NamedTuple):
    """Values by iteration.

    ``taken`` has one value for each iteration by the name of an input.  ``collected`` has the place in the spec of each
    output that is collected, and ``values`` its values so far, each with the number of equal iterations that give it.
    """

    taken: Mapping[str, Sequence[Value | None]]
    collected: Mapping[str, Cursor]
    values: Mapping[str, list[tuple[Value | None, Dim]]]

    def __bool__(self) -> bool:
        return bool(self.taken or self.collected)

    @property
    def vary(self) -> bool:
        """True if iterations take values of their own, or collect an output that ``when`` may not omit."""
        required = any(not is_optional(cursor) for cursor in self.collected.values())
        return required or any(value is not None for values in self.taken.values() for value in values)

    def gives(self, ports: Sequence[str]) -> bool:
        """Return True if an iteration with these outputs has one that is collected."""
        return any(port in self.collected for port in ports)

    def for_inputs(self, names: Collection[str]) -> Streams:
        """Return the streams, without streams of absent values that a block with these inputs has no input for."""
        taken = {n: v for n, v in self.taken.items() if n in names or any(value is not None for value in v)}
        return self._replace(taken=taken)

    def inputs(self, iteration: int) -> dict[str, Value | None]:
        """Return the values that an iteration takes, by input."""
        return {name: values[iteration] for name, values in self.taken.items()}

    def carried(self, ports: Sequence[str], values: Sequence[_Item]) -> list[_Item]:
        """Return the outputs that the next iteration receives: the first, and all others that are not collected."""
        is_carried = (i == 0 or port not in self.collected for i, port in enumerate(ports))
        return [value for value, is_kept in zip(values, is_carried, strict=False) if is_kept] if self else list(values)

    def gather(self, ports: Sequence[str], values: Sequence[Value], times: Dim = 1) -> None:
        """Add the outputs of equal iterations that are collected; NetcalcError (E303) if they have no such output."""
        outputs: dict[str, Value | None] = dict(zip(ports, values, strict=False))
        for name, cursor in self.collected.items():
            if is_optional(cursor):
                outputs.setdefault(name, None)
            if name not in outputs:
                hint = did_you_mean(name, outputs) or f"its outputs are {', '.join(outputs)}"
                raise cursor.key_error("E303", f"collect: an iteration has no output {name!r}", hint)
            self.values[name].append((outputs[name], times))

    def results(self, elaboration: Elaboration, scope: Scope, base: str) -> Iterator[tuple[str, Outputs]]:
        """Yield the name of each collected output with the list of its values, or the tensor that they are stacked in.

        The operation that stacks them is beside the repeat, which is at ``base``: ``update_flow`` for ``update``.
        """
        for name, cursor in self.collected.items():
            is_list = cursor.data == "list"
            if is_optional(cursor) and all(value is None for value, _ in self.values[name]):
                absent = AbsentList(sum(times for _, times in self.values[name]))
                yield name, Outputs(absent, cursor.span, is_list=True) if is_list else Outputs.single(None, cursor.span)
                continue
            values = [value for value, times in self.values[name] for _ in range(times)]
            if is_list:
                yield name, Outputs({str(i): value for i, value in enumerate(values)}, cursor.span, is_list=True)
                continue
            if None in values:
                message = f"collect: {name} cannot be stacked, as iterations are without it"
                raise cursor.error("E303", message, f"write `{name}?: list`")
            if not values:
                hint = f"write `{name}: list`, or skip the line with when:"
                raise cursor.error("E303", f"collect: {name} cannot be stacked, as there are no iterations", hint)
            if any(value is None or value.type is None for value in values):
                raise Poisoned
            declared = ops.find("stack")
            assert declared is not None
            path = scope.body.unique(_beside(base, name))
            node = add_operation(
                elaboration, declared.model_validate({"axis": cursor.data["stack"]}), values, path, scope, cursor.span
            )
            yield name, Outputs.single(node.outputs[0], cursor.span)


def read_streams(
    elaboration: Elaboration, line: Line, scope: Scope, current: Value | None, times: int, base: str
) -> Streams:
    """Return the streams of a repeat, with as many values to take as it has iterations.

    A tensor is taken slice by slice along axis 0; the operations that select the slices are beside the repeat, which
    is at ``base``.

    Raises:
        NetcalcError: E107 for a malformed ``take`` or ``collect``; E303 if the number of values differs from the number
            of iterations, or is unknown.
    """
    cursor = line.modifiers["repeat"]
    data = cursor.data if isinstance(cursor.data, dict) else {}
    taken: dict[str, Sequence[Value | None]] = {}
    collected: dict[str, Cursor] = {}
    if "take" in data:
        for name, item in _streams_under("take", cursor["take"], "take: {past: caches}"):
            taken[name] = _taken_values(elaboration, name, item, scope, current, times, base)
    if "collect" in data:
        hint = "collect: {present: list}, or {present: {stack: 0}}"
        for name, item in _streams_under("collect", cursor["collect"], hint):
            stacks = isinstance(item.data, dict) and list(item.data) == ["stack"]
            if item.data != "list" and not (stacks and type(item.data["stack"]) is int):
                raise item.error("E107", f"collect: {name} should be list or {{stack: axis}}", hint)
            collected[name.removesuffix("?")] = item
    return Streams(taken, collected, {name: [] for name in collected})


class _Absent(tuple[None]):
    """An absent value for each of any number of iterations."""

    __slots__ = ()

    def __getitem__(self, _: Any) -> Any:
        return None


def is_optional(cursor: Cursor) -> bool:
    """Return True if iterations may be without the output that is collected at a place: ``present?: list``."""
    return str(cursor.path[-1]).endswith("?")


def _streams_under(key: str, cursor: Cursor, hint: str) -> Iterator[tuple[str, Cursor]]:
    if not isinstance(cursor.data, dict) or not cursor.data:
        raise cursor.error("E107", f"{key}: should be a mapping", hint)
    yield from cursor.items()


def _taken_values(
    elaboration: Elaboration, name: str, item: Cursor, scope: Scope, current: Value | None, times: int, base: str
) -> Sequence[Value | None]:
    """Return the value of an input for each iteration."""
    if isinstance(item.data, list):
        values: list[Value | None] = []
        for element in item.elements():
            values += [None] if element.data is None else resolve_values(str(element.data), element, scope, current)[0]
    elif isinstance(item.data, str):
        taken = item.data.removesuffix("?")
        if taken != item.data and is_absent(taken, scope):
            return _Absent((None,))
        outputs = scope.peek(taken)
        if outputs is not None and isinstance(outputs.by_port, AbsentList):
            if outputs.by_port.count == times:
                return _Absent((None,))
            if isinstance(outputs.by_port.count, Poly):
                raise UndecidedError(f"a list of {outputs.by_port.count} values for {times} iterations")
        values, is_list = resolve_values(taken, item, scope, current)
        first = values[0] if values else None
        if first is None and not (values and is_list):
            return _Absent((None,))
        if first is not None and not is_list:
            return _slices(elaboration, name, first, item, scope, times, base)
    else:
        message = f"take: {name} should be the name of a list or tensor, or a list of names"
        raise item.error("E107", message, "take: {past: caches}, or {past: [a, b]}")
    if isinstance(times, Poly):
        raise UndecidedError(f"{len(values)} values for {times} iterations")
    if len(values) != times:
        raise NetcalcError(_wrong_number(name, f"{len(values):,} values", item, times))
    return values


def _slices(
    elaboration: Elaboration, name: str, value: Value, item: Cursor, scope: Scope, times: int, base: str
) -> list[Value | None]:
    if value.type is None:
        raise Poisoned
    size = value.type.shape[0] if value.type.rank else None
    if not isinstance(size, int):
        length = f"a length of {size} along axis 0" if size is not None else "no axis"
        message = f"take: {item.data!r} is {value.type}, with {length}, and there are {times:,} iterations"
        hint = "the length has to be a number; give it one with --set" if size is not None else None
        raise item.error("E303", message, hint)
    if size != times:
        raise NetcalcError(_wrong_number(name, f"{value.type}, of {size:,} slices along axis 0", item, times))
    declared = ops.find("select")
    assert declared is not None
    slices: list[Value | None] = []
    for index in range(times):
        path = scope.body.unique(join(_beside(base, name), str(index)))
        op = declared.model_validate({"axis": 0, "index": index})
        slices.append(add_operation(elaboration, op, [value], path, scope, item.span).outputs[0])
    return slices


def _beside(base: str, name: str) -> str:
    """Return the path of an operation beside a repeat; iterations that share weights may have any path below it."""
    return f"{base.rstrip('_-')}_{name}" if base else name


def _wrong_number(name: str, described: str, item: Cursor, times: int) -> Diagnostic:
    message = f"take: {name} takes a value for each of {times:,} iterations, but {item.data!r} is {described}"
    return Diagnostic("E303", message, item.span)

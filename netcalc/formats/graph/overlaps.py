"""Tensors of the checkpoint that lines use in several forms, such as a matrix and its transpose, or one line twice."""

from __future__ import annotations

from collections import Counter, defaultdict

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Line, Stored, Value, operation_named


def separate_overlaps(graph: Graph) -> None:
    """Read tensors that lines use in several forms once, and let these lines take parts or transposes as inputs.

    Parts that make up a tensor without overlap stay parameters of their lines.  A tensor that is several parameters of
    one line is read before it, since a line can tie its parameters to earlier ones only.

    Raises:
        NetcalcError: E009 if an operation without inputs for its parameters uses a part or a transpose of a tensor.
    """
    forms: dict[str, set[Stored]] = defaultdict(set)
    several: set[str] = set()
    for line in graph.lines:
        for stored in line.parameters.values():
            forms[stored.path].add(stored)
        several |= {stored.path for stored in _repeated(line)}
    several |= {path for path, tensor_forms in forms.items() if not _forms_fit(graph, tensor_forms)}
    if not several:
        return
    lines: list[Line] = []
    build = Builder(Graph("", lines=lines, tensors=graph.tensors))
    for line in graph.lines:
        if line.operation in ("parameter", "buffer"):
            for stored in line.parameters.values():
                build.remember(stored, line.outputs[0])
        elif several.intersection(stored.path for stored in line.parameters.values()):
            build.scope = line.scope
            _take(build, line, several)
        lines.append(line)
    graph.lines = lines


def _repeated(line: Line) -> set[Stored]:
    """Return the tensors that are several parameters of a line."""
    return {stored for stored, number in Counter(line.parameters.values()).items() if number > 1}


def _forms_fit(graph: Graph, forms: set[Stored]) -> bool:
    """Return True for one form of a tensor, or parts that make it up."""
    if len(forms) == 1:
        (stored,) = forms
        return stored.part is None or stored.part == (0, graph.tensors[stored.path].type.shape[0])
    parts = sorted(stored.part for stored in forms if stored.part is not None)
    rows = graph.tensors[next(iter(forms)).path].type.shape[:1]
    return (
        len(parts) == len(forms)
        and [start for start, _ in parts] == [0, *(stop for _, stop in parts[:-1])]
        and (parts[-1][1],) == rows
    )


def _take(build: Builder, line: Line, several: set[str]) -> None:
    """Let a line take its tensors as inputs."""
    declared = operation_named(line.operation)
    ports = [port.name for port in declared.inputs]
    repeated = _repeated(line)
    inputs: list[Value | None] = [*line.inputs, *([None] * (len(ports) - len(line.inputs)))]
    for name, stored in list(line.parameters.items()):
        if stored.path not in several:
            continue
        if name not in ports:
            if stored in repeated:
                build.read(Value(build.graph.tensors[stored.path].type, name, stored))
            if stored == Stored(stored.path):
                continue  # its own parameter, tied to the one that is read
            message = f"{line.operation} uses the tensor {stored.path} in another form than other operations"
            raise NetcalcError(
                Diagnostic("E009", message, hint="use the tensor itself, not a part or a transpose of it")
            )
        inputs[ports.index(name)] = build.read(Value(build.graph.tensors[stored.path].type, name, stored))
        del line.parameters[name]
    line.inputs = tuple(inputs)

"""Graphs in ONNX of programs, by the rules of operations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import RULES, Applied
from netcalc.formats.export.onnx.sizes import RuntimeSizes, UnreadError
from netcalc.formats.export.onnx.unwritten import COMPLEX, reason
from netcalc.ir import Program, dtype_of, join
from netcalc.opdef import Param
from netcalc.tensor_type import TensorType

#: Most layers that the error of an operation names.
_NAMED = 5


@dataclass(slots=True)
class Written:
    """The graph of a program, with the values that go in and out, and the place of each parameter by its path."""

    graph: Emitter
    inputs: list[Tensor]
    outputs: list[Tensor]
    places: dict[str, tuple[Instance, Param]]


def translated(program: Program, opset: int) -> Written:
    """Return the graph of a program.

    Raises:
        NetcalcError: E010 with all operations that ONNX cannot express, or that have no rule, and their layers; E603 if
            there are too many operations.
    """
    return _Translation(program, opset).written()


@dataclass(slots=True)
class _Problem:
    """Reason against a graph, with the layers that have it."""

    code: str
    text: str
    layers: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        more = len(self.layers) - _NAMED
        return f"{self.text} ({', '.join(self.layers[:_NAMED])}{f' and {more:,} more' if more > 0 else ''})"


class _Translation:
    """State of a translation: the graph, the places of parameters, and the problems."""

    def __init__(self, program: Program, opset: int) -> None:
        self._program = program
        self._graph = Emitter(opset)
        self._places: dict[str, tuple[Instance, Param]] = {}
        self._problems: dict[str, _Problem] = {}

    def written(self) -> Written:
        graph = self._graph
        inputs = [graph.input(spec.name, spec.type) for spec in self._program.inputs]
        graph.sizes = RuntimeSizes(inputs)
        values: list[Tensor | None] = [*inputs]
        results = unroll(self._program, values, self._operation)
        if self._problems:
            lead = f"{self._program.name} cannot be written as ONNX: "
            raise NetcalcError(Diagnostic(problem.code, f"{lead}{problem}") for problem in self._problems.values())
        return Written(graph, inputs, self._outputs(inputs, results), self._places)

    def _operation(self, instance: Instance, inputs: Sequence[Tensor | None]) -> list[Tensor]:
        """Return the results of an operation; values of the types that they would have if it has no rule."""
        node = instance.node
        find = RULES.get(node.op.name)
        if find is None:
            self._problem("", f"{node.op.name}: {reason(node.op.name)}", instance.path)
            return self._unknown(instance)
        types = [*node.output_types, *(value.type for value in inputs if value is not None)]
        if any(type_.is_complex for type_ in types):
            self._problem("", f"{node.op.name}: {COMPLEX}", instance.path)
            return self._unknown(instance)
        scope = scope_of(instance.path)
        self._graph.enter(scope if node.params else scope.rpartition("/")[0])
        try:
            parameters = self._parameters(instance)
            call = Applied(node.op, list(inputs), node.output_types, self._graph, parameters, instance.owners)
            made = find(self._graph, call)
        except RuleError as error:
            self._problem(error.code, f"{node.op.name}: {error.message}", instance.path)
            return self._unknown(instance)
        except UnreadError as error:
            self._problem("E404", f"{node.op.name}: {error}", instance.path)
            return self._unknown(instance)
        results = [made] if isinstance(made, Tensor) else [*made]
        names = [f"{scope}_output_{index}" for index in range(len(results))]
        return [
            _checked(result, type_, instance)
            for result, type_ in zip(self._graph.call(results, names), node.output_types, strict=True)
        ]

    def _parameters(self, instance: Instance) -> dict[str, TensorType]:
        """Return the types of the parameters of an operation, and note their places."""
        types = {}
        for param in instance.node.params:
            types[param.name] = TensorType(param.shape, dtype_of(param, instance.node, self._program.dtype))
            self._places.setdefault(instance.owners[param.name], (instance, param))
            if types[param.name].is_symbolic:
                path = join(instance.path, param.name)
                self._problem("E404", f"the parameter {path} has the symbolic shape {types[param.name]}", instance.path)
        return types

    def _problem(self, code: str, text: str, path: str) -> None:
        self._problems.setdefault(text, _Problem(code or "E010", text)).layers.append(path)

    def _unknown(self, instance: Instance) -> list[Tensor]:
        return [Tensor(f"{instance.path}/", type_) for type_ in instance.node.output_types]

    def _outputs(self, inputs: Sequence[Tensor], results: Sequence[Tensor]) -> list[Tensor]:
        """Return the results under the names of the outputs; one that is an input too, or another output, is copied."""
        graph = self._graph
        graph.enter("")
        taken = {tensor.name for tensor in inputs} | graph.parameters.keys()
        renamed: dict[str, str] = {}
        outputs = []
        for name, value in zip(self._program.output_names, results, strict=True):
            unique = graph.unique(name)
            if value.name in taken:
                value = graph.node("Identity", [value], value.type)
            taken.add(value.name)
            renamed[value.name] = unique
            outputs.append(Tensor(unique, value.type))
        graph.rename(renamed)
        return outputs


def scope_of(path: str) -> str:
    """Return the path of a module as PyTorch's exporter writes it: an item of a list has the name of the list before.

    >>> scope_of("layer1.0.conv1")
    '/layer1/layer1.0/conv1'
    """
    return "".join(f"/{part}" for part in _parts(path))


def _parts(path: str) -> Iterator[str]:
    before = ""
    for part in path.split("."):
        before = f"{before}.{part}" if part.isdecimal() and before else part
        yield before


def _checked(result: Tensor, type_: TensorType, instance: Instance) -> Tensor:
    """Return a result with the type that the program has for it; AssertionError if a rule makes another."""
    same = result.dtype == type_.dtype and len(result.shape) == len(type_.shape)
    known = all(
        not isinstance(own, int) or not isinstance(size, int) or own == size
        for own, size in zip(result.shape, type_.shape, strict=False)
    )
    assert same and known, f"{instance.path}: {instance.node.op.name} gives {result.dtype} {result.type}, not {type_}"
    return Tensor(result.name, type_)

"""Memory of activations, held against a run of tensors without elements.

The program runs frame by frame, as Python would run it: a variable is dropped after its last use, a call keeps its
arguments or hands them over, and memory is free when nothing refers to it.  Which results are views follows from the
strides of NumPy, and what kernels make besides their results from the functions of PyTorch, call by call
(:mod:`~netcalc.verification.references.allocation`).  The most bytes at once must be those that are predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal

from netcalc.analysis.activations import activations
from netcalc.analysis.activations.execution import Eager
from netcalc.analysis.layout import Layout, Storage
from netcalc.analysis.memory import memory
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import numpy_dtype
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value
from netcalc.tensor_type import TensorType
from netcalc.verification.backward import error_text
from netcalc.verification.references import Attributes
from netcalc.verification.references.allocation import Kernel, Meter, Tensor, ran, view
from netcalc.verification.report import InstanceCheck

#: The execution of the reference kernels, of an ideal framework, and of PyTorch.
Execution = Literal["kernels", "ideal", "eager"]


def memory_checks(program: Program) -> Iterator[InstanceCheck]:
    """Yield the checks of the memory of a forward pass: of each distinct kernel in eager mode, and of the peaks."""
    predicted: dict[Execution, Callable[[], int]] = {
        "eager": lambda: activations(program, "eager").peak,
        "ideal": lambda: activations(program, "ideal").peak,
        "kernels": lambda: memory(program).activations,
    }
    names = {"eager": "PyTorch", "ideal": "an ideal execution", "kernels": "the kernels"}
    for execution, prediction in predicted.items():
        course = _Course(program, execution)
        peak = course.run()
        yield from course.checks
        yield InstanceCheck(None, f"memory of {names[execution]}", _or_error(prediction), peak)


def _or_error(prediction: Callable[[], int]) -> int | str:
    """Return a prediction, or the error that it ends in, which is a result to report."""
    try:
        return prediction()
    except MemoryError:
        raise
    except Exception as error:
        return error_text(error)


class _Course:
    """Run of a program on tensors without elements."""

    def __init__(self, program: Program, execution: Execution) -> None:
        self.meter = Meter()
        self.checks: list[InstanceCheck] = []
        self._program, self._execution = program, execution
        self._keeps = execution == "eager"  # arguments are variables of the calling code
        self._rules = Eager(program.training)
        self._instances: Iterator[Instance] = instances(program)
        self._seen: set[tuple[Any, ...]] = set()

    def run(self) -> int:
        """Run the program and return the most bytes at once."""
        inputs: list[Tensor | None] = [self._new(spec.type) for spec in self._program.inputs]
        held = [] if self._execution == "ideal" else inputs[:]
        results = self._body(self._program.main, inputs)
        del held, results
        return self.meter.peak

    # -- internals ----------------------------------------------------------------------------------

    def _new(self, type_: TensorType, *, counts: bool = True) -> Tensor:
        shape = tuple(map(integer, type_.shape))
        return self.meter.new(shape, numpy_dtype(type_.dtype), counts=counts)

    def _body(self, body: Body, arguments: list[Tensor | None]) -> list[Tensor]:
        """Run a body and return its outputs; ``arguments`` are emptied, so that this frame alone refers to them."""
        variables = {v: x for v, x in zip(body.inputs, arguments, strict=True) if v is not None and x is not None}
        arguments.clear()
        outputs = set(body.outputs)
        if self._execution == "ideal":
            self._drop(
                variables, outputs.union(value for node in body.nodes for value in node.inputs if value is not None)
            )
        uses = [self._used(node) for node in body.nodes]
        last = {value: number for number, used in enumerate(uses) for value in used}
        for number, node in enumerate(body.nodes):
            ending = {v for v in (*uses[number], *node.outputs) if last.get(v, number) <= number and v not in outputs}
            if isinstance(node, CallNode):
                results = self._call(node, variables, ending)
            else:
                results = self._operation(node, [None if v is None else variables.get(v) for v in node.inputs])
            variables.update(zip(node.outputs, results, strict=True))
            results.clear()
            for value in ending:
                variables.pop(value, None)
        return [variables[value] for value in body.outputs]

    def _used(self, node: Node) -> set[Value]:
        """Return the values that a node uses, with those that variables hold meanwhile."""
        return {v for v in node.inputs if v is not None} | (set(node.holds) if self._keeps else set())

    @staticmethod
    def _drop(variables: dict[Value, Tensor], used: set[Value]) -> None:
        for value in [value for value in variables if value not in used]:
            del variables[value]

    def _call(self, node: CallNode, variables: dict[Value, Tensor], ending: set[Value]) -> list[Tensor]:
        """Run the iterations of a call, whose carried values are the outputs of the one before."""
        inputs = [None if value is None else variables.get(value) for value in node.inputs]
        for value in ending.difference(node.holds if self._keeps else ()):
            variables.pop(value, None)
        carried = node.carried
        results: list[Tensor] = []
        for iteration in range(node.times):
            last = iteration == node.times - 1
            arguments = inputs[:]
            if not self._keeps:
                inputs[:carried] = [None] * carried
                if last:
                    inputs.clear()
            results = self._body(node.body, arguments)
            if not last:
                inputs[:carried] = results
                results = []
        return results

    def _operation(self, node: OpNode, inputs: list[Tensor | None]) -> list[Tensor]:
        instance = next(self._instances)
        types = node.output_types
        if self._execution == "kernels":
            return [self._new(type_) for type_ in types]
        op = Attributes(node.op, training=self._program.training, dtype=self._program.dtype)
        first = inputs[0] if inputs else None
        if self._keeps and node.inplace and first is not None:
            return [first]
        shapes = [tuple(map(integer, type_.shape)) for type_ in types]
        if first is not None:
            shared = view(op, first, inputs, shapes)
            if shared is not None:
                return shared
        elif node.op.view:  # the memory of a parameter
            return [self._new(type_, counts=False) for type_ in types]
        outputs = [(shape, numpy_dtype(type_.dtype)) for shape, type_ in zip(shapes, types, strict=True)]
        if self._execution == "ideal":
            return [self.meter.new(shape, dtype) for shape, dtype in outputs]
        params = {param.name: tuple(map(integer, param.shape)) for param in node.params}
        self._check_kernel(instance, inputs, outputs, params, op)
        return ran(Kernel(self.meter, op, inputs, params, outputs))

    def _check_kernel(
        self,
        instance: Instance,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[tuple[tuple[int, ...], Any]],
        params: dict[str, tuple[int, ...]],
        op: Attributes,
    ) -> None:
        """Check the memory of a kernel and the order of its result, for inputs that lie like these."""
        node = instance.node
        key = node, tuple(x and x.strides for x in inputs)
        if key in self._seen:
            return
        self._seen.add(key)
        layouts = [None if x is None else Layout(Storage(x.block.nbytes), x.shape, x.strides) for x in inputs]
        alone = Meter()
        made = ran(Kernel(alone, op, inputs, params, outputs))
        results: list[Layout] = []

        def predicted() -> int:
            results[:] = self._rules.results(node, layouts)
            own = sum(layout.storage.nbytes for layout in results)
            moments = self._rules.moments(node, layouts, results)
            return max(sum(_bytes(work.type) for work in moment.work) + moment.outputs * own for moment in moments)

        self.checks.append(InstanceCheck(instance, "memory", _or_error(predicted), alone.peak))
        for result in results[:1]:
            strides = [_without_ones(x.shape, x.strides) for x in (result, made[0])]
            if strides[0] != strides[1]:
                self.checks.append(InstanceCheck(instance, "memory: strides", *map(str, strides)))


def _bytes(type_: TensorType) -> int:
    return integer(type_.elements) * ITEMSIZE[type_.dtype]


def _without_ones(shape: Sequence[int], strides: Sequence[int]) -> list[int]:
    """Return the strides of the axes of more than one element."""
    return [step for size, step in zip(shape, strides, strict=True) if size > 1]

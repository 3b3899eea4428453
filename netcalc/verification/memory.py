"""Memory of activations, held against a run of tensors without elements.

The program runs frame by frame, as Python would run it: a variable is dropped after its last use, a call keeps its
arguments or hands them over, and memory is free when nothing refers to it.  Which results are views follows from the
strides of NumPy, and what kernels make besides their results from the functions of PyTorch, call by call
(:mod:`~netcalc.verification.figure_references.kernel_memory`).  The most bytes at once must be as predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, TypeVar

from netcalc.analysis.activations import activations
from netcalc.analysis.activations.execution import Eager
from netcalc.analysis.activations.peaks import ExecutionName
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.layout import Layout, Storage
from netcalc.analysis.memory import memory
from netcalc.analysis.temporaries import kernel_temporaries
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import numpy_dtype
from netcalc.dims import integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, Node, OpNode, Program, Value, dtype_of
from netcalc.ir.storage import as_executed
from netcalc.tensor_type import TensorType
from netcalc.verification.backward import error_text
from netcalc.verification.figure_references.allocation import Meter, Tensor, view
from netcalc.verification.figure_references.kernel_memory import Kernel, ran
from netcalc.verification.references import Attributes
from netcalc.verification.report import Gap, InstanceCheck

T = TypeVar("T")

#: The execution of the reference kernels, of an ideal framework, and of PyTorch.
Execution = Literal["kernels", "ideal", "eager"]


def memory_checks(program: Program) -> Iterator[InstanceCheck | Gap]:
    """Yield the checks of the memory of a forward pass: of each distinct kernel in eager mode, and of the peaks."""
    executions: tuple[tuple[ExecutionName, str], ...] = (("eager", "PyTorch"), ("ideal", "an ideal execution"))
    for execution, name in executions:
        if execution == "eager" and any(map(_is_written_out, instances(program))):
            yield Gap(f"memory of {name}", "attention whose products are written out")
            continue
        course = _Course(program, execution)
        peak = course.run()
        yield from course.checks
        predicted = _or_error(partial(activations, program, execution))
        if isinstance(predicted, str):
            yield InstanceCheck(None, f"memory of {name}", predicted, peak)
            continue
        for point in predicted.points():
            instance, sizes = course.steps.get(point.path, (None, [point.bytes]))
            if point.bytes not in sizes:
                yield InstanceCheck(instance, f"memory of {name}", point.bytes, sizes[0])
        yield InstanceCheck(None, f"memory of {name}", predicted.peak, peak)
    executed = as_executed(program)
    if _passes_twice(executed.main):
        yield Gap("memory of the kernels", "a value that a call takes twice is predicted to be kept until it returns")
    else:
        yield from _checks_of_kernels(executed)


def _is_written_out(instance: Instance) -> bool:
    """Return True for attention that PyTorch runs as products of its own, by choice or for lack of an argument."""
    op: Any = instance.node.op
    if op.name != "scaled_dot_product_attention" or op.return_weights:
        return False
    given = instance.node.input_types
    return bool(op.composed or op.softcap is not None or (len(given) > 5 and given[5] is not None))


def _passes_twice(body: Body) -> bool:
    """Return True if a call in a body takes a value twice."""
    calls = [node for node in body.nodes if isinstance(node, CallNode)]
    doubled = any(
        len(given) > len(set(given)) for call in calls if (given := [v for v in call.inputs if v is not None])
    )
    return doubled or any(_passes_twice(inner) for inner in {call.body for call in calls})


def _checks_of_kernels(program: Program) -> Iterator[InstanceCheck]:
    """Yield the checks of the memory of the reference kernels, with the allowance for temporaries as it is declared."""
    course = _Course(program, "kernels")
    analysis = Analysis(program, CONVENTIONS["netcalc"])
    live, most, stored = course.run(), 0, {True: 0, False: 0}
    owners: set[str] = set()
    for instance, sizes in course.steps.values():
        node, own = instance.node, 0
        for param in node.params:
            nbytes = integer(param.elements) * numpy_dtype(dtype_of(param, node, program.dtype)).itemsize
            own += nbytes
            if instance.owners[param.name] not in owners:
                owners.add(instance.owners[param.name])
                stored[param.is_buffer] += nbytes
        allowance = kernel_temporaries(node, analysis.terms(node), program.dtype)
        most = max(most, max(sizes) + own + allowance)
    predicted = _or_error(partial(memory, program))
    found = {
        "activations": live,
        "peak": max(most, live),
        "weights": stored[False],
        "buffers": stored[True],
    }
    for figure, size in found.items():
        stated = predicted if isinstance(predicted, str) else getattr(predicted, figure)
        yield InstanceCheck(None, f"memory of the kernels: {figure}", stated, size)


def _or_error(prediction: Callable[[], T]) -> T | str:
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
        #: The operations that ran, with the bytes that were live meanwhile at each run, by path.
        self.steps: dict[str, tuple[Instance, list[int]]] = {}
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
        most = self.meter.peak
        self.meter.peak = self.meter.live
        results = self._results(instance, inputs)
        self.steps.setdefault(instance.path, (instance, []))[1].append(self.meter.peak)
        self.meter.peak = max(most, self.meter.peak)
        return results

    def _results(self, instance: Instance, inputs: list[Tensor | None]) -> list[Tensor]:
        node, types = instance.node, instance.node.output_types
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

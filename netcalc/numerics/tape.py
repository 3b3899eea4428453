"""Reverse-mode differentiation of a program over its reference kernels.

The tape records each operation whose gradient is wanted, with the tensors that its declaration saves and no others.
Gradients of a tensor that is used more than once add up, also where a parameter is tied or shared.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from netcalc.analysis.layout import passes_on
from netcalc.analysis.unroll import Leave, unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array, dtype_name, numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.dtypes import FLOATS
from netcalc.ir import OpNode, Program, dtype_of
from netcalc.numerics.kernels import Run
from netcalc.numerics.vjps import Back, Gradients, apply_vjp
from netcalc.opdef import Operation, Param
from netcalc.ops.backward import BackwardCall, Saved, Source, declaration, require_real
from netcalc.tensor_type import TensorType

#: Identity of a gradient: the number of a value, or the path of a parameter's owner.
Key: TypeAlias = int | str
#: Return the tensor of a parameter of an operation.
Fetch: TypeAlias = Callable[[Instance, Param], Array]
#: Run one operation and return its outputs.
Forward: TypeAlias = Callable[[Instance, Run, Sequence[Array | None], Mapping[str, Array]], tuple[Array, ...]]
#: Run one product and return its gradients.
Product: TypeAlias = Callable[["Record", Back, tuple[Array | None, ...]], Gradients]


@dataclass(eq=False, slots=True)
class Variable:
    """A value of the forward pass.

    ``number`` identifies its gradient, and ``wanted`` is True if it has one.  ``parameter`` is True for a view of a
    parameter or buffer, which takes no memory of its own.
    """

    array: Array
    number: int
    wanted: bool
    parameter: bool = False


@dataclass(eq=False, slots=True)
class Record:
    """Operation on the tape: what it saved, and where gradients come from and go to.

    ``sources`` are the keys of the gradients of its inputs and parameters, ``types`` their types, ``results`` the keys
    of the gradients of its outputs.  ``own`` are the names of the saved tensors that are not parameters.
    """

    instance: Instance
    wanted: frozenset[Source]
    saved: dict[str, Array]
    declared: tuple[Saved, ...]
    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    sources: Mapping[Source, Key]
    types: Mapping[Source, TensorType]
    results: tuple[Key | None, ...]
    own: frozenset[str]

    def call(self, arriving: tuple[bool, ...], training: bool) -> BackwardCall:
        """Return the description of the backward pass for gradients that arrived."""
        return BackwardCall(self.inputs, self.outputs, self.instance.node.params, self.wanted, arriving, training)


class Tape:
    """Records of the operations of one forward pass, in order of execution.

    Args:
        program: the program.
        fetch: returns the tensor of a parameter.
        wanted: returns True for the path of a parameter (its owner) whose gradient is wanted.
        inputs: names of the program's inputs whose gradients are wanted.
        forward: runs one operation.
    """

    def __init__(
        self,
        program: Program,
        fetch: Fetch,
        wanted: Callable[[str], bool],
        inputs: frozenset[str],
        rng: np.random.Generator,
        forward: Forward,
    ) -> None:
        self.records: list[Record] = []
        self.buffers: dict[str, Array] = {}
        self._program = program
        self._fetch = fetch
        self._wanted = wanted
        self._inputs = inputs
        self._rng = rng
        self._forward = forward
        self._count = 0
        self.input_keys: dict[str, int] = {}

    def run(self, arrays: Sequence[Array | None], leave: Leave[Variable] | None = None) -> list[Variable]:
        """Run the forward pass and return the outputs, whose gradients :meth:`backward` takes."""
        variables = [
            None if array is None else self._variable(array, spec.name in self._inputs)
            for spec, array in zip(self._program.inputs, arrays, strict=True)
        ]
        self.input_keys = {
            spec.name: variable.number
            for spec, variable in zip(self._program.inputs, variables, strict=True)
            if variable is not None and variable.wanted
        }
        return unroll(self._program, variables, self._evaluate, leave)

    @property
    def saved_bytes(self) -> int:
        """The bytes of the distinct memory that the tape holds, without parameters; views count with their base."""
        bases = (_base(record.saved[name]) for record in self.records for name in record.own)
        return sum({id(base): base.nbytes for base in bases}.values())

    def backward(self, seeds: Mapping[int, Array], product: Product | None = None) -> Iterator[tuple[Key, Array]]:
        """Propagate gradients from the outputs, by their number; yield the gradients of inputs and parameters.

        The tape is used up: each record is released when its product is done.
        """
        run = product or _run_product
        gradients: dict[Key, Array] = dict(seeds.items())
        while self.records:
            record = self.records.pop()
            arrived = tuple(None if key is None else gradients.pop(key, None) for key in record.results)
            if all(gradient is None for gradient in arrived):
                continue
            back = Back(record.wanted, record.saved, record.inputs, record.outputs, self._program.training)
            for source, gradient in run(record, back, arrived).items():
                key, type_ = record.sources[source], record.types[source]
                if gradient.shape != type_.shape:
                    raise AssertionError(f"{record.instance.path}: gradient of {source}: {gradient.shape}, {type_}")
                with np.errstate(over="ignore"):  # beyond the largest half it is infinite, as in PyTorch
                    gradient = gradient.astype(numpy_dtype(type_.dtype), copy=False)
                gradients[key] = gradients[key] + gradient if key in gradients else gradient
        yield from gradients.items()

    # -- internals ----------------------------------------------------------------------------------

    def _variable(self, array: Array, wanted: bool, parameter: bool = False) -> Variable:
        self._count += 1
        return Variable(array, self._count, wanted and array.dtype.name in FLOATS, parameter)

    def _evaluate(self, instance: Instance, inputs: Sequence[Variable | None]) -> list[Variable]:
        node, owners = instance.node, instance.owners
        params = {
            p.name: self.buffers[owners[p.name]] if owners[p.name] in self.buffers else self._fetch(instance, p)
            for p in node.params
        }
        sources: dict[Source, Key] = {
            number: variable.number
            for number, variable in enumerate(inputs)
            if variable is not None and variable.wanted
        }
        sources |= {
            p.name: owners[p.name]
            for p in node.params
            if params[p.name].dtype.name in FLOATS and self._trains(node, p, owners)
        }
        trained = [dtype_of(p, node, self._program.dtype) for p in node.params if self._trains(node, p, owners)]
        require_real(node.op.name, sources, (*node.input_types, *node.output_types), trained, node.span)
        declared = declaration(node.op) if sources else None
        arrays = tuple(None if variable is None else variable.array for variable in inputs)
        run = Run(training=self._program.training, rng=self._rng, kept=None if declared is None else {})
        outputs = _in_own_memory(node.op, self._forward(instance, run, arrays, params), arrays, run.training)
        shares = node.op.view or any(array_out is other for array_out in outputs for other in arrays)
        stored = shares and (not inputs or any(v is not None and v.parameter for v in inputs))
        self.buffers.update((owners[name], np.asarray(array)) for name, array in run.updates.items())
        if declared is None:
            return [self._variable(output, False, stored) for output in outputs]
        call = BackwardCall(
            tuple(None if array is None else _type_of_array(array) for array in arrays),
            tuple(map(_type_of_array, outputs)),
            node.params,
            frozenset(sources),
            (True,) * len(outputs),
            self._program.training,
        )
        flows = declared.differentiable(node.op, call)
        results = [self._variable(output, flow, stored) for output, flow in zip(outputs, flows, strict=True)]
        saves = tuple(declared.saves(node.op, call))
        self.records.append(
            Record(
                instance,
                call.wanted,
                kept_arrays(saves, arrays, outputs, params, _kept_tensors(run, (*arrays, *outputs))),
                saves,
                call.inputs,
                call.outputs,
                sources,
                {source: self._type_of(source, call.inputs, node) for source in sources},
                tuple(result.number if result.wanted else None for result in results),
                frozenset(saved.name for saved in saves if not self._is_parameter(saved, inputs, results)),
            )
        )
        return results

    def _trains(self, node: OpNode, param: Param, owners: Mapping[str, str]) -> bool:
        return param.trainable and not node.frozen and self._wanted(owners[param.name])

    def _type_of(self, source: Source, inputs: Sequence[TensorType | None], node: OpNode) -> TensorType:
        if isinstance(source, int):
            type_ = inputs[source]
            assert type_ is not None
            return type_
        param = next(param for param in node.params if param.name == source)
        return TensorType(param.shape, dtype_of(param, node, self._program.dtype))

    @staticmethod
    def _is_parameter(saved: Saved, inputs: Sequence[Variable | None], outputs: Sequence[Variable]) -> bool:
        if saved.kind in ("input", "output"):
            variable = (inputs if saved.kind == "input" else outputs)[saved.index]
            return variable is not None and variable.parameter
        return saved.kind == "parameter"


def added(outputs: Sequence[Variable], gradients: Sequence[Array | None]) -> dict[int, Array]:
    """Return the gradients of outputs by their numbers; those of a value that is an output twice add up."""
    seeds: dict[int, Array] = {}
    for output, gradient in zip(outputs, gradients, strict=True):
        if gradient is not None:
            seeds[output.number] = seeds[output.number] + gradient if output.number in seeds else gradient
    return seeds


def kept_arrays(
    saves: Sequence[Saved],
    inputs: Sequence[Array | None],
    outputs: Sequence[Array],
    params: Mapping[str, Array],
    kept: Mapping[str, Array],
) -> dict[str, Array]:
    """Return the saved tensors by name.

    Raises:
        LookupError: for a tensor that the operation says it saves and its kernel did not keep.
    """
    arrays: dict[str, Array] = {}
    for saved in saves:
        if saved.kind in ("input", "output"):
            array = (inputs if saved.kind == "input" else outputs)[saved.index]
        else:
            array = kept.get(saved.name) if saved.kind == "kept" else params.get(saved.parameter)
        if array is None:
            raise LookupError(f"the {saved.kind} that is saved as {saved.name!r}")
        arrays[saved.name] = np.asarray(array)
    return arrays


def _run_product(record: Record, back: Back, gradients: tuple[Array | None, ...]) -> Gradients:
    """Run a product; errors that depend on values are reported with the path of the operation."""
    try:
        return apply_vjp(record.instance.node.op, back, gradients)
    except RuleError as error:
        message = f"{record.instance.path}: {error.message}"
        raise NetcalcError(Diagnostic(error.code, message, record.instance.node.span, hint=error.hint)) from None


def _in_own_memory(
    op: Operation, outputs: tuple[Array, ...], inputs: Sequence[Array | None], training: bool
) -> tuple[Array, ...]:
    """Return the outputs of a kernel, those that are no views in memory of their own without gaps.

    So the tape holds no temporary of a kernel, and which tensors share memory follows from the operation.
    """
    if op.view:
        return outputs
    types = [None if array is None else _type_of_array(array) for array in inputs]
    if inputs and inputs[0] is not None and passes_on(op, types, training):
        return (inputs[0],)
    bases = _bases(inputs)
    return tuple(_owned(array, bases) for array in outputs)


def _kept_tensors(run: Run, others: Sequence[Array | None]) -> dict[str, Array]:
    """Return the tensors that a kernel kept, in memory of their own."""
    bases = _bases(others)
    return {name: _owned(array, bases) for name, array in (run.kept or {}).items()}


def _bases(arrays: Sequence[Array | None]) -> set[int]:
    return {id(_base(array)) for array in arrays if array is not None}


def _owned(array: Array, shared: Container[int] = ()) -> Array:
    """Return an array without gaps in memory of its own, which is not one of the ``shared`` bases."""
    plain = np.ascontiguousarray(array).reshape(array.shape)
    base = _base(plain)
    return plain if base.nbytes == plain.nbytes and id(base) not in shared else plain.copy()


def _base(array: Array) -> Array:
    """Return the array that owns the memory of a view."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _type_of_array(array: Array) -> TensorType:
    return TensorType(array.shape, dtype_name(array.dtype))

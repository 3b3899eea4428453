"""Values of gradients: each distinct product, and the whole network, against central differences of the kernels.

All run in float64.  Gradients of all inputs and parameters are compared together first; those of each by itself find
the culprit.  The comparison of the whole network shows what the tape makes of the products.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TypeVar

import numpy as np

from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array, dtype_name
from netcalc.diagnostics import NetcalcError
from netcalc.dtypes import COMPLEX, FLOATS
from netcalc.ir import OpNode, Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.interpret import apply_at, run_operation
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Tape, added, kept_arrays
from netcalc.numerics.vjps import Back, apply_vjp
from netcalc.opdef import Param
from netcalc.ops.backward import Backward, BackwardCall, Source, declaration
from netcalc.tensor_type import TensorType
from netcalc.verification.backward import error_text
from netcalc.verification.central_differences import POINTS, Derivative, differing, direction, moved
from netcalc.verification.compared import Compared
from netcalc.verification.report import Gap, InstanceCheck

T = TypeVar("T")

_WHAT = "gradient values"
_AGREED = "as differences", "as differences"


class GradientValues(Compared):
    """Comparison of every distinct product of a program; repeats are compared once."""

    def __init__(self, program: Program, seed: int) -> None:
        super().__init__()
        self._training = program.training
        self._seed = seed

    def checks(
        self, instance: Instance, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[InstanceCheck, ...]:
        """Return the checks of an operation; none if it was compared before, or has no gradient."""
        name, declared = instance.node.op.name, declaration(instance.node.op)
        if declared is None or not self.is_new(instance.node):
            return ()
        product = _Product(instance, declared, inputs, params, self._seed, training=self._training)
        try:
            found = _at_points(product.differing)
        except ArithmeticError as error:
            self.leave_out(f"{_WHAT} of {name}", str(error))
            return ()
        except MemoryError:
            raise
        except Exception as error:  # of the product, which is a result to report
            found = {"": ("gradients", error_text(error))}
        if found is None:
            return ()
        self.count(name, product.size, different=bool(found))
        if not found:
            return (InstanceCheck(instance, _WHAT, *_AGREED),)
        return tuple(
            InstanceCheck(instance, f"{_WHAT} of {source}" if source else _WHAT, *values)
            for source, values in found.items()
        )


def network_check(
    program: Program, arrays: Sequence[Array | None], parameters: Parameters, seed: int
) -> InstanceCheck | Gap:
    """Return the comparison of the gradients of a whole network, by its inputs and trained parameters.

    Values through which no gradient flows are not moved.
    """
    network = _Network(program, arrays, parameters, seed)
    try:
        found = _at_points(network.differing)
    except ArithmeticError as error:
        return Gap(f"{_WHAT} of the network", str(error))
    except (MemoryError, NetcalcError):
        raise
    except Exception as error:  # of a product, which is a result to report
        return InstanceCheck(None, _WHAT, "gradients", error_text(error))
    return InstanceCheck(None, _WHAT, *(_AGREED if found is None else _texts(found)))


def _at_points(differing: Callable[[int], T]) -> T:
    """Return what disagrees at every point, as the last one shows it; nothing if all agrees at one."""
    for point in range(POINTS):
        found = differing(point)
        if not found:
            break
    return found


class _Product:
    """A product on arrays in float64, beside the operation on arrays near them."""

    def __init__(
        self,
        instance: Instance,
        declared: Backward,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
        seed: int,
        *,
        training: bool,
    ) -> None:
        self._instance, self._declared, self._seed, self._training = instance, declared, seed, training
        self._given = tuple(None if array is None else _double(array) for array in inputs)
        self._stored = {name: _double(array) for name, array in params.items()}
        trained = {param.name for param in instance.node.params if param.trainable}
        tensors: dict[Source, Array] = {number: x for number, x in enumerate(self._given) if x is not None}
        tensors |= {name: array for name, array in self._stored.items() if name in trained}
        self._tensors = {source: array for source, array in tensors.items() if _is_moved(array)}

    @property
    def size(self) -> int:
        """The number of gradients."""
        return sum(array.size for array in self._tensors.values())

    def differing(self, point: int) -> dict[str, tuple[str, str]] | None:
        """Return differences and gradients that disagree, by the names of sources; None if there are no gradients.

        Raises:
            ArithmeticError: if values cannot be compared, with the reason.
        """
        if reason := self._declared.differs(self._instance.node.op):
            raise ArithmeticError(reason)
        rng = generator(self._seed, f"/gradients/{self._instance.path}/{point}")
        tensors = {source: moved(rng, array, point) for source, array in self._tensors.items()}
        inputs, params = self._with(tensors)
        run = self._run(kept={})
        outputs = apply_at(self._instance, run, inputs, params)
        _require_double((*inputs, *params.values(), *outputs))
        call = BackwardCall(
            tuple(None if array is None else _type(array) for array in inputs),
            tuple(map(_type, outputs)),
            self._instance.node.params,
            frozenset(tensors),
            (True,) * len(outputs),
            self._training,
        )
        flows = self._declared.differentiable(self._instance.node.op, call)
        seeds = tuple(rng.normal(size=y.shape) if flow else None for y, flow in zip(outputs, flows, strict=True))
        if not call.wanted or all(seed is None for seed in seeds):
            return None
        saves = tuple(self._declared.saves(self._instance.node.op, call))
        saved = kept_arrays(saves, inputs, outputs, params, run.kept or {})
        back = Back(call.wanted, saved, call.inputs, call.outputs, self._training)
        gradients = apply_vjp(self._instance.node.op, back, seeds)
        symmetric = self._declared.symmetric
        along = {s: direction(rng, x, symmetric=symmetric and s == 0) for s, x in tensors.items()}
        for source in self._declared.constants & along.keys():
            along[source] = np.zeros_like(along[source])
        if "weight" in along:
            _keep_row(along["weight"], self._declared, self._instance)

        def derivative(sources: Collection[Source]) -> Derivative | None:
            terms = [gradients[source] * along[source] for source in sources]
            return differing(lambda step: at(sources, step), terms, seeds)

        def at(sources: Collection[Source], step: float) -> Sequence[Array]:
            there = {source: x + step * along[source] if source in sources else x for source, x in tensors.items()}
            return apply_at(self._instance, self._run(), *self._with(there))

        if derivative(gradients) is None:
            return {}
        single = {source: derivative([source]) for source in gradients}
        return {self._name(source): _texts(one) for source, one in single.items() if one is not None}

    def _with(self, tensors: Mapping[Source, Array]) -> tuple[tuple[Array | None, ...], dict[str, Array]]:
        """Return inputs and parameters with these tensors in place of their own."""
        inputs = tuple(tensors.get(number, array) for number, array in enumerate(self._given))
        return inputs, {name: tensors.get(name, array) for name, array in self._stored.items()}

    def _run(self, kept: dict[str, Array] | None = None) -> Run:
        return Run(training=self._training, rng=generator(self._seed, "/run"), kept=kept)

    def _name(self, source: Source) -> str:
        ports = self._instance.node.op.inputs
        return source if isinstance(source, str) else ports[min(source, len(ports) - 1)].name


class _Network:
    """A network on arrays in float64, whose inputs and parameters are moved along a direction."""

    def __init__(self, program: Program, arrays: Sequence[Array | None], parameters: Parameters, seed: int) -> None:
        self._program, self._parameters, self._seed = program, parameters, seed
        self._inputs = {
            spec.name: None if array is None else _double(array)
            for spec, array in zip(program.inputs, arrays, strict=True)
        }
        self._fixed: dict[str, tuple[Array, ...]] = {}  # outputs that no gradient flows through, by path
        self._held: dict[str, Mapping[int, Array | None]] = {}  # inputs that no gradient flows to, by path
        self._along: dict[str, Array] = {}  # directions of trained parameters, by path
        self._point = 0

    def differing(self, point: int) -> Derivative | None:
        """Return the derivative by all inputs and parameters if gradients and differences disagree.

        Raises:
            ArithmeticError: if values cannot be compared, with the reason.
        """
        self._point = point
        inputs = {
            name: moved(self._generator(f"inputs/{name}"), array, point)
            for name, array in self._inputs.items()
            if array is not None and _is_moved(array)
        }
        wanted = frozenset(inputs)
        tape = _DoubleTape(self._program, self._fetch, lambda path: True, wanted, self._draws(), self._forward)
        outputs = tape.run([*(self._inputs | inputs).values()])
        rng = self._generator("")
        seeds = [rng.normal(size=output.array.shape) if output.wanted else None for output in outputs]
        along = {name: direction(rng, array) for name, array in inputs.items()}
        names = {number: name for name, number in tape.input_keys.items()}
        terms = []
        for key, gradient in tape.backward(added(outputs, seeds)):
            part = along[names[key]] if isinstance(key, int) else self._along.get(key)
            if part is not None:  # a parameter with infinite elements is not moved
                terms.append(gradient * part)

        def at(step: float) -> list[Array]:
            there = {name: array + step * along[name] for name, array in inputs.items()}
            return self._outputs([*(self._inputs | there).values()], step)

        return differing(at, terms, seeds)

    def _fetch(self, instance: Instance, param: Param) -> Array:
        """Return a parameter at the point; for a trained one draw its direction."""
        array = _double(self._parameters.fetch(instance, param))
        owner = instance.owners[param.name]
        if not self._is_trained(instance, param, array):
            return array
        array = moved(self._generator(owner), array, self._point)
        if owner not in self._along:
            self._along[owner] = direction(self._generator(f"along/{owner}"), array)
        if param.name == "weight" and (declared := declaration(instance.node.op)) is not None:
            _keep_row(self._along[owner], declared, instance)
        return array

    def _forward(
        self, instance: Instance, run: Run, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[Array, ...]:
        outputs = run_operation(instance, run, inputs, params)
        _require_double((*inputs, *params.values(), *outputs))
        op = instance.node.op
        declared = declaration(op)
        if declared is not None and (reason := "a matrix is symmetric" if declared.symmetric else declared.differs(op)):
            raise ArithmeticError(f"{op.name}: {reason}")
        if declared is not None and declared.constants:
            self._held[instance.path] = {number: inputs[number] for number in declared.constants}
        if any(map(_is_double, inputs)) and any(map(_is_double, outputs)):
            types = tuple(None if array is None else _type(array) for array in inputs)
            call = BackwardCall(types, tuple(map(_type, outputs)), instance.node.params)
            if declared is None or not any(declared.differentiable(op, call)):
                self._fixed[instance.path] = outputs
        return outputs

    def _outputs(self, inputs: Sequence[Array | None], step: float) -> list[Array]:
        """Return the outputs with the trained parameters along their directions."""
        rng = self._draws()

        def evaluate(instance: Instance, arrays: Sequence[Array | None]) -> Sequence[Array]:
            if instance.path in self._fixed:
                return self._fixed[instance.path]
            held = self._held.get(instance.path, {})
            arrays = [held.get(number, array) for number, array in enumerate(arrays)]
            params = {param.name: self._fetch(instance, param) for param in instance.node.params}
            for param in instance.node.params:
                if self._is_trained(instance, param, params[param.name]):
                    params[param.name] = params[param.name] + step * self._along[instance.owners[param.name]]
            return apply_at(instance, Run(training=self._program.training, rng=rng), arrays, params)

        return unroll(self._program, inputs, evaluate)

    @staticmethod
    def _is_trained(instance: Instance, param: Param, array: Array) -> bool:
        return param.trainable and not instance.node.frozen and _is_moved(array)

    def _generator(self, place: str) -> np.random.Generator:
        return generator(self._seed, f"/gradients/{self._point}/{place}")

    def _draws(self) -> np.random.Generator:
        return generator(self._seed, "/run")


class _DoubleTape(Tape):
    """A tape whose gradients stay in float64."""

    def _type_of(self, source: Source, inputs: Sequence[TensorType | None], node: OpNode) -> TensorType:
        return super()._type_of(source, inputs, node).with_dtype("float64")


def _keep_row(along: Array, declared: Backward, instance: Instance) -> None:
    """Take the row of a table that has no gradient out of a direction."""
    row = declared.untrained_row(instance.node.op)
    if row is not None:
        along[row] = 0


def _double(array: Array) -> Array:
    """Return floating-point numbers in float64, others as they are."""
    return array.astype(np.float64) if dtype_name(array.dtype) in FLOATS else array


def _is_double(array: Array | None) -> bool:
    return array is not None and array.dtype == np.float64


def _is_moved(array: Array | None) -> bool:
    """Return True for numbers that a small step changes: masks of infinities stay."""
    return array is not None and array.dtype == np.float64 and bool(np.isfinite(array).all())


def _require_double(arrays: Sequence[Array | None]) -> None:
    """Raise ArithmeticError for numbers that differences of float64 cannot be made of."""
    for array in arrays:
        name = "float64" if array is None else dtype_name(array.dtype)
        if name in COMPLEX:
            raise ArithmeticError("it takes complex numbers")
        if name in FLOATS and name != "float64":
            raise ArithmeticError(f"values are rounded to {name}, which the spec states")


def _type(array: Array) -> TensorType:
    return TensorType(array.shape, dtype_name(array.dtype))


def _texts(found: Derivative) -> tuple[str, str]:
    """Return the difference, which is expected, and the derivative by the gradients."""
    return f"{found.measured:.9g}", f"{found.predicted:.9g}"

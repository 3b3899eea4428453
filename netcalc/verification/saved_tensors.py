"""Tensors that are saved for a backward pass, held against what products read.

Each distinct product runs for all gradients together and for each alone, on a table of saved tensors that notes which
of them are taken.  A tensor that no product takes is saved in vain, unless PyTorch keeps it too
(:mod:`~netcalc.verification.figure_references.saved`); without one that is needed there is no product.  Types and
shapes must be those of the declaration, and a gradient the same alone as with the others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array, dtype_name
from netcalc.dtypes import COMPLEX, FLOATS
from netcalc.ir import Program
from netcalc.numerics.generators import generator
from netcalc.numerics.interpret import apply_at
from netcalc.numerics.kernels import Run
from netcalc.numerics.tape import kept_arrays
from netcalc.numerics.vjps import Back, Gradients, apply_vjp
from netcalc.ops.backward import Backward, BackwardCall, Saved, Source, declaration
from netcalc.tensor_type import TensorType
from netcalc.verification.backward import error_text
from netcalc.verification.compared import Compared
from netcalc.verification.figure_references.saved import Call, unread
from netcalc.verification.references import Attributes
from netcalc.verification.report import InstanceCheck, described

#: Gradients that are wanted alone, of an operation with more inputs.
_ALONE = 8
#: Tensors whose rows are those of an input in another order, which by chance may be their own.
_REORDERED = frozenset({("experts", "rows")})


class SavedTensors(Compared):
    """Comparison of what every distinct operation of a program saves with what its product reads."""

    def __init__(self, program: Program, seed: int) -> None:
        super().__init__()
        self._program = program
        self._seed = seed

    def checks(
        self, instance: Instance, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> tuple[InstanceCheck, ...]:
        """Return the checks of an operation; none if it was compared before, or has no gradient."""
        declared = declaration(instance.node.op)
        if declared is None or not self.is_new(instance.node):
            return ()
        product = _Product(self._program, instance, declared, inputs, params, self._seed)
        if product.is_complex or not product.wanted:
            return ()
        try:
            found = tuple(dict.fromkeys(product.differences()))
        except MemoryError:
            raise
        except Exception as error:  # of a product without a tensor that it needs, which is a result to report
            found = (("tensors", "all that the products read", error_text(error)),)
        for name, reason in product.unread.items():
            self.leave_out(f"values of {name}, which {instance.node.op.name} saves", f"as in PyTorch: {reason}")
        if not found:
            return (InstanceCheck(instance, "saved tensors", "as read", "as read"),)
        return tuple(InstanceCheck(instance, f"saved {name}", *values) for name, *values in found)


class _Saving(dict[str, Array]):
    """Saved tensors by name, which note those that are taken by their names."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        super().__init__(tensors)
        self.taken: set[str] = set()

    def __getitem__(self, name: str) -> Array:
        self.taken.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the tensor of this name, which is taken."""
        self.taken.add(name)
        return super().get(name, default)


class _Product:
    """A product and its forward pass on given arrays."""

    def __init__(
        self,
        program: Program,
        instance: Instance,
        declared: Backward,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
        seed: int,
    ) -> None:
        self._node, self._declared = instance.node, declared
        self._inputs, self._params = inputs, params
        self._training, self._dtype = program.training, program.dtype
        run = Run(training=program.training, rng=generator(seed, "/run"), kept={})
        self._outputs = [np.asarray(output) for output in apply_at(instance, run, inputs, params)]
        self._kept = run.kept or {}
        self._rng = generator(seed, f"/saved/{instance.path}")
        trained = (p.name for p in instance.node.params if p.trainable and _is_float(params[p.name]))
        moved = (number for number, array in enumerate(inputs) if array is not None and _is_float(array))
        self.wanted: tuple[Source, ...] = (*moved, *trained)
        self.unread: dict[str, str] = {}

    @property
    def is_complex(self) -> bool:
        """True for an operation that takes or gives complex numbers, which have no gradients."""
        arrays = (*self._inputs, *self._params.values(), *self._outputs)
        return any(array is not None and dtype_name(array.dtype) in COMPLEX for array in arrays)

    def differences(self) -> Iterator[tuple[str, str, str]]:
        """Yield names, what is expected of the tensor or gradient, and what was found."""
        flows = self._declared.differentiable(self._node.op, self._call(frozenset(self.wanted)))
        if not any(flows):
            return
        seeds = tuple(
            self._rng.normal(size=y.shape).astype(y.dtype) if flow else None
            for y, flow in zip(self._outputs, flows, strict=True)
        )
        together = yield from self._run(frozenset(self.wanted), seeds)
        for source in self.wanted[:_ALONE] if len(self.wanted) > 1 else ():
            alone = yield from self._run(frozenset([source]), seeds)
            if not _equal(alone[source], together[source]):
                yield "tensors", "one gradient by itself as with all", f"another gradient of {source}"

    def _run(self, wanted: frozenset[Source], seeds: tuple[Array | None, ...]) -> Any:
        """Yield the differences of the tensors that are saved for these gradients; return the gradients."""
        call = self._call(wanted)
        saves = tuple(self._declared.saves(self._node.op, call))
        saved = _Saving(kept_arrays(saves, self._inputs, self._outputs, self._params, self._kept))
        back = Back(wanted, saved, call.inputs, call.outputs, self._training)
        gradients: Gradients = apply_vjp(self._node.op, back, seeds)
        yield from self._differing_types(saves, dict(saved.items()))
        op = Attributes(self._node.op, training=self._training, dtype=self._dtype)
        shapes = [None if array is None else array.shape for array in self._inputs]
        spare, reason = unread(op, Call(shapes, [y.shape for y in self._outputs], wanted))
        # a tensor may serve a gradient that is 0 at these values
        certain = all(np.nan_to_num(gradient, posinf=0, neginf=0).any() for gradient in gradients.values())
        for name in saved if certain else ():
            if not (name in spare or name in saved.taken or self._matters(name, saved, back, seeds, gradients)):
                yield name, "read by a product", f"not read for {self._names(wanted)}"
        for name, source in spare.items():
            held = saved.get(name)
            array = None if source is None else self._array(source)
            if held is None or (array is not None and held is not array and not np.shares_memory(held, array)):
                yield name, f"saved, as in PyTorch, whose {reason}", "not saved" if held is None else "another tensor"
        if wanted == frozenset(self.wanted):
            self.unread.update(dict.fromkeys(spare, reason))
        return gradients

    def _matters(
        self, name: str, saved: Mapping[str, Array], back: Back, seeds: tuple[Array | None, ...], gradients: Gradients
    ) -> bool:
        """Return True if other values of a saved tensor change a gradient, or are refused."""
        for other in _spoiled(saved[name]):
            try:
                with np.errstate(all="ignore"):
                    found = apply_vjp(self._node.op, replace(back, saved={**saved, name: other}), seeds)
            except MemoryError:
                raise
            except Exception:
                return True
            if not all(_equal(found[source], gradient) for source, gradient in gradients.items()):
                return True
        return False

    def _differing_types(self, saves: Sequence[Saved], saved: Mapping[str, Array]) -> Iterator[tuple[str, str, str]]:
        for one in saves:
            declared, held = (described(t.shape, t.dtype) for t in (one.type, _type(saved[one.name])))
            if declared != held:
                yield one.name, declared, held
            elif one.kind == "kept" and self._is_input(saved[one.name]) and not self._is_reordered(one.name):
                yield one.name, "an input, which is saved as it is", "a tensor of its own"

    def _is_input(self, kept: Array) -> bool:
        """Return True for the elements of an input, in whatever type."""
        alike = (array for array in self._inputs if array is not None and array.shape == kept.shape)
        return kept.size > 1 and any(_equal(array, kept) for array in alike)

    def _is_reordered(self, name: str) -> bool:
        return (self._node.op.name, name) in _REORDERED

    def _array(self, source: Source) -> Array | None:
        return self._params.get(source) if isinstance(source, str) else self._inputs[source]

    def _call(self, wanted: frozenset[Source]) -> BackwardCall:
        inputs = tuple(None if array is None else _type(array) for array in self._inputs)
        outputs = tuple(map(_type, self._outputs))
        return BackwardCall(inputs, outputs, self._node.params, wanted, (True,) * len(outputs), self._training)

    def _names(self, wanted: frozenset[Source]) -> str:
        ports = self._node.op.inputs
        named = (s if isinstance(s, str) else ports[min(s, len(ports) - 1)].name for s in sorted(wanted, key=str))
        return f"the gradient{'s' if len(wanted) > 1 else ''} of {', '.join(dict.fromkeys(named))}"


def _is_float(array: Array) -> bool:
    return dtype_name(array.dtype) in FLOATS


def _type(array: Array) -> TensorType:
    return TensorType(array.shape, dtype_name(array.dtype))


def _equal(one: Array, other: Array) -> bool:
    first, second = (np.asarray(array).astype(np.float64) for array in (one, other))
    return np.array_equal(first, second, equal_nan=True)


def _spoiled(array: Array) -> Iterator[Array]:
    """Yield other values: the opposite truth value, 1 for 0 and 0 for all others; or NaN, and numbers on every side.

    NaN is on no side of a bound, as the values themselves may be.
    """
    if array.dtype.kind == "b":
        yield ~array
    elif array.dtype.kind in "iu":
        yield (array == 0).astype(array.dtype)
    else:
        yield from (np.full_like(array, number) for number in (np.nan, -np.inf, np.inf))
    yield np.zeros_like(array)

"""Backward passes of single operations, for tests: products, saved tensors, work, and central differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from netcalc import ops
from netcalc.dims import value_at
from netcalc.dtypes import FLOATS, DType
from netcalc.numerics.kernels import Run, apply
from netcalc.numerics.tally import tallied, tallying
from netcalc.numerics.tape import kept_arrays
from netcalc.numerics.vjps import VJPS, Back, Gradients, apply_vjp
from netcalc.opdef import Context, Operation
from netcalc.ops.backward import Backward, BackwardCall, Source, declaration
from netcalc.tensor_type import TensorType
from tests.nodes import node_of

Arrays = Sequence[np.ndarray | None]
Weights = Mapping[str, np.ndarray]


def type_of(array: np.ndarray | None) -> TensorType | None:
    return None if array is None else TensorType(array.shape, array.dtype.name)


class BackwardPass:
    """Forward pass of one operation on arrays, and products for its outputs."""

    def __init__(
        self, op: Operation, arrays: Arrays, weights: Weights, *, training: bool = False, seed: int = 0
    ) -> None:
        self.op, self.arrays, self.weights, self.training, self.seed = op, arrays, weights, training, seed
        self.outputs, self.kept = self.forward(arrays, weights)
        types = tuple(map(type_of, arrays))
        held = {a.dtype.name for a in (*arrays, *weights.values()) if a is not None} & FLOATS
        dtype: DType = "float64" if held == {"float64"} else "float32"
        node = node_of(op, types, Context(training=training, dtype=dtype))
        floats = {n for n, t in enumerate(types) if t is not None and t.dtype in FLOATS}
        trained = {p.name for p in node.params if p.trainable and weights[p.name].dtype.name in FLOATS}
        outputs = tuple(t for t in map(type_of, self.outputs) if t is not None)
        every: frozenset[Source] = frozenset(floats | trained)
        self.call = BackwardCall(types, outputs, node.params, every, (True,) * len(outputs), training)

    @property
    def declared(self) -> Backward:
        found = declaration(self.op)
        assert found is not None, f"{self.op.name} declares no backward pass"
        return found

    def forward(self, arrays: Arrays, weights: Weights) -> tuple[tuple[np.ndarray, ...], dict[str, np.ndarray]]:
        run = Run(training=self.training, rng=np.random.default_rng(self.seed), kept={})
        outputs = apply(self.op, run, tuple(arrays), weights)
        assert run.kept is not None
        return outputs, run.kept

    def seeds(self, given: Iterable[bool] | None = None) -> tuple[np.ndarray | None, ...]:
        """Return random gradients of the outputs that have one."""
        rng = np.random.default_rng(7)
        flows = self.declared.differentiable(self.op, self.call)
        return tuple(
            rng.normal(size=y.shape).astype(y.dtype) if flow and is_given else None
            for y, flow, is_given in zip(self.outputs, flows, given or (True,) * len(flows), strict=True)
        )

    def product(
        self, seeds: tuple[np.ndarray | None, ...], wanted: Iterable[Source] | None = None, *, checked: bool = True
    ) -> Gradients:
        """Return the gradients, after checking saved tensors, shapes, and the work that was counted."""
        call = self.call if wanted is None else replace(self.call, wanted=frozenset(wanted))
        declared = self.declared
        saves = list(declared.saves(self.op, call))
        arrays = kept_arrays(saves, self.arrays, self.outputs, self.weights, self.kept)
        for saved in saves:
            found_type = type_of(arrays[saved.name])
            if found_type is not None and saved.kind == "parameter":  # tests may draw them in single precision
                found_type = found_type.with_dtype(saved.type.dtype)
            assert found_type == saved.type, f"{self.op.name} saves {saved}"
        own = [arrays[saved.name] for saved in saves if saved.kind == "kept"]
        for number, array in enumerate(own):
            shared = any(np.shares_memory(array, other) for other in own[:number])
            assert not shared, f"{self.op.name} keeps one tensor under two names"
        assert len({saved.name for saved in saves}) == len(saves), f"{self.op.name} saves two tensors of one name"
        copies = [None if seed is None else seed.copy() for seed in seeds]
        with tallying() as counted:
            back = Back(
                call.wanted,
                {name: tallied(array) for name, array in arrays.items()},
                call.inputs,
                call.outputs,
                self.training,
                lambda kind, times: counted.update({kind: times}),
            )
            given = tuple(None if seed is None else tallied(seed) for seed in seeds)
            found = {s: np.asarray(g) for s, g in apply_vjp(self.op, back, given).items()}
        for source, gradient in found.items():
            like = self.arrays[source] if isinstance(source, int) else self.weights[source]
            assert like is not None and gradient.shape == like.shape, f"{self.op.name}: gradient of {source}"
        for seed, copy in zip(seeds, copies, strict=True):
            assert seed is None or copy is None or np.array_equal(seed, copy, equal_nan=True), "a seed was modified"
        if checked:
            told = replace(call, given=tuple(seed is not None for seed in seeds))
            terms: Counter[str] = Counter()
            for term in declared.cost(self.op, told):
                terms[term.kind] += value_at(term.count, {})
            assert +counted == +terms, (
                f"{self.op!r} for {sorted(map(str, call.wanted))}, given {told.given}: "
                f"counted {dict(counted)}, predicted {dict(terms)}"
            )
        return found

    def check(self) -> None:
        """Check products of all gradients, of each by itself, and of each output by itself."""
        if not self.call.wanted:
            return
        seeds = self.seeds()
        if all(seed is None for seed in seeds):
            return
        together = self.product(seeds)
        if len(self.call.wanted) > 1:
            for source in self.call.wanted:
                alone = self.product(seeds, [source])
                assert alone.keys() == {source}
                np.testing.assert_allclose(
                    alone[source].astype(float), together[source].astype(float), rtol=1e-4, atol=1e-5
                )
        if sum(seed is not None for seed in seeds) > 1:
            for number, seed in enumerate(seeds):
                if seed is not None:
                    self.product(tuple(s if n == number else None for n, s in enumerate(seeds)))


def check_backward(op: Operation, arrays: Arrays, weights: Weights, *, training: bool, seed: int) -> None:
    """Check the backward pass of an operation that has one."""
    if declaration(op) is not None and VJPS.get(op.name) is not None:
        with np.errstate(all="ignore"):
            BackwardPass(op, arrays, weights, training=training, seed=seed).check()


def central_differences(
    name: str,
    attrs: Mapping[str, Any],
    arrays: Arrays,
    weights: Weights | None = None,
    *,
    training: bool = False,
    step: float = 1e-5,
    tolerance: float = 1e-6,
    constants: Collection[int] = (),
) -> None:
    """Assert that the gradients are central differences of the kernel, in float64 along random directions.

    Args:
        arrays: inputs; floating-point ones in float64, at least 10⁻³ away from kinks and ties.
        weights: parameters and buffers; normally distributed when None, buffers positive.
        constants: positions of inputs that have no gradient though outputs depend on them.
    """
    declared = ops.find(name)
    assert declared is not None, name
    op, rng = declared(**attrs), np.random.default_rng(3)
    node = node_of(op, [type_of(a) for a in arrays], Context(training=training, dtype="float64"))
    if weights is None:
        drawn = {p.name: rng.normal(size=p.shape).astype(p.dtype or "float64") for p in node.params}
        weights = {p.name: np.abs(drawn[p.name]) if p.is_buffer else drawn[p.name] for p in node.params}
    passed = BackwardPass(op, arrays, weights, training=training)
    seeds = passed.seeds()
    found = passed.product(seeds, passed.call.wanted.difference(constants))
    assert found, f"{name} has no gradient here"

    def loss(moved: Arrays, changed: Weights) -> float:
        outputs, _ = passed.forward(moved, changed)
        return sum(float(np.sum(s * y)) for s, y in zip(seeds, outputs, strict=True) if s is not None)

    for source, gradient in found.items():
        tensor = arrays[source] if isinstance(source, int) else weights[source]
        assert tensor is not None and gradient.dtype == np.float64, f"{name}: {source} is {gradient.dtype}"
        direction = rng.uniform(-1, 1, tensor.shape)
        sides = []
        for sign in (1, -1):
            moved = np.asarray(tensor + sign * step * direction)  # NumPy gives a number for no axes
            sides.append(
                loss([moved if n == source else a for n, a in enumerate(arrays)], weights)
                if isinstance(source, int)
                else loss(arrays, {**weights, source: moved})
            )
        measured, predicted = (sides[0] - sides[1]) / (2 * step), float(np.sum(gradient * direction))
        scale = float(np.sqrt(np.sum(np.square(gradient * direction)))) + abs(measured) + 1e-3
        assert abs(measured - predicted) <= tolerance * scale, (
            f"{name} {dict(attrs)}: gradient of {source}: {predicted}, central difference {measured}"
        )


def away(*shape: int, kinks: Iterable[float] = (0.0,), spread: float = 3.0, seed: int = 0) -> np.ndarray:
    """Return distinct numbers in float64, at least 10⁻³ apart from each other and from kinks."""
    rng, size = np.random.default_rng(seed), int(np.prod(shape))
    gap = max(4e-3, 2 * spread / max(size, 1))
    grid = (np.arange(size) - size / 2) * gap + gap * 0.37
    for kink in kinks:
        near = np.abs(grid - kink) < 1.5e-3
        grid[near] = kink + 1.8e-3
    return rng.permutation(grid).reshape(shape)

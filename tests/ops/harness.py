"""Helpers for tests of operations: execution of one operation with checks, and recorded results."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from netcalc import ops
from netcalc.arrays import numpy_dtype
from netcalc.dims import value_at
from netcalc.ir import dtype_of
from netcalc.numerics.kernels import TABLES, Run, apply
from netcalc.numerics.tally import tallied, tallying
from netcalc.opdef import Context, Operation
from netcalc.tensor_type import TensorType
from netcalc.verification.values import compare_table, compare_values
from tests.nodes import node_of, program_of
from tests.ops.backward import check_backward
from tests.ops.planned import planned

#: Operations that cannot be run, and why.
NO_KERNEL = {"unknown": "stands for an operator of another library that has no rule"}

#: Tolerance of sums in another order, relative to the largest element.
_ROUNDING = {
    "float16": 2e-3,
    "bfloat16": 2e-2,
    "float32": 1e-5,
    "float64": 1e-12,
    "complex64": 1e-5,
    "complex128": 1e-12,
}
TRUTH = Path(__file__).parent.parent / "truth"


@dataclass
class Outcome:
    """Result of running one operation."""

    outputs: tuple[np.ndarray, ...]
    updates: dict[str, np.ndarray]


def type_of(array: np.ndarray | None) -> TensorType | None:
    return None if array is None else TensorType(array.shape, str(array.dtype))


def execute(
    name: str,
    attrs: dict[str, Any],
    *arrays: np.ndarray | None,
    weights: dict[str, np.ndarray] | None = None,
    training: bool = False,
    seed: int = 0,
) -> Outcome:
    """Run one operation, and check all that is predicted of it.

    Output shapes and dtypes equal ``infer``'s; the parameters have the names and shapes that ``params``
    declares; the work counted during the run equals the cost terms of each kind; a planned run gives the same outputs;
    all outputs are those of the independent reference; the backward pass saves and does what is declared of it.
    """
    declared = ops.find(name)
    assert declared is not None, name
    op = declared(**attrs)
    ctx = Context(training=training)
    types = tuple(type_of(a) for a in arrays)
    node = node_of(op, types, ctx)
    expected = {p.name: p for p in node.params}
    rng = np.random.default_rng(seed)
    if weights is None:
        weights = {n: rng.normal(size=p.shape).astype(p.dtype or "float32") for n, p in expected.items()}
        # buffers such as variances must be positive
        weights = {n: np.abs(w) if expected[n].is_buffer else w for n, w in weights.items()}
    assert {n: w.shape for n, w in weights.items()} == {n: p.shape for n, p in expected.items()}

    run = Run(training=training, rng=np.random.default_rng(seed))
    outputs = apply(op, run, arrays, weights)
    assert [type_of(np.asarray(o)) for o in outputs] == list(node.output_types)

    updates = {n: np.asarray(u) for n, u in run.updates.items()}
    assert_as_defined(op, arrays, weights, outputs, updates, training=training)

    with tallying() as counted:
        again = Run(training=training, rng=np.random.default_rng(seed))
        again.count = lambda kind, times: counted.update({kind: times})
        given = tuple(None if a is None else tallied(a) for a in arrays)
        same = apply(op, again, given, {n: tallied(w) for n, w in weights.items()})
    for one, other in zip(outputs, same, strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    terms: Counter[str] = Counter()
    for term in op.real_work(ctx, types, node.output_types):
        terms[term.kind] += value_at(term.count, {})
    assert +counted == +terms, f"counted {dict(counted)}, predicted {dict(terms)}"
    check_backward(op, arrays, weights, training=training, seed=seed)
    if not training:
        program = program_of(node)
        typed = {n: w.astype(numpy_dtype(dtype_of(expected[n], node, "float32"))) for n, w in weights.items()}
        for one, other in zip(apply(op, Run(), arrays, typed), planned(program, arrays, typed), strict=True):
            assert_close(one, other)
    return Outcome(tuple(np.asarray(o) for o in outputs), updates)


def assert_as_defined(
    op: Operation,
    arrays: Sequence[np.ndarray | None],
    weights: dict[str, np.ndarray],
    outputs: tuple[np.ndarray, ...],
    updates: dict[str, np.ndarray],
    *,
    training: bool = False,
) -> None:
    """Assert that the outputs are those of the independent reference, at all positions of small outputs."""
    compared = compare_values(
        op, arrays, weights, outputs, rng=np.random.default_rng(0), updates=updates, training=training, positions=2_000
    )
    assert not compared.differences, compared.differences


def buffer_table(name: str, attrs: dict[str, Any], *inputs: TensorType) -> np.ndarray:
    """Return the computed content of the only buffer of an operation."""
    declared = ops.find(name)
    assert declared is not None, name
    op = declared(**attrs)
    (buffer,) = (p for p in op.params(Context(), *inputs) if p.is_buffer)
    formula = TABLES.get(name)
    assert formula is not None and buffer.init.kind == "table"
    content = formula(op, buffer.name, buffer.shape)
    assert content.shape == buffer.shape
    typed = content.astype(buffer.dtype or "float32")
    compared = compare_table(op, buffer.name, typed, rng=np.random.default_rng(0), positions=2_000)
    assert not compared.differences, compared.differences
    return content


def assert_close(reference: np.ndarray, ours: np.ndarray) -> None:
    """Assert equality within rounding: infinities and NaN in the same places, integers and booleans equal."""
    assert (ours.shape, ours.dtype) == (reference.shape, reference.dtype)
    if reference.dtype.kind in "iub":
        np.testing.assert_array_equal(ours, reference)
        return
    rounding = _ROUNDING[reference.dtype.name]
    double = np.complex128 if reference.dtype.kind == "c" else np.float64
    ours, reference = ours.astype(double), reference.astype(double)
    plain = np.isfinite(reference)
    np.testing.assert_array_equal(ours[~plain], reference[~plain])
    largest = np.abs(reference[plain]).max(initial=1.0)
    assert np.abs(ours[plain] - reference[plain]).max(initial=0.0) <= rounding * largest


@dataclass
class Case:
    """Recorded case of a truth collection."""

    id: str
    spec: str
    weights: dict[str, np.ndarray]
    inputs: list[np.ndarray]
    outputs: list[np.ndarray]
    after: dict[str, np.ndarray]
    tolerances: list[float]

    def check(self, outputs: tuple[np.ndarray, ...]) -> None:
        """Compare with the recorded outputs, within 30 × the recorded float64 difference and 1e-5 relative."""
        for actual, recorded, tolerance in zip(outputs, self.outputs, self.tolerances, strict=False):
            largest = float(np.abs(recorded).max())
            allowed = min(max(30 * tolerance, 1e-6 * largest), 1e-5 * max(largest, 1e-30))
            assert actual.shape == recorded.shape
            assert float(np.abs(actual.astype(np.float64) - recorded).max()) <= allowed


@cache
def _collection(name: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    listing = json.loads((TRUTH / f"{name}.json").read_text())
    return {o["id"]: o for o in listing["ops"]}, load_file(TRUTH / f"{name}.safetensors")


def case_ids(collection: str) -> list[str]:
    """Return the ids of all cases in a collection."""
    return list(_collection(collection)[0])


def truth_case(collection: str, case: str) -> Case:
    """Return a recorded case by collection and id."""
    listing, tensors = _collection(collection)
    record = listing[case]

    def part(kind: str) -> dict[str, np.ndarray]:
        prefix = f"{case}/{kind}/"
        return {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}

    outputs = part("out")
    return Case(
        case,
        record["spec"],
        part("w"),
        [part("in")[k] for k in sorted(part("in"))],
        [outputs[k] for k in sorted(outputs)],
        part("after"),
        [record["f64_max_abs_diff"].get(k, 0.0) for k in sorted(outputs)],
    )

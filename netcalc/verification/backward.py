"""Verification of a backward pass: what it saves and what work its products do, against the declarations.

One forward pass records the tape.  Each product then runs on arrays that count the work done on them.  The work by kind
must equal the terms that the operation declares for the gradients that were given and wanted, each gradient must have
the shape of its tensor, and the tape must hold the memory that the declarations predict.  The work of the whole pass,
with the additions of gradients, must equal what is counted without unrolling repeats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np

from netcalc.analysis.cost import analyze
from netcalc.analysis.saved import saved_bytes, saved_tensors
from netcalc.arrays import Array, dtype_name
from netcalc.dims import integer
from netcalc.ir import Program
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tally import note, tallied, tallying
from netcalc.numerics.tape import Record, Tape, added
from netcalc.numerics.vjps import Back, Gradients, apply_vjp
from netcalc.opdef import KINDS, Term
from netcalc.ops.backward import Source, declaration
from netcalc.tensor_type import TensorType
from netcalc.verification.conventions import Conventions
from netcalc.verification.report import InstanceCheck, described


def backward_checks(
    program: Program,
    arrays: Sequence[Array | None],
    parameters: Parameters,
    rng: np.random.Generator,
    conventions: Conventions | None = None,
) -> Iterator[InstanceCheck]:
    """Yield the checks of a backward pass from the sum of all floating-point outputs to all trained parameters.

    With ``conventions``, which have seen the forward pass, what they count of each product is compared too.
    """
    tape = Tape(program, parameters.fetch, lambda path: True, frozenset(), rng, run_operation)
    try:
        outputs = tape.run(arrays)
    except LookupError as error:  # a tensor is saved that no kernel gives
        yield InstanceCheck(None, "backward run", "saved tensors", error_text(error))
        return
    for record in tape.records:
        for saved in record.declared:
            array = record.saved[saved.name]
            held = described(array.shape, dtype_name(array.dtype))
            predicted = described(saved.type.shape, saved.type.dtype)
            yield InstanceCheck(record.instance, f"saved {saved.name}", predicted, held)
    yield InstanceCheck(None, "saved bytes", saved_bytes(saved_tensors(program)), tape.saved_bytes)
    products = _Products(program.training, conventions)
    with tallying() as additions:
        seeds = added(outputs, [tallied(np.ones_like(one.array)) if one.wanted else None for one in outputs])
        for _ in tape.backward(seeds, products):
            pass
    yield from products.checks
    yield from _totals(program, products.work + additions)
    if conventions is not None:
        yield from conventions.backward_totals()


def _totals(program: Program, work: Counter[str]) -> Iterator[InstanceCheck]:
    """Yield checks of the work of the whole pass, additions of gradients included."""
    total = analyze(program, backward=True).total
    others = sum(count for kind, count in work.items() if kind != "mac")
    yield InstanceCheck(None, "backward MACs", integer(total.macs_backward), work["mac"])
    yield InstanceCheck(None, "backward FLOPs", integer(total.flops_backward), 2 * work["mac"] + others)


class _Products:
    """Products on tallied arrays, with the checks made so far."""

    def __init__(self, training: bool, conventions: Conventions | None) -> None:
        self.checks: list[InstanceCheck] = []
        self.work: Counter[str] = Counter()
        self._training = training
        self._conventions = conventions

    def __call__(self, record: Record, back: Back, gradients: tuple[Array | None, ...]) -> Gradients:
        back.saved = {name: tallied(array) for name, array in record.saved.items()}
        back.count = note
        given = tuple(None if g is None else tallied(g) for g in gradients)
        with tallying() as work:
            try:
                products = apply_vjp(record.instance.node.op, back, given)
            except MemoryError:
                raise
            except Exception as error:  # any other failure of a product is a result to report
                self.checks.append(InstanceCheck(record.instance, "backward run", "gradients", error_text(error)))
                return {source: np.zeros(_shape(record.types[source])) for source in record.wanted}
        self.work += work
        arrived = tuple(g is not None for g in gradients)
        terms = self._terms(record, arrived)
        if self._conventions is not None:
            self.checks += self._conventions.product(record, arrived, terms, work)
        predicted = Counter[str]()
        for term in terms:
            predicted[term.kind] += integer(term.count)
        for kind in KINDS:
            if predicted[kind] or work[kind]:
                self.checks.append(InstanceCheck(record.instance, f"backward {kind}", predicted[kind], work[kind]))
        for source, gradient in products.items():
            wanted = record.types[source]
            types = (described(shape, wanted.dtype) for shape in (wanted.shape, gradient.shape))
            self.checks.append(InstanceCheck(record.instance, f"gradient of {_name_of_source(record, source)}", *types))
        return {source: tallied(gradient) for source, gradient in products.items()}

    def _terms(self, record: Record, arrived: tuple[bool, ...]) -> Sequence[Term]:
        """Return the work that the operation declares."""
        op = record.instance.node.op
        declared = declaration(op)
        assert declared is not None
        return tuple(declared.cost(op, record.call(arrived, self._training)))


def error_text(error: Exception) -> str:
    """Return an error in the words of a check."""
    return f"{type(error).__name__}: {error}"


def _shape(type_: TensorType) -> tuple[int, ...]:
    return tuple(integer(size) for size in type_.shape)


def _name_of_source(record: Record, source: Source) -> str:
    """Return the name of a parameter, or of the port of an input."""
    ports = record.instance.node.op.inputs
    return source if isinstance(source, str) else ports[min(source, len(ports) - 1)].name

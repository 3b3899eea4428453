"""Backward passes of :mod:`netcalc.ops.matmul`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.dims import Dim, product
from netcalc.opdef import Term
from netcalc.ops._broadcast import broadcast
from netcalc.ops._contraction import Equation, Labels, Pairing, pairings, read
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.backward._statistics import wide_dtype
from netcalc.ops.matmul import Einsum, Matmul
from netcalc.tensor_type import TensorType


@backward("matmul")
class MatmulBackward(Backward):
    """Matrix products of the gradient with the other operand.

    A matrix that is shared by all batches takes a single product over all rows.  The product of a matrix and a vector
    has an outer product for the gradient of the matrix, as in PyTorch, which is no matrix product.
    """

    rule = ("∂L/∂x = g·otherᵀ", "∂L/∂other = xᵀ·g", "both summed over the batches along which they were broadcast")

    def saves(self, op: Matmul, call: BackwardCall) -> Sequence[Saved]:
        saved: list[Saved] = []
        if call.wants(1):
            saved.append(call.saved_input("self"))
        if call.wants(0):
            saved.append(call.saved_input("mat2", 1))
        return saved

    def cost(self, op: Matmul, call: BackwardCall) -> Sequence[Term]:
        x, other = call.input(0), call.input(1)
        inner = x.shape[-1]
        if x.rank == 1 and other.rank == 1:
            return [Term.of("mul", f"gradient of {name}", inner=inner) for name in _names(call)]
        if min(x.rank, other.rank) == 1 and (x.rank, other.rank) != (1, 2):
            return list(self._by_vector(call, 1 if other.rank == 1 else 0))
        rows = x.shape[-2] if x.rank > 1 else 1
        columns = other.shape[-1]
        batch = broadcast("matmul", [x.shape[:-2], other.shape[:-2]])
        sizes = {"batch": product(batch), "rows": rows, "columns": columns, "inner": inner}
        work: list[Term] = []
        for name, (number, (operand, its)) in zip(("input", "other"), enumerate(((x, other), (other, x))), strict=True):
            if call.wants(number):
                work.append(Term.of("mac", f"gradient of {name}", **sizes))
                if operand.rank > 2 and its.rank > 2:
                    summed = product(batch) - product(operand.shape[:-2])
                    work.append(
                        Term.of("add", "sum over batches", batches=summed, elements=product(operand.shape[-2:]))
                    )
        return work

    def _by_vector(self, call: BackwardCall, vector: int) -> Iterator[Term]:
        matrix = call.input(1 - vector)
        length = call.input(vector).shape[0]
        others = product(matrix.shape[:-2]) * matrix.shape[-2 if vector else -1]
        if call.wants(1 - vector):
            yield Term.of("mul", "gradient of matrix", rows=others, inner=length)
        if call.wants(vector):
            yield Term.of("mul", "gradient of vector", rows=others, inner=length)
            yield Term.of("add", "gradient of vector", rows_less_one=others - 1, inner=length)


def _names(call: BackwardCall) -> list[str]:
    return [name for number, name in enumerate(("input", "other")) if call.wants(number)]


@backward("einsum")
class EinsumBackward(Backward):
    """The contractions of the forward pass in reverse order, each with a product for either operand.

    An operand of a contraction is an input, or a tensor that the forward pass computed and keeps.
    """

    rule = ("∂L/∂input = the einsum of g and the other inputs, with the labels of the input as output",)

    def saves(self, op: Einsum, call: BackwardCall) -> Sequence[Saved]:
        equation, varying, steps = _steps(op, call)
        saved: list[Saved] = []
        before = varying[0]
        for number, (step, other) in enumerate(zip(steps, varying[1:], strict=True)):
            left, right = operand_names(number, bool(step.summed))
            if call.wants(number + 1):
                computed = number > 0 or bool(step.left)
                labels = tuple(x for x in before if x not in step.left)
                saved.append(self._kept(call, left, labels, equation) if computed else call.saved_input(left, 0))
            if call.wants(*range(number + 1)):
                labels = tuple(x for x in other if x not in step.right)
                operand = call.saved_input(right, number + 1)
                saved.append(self._kept(call, right, labels, equation) if step.right else operand)
            before = step.result
        return saved

    def _kept(self, call: BackwardCall, name: str, labels: Labels, equation: Equation) -> Saved:
        return call.saved_kept(name, *(equation.sizes[x] for x in labels), dtype=wide_dtype(call.input()))

    def cost(self, op: Einsum, call: BackwardCall) -> Sequence[Term]:
        equation, _, steps = _steps(op, call)
        work: list[Term] = []
        for number, step in enumerate(steps):
            if call.wants(*range(number + 1)):
                work += _product(step, equation.sizes, step.rows, step.columns)
            if call.wants(number + 1):
                work += _product(step, equation.sizes, step.columns, step.rows)
        return work


def operand_names(number: int, summed: bool) -> tuple[str, str]:
    """Return the names of the operands of a contraction, as in ``torch.bmm`` and ``torch.mul``."""
    suffix = f"_{number}" if number else ""
    return f"self{suffix}", f"{'mat2' if summed else 'other'}{suffix}"


def _steps(op: Einsum, call: BackwardCall) -> tuple[Equation, list[Labels], list[Pairing]]:
    shapes = [x.shape for x in call.inputs if isinstance(x, TensorType)]
    equation = read(op.equation, shapes)
    varying, steps, _ = pairings(equation, shapes)
    return equation, varying, steps


def _product(step: Pairing, sizes: dict[str, Dim], own: Labels, others: Labels) -> Iterator[Term]:
    """Return the work of the gradient of an operand that has the labels ``own`` besides the shared ones."""
    every = {x: sizes[x] for x in (*step.result, *step.summed)}
    yield Term.of("mac" if step.summed else "mul", "gradient", **every)
    if not step.summed and others:
        kept = product(sizes[x] for x in (*step.batch, *own))
        yield Term.of("add", "sum of gradient", kept=kept, others=product(sizes[x] for x in others) - 1)

"""Matrix multiplication and Einstein summation."""

from collections.abc import Iterable, Sequence

from netcalc.dims import equal, product
from netcalc.opdef import Context, Example, Operation, Reach, RuleError, Term, aligned, attr, ports
from netcalc.ops import operation
from netcalc.ops._broadcast import broadcast
from netcalc.ops._contraction import Labels, pairings, read
from netcalc.tensor_type import TensorType


@operation
class Matmul(Operation):
    """The matrix product over the last two axes; the axes before them are batch axes, which broadcast.

    As in PyTorch an input with one axis is a row vector on the left and a column vector on the right, and the output
    does not have that axis.
    """

    name = "matmul"
    takes_empty = True
    takes_complex = True
    kernel_suffices = "a product of two computed tensors: a single call of BLAS"
    reference = "torch.matmul"
    inputs = ports("input", "other")
    shape_rule = "(…, rows, inner) · (…, inner, columns) → (…, rows, columns)"
    cost_rule = "…·rows·columns·inner MACs"
    example = Example(((2, 4, 8), (8, 5)))
    usage = ("query: [1, 8, 128, 64]", "key: [1, 8, 64, 128]", "- {from: [query, key], matmul: {}}")

    def infer(self, ctx: Context, x: TensorType, other: TensorType) -> TensorType:
        _require_alike("matmul", (x, other))
        if not x.rank or not other.rank:
            raise RuleError("matmul takes inputs of at least 1 dimension, and one is a scalar")
        inner = other.shape[-2] if other.rank > 1 else other.shape[0]
        if not equal(x.shape[-1], inner):
            fits = other.rank > 1 and x.shape[-1] == other.shape[-1]
            raise RuleError(
                f"matmul: the first input has {x.shape[-1]} columns, and the second {inner} rows: {x} · {other}",
                hint="transpose the last two axes of the second input" if fits else None,
            )
        batch = broadcast("matmul", [x.shape[:-2], other.shape[:-2]])
        return x.with_shape(*batch, *x.shape[:-1][-1:], *(other.shape[-1:] if other.rank > 1 else ()))

    def reach(self, inputs: Sequence[TensorType], output: TensorType, training: bool) -> Sequence[Reach] | None:
        if min(x.rank for x in inputs) < 2:
            return None
        x, other = (list(aligned(tensor, output)) for tensor in inputs)
        x[-1], other[-2] = "all", "all"
        return [tuple(x), tuple(other)]

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        x, other = inputs
        rows = x.shape[-2] if x.rank > 1 else 1
        columns = other.shape[-1] if other.rank > 1 else 1
        batch = product(broadcast("matmul", [x.shape[:-2], other.shape[:-2]]))
        return (Term.of("mac", "product", batch=batch, rows=rows, columns=columns, inner=x.shape[-1]),)


@operation
class Einsum(Operation):
    """Einstein summation over any number of inputs: ``einsum: "bhid,bhjd->bhij"``.

    Letters label axes, ``...`` stands for axes that broadcast, and a repeated letter in one input selects its diagonal.
    Without an arrow the output has the axes of the ellipsis, then the letters that occur once, in ASCII order.

    Inputs are contracted in pairs from left to right.  An axis that occurs in one operand of the pair and is not needed
    later is summed first.  If axes of both operands are then summed, the contraction is a (batched) matrix product with
    one MAC for each combination of the labels of the pair; otherwise it is an elementwise product.
    """

    name = "einsum"
    takes_empty = True
    takes_complex = True
    kernel_suffices = "products of computed tensors: calls of BLAS"
    reference = "torch.einsum"
    inputs = ports("inputs*")
    shorthand = "equation"
    shape_rule = "the sizes of the output's labels"
    cost_rule = "for each pair, from left to right, the product of the sizes of its labels in MACs"
    example = Example(((2, 3, 5, 4), (2, 3, 6, 4)), {"equation": "bhid,bhjd->bhij"})
    usage = ("query: [1, 8, 128, 64]", "key: [1, 8, 128, 64]", '- {from: [query, key], einsum: "bhid,bhjd->bhij"}')

    equation: str = attr("labels of the axes of the inputs and, after ->, of the output")

    def infer(self, ctx: Context, *inputs: TensorType) -> TensorType:
        _require_alike("einsum", inputs)
        equation = read(self.equation, [x.shape for x in inputs])
        return inputs[0].with_shape(*(equation.sizes[label] for label in equation.output))

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        shapes = [x.shape for x in inputs]
        equation = read(self.equation, shapes)
        varying, steps, rest = pairings(equation, shapes)
        terms: list[Term] = []

        def summed(labels: Labels, away: Labels) -> None:
            if away:
                kept = product(equation.sizes[x] for x in labels if x not in away)
                terms.append(Term.of("add", "sum", kept=kept, others=product(equation.sizes[x] for x in away) - 1))

        so_far = varying[0]
        for step, other in zip(steps, varying[1:], strict=True):
            summed(so_far, step.left)
            summed(other, step.right)
            every = (*step.result, *step.summed)
            terms.append(Term.of("mac" if step.summed else "mul", "product", **{x: equation.sizes[x] for x in every}))
            so_far = step.result
        summed(so_far, rest)
        return terms


def _require_alike(what: str, inputs: Iterable[TensorType]) -> None:
    dtypes = dict.fromkeys(x.dtype for x in inputs)
    if "bool" in dtypes:
        raise RuleError(f"{what} takes numbers, and an input is bool", code="E402", hint="cast it first")
    if len(dtypes) > 1:
        raise RuleError(
            f"{what} takes inputs of one type, and these are {' and '.join(dtypes)}",
            code="E402",
            hint="cast one of them",
        )

"""Optimal assignment: which row of a matrix of costs goes with which column."""

from collections.abc import Sequence

from netcalc.dims import product
from netcalc.dims.polynomial import minimum
from netcalc.opdef import Context, Example, Operation, RuleError, Term, attr, ports, require_float
from netcalc.ops import operation
from netcalc.tensor_type import TensorType


@operation
class LinearSumAssignment(Operation):
    """The pairs of rows and columns with the least sum of costs, each row and column in one pair at most.

    Each matrix (rows, columns) of a batch has min(rows, columns) pairs, in the order of their rows.  ``maximize`` takes
    the largest sum.  The optimum is exact; of several any one is given.  A cost of infinity excludes a pair; costs that
    are no numbers, and matrices whose pairs are all excluded, are errors of a run.  The Hungarian matching of DETR is
    the assignment of a matrix (objects, queries), whose columns are the queries of the objects.  There is no gradient.
    """

    name = "linear_sum_assignment"
    kernel_suffices = "a search that depends on the data, step by step"
    reference = (
        "scipy.optimize.linear_sum_assignment; Kuhn 1955, The Hungarian method, doi:10.1002/nav.3800020109; "
        "Crouse 2016, doi:10.1109/TAES.2016.140952"
    )
    outputs = ports("rows", "columns")
    shape_rule = "(…, rows, columns) → rows and columns, (…, min(rows, columns)) each, int64"
    cost_rule = "at most: with n ≤ m the sizes, n(n + 1)/2·m times 3 adds and 2 comparisons for each matrix"
    example = Example(((3, 5),))
    usage = ("costs: [2, 10, 100]", "- {$op: {}, as: [objects, queries]}")

    maximize: bool = attr("take the largest sum instead of the least", default=False)

    def infer(self, ctx: Context, costs: TensorType) -> tuple[TensorType, TensorType]:
        require_float(costs, self.name)
        if costs.rank < 2:
            raise RuleError(f"{self.name} takes matrices of costs, and its input is {costs}")
        pairs = TensorType((*costs.shape[:-2], minimum(*costs.shape[-2:])), "int64")
        return pairs, pairs

    def cost(self, ctx: Context, inputs: Sequence[TensorType], outputs: Sequence[TensorType]) -> Sequence[Term]:
        *batch, rows, columns = inputs[0].shape
        fewer = minimum(rows, columns)
        scanned = product(batch) * rows * columns * (fewer + 1)  # twice the elements that searches read at most
        return (
            Term("add", (("half", scanned // 2), ("each", 3)), "reduced costs"),
            Term("compare", (("half", scanned // 2), ("each", 2)), "shortest paths"),
        )

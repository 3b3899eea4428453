"""Products of several matrices, as products of two in some order."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators.axes import squeeze, unsqueeze
from netcalc.formats.torch.operators.linalg import identity


@operator("aten.linalg_multi_dot.default", "aten.chain_matmul.default")
def multi_dot(build: Builder, tensors: Sequence[Value] = (), matrices: Sequence[Value] = ()) -> Value:
    """A product of matrices in the order of least work; the first and the last may be vectors."""
    factors = [*tensors, *matrices]
    row, column = factors[0].type.rank == 1, factors[-1].type.rank == 1
    if row:
        factors[0] = unsqueeze(build, factors[0], 0)
    if column:
        factors[-1] = unsqueeze(build, factors[-1], 1)
    sizes: list[Any] = [*(factor.type.shape[0] for factor in factors), factors[-1].type.shape[1]]
    if any(isinstance(size, Poly) for size in sizes):
        raise RuleError("the order of the products depends on sizes that are symbolic")
    result = _joined(build, factors, _splits(tuple(sizes)), 0, len(factors))
    axes = [axis for axis, dropped in ((0, row), (1, column)) if dropped]
    return squeeze(build, result, axes) if axes else result


def _joined(build: Builder, factors: list[Value], split: Any, start: int, stop: int) -> Value:
    """Return the product of some factors in a row."""
    if stop - start == 1:
        return factors[start]
    middle = split(start, stop)[1]
    left, right = _joined(build, factors, split, start, middle), _joined(build, factors, split, middle, stop)
    return build.line("matmul", [left, right])


def _splits(sizes: tuple[int, ...]) -> Any:
    """Return a function of a range of factors that gives the least work of their product and where to split it."""

    @cache
    def best(start: int, stop: int) -> tuple[int, int]:
        if stop - start == 1:
            return 0, start
        return min(
            (best(start, k)[0] + best(k, stop)[0] + sizes[start] * sizes[k] * sizes[stop], k)
            for k in range(start + 1, stop)
        )

    return best


@operator("aten.linalg_matrix_power.default", "aten.matrix_power.default")
def matrix_power(build: Builder, input: Value, n: int) -> Value:
    """Products of powers whose exponents are powers of 2; of the inverse for a negative one."""
    if n < 0:
        input, n = build.line("inv", [input]), -n
    if n == 0:
        ones = identity(build, input, input.type.shape[-1])
        return ones if input.type.rank == 2 else build.line("expand", [ones], {"shape": list(input.type.shape)})
    power, result = input, None
    while n:
        if n % 2:
            result = power if result is None else build.line("matmul", [result, power])
        n //= 2
        power = build.line("matmul", [power, power]) if n else power
    assert result is not None
    return result

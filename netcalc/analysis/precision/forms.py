"""The form that a scheme gives to one parameter: its tensors and their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from netcalc.dims import Dim, equal, product
from netcalc.dtypes import ITEMSIZE, DType
from netcalc.expressions import Expression, parse
from netcalc.opdef import Sparsity, Storage, StoredTensor
from netcalc.schemes.scheme import OWN_DTYPE, Scheme, TensorRule, index_named

_SPARSE_VALUES = parse("ceil_div(kept*bits, 8)")


def matrices(shape: tuple[Dim, ...], windowed: bool, scheme: Scheme) -> tuple[Dim, Dim, Dim]:
    """Return a shape as a stack of matrices: their number, rows and columns.

    A convolution's weight is one matrix with a row for each of its first axis, except for blocks that lie along the
    last axis.
    """
    if windowed and not scheme.along_last:
        return 1, shape[0], product(shape[1:])
    rows = shape[-2] if len(shape) > 1 else 1
    return product(shape[:-2]), rows, shape[-1] if shape else 1


def unmet(scheme: Scheme, shape: tuple[Dim, Dim, Dim]) -> str | None:
    """Return the division in which a scheme leaves a remainder for a shape, in numbers; None if there is none.

    Symbolic sizes are assumed to divide as they do at the default sizes.
    """
    scope = _scope(scheme, shape)
    for remainder in scheme.remainders:
        if not equal(remainder.evaluate(scope), 0):
            return f"{remainder.pretty({name: scope[name] for name in remainder.names()})} is not 0"
    return None


def form(
    scheme: Scheme,
    shape: tuple[Dim, Dim, Dim],
    dtype: DType,
    *,
    sparsity: Sparsity | None = None,
    assigned: str = "",
    kept: str = "",
    is_own: bool = False,
) -> Storage:
    """Return the form that a scheme gives to a parameter of an element type; its remainders should be 0."""
    scope = {**_scope(scheme, shape), "dtype": dtype, "size": ITEMSIZE[dtype]}
    rules: Iterable[TensorRule] = scheme.tensors
    source = scheme.source
    if sparsity is not None:
        values, *others = scheme.tensors
        index_source, index = index_named(sparsity.layout)
        scope["kept"] = _kept_elements(sparsity, scope["n"])
        scope["bits"] = values.bits
        rules = (values._replace(bytes=_SPARSE_VALUES), *others, *index)
        source = f"{source}; {index_source}"
    return Storage(
        scheme.name,
        tuple(_tensor(rule, scope) for rule in rules),
        shape,
        tuple(size.evaluate(scope) for size in scheme.block),
        tuple(scheme.settings.items()),
        sparsity,
        assigned,
        kept,
        source,
        is_own,
    )


def _scope(scheme: Scheme, shape: tuple[Dim, Dim, Dim]) -> dict[str, Any]:
    number, rows, columns = shape
    sizes = {"n": product(shape), "matrices": number, "rows": rows, "columns": columns}
    scope = {**sizes, **scheme.settings}
    for name, formula in scheme.sizes:
        scope[name] = formula.evaluate(scope)
    return scope


def _kept_elements(sparsity: Sparsity, elements: Dim) -> Dim:
    """Return the number of elements that are kept: all but the whole part of the share that is removed."""
    if sparsity.pattern is not None:
        keep, of = sparsity.pattern
        return elements // of * keep
    share = sparsity.zeros
    return elements - elements * share.numerator // share.denominator


def _tensor(rule: TensorRule, scope: dict[str, Any]) -> StoredTensor:
    formula: Expression = rule.bytes
    sizes = tuple((name, scope[name]) for name in sorted(formula.names()))
    dtype, bits = (scope["dtype"], 8 * scope["size"]) if rule.dtype == OWN_DTYPE else (rule.dtype, rule.bits)
    return StoredTensor(rule.role, dtype, bits, formula.evaluate(scope), formula.text, sizes)

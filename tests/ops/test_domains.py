"""Numbers that operations take (``Operation.domains``), compared with what their kernels refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import RuleError
from netcalc.ir import dtype_of
from netcalc.numerics.kernels import Run, apply
from netcalc.opdef import Domain
from netcalc.tensor_type import TensorType
from tests.nodes import node_of
from tests.ops.harness import NO_KERNEL

INT = "int64"
#: Inputs at which operations take some numbers only, besides those of their examples.
OTHERS: list[tuple[str, dict[str, Any], tuple[TensorType | None, ...]]] = [
    ("cross_entropy", {"ignore_index": 7}, (TensorType((3, 5)), TensorType((3,), INT))),
    ("gather", {"axis": -1}, (TensorType((4, 5)), TensorType((4, 2), INT))),
    ("index", {"axis": -1}, (TensorType((4, 5)), TensorType((2,), INT))),
    ("index_select", {"axis": 1}, (TensorType((4, 5)), TensorType((2,), INT))),
    ("nll_loss", {}, (TensorType((5,)), TensorType((), INT))),
    ("rnn", {"hidden": 2}, (TensorType((6, 3, 4)), None, TensorType((3,), INT))),
    ("lstm", {"hidden": 2, "batch_first": True}, (TensorType((3, 6, 4)), None, None, TensorType((3,), INT))),
    ("gru", {"hidden": 2}, (TensorType((6, 3, 4)), None, TensorType((3,), INT))),
]
EXAMPLES = [(name, dict(op.example.attrs), op.example.types()) for name, op in ops.every().items()]
CALLS = [call for call in (*EXAMPLES, *OTHERS) if call[0] not in NO_KERNEL]


@pytest.mark.parametrize("name,attrs,types", CALLS, ids=[f"{call[0]}-{i}" for i, call in enumerate(CALLS)])
def test_kernels_take_the_numbers_of_a_domain_and_no_others(
    name: str, attrs: dict[str, Any], types: tuple[TensorType | None, ...]
) -> None:
    op = ops.every()[name](**attrs)
    domains = [*op.domains(*types), *[None] * len(types)][: len(types)]
    for port, (type_, domain) in enumerate(zip(types, domains, strict=True)):
        if type_ is None:
            continue
        whole = type_.dtype == INT
        if domain is None:
            assert not whole or name.startswith("bitwise"), f"{name} takes any whole number at input {port}"
            continue
        step = 1 if whole else 0.25
        inside = [domain.low, domain.high - whole, *([] if domain.also is None else [domain.also])]
        outside = [n for n in (domain.low - step, domain.high + step - whole) if n != domain.also]
        for number in inside:
            run(name, attrs, types, port, number)
        for number in outside:
            with pytest.raises(RuleError) as caught:
                run(name, attrs, types, port, number)
            assert caught.value.code == "E602"


def run(name: str, attrs: dict[str, Any], types: tuple[TensorType | None, ...], port: int, number: Any) -> None:
    """Run an operation with one input full of a number, and numbers that it takes in the others."""
    op = ops.every()[name](**attrs)
    rng = np.random.default_rng(0)
    domains = [*op.domains(*types), *[None] * len(types)]
    arrays = [None if x is None else drawn(x, domain, rng) for x, domain in zip(types, domains, strict=False)]
    chosen = arrays[port]
    assert chosen is not None
    arrays[port] = np.full_like(chosen, number)
    node = node_of(op, types)
    weights = {p.name: rng.random(p.shape).astype(numpy_dtype(dtype_of(p, node, "float32"))) for p in node.params}
    apply(op, Run(rng=rng), tuple(arrays), weights)


def drawn(type_: TensorType, domain: Domain | None, rng: np.random.Generator) -> np.ndarray:
    low, high = (0, 2) if domain is None else (domain.low, domain.high)
    shape, dtype = tuple(type_.shape), numpy_dtype(type_.dtype)
    return (rng.integers(low, high, shape) if type_.dtype == INT else rng.random(shape)).astype(dtype)

"""Comparison of netcalc with torch on drawn attributes and inputs; both must agree, or both raise an error."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import UndecidedError
from netcalc.dtypes import FLOATS
from netcalc.models import ValidationError
from netcalc.numerics.vjps import VJPS
from netcalc.opdef import Context, Operation
from netcalc.ops.backward import declaration
from tests.nodes import node_of
from tests.ops.backward import BackwardPass
from tests.ops.harness import execute, type_of

torch = pytest.importorskip("torch")

#: Number of draws for a test: 25 in CI, more on demand (``NETCALC_DRAWS=200 pytest tests/oracle``).
DRAWS = int(os.environ.get("NETCALC_DRAWS", "25"))


draws = settings(
    max_examples=DRAWS, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def agree(
    name: str,
    attrs: dict[str, Any],
    arrays: list[np.ndarray | None],
    reference: Callable[..., Any],
    *,
    training: bool = False,
    tolerance: float = 2e-5,
    gradients: bool = True,
    constants: Collection[int] = (),
) -> None:
    """Assert that the operation ``name`` and ``reference(weights, *tensors)`` in torch agree, or both raise.

    ``weights`` are the drawn parameters as tensors by name.  If torch raises, netcalc must raise too, with a reason;
    netcalc also refuses a result without elements, which torch allows.
    With ``gradients``, those of all inputs and parameters are compared in float64, but for the inputs at the positions
    ``constants``, which have none in torch.
    """
    weights: dict[str, np.ndarray] = {}
    refused: Exception | None = None
    try:
        declared = ops.find(name)
        assert declared is not None
        op = declared(**attrs)
        types = [type_of(a) for a in arrays]
        ctx = Context(training=training)
        node = node_of(op, types, ctx)
        rng = np.random.default_rng(1)
        for param in node.params:
            drawn = rng.normal(size=param.shape).astype(param.dtype or "float32")
            weights[param.name] = np.asarray(np.abs(drawn) if param.is_buffer else drawn)
    except (RuleError, ValidationError, UndecidedError) as why:
        refused = why
    tensors = [None if a is None else torch.from_numpy(a.copy()) for a in arrays]
    try:
        with torch.no_grad():
            expected = reference({n: torch.from_numpy(w.copy()) for n, w in weights.items()}, *tensors)
    except Exception as error:
        if refused is None:
            raise AssertionError(f"torch refuses {name} {attrs}, netcalc does not: {error}") from error
        return
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    if refused is not None:
        if any(tensor.numel() == 0 for tensor in expected):
            return
        raise AssertionError(f"netcalc refuses {name} {attrs}, torch does not: {refused}") from refused
    actual = execute(name, attrs, *arrays, weights=weights, training=training).outputs
    for one, other in zip(actual, expected, strict=False):
        array = other.resolve_conj().resolve_neg().numpy()
        assert (one.shape, one.dtype) == (array.shape, array.dtype)
        scale = float(np.abs(array[np.isfinite(array)]).max()) if np.isfinite(array).any() else 1.0
        np.testing.assert_allclose(one, array, rtol=tolerance, atol=tolerance * max(scale, 1e-6))
    if gradients:
        agree_on_gradients(op, arrays, weights, reference, training=training, constants=constants)


def agree_on_gradients(
    op: Operation,
    arrays: Sequence[np.ndarray | None],
    weights: Mapping[str, np.ndarray],
    reference: Callable[..., Any],
    *,
    training: bool = False,
    constants: Collection[int] = (),
    tolerance: float = 1e-6,
) -> None:
    """Assert that the gradients in float64 are those of torch's autograd, subgradients at kinks and ties included."""
    if declaration(op) is None or VJPS.get(op.name) is None:
        return
    arrays = [None if a is None else _double(a) for a in arrays]
    weights = {name: _double(w) for name, w in weights.items()}
    passed = BackwardPass(op, arrays, weights, training=training)
    seeds = passed.seeds()
    wanted = passed.call.wanted.difference(constants)
    if not wanted or all(seed is None for seed in seeds):
        return
    tensors = [None if a is None else torch.from_numpy(a.copy()) for a in arrays]
    named = {name: torch.from_numpy(w.copy()) for name, w in weights.items()}
    leaves = {source: tensors[source] if isinstance(source, int) else named[source] for source in wanted}
    for leaf in leaves.values():
        leaf.requires_grad_()
    expected = reference(named, *tensors)
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    pairs = [(y, s) for y, s in zip(expected, seeds, strict=False) if s is not None and y.requires_grad]
    used = tuple(s if n < len(expected) else None for n, s in enumerate(seeds))
    if not pairs:
        return
    found = passed.product(used, wanted)
    truth = torch.autograd.grad(
        [y for y, _ in pairs], list(leaves.values()), [torch.from_numpy(s) for _, s in pairs], allow_unused=True
    )
    for source, gradient in zip(leaves, truth, strict=True):
        ours = found[source]
        theirs = np.zeros_like(ours) if gradient is None else gradient.numpy()
        scale = float(np.abs(theirs[np.isfinite(theirs)]).max(initial=0.0))
        np.testing.assert_allclose(
            ours, theirs, rtol=tolerance, atol=tolerance * max(scale, 1e-6), err_msg=f"{op!r}: gradient of {source}"
        )


def _double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.name in FLOATS else array


@contextmanager
def kept_in_double() -> Iterator[None]:
    """Keep tensors of float64 as they are where a reference casts to float32, so that gradients can be compared."""
    to, single = torch.Tensor.to, torch.Tensor.float

    def cast(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if tensor.dtype == torch.float64:
            args = tuple(torch.float64 if arg is torch.float32 else arg for arg in args)
        return to(tensor, *args, **kwargs)

    def as_float(tensor: Any) -> Any:
        return tensor if tensor.dtype == torch.float64 else single(tensor)

    with mock.patch.object(torch.Tensor, "to", cast), mock.patch.object(torch.Tensor, "float", as_float):
        yield

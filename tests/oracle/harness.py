"""Comparison of netcalc with torch on drawn attributes and inputs; both must agree, or both raise an error."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from pydantic import ValidationError

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.dims import UndecidedError
from netcalc.opdef import Context
from tests.nodes import node_of
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
) -> None:
    """Assert that the operation ``name`` and ``reference(weights, *tensors)`` in torch agree, or both raise.

    ``weights`` are the drawn parameters as tensors by name.  If torch raises, netcalc must raise too, with a reason.
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
    if refused is not None:
        raise AssertionError(f"netcalc refuses {name} {attrs}, torch does not: {refused}") from refused
    actual = execute(name, attrs, *arrays, weights=weights, training=training).outputs
    expected = expected if isinstance(expected, (tuple, list)) else (expected,)
    for one, other in zip(actual, expected, strict=False):
        array = other.numpy()
        assert (one.shape, one.dtype) == (array.shape, array.dtype)
        scale = float(np.abs(array[np.isfinite(array)]).max()) if np.isfinite(array).any() else 1.0
        np.testing.assert_allclose(one, array, rtol=tolerance, atol=tolerance * max(scale, 1e-6))

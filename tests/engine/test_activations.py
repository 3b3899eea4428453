"""Activations on tiles against their definitions in float64, over the whole range of float32."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from netcalc.engine.graph import flatten
from netcalc.engine.lower.activations import activation
from netcalc.engine.lower.broadcast import clipped
from netcalc.spec import elaborate
from netcalc.spec.library import load_data

Array = npt.NDArray[Any]


def expit(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


erf = np.vectorize(math.erf)

#: Lines and definitions.
ACTIVATIONS: list[tuple[Any, Callable[[Array], Array]]] = [
    ("sigmoid", expit),
    ("silu", lambda x: x * expit(x)),
    ("quick_gelu", lambda x: x * expit(1.702 * x)),
    ("gelu", lambda x: x * (1 + erf(x * np.sqrt(0.5))) / 2),
    (
        {"gelu": {"approximate": "tanh"}},
        lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x))) / 2,
    ),
    ("hardsigmoid", lambda x: np.clip(x + 3, 0, 6) / 6),
    ("hardswish", lambda x: x * (np.clip(x + 3, 0, 6) / 6)),
    ({"leaky_relu": {"negative_slope": 0.3}}, lambda x: np.maximum(x, 0.3 * x)),
]
#: Largest error in units of max(|x|, 1); for a sigmoid, of 1.  A rounding of float32 is 2⁻²⁴.
ERROR = 3 * 2.0**-24


def values() -> Array:
    """Return ordinary numbers, numbers of every size, and those that are not finite, denormal or zero."""
    rng = np.random.default_rng(0)
    sizes = np.logspace(-45, 38, 3000)
    special = [0.0, -0.0, 1e-45, -1e-45, 1e-40, np.finfo("f").max, np.finfo("f").min, np.inf, -np.inf, np.nan]
    x = np.concatenate([np.linspace(-20, 20, 40_001), 3 * rng.standard_normal(30_000), sizes, -sizes, special])
    return x.astype(np.float32)


@pytest.mark.parametrize("in_place", [True, False])
@pytest.mark.parametrize(("line", "definition"), ACTIVATIONS, ids=lambda value: "" if callable(value) else str(value))
def test_an_activation_is_exact_to_rounding(line: Any, definition: Callable[[Array], Array], in_place: bool) -> None:
    op = flatten(elaborate(load_data({"netcalc": 1, "inputs": {"x": [4]}, "layers": [line]}))).nodes[0].op
    x = values()
    with np.errstate(all="ignore"):
        expected = definition(x.astype(np.float64))
        rows = x.copy()[None]
        out = rows if in_place else np.full_like(rows, np.nan)
        for one in activation(op, rows.dtype)(rows, out, np.full_like(rows, np.nan), np.full_like(rows, np.nan)):
            one()
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(out[0][~finite], expected[~finite].astype(np.float32))
    size = np.maximum(np.abs(x[finite].astype(np.float64)), 1) if line != "sigmoid" else 1
    assert (np.abs(out[0][finite] - expected[finite]) / size).max() <= ERROR


@pytest.mark.parametrize("limits", [(0.0, None), (0.0, 6.0), (-1.0, 1.0), (None, 2.0)])
@pytest.mark.parametrize("shape", [(1, 1), (3, 7), (5, 4096), (70, 130), (1, 20_000)])
@pytest.mark.parametrize("gap", [0, 3])
def test_clipping_with_rows(limits: tuple[float | None, float | None], shape: tuple[int, int], gap: int) -> None:
    wide = np.random.default_rng(0).standard_normal((shape[0], shape[1] + gap)).astype(np.float32) * 4
    wide[0, 0] = np.nan
    x, out = wide[:, : shape[1]], np.empty(shape, np.float32)
    for one in clipped(x, out, *limits):
        one()
    np.testing.assert_array_equal(out, np.clip(x, *limits))

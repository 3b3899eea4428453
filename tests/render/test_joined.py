"""Statistics of lists of outputs in the tables of runs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from netcalc.numerics.trace import TraceRow
from netcalc.render.joined import joined_rows


def rows(arrays: dict[str, np.ndarray]) -> list[TraceRow]:
    return list(joined_rows([TraceRow.of(name, "", array) for name, array in arrays.items()]))


def test_many_numbered_tensors_have_the_statistics_of_all_elements() -> None:
    draw = np.random.default_rng(0)
    arrays = {f"present.{n}.key": draw.normal(n, 1 + n, (2, 3)).astype(np.float32) for n in range(5)}
    logits = draw.normal(size=(4,))
    first, joined = rows({"logits": logits, **arrays})
    assert (first.path, joined.path, joined.shape) == ("logits", "present.0–4.key", (2, 3))
    whole = TraceRow.of("", "", np.stack(list(arrays.values())))
    for name in ("mean", "std", "min", "max", "absmax"):
        assert getattr(joined, name) == pytest.approx(getattr(whole, name), rel=1e-6)


def test_few_tensors_and_tensors_of_other_types_stay_apart() -> None:
    few = {f"present.{n}.key": np.zeros(2) for n in range(3)}
    assert [row.path for row in rows(few)] == list(few)
    windows = {f"present.{n}.key": np.zeros(2 + n % 2) for n in range(8)}
    assert [row.path for row in rows(windows)] == ["present.0,2,…,6.key", "present.1,3,…,7.key"]


def test_infinities_and_nans_are_values() -> None:
    values = [0.0, math.inf, -math.inf, 1e300, 2.0]
    (joined,) = rows({f"present.{n}.key": np.array([value]) for n, value in enumerate(values)})
    assert math.isnan(joined.mean) and (joined.min, joined.max) == (-math.inf, math.inf)
    (unknown,) = rows({f"present.{n}.key": np.array([math.nan if n == 1 else float(n)]) for n in range(4)})
    assert math.isnan(unknown.min) and math.isnan(unknown.max)

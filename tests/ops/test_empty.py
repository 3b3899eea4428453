"""Operations on tensors without elements: predictions against execution, or a refusal."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from netcalc import ops
from netcalc.diagnostics import RuleError
from netcalc.ir.build import infer
from netcalc.opdef import Context
from tests.ops.harness import NO_KERNEL, execute


@pytest.mark.parametrize("name", [name for name in ops.names() if name not in NO_KERNEL])
def test_an_empty_axis_is_predicted_or_refused(name: str) -> None:
    declared = ops.find(name)
    assert declared is not None
    types = declared.example.types()
    op = declared(**declared.example.attrs)
    sizes = {size for type_ in types for size in type_.shape if size > 1}
    for empty in sorted(sizes):  # equal sizes become empty together, as the operation may require
        emptied = [t.with_shape(*(0 if size == empty else size for size in t.shape)) for t in types]
        try:
            infer(op, emptied, Context())
        except RuleError:
            continue
        rng = np.random.default_rng(0)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            execute(name, dict(declared.example.attrs), *(rng.integers(0, 2, t.shape).astype(t.dtype) for t in emptied))

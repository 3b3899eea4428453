"""Numbers of extreme size in attributes: executed exactly, or refused with a diagnostic."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc import ops
from netcalc.diagnostics import NetcalcError, RuleError
from netcalc.numerics.kernels import Run, apply
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from netcalc.verification.verify import verify

WHOLE = [
    (name, field)
    for name, declared in ops.every().items()
    for field in declared.model_fields
    if field in ("stride", "diagonal", "offset", "window", "step")
]


def spec_of(name: str, changed: dict[str, Any]) -> dict[str, Any]:
    types = ops.every()[name].example.types()
    inputs = {f"x{n}": {"shape": list(t.shape), "dtype": t.dtype} for n, t in enumerate(types)}
    line = {name: {**ops.every()[name].example.attrs, **changed}, **({"from": list(inputs)} if inputs else {})}
    return {"netcalc": 1, "inputs": inputs, "layers": [line]}


@pytest.mark.parametrize("name,field", WHOLE)
@pytest.mark.parametrize("number", [10**18, 10**30, -(10**30)])
def test_distances_between_positions_may_be_of_any_size(name: str, field: str, number: int) -> None:
    try:
        program = elaborate(load_data(spec_of(name, {field: number})))
        report = verify(program, values=True, backward=any(t.is_float for t in program.main.output_types))
    except NetcalcError:
        return
    assert report.ok, report.failures


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
def test_a_whole_number_fits_the_element_type(name: str) -> None:
    with pytest.raises(NetcalcError, match="does not fit int64"):
        elaborate(load_data(spec_of(name, {"value": 10**30})))


def test_remainders_of_halves_are_by_a_number_in_half_precision() -> None:
    """PyTorch 2.13: ``torch.fmod(torch.tensor(0.7, dtype=torch.half), 0.1)``, and ``torch.remainder`` with 1e-5."""
    x = np.array([0.7, 0.3], "float16")
    fmod, remainder = ops.every()["fmod"](value=0.1), ops.every()["remainder"](value=1e-5)
    assert apply(fmod, Run(), (x,), {})[0].tolist() == [0.0003662109375, 0.0001220703125]
    assert apply(remainder, Run(), (x,), {})[0].tolist() == [5.7220458984375e-06, 1.9073486328125e-06]
    spec = {"netcalc": 1, "dtype": "float16", "inputs": {"x": [2, 8]}, "layers": [{"fmod": {"value": 0.1}}]}
    assert verify(elaborate(load_data(spec)), values=True).ok


def test_weights_of_classes_are_floating_point_numbers() -> None:
    types = ops.every()["cross_entropy"].example.types()
    with pytest.raises(RuleError, match="floating-point"):
        ops.every()["cross_entropy"]().infer(None, *types, types[0].with_shape(5).with_dtype("bool"))  # type: ignore[arg-type]

"""Shipped specs in other floating-point types."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.walk import instances
from netcalc.dtypes import FLOATS
from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from netcalc.spec.shipped import shipped

#: Operations whose result has a type of its own: the state of a scan, in float32 as in mamba_ssm.
OWN_TYPE = {"selective_scan", "ssd_scan", "gated_delta_rule"}
#: Lines whose results have a type of their own: logarithms of distances, which are rounded to whole numbers, and angles
#: in float32.
OWN_LINES = ("places.", "encoder.rel_pos_", "angles.")


def built(name: str, **keys: Any) -> Program:
    return elaborate(load_data({"netcalc": 1, "extends": name, **keys}))


def is_extended(path: Path) -> bool:
    return not path.read_text().partition("\nextends:")[1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [name for name, path in shipped().items() if is_extended(path)])
def test_every_tensor_and_parameter_has_the_type_of_the_program(name: str) -> None:
    stored = Analysis(built(name), CONVENTIONS["netcalc"]).total
    for dtype, factor in (("float64", 2), ("float16", 0.5), ("bfloat16", 0.5)):
        program = built(name, dtype=dtype)
        others = {
            (instance.path, value.known_type.dtype)
            for instance in instances(program)
            for value in instance.node.outputs
            if value.known_type.dtype in FLOATS and value.known_type.dtype != dtype
            if instance.node.op.name not in OWN_TYPE and not instance.path.startswith(OWN_LINES)
        }
        assert not others
        assert Analysis(program, CONVENTIONS["netcalc"]).total.weight_bytes == factor * stored.weight_bytes

"""Recorded facts about the shipped specs, and recorded forward passes of small versions of them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.engine.run import forward
from netcalc.ir import Program
from netcalc.ir.check import check
from netcalc.numerics.parameters import check_weights
from netcalc.request import Request
from netcalc.spec import elaborate, load_document
from netcalc.spec.shipped import shipped
from netcalc.spec.yaml_document import parse_yaml

HERE = Path(__file__).parent
TRUTH = HERE.parent / "truth"

#: Each file has `source`, `truth` (id, spec, settings, params, flops_torch; buffers, and params_active where it is
#: another; flops_torch_both of a forward and a backward pass, with the settings `frozen` if the reference trains other
#: parameters) and `small` (spec: settings).
FAMILIES: dict[str, dict[str, Any]] = {path.stem: json.loads(path.read_text()) for path in sorted(HERE.glob("*.json"))}

#: Settings that make each shipped spec small enough to execute.
SMALL: dict[str, dict[str, Any]] = {
    spec: small for family in FAMILIES.values() for spec, small in family["small"].items()
}

#: Keys of a spec that is another size of the one that it extends: nothing but values of vars, and what describes it.
_OF_SIZES = {"netcalc", "name", "about", "aliases", "extends", "family", "architecture", "source", "published", "vars"}


def is_size(name: str) -> bool:
    """Return True for a shipped spec that has the lines of the one that it extends, and other values of its vars."""
    data = parse_yaml(shipped()[name].read_text(encoding="utf-8"), name).data
    declares = any(isinstance(value, dict) and "default" in value for value in data.get("vars", {}).values())
    of_checkpoint = data.pop("checkpoint", {}).keys() - {"dtype"}
    return "extends" in data and not declares and not of_checkpoint and {*data} <= _OF_SIZES


#: Sizes that are not executed themselves, but what they extend is.
SIZES = {name for name in shipped() if name not in SMALL and is_size(name)}


@cache
def _built(name: str, settings: str) -> Program:
    program = elaborate(load_document(name), json.loads(settings))
    check(program)
    return program


def built(name: str, **settings: Any) -> Program:
    """Return the program of a shipped spec at these settings."""
    return _built(name, json.dumps(settings))


def requested(name: str, **settings: Any) -> Request:
    """Return the request for a shipped spec at these settings."""
    return Request(load_document(name), settings)


def in_double(name: str, **settings: Any) -> Program:
    """Return the program of a shipped spec at these settings in float64."""
    return elaborate(load_document(name), settings, dtype="float64")


def torch_total(program: Program) -> tuple[int, int]:
    """Return the parameters, and the FLOPs by torch's convention."""
    total = Analysis(program, CONVENTIONS["torch"]).total
    return int(total.params), int(total.flops)


def case_file(case: str) -> Path:
    """Return the tensors of a case from tests/truth, or from the folder in NETCALC_TRUTH."""
    folders = [TRUTH, *map(Path, filter(None, [os.environ.get("NETCALC_TRUTH")]))]
    found = next((path for folder in folders if (path := folder / f"{case}.safetensors").is_file()), None)
    if found is None:
        pytest.skip(f"{case}.safetensors is too large to ship; NETCALC_TRUTH names the folder that has it")
    return found


def check_case(
    case: str,
    spec: str,
    settings: Mapping[str, Any],
    *,
    inputs: Mapping[str, str | None] | None = None,
    outputs: Mapping[str, str] | None = None,
    activations: Mapping[str, str] | None = None,
    tolerance: float = 1e-5,
    same_work: bool = True,
) -> None:
    """Run a spec with the inputs and weights of a case; assert that outputs and activations equal the recorded ones.

    Args:
        inputs: names of inputs by recorded name, if they differ; None omits a recorded input.
        outputs: the same for outputs.
        activations: the same for activations, which are named by path.
        tolerance: relative to the largest element.
        same_work: if True, the FLOPs must equal the recorded ones too.
    """
    file = case_file(case)
    record = json.loads(file.with_suffix(".json").read_text())
    parts: dict[str, dict[str, np.ndarray]] = {"w": {}, "in": {}, "out": {}, "act": {}}
    for name, array in load_file(file).items():
        kind, _, rest = name.partition("/")
        parts[kind][rest] = array
    program = built(spec, **settings)
    params, flops = torch_total(program)
    assert params == record["params"]
    assert not same_work or flops == record["flops_torch"]["total"]
    report = check_weights(program, parts["w"])
    assert report.ok, report.mismatches
    named = ((inputs or {}).get(name, name) for name in parts["in"])
    given = {name: array for name, array in zip(named, parts["in"].values(), strict=True) if name is not None}
    result = forward(program, given, weights=parts["w"], trace=["*"], keep=True)
    planned = forward(program, given, weights=parts["w"], threads=2)
    assert (result.plan, planned.plan) == ("reference", "fast")
    for name, array in parts["out"].items():
        for run in (result, planned):
            assert_close(run.outputs[(outputs or {}).get(name, name)], array, tolerance, name)
    traced = {row.path: row.array for row in result.trace}
    for name, array in parts["act"].items():
        path = (activations or {}).get(name, name)
        # a module that is several layers here has the output of the last one
        actual = traced.get(path, next((a for p, a in reversed(traced.items()) if p.startswith(path + ".")), None))
        assert actual is not None, path
        assert_close(actual, array, tolerance, name)


def assert_close(actual: np.ndarray, expected: np.ndarray, tolerance: float, name: str) -> None:
    assert actual.shape == expected.shape, name
    assert float(np.abs(actual - expected).max()) <= tolerance * float(np.abs(expected).max()), name

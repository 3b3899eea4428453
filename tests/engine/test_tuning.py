"""Switches of a tuning: each disables its algorithm, and results stay the same."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from netcalc.engine.native.library import blocks_fit
from netcalc.engine.plan import Plan
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from tests.engine.tunings import SWITCHES, without

_CONV = {"out": 64, "kernel": 3, "padding": 1}

#: A network for each switch, whose plan the switch changes.
_NETWORKS: dict[str, tuple[list[int], list[Any]]] = {
    "compiled": ([4, 16], [{"linear": 16}, "gelu"]),
    "winograd": ([1, 32, 28, 28], [{"conv2d": _CONV}]),
    "depthwise": ([1, 32, 28, 28], [{"conv2d": {"out": 32, "kernel": 3, "groups": 32}}]),
    "packed": ([4, 16], [{"linear": 16}]),
    "small_gemm": ([1, 512, 7, 7], [{"conv2d": {"out": 256, "kernel": 1}}]),
    "fuse_epilogues": ([4, 16], [{"linear": 16}, "relu", "exp"]),
}


def network(name: str) -> Program:
    shape, layers = _NETWORKS[name]
    return elaborate(load_text(json.dumps({"netcalc": 1, "inputs": {"x": shape}, "layers": layers})))


def run(program: Program, tuning: Tuning) -> np.ndarray[Any, Any]:
    (output,) = Session(Plan(program, tuning=tuning), Parameters(program))(run_inputs(program))
    return output


def before(switch: str) -> Tuning:
    """Return the tuning that a switch changes: packed filters take the place of other algorithms."""
    return Tuning() if switch in ("compiled", "packed") else without("packed")


def trace(plan: Plan) -> list[Any]:
    """Return the properties that distinguish plans: constants; buffers, operands and results of the steps."""
    constants = [constant.slot.shape for constant in plan.constants]
    return [
        constants,
        *((step.scratch, [(s.shape, s.strides) for s in step.writes], len(step.reads)) for step in plan.steps),
    ]


def test_each_switch_has_a_network() -> None:
    assert set(_NETWORKS) == set(SWITCHES)


@pytest.mark.parametrize("switch", SWITCHES)
def test_switches_change_the_plan(switch: str) -> None:
    if switch in ("compiled", "packed") and not blocks_fit():
        pytest.skip("there is no kernel for this processor")
    program, tuning = network(switch), before(switch)
    assert trace(Plan(program, tuning=tuning)) != trace(Plan(program, tuning=without(switch, tuning=tuning)))


@pytest.mark.parametrize("switch", SWITCHES)
def test_results_do_not_depend_on_switches(switch: str) -> None:
    program = network(switch)
    tuning = before(switch)
    one, other = run(program, tuning), run(program, without(switch, tuning=tuning))
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(one).max())


def test_disabled_lowerings_fall_back_to_kernels() -> None:
    program = network("fuse_epilogues")
    plan = Plan(program, tuning=Tuning(disabled_lowerings=frozenset({"linear"})))
    assert (plan.steps[0].node.op.name, plan.steps[0].temporary > 0) == ("linear", True)
    assert not any(step.temporary for step in Plan(program).steps)

"""Phases of kernel calls that run without the interpreter, and products cut for several workers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.engine.lower.conv import packed
from netcalc.engine.lower.conv.product_tiles import product_tiles
from netcalc.engine.native.library import Blocks, available, blocks_fit
from netcalc.engine.plan import Plan
from netcalc.engine.runtime.phases import stretches
from netcalc.engine.runtime.session import Session
from netcalc.engine.tuning import Tuning
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from tests.engine.agreement import drawn
from tests.numerics.programs import program

NETWORK = """
inputs: {x: [2, 3, 24, 24]}
layers:
  - {conv2d: {out: 32, kernel: 3, padding: 1, bias: false}}
  - batch_norm
  - relu
  - {conv2d: {out: 32, kernel: 3, padding: 1, groups: 32}}
  - {conv2d: {out: 96, kernel: 1}}
  - softplus
  - {max_pool2d: 2}
  - {conv2d: {out: 200, kernel: 1}}
  - {flatten: {}}
  - {linear: 50}
  - {layer_norm: {}}
"""


@drawn
@given(st.lists(st.booleans(), max_size=70))
def test_stretches_are_the_phases_in_order(table: list[bool]) -> None:
    found = list(stretches(table))
    assert [known for first, end, known in found for _ in range(first, end)] == table
    assert [first for first, _, _ in found] == [0, *(end for _, end, _ in found)][: len(found)]
    assert all(0 < end - first <= 16 for first, end, _ in found)


@pytest.mark.skipif(not available(), reason="the kernels in C were not compiled")
@pytest.mark.parametrize(("threads", "processes"), [(1, False), (1, True), (2, False), (2, True), (3, True)])
def test_a_pass_has_the_bits_of_one_that_is_watched(threads: int, processes: bool) -> None:
    net = program(NETWORK)
    tuning = Tuning(product_macs_per_worker=1, pass_elements_per_worker=1)
    session = Session(Plan(net, threads, processes, tuning), Parameters(net, seed=1))
    steps: list[int] = []
    for seed in range(3):
        inputs = run_inputs(net, seed=seed)
        watched = session(inputs, lambda number, step, seconds: steps.append(number))
        for a, b in zip(session(inputs), watched, strict=True):
            np.testing.assert_array_equal(a, b)
    assert steps == [*range(len(session.plan.steps))] * 3
    assert session._calls is not None
    assert any(session._calls.known)


@pytest.mark.skipif(not blocks_fit(), reason="there is no kernel for this processor")
@pytest.mark.parametrize(
    ("line", "shape", "tiles"),
    [
        ("{conv2d: {out: 400, kernel: 1}}", [1, 400, 7, 7], "columns"),
        ("{conv2d: {out: 24, kernel: 1}}", [1, 16, 112, 112], "rows"),
        ("{conv2d: {out: 64, kernel: 3, groups: 2}}", [1, 128, 9, 9], "rows"),
        ("{conv2d: {out: 40, kernel: 5}}", [4, 48, 30, 30], "rows"),
        ("{linear: 3072}", [128, 768], "columns"),
        ("{linear: 40}", [4000, 64], "rows"),
    ],
)
def test_jobs_read_the_smaller_operand(
    line: str, shape: list[int], tiles: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut = []

    def noted(conv, jobs, size):  # type: ignore[no-untyped-def]
        found = product_tiles(conv, 2, Blocks(8, 6, 2))
        cut.append((conv, found))
        return product_tiles(conv, jobs, size)

    monkeypatch.setattr(packed, "product_tiles", noted)
    Plan(program(f"inputs: {{x: {shape}}}\nlayers: [{line}]"), 2, True, Tuning(winograd=False))
    ((conv, found),) = cut
    covered = np.zeros(conv.out_rows.shape, int)
    for tile in found:
        covered[conv.pixels(tile.region), tile.channels] += 1
    assert (covered == 1).all()
    assert tiles == ("rows" if all(tile.channels == slice(0, conv.outs) for tile in found) else "columns")

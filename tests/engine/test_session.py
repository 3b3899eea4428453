"""Memory, determinism, errors and threads of sessions."""

from __future__ import annotations

import gc
import threading
import tracemalloc
import weakref
from itertools import combinations
from time import sleep

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.diagnostics import NetcalcError
from netcalc.engine.plan import Plan
from netcalc.engine.run import forward
from netcalc.engine.runtime import session as module
from netcalc.engine.runtime.session import Session
from netcalc.engine.runtime.threads import ThreadPool
from netcalc.engine.step import Step
from netcalc.engine.tuning import Tuning
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters
from netcalc.spec import elaborate, load_document
from tests.engine.programs import Spec, drawn_weights, program, specs
from tests.engine.test_programs import PROCESSES, drawn
from tests.engine.tunings import TUNINGS
from tests.numerics.programs import program as spelt

#: The ids are computed, so that no range of the input bounds them.
EMBEDDING = (
    "inputs: {ids: {shape: [2, 3], dtype: int64}}\n"
    "layers: [{add: {value: 0}}, {name: table, embedding: {num_embeddings: 5, embedding_dim: 4}}, {linear: 3}]"
)


def session(
    net: Program, threads: int = 1, seed: int = 0, processes: bool = False, tuning: Tuning | None = None
) -> Session:
    return Session(Plan(net, threads, processes and PROCESSES, tuning), Parameters(net, drawn_weights(net, seed)))


# -- memory -----------------------------------------------------------------------------------------


@drawn
@given(specs(), st.integers(1, 3), st.booleans())
def test_stores_in_use_at_the_same_time_do_not_overlap(spec: Spec, threads: int, processes: bool) -> None:
    plan = Plan(program(spec), threads, processes)
    for (one, start), (other, begin) in combinations(plan.offsets.items(), 2):
        if one.first <= other.last and other.first <= one.last:
            assert start + one.nbytes <= begin or begin + other.nbytes <= start
    assert all(start + store.nbytes <= plan.memory.arena for store, start in plan.offsets.items())


@drawn
@given(specs(), st.integers(1, 3), st.booleans(), TUNINGS)
def test_steps_read_only_initialized_memory(spec: Spec, threads: int, processes: bool, tuning: Tuning) -> None:
    """After every step all other bytes of the arena, and all scratch, are set to NaN; the results stay the same."""
    net = program(spec)
    inputs = run_inputs(net)
    compiled = session(net, threads, processes=processes, tuning=tuning)
    plain = compiled(inputs)
    offsets = compiled.plan.offsets
    arena = np.zeros(compiled.plan.memory.arena, bool)

    def poison(number: int, step: Step | None = None, seconds: float = 0) -> None:
        arena.fill(False)
        for store, offset in offsets.items():
            if store.first <= number < store.last:
                arena[offset : offset + store.nbytes] = True
        for store, offset in offsets.items():
            assert store.memory is not None
            np.copyto(store.memory, 255, where=~arena[offset : offset + store.nbytes])
        for scratch in compiled._scratch.values():
            scratch.fill(255)

    poison(-2)
    for one, other in zip(plain, compiled(inputs, poison), strict=True):
        np.testing.assert_array_equal(one, other)


@drawn
@given(specs(), st.sampled_from(["float32", "bfloat16"]), st.integers(1, 3), st.booleans())
def test_predicted_memory_is_that_of_stores_and_scratch(spec: Spec, dtype: str, threads: int, processes: bool) -> None:
    compiled = session(program(spec, dtype), threads, processes=processes)
    plan = compiled.plan
    held = [constant.slot.store.memory for constant in plan.constants] + [
        store.memory for store in plan.persistent_stores
    ]
    assert sum(array.nbytes for array in held if array is not None) == plan.memory.weights
    assert sum(plan.scratch) == plan.memory.scratch
    for share, scratch in compiled._scratch.items():  # each worker process has its own
        assert scratch.nbytes == plan.scratch[share]
    assert plan.memory.peak == sum(plan.memory)


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("resnet18", {"height": 96, "width": 96}),
        ("mobilenet_v2", {"height": 96, "width": 96}),
        ("bert-base", {"d_model": 192, "layers": 2, "heads": 4}),
    ],
)
def test_a_session_allocates_the_predicted_memory(name: str, sizes: dict[str, int]) -> None:
    """Measured by NumPy's allocations in tracemalloc, which include a few repeated rows of constants."""
    net = elaborate(load_document(name), sizes)
    session(net)  # imports and caches of the first use
    gc.collect()
    tracemalloc.start()
    try:
        compiled = Session(Plan(net, 2), Parameters(net))
        gc.collect()
        arrays = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
        held = sum(s.size for s in tracemalloc.take_snapshot().filter_traces([arrays]).statistics("filename"))
    finally:
        tracemalloc.stop()
    memory = compiled.plan.memory
    assert memory.peak - memory.temporary - memory.outputs == pytest.approx(held, rel=0.05)


# -- determinism ------------------------------------------------------------------------------------


@drawn
@given(specs(), st.integers(1, 3), st.booleans())
def test_runs_are_bitwise_reproducible(spec: Spec, threads: int, processes: bool) -> None:
    net = program(spec)
    one, other = (session(net, threads, processes=processes) for _ in range(2))
    inputs = run_inputs(net)
    first = one(inputs)
    kept = [array.copy() for array in first]
    for again in (one(inputs), other(inputs), kept):
        for array, same in zip(first, again, strict=True):
            np.testing.assert_array_equal(array, same)


def test_outputs_are_not_overwritten_by_later_passes() -> None:
    compiled = session(spelt("inputs: {x: [2, 3]}\nlayers: [{name: r, relu: {}}]\noutputs: {same: x, y: r}"))
    x = np.ones((2, 3), np.float32)
    first = compiled([x])
    assert not any(np.shares_memory(array, x) for array in first)
    compiled([x * 2])
    assert all((array == 1).all() for array in first)


# -- errors and threads -----------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 3])
def test_an_error_at_run_time_names_the_path(threads: int) -> None:
    net = spelt(EMBEDDING)
    for plan in ("fast", "reference"):
        with pytest.raises(NetcalcError) as caught:
            forward(net, {"ids": [[0, 1, 2], [3, 4, 7]]}, plan=plan, threads=threads)
        (found,) = caught.value.diagnostics
        assert (found.code, found.message) == ("E602", "table: id 7 is out of range: num_embeddings is 5")
        assert found.span is not None


def test_a_session_is_usable_after_an_error() -> None:
    net = spelt(EMBEDDING)
    compiled = session(net, 2)
    good = [np.ones((2, 3), np.int64)]
    before = compiled(good)
    with pytest.raises(NetcalcError):
        compiled([np.full((2, 3), 9)])
    np.testing.assert_array_equal(compiled(good)[0], before[0])


def test_all_parts_end_before_an_error_is_raised() -> None:
    done: list[int] = []

    def fail() -> None:
        raise KeyError("part")

    def slow() -> None:
        sleep(0.05)
        done.append(1)

    workers = ThreadPool(lambda number: [[fail, slow], [slow, slow]][number - 1], 3)
    with pytest.raises(KeyError):
        workers.run(0, lambda: None, 2)
    assert done == [1]
    workers.run(1, slow, 2)
    assert done == [1] * 4


def test_threads_end_with_their_session() -> None:
    gc.collect()
    sleep(0.05)
    before = threading.active_count()
    compiled = session(spelt("inputs: {x: [1000, 1000]}\nlayers: [relu]"), 4)
    compiled(run_inputs(compiled.plan.program))
    assert threading.active_count() == before + 3
    del compiled
    for _ in range(100):
        if threading.active_count() == before:
            break
        sleep(0.01)
    assert threading.active_count() == before


def test_a_failed_run_leaves_no_threads() -> None:
    gc.collect()
    sleep(0.05)
    before = threading.active_count()
    with pytest.raises(NetcalcError):
        forward(spelt(EMBEDDING), {"ids": np.full((2, 3), 9)}, threads=3)
    sleep(0.05)
    assert threading.active_count() == before


def test_planning_allocates_no_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan needs sizes only."""
    monkeypatch.setattr(module, "aligned", None)
    net = spelt("inputs: {x: [1000, 100000]}\nlayers: [{linear: {out: 100000, bias: false}}, relu, softmax]")
    tracemalloc.start()
    try:
        assert Plan(net, 2).memory.weights >= 4 * 100_000 * 100_000
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


def test_memory_is_freed_with_the_session() -> None:
    """Without the cyclic garbage collector; the arrays from which parameters were read are not kept alive either."""
    net = elaborate(load_document("resnet18"), {"height": 64, "width": 64})
    given = {"weights": drawn_weights(net, 0)}
    compiled = Session(Plan(net, 2), Parameters(net, given["weights"]))
    compiled(run_inputs(net))
    scratch = [weakref.ref(array) for array in compiled._scratch.values()]
    weight = weakref.ref(given["weights"]["layer1.0.conv1.weight"])
    given.clear()
    assert weight() is None
    gc.disable()
    try:
        held = [weakref.ref(store.memory) for store in compiled.plan.offsets if store.memory is not None]
        held += [weakref.ref(constant.slot.store.memory) for constant in compiled.plan.constants]
        del compiled
        assert not any(ref() is not None for ref in held + scratch)
    finally:
        gc.enable()

"""Constants of a plan, loaded by several threads."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from threading import Event, active_count, get_ident
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import netcalc
from netcalc.arrays import Array
from netcalc.engine.lower.layout import new_slot
from netcalc.engine.runtime import loading
from netcalc.engine.runtime.loading import load_constants
from netcalc.engine.step import Constant
from tests.engine.programs import drawn_weights

THREADS = 3


@pytest.fixture(autouse=True)
def small_constants_are_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "_BYTES_PER_THREAD", 1)


def constants(*loads: Callable[[], Array]) -> list[Constant]:
    return [Constant(new_slot((2,), np.dtype(np.float32)), load=load) for load in loads]


def loaded() -> Array:
    return np.ones(2, np.float32)


def failing(reason: str, *, after: Event | None = None, before: Event | None = None) -> Callable[[], Array]:
    """Return a function that fails once ``after`` is set, and sets ``before``."""

    def load() -> Array:
        if after is not None:
            after.wait(60)
        if before is not None:
            before.set()
        raise ValueError(reason)

    return load


def test_threads_load_what_one_does(tmp_path: Path) -> None:
    block: list[Any] = [{"conv2d": {"out": 24, "kernel": 3, "padding": 1}}, "batch_norm", "relu"]
    layers = [{"repeat": 12, "sequence": block}, "flatten", {"linear": 40}, {"linear": 40}]
    network = netcalc.load_data({"netcalc": 1, "inputs": {"x": [1, 24, 6, 6]}, "layers": layers})
    file = tmp_path / "weights.safetensors"
    save_file(drawn_weights(network.program, 3), file)
    x = np.random.default_rng(0).standard_normal((1, 24, 6, 6)).astype(np.float32)
    one, several = (network.compile(file, threads=threads)(x=x)["output"] for threads in (1, THREADS))
    np.testing.assert_allclose(several, one, rtol=1e-4, atol=1e-5)


def test_the_error_is_that_of_the_first_constant() -> None:
    failed = Event()
    first = failing("the first one", after=failed)
    later = failing("a later one", before=failed)
    with pytest.raises(ValueError, match="the first one"):
        load_constants(constants(loaded, first, later, *[loaded] * 9), nullcontext, THREADS, None)


def test_no_constant_is_begun_after_an_error() -> None:
    begun: list[int] = []

    def load() -> Array:
        begun.append(1)
        return loaded()

    with pytest.raises(ValueError, match="broken"):
        load_constants(constants(failing("broken"), *[load] * 50), nullcontext, 1, None)
    assert not begun


@pytest.mark.parametrize("threads", [1, THREADS])
def test_progress_is_told_by_the_calling_thread(threads: int) -> None:
    told: list[tuple[int, int]] = []
    load_constants(constants(*[loaded] * 20), nullcontext, threads, lambda count: told.append((count, get_ident())))
    counts = [count for count, _ in told]
    assert counts == sorted(set(counts)) and counts[-1] == 20
    assert {thread for _, thread in told} == {get_ident()}


def test_an_interrupt_waits_for_threads() -> None:
    def interrupt(count: int) -> None:
        raise KeyboardInterrupt

    before = active_count()
    with pytest.raises(KeyboardInterrupt):
        load_constants(constants(*[loaded] * 50), nullcontext, THREADS, interrupt)
    assert active_count() == before

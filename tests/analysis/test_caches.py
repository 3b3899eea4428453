"""Caches and states of decoding: conventions against simulations, tokens that fit, and activations beside caches."""

from __future__ import annotations

import random
from collections import deque
from typing import Any

import pytest

import netcalc
from netcalc.analysis.activations import activations
from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import conventions
from netcalc.analysis.caches.fit import budget_bytes, most_that_fits
from netcalc.dims import Poly

#: Two layers of a decoder with a window and without.
WINDOWED = {"layers": 4, "d_model": 32, "heads": 4, "window": 24, "vocab": 50}


def windowed(**more: Any) -> netcalc.Network:
    return netcalc.load("gpt-neo-125m", set={**WINDOWED, **more})


def ideal_cells(positions: int, window: int | None) -> int:
    """Return the most cells at a time of a buffer that drops what no later query sees."""
    cells: deque[int] = deque()
    most = 0
    for position in range(positions):
        cells.append(position)
        while window is not None and cells[0] <= position - window:
            cells.popleft()
        most = max(most, len(cells))
    return most


def paged_cells(positions: int, page: int = 16) -> int:
    """Return the cells of pages that are taken one after another when the last one is full."""
    pages = 0
    for position in range(positions):
        if position == pages * page:
            pages += 1
    return pages * page


def sliding_cells(positions: int, window: int, batched: int = 2048) -> int:
    """Return the cells of vLLM's SlidingWindowSpec.max_memory_usage_bytes, by the statements of its source."""
    num_tokens = min(window - 1 + batched, positions)
    return (-(num_tokens // -16) + 1) * 16


def llama_cpp_cells(positions: int, window: int | None, micro_batch: int = 512) -> int:
    """Return the cells of llama_kv_cache_iswa, by the statements of its source in integers."""

    def pad(size: int, unit: int) -> int:  # GGML_PAD
        return (size + unit - 1) // unit * unit

    n_ctx = pad(positions, 256)
    return n_ctx if window is None else pad(min(n_ctx, window + micro_batch), 256)


def test_conventions_reserve_what_simulations_do() -> None:
    found = conventions()
    draw = random.Random(0)
    for _ in range(300):
        positions, window = draw.randrange(0, 3000), draw.choice([None, draw.randrange(1, 2500)])
        assert found["ideal"].reserved(positions, window) == ideal_cells(positions, window)
        paged = paged_cells(positions)
        alone = paged if window is None else sliding_cells(positions, window)
        for name, whole in (("vllm", True), ("vllm-hybrid", False)):
            assert found[name].applied("", "float32", [window]).reserved(positions, window) == alone
            mixed = found[name].applied("", "float32", [None, window])
            assert mixed.reserved(positions, window) == (paged if whole else alone)
            assert mixed.reserved(positions, None) == paged
        for architecture, read in [("gemma3", window), ("mistral", None), ("phi3", None), ("", None)]:
            applied = found["llama.cpp"].applied(architecture, "float32", [None, window])
            assert applied.reserved(positions, window) == llama_cpp_cells(positions, read)


@pytest.mark.parametrize("batch", [1, 3])
def test_one_more_token_does_not_fit(batch: int) -> None:
    draw = random.Random(batch)
    for _ in range(4):
        weights = integer(windowed(length=1).memory().weights)
        budget = weights + draw.randrange(1, 1 << 18)
        found = windowed(length=1, batch=batch).memory(tokens_in=budget).tokens_in
        assert found is not None and found.budget == budget
        for name, tokens in found.tokens.items():
            assert tokens is not None and (tokens > 0 or tokens == -1)
            # the step of the last position, by a program of so many positions: the sizes above are a step of one
            totals = [
                integer(windowed(length=n, batch=batch).memory(cache=name, phase="decode").total(name) or 0)
                for n in (max(tokens, 0), max(tokens, 0) + 1)
                if n
            ]
            assert totals[-1] > budget and (tokens < 0 or totals[0] <= budget)


def test_budgets_and_networks_without_growth() -> None:
    assert budget_bytes("16GiB") == 16 << 30 and budget_bytes("24GB") == 24 * 10**9 and budget_bytes("3k") == 3000
    states = netcalc.load("mamba-130m", set={"length": 1}).memory(tokens_in="1GiB").tokens_in
    assert states is not None and set(states.tokens.values()) == {None}
    small = netcalc.load("llama-3-8b", set={"length": 1}).memory(tokens_in="1GiB").tokens_in
    assert small is not None and set(small.tokens.values()) == {-1}
    steps = [5, 7, 7, 7, 30]
    assert most_that_fits(lambda n: n < len(steps) and steps[n] <= 7) == 3
    with pytest.raises(netcalc.NetcalcError):
        netcalc.load("gpt2").memory(tokens_in="-1GiB")


def test_cross_attention_keeps_its_caches_in_all_steps() -> None:
    cross = {}
    for past, target in ((0, 20), (19, 1)):
        report = netcalc.load("t5-small", set={"past": past, "target": target, "source": 50}).memory(cache_dtype="fp8")
        kept = {one.name: one.bytes(report.conventions[0]) for one in report.kept}
        assert len(kept) == 4 * 6 and report.caches() == 6 * 2 * 8 * 64 * (20 + 50)
        cross[past] = {name: size for name, size in kept.items() if "cross" in name}
    assert cross[0] == cross[19] and set(cross[0].values()) == {8 * 64 * 50}


def test_caches_hold_the_arrays_that_a_run_passes_on() -> None:
    net = windowed(length=40)
    outputs = net.at_step(0, 40).run().outputs
    report = net.memory(cache="ideal")
    for kept in report.kept:
        cells = outputs[kept.next].shape[2] + (1 if kept.window is not None else 0)  # the cell of the next token
        assert kept.bytes(report.conventions[0]) == outputs[kept.next][:, :, :1].nbytes * cells
    states = netcalc.load("mamba-130m", set={"layers": 2, "d_model": 16, "vocab": 40, "length": 5})
    arrays = states.at_step(0, 5).run().outputs
    assert states.memory().caches() == sum(arrays[kept.next].nbytes for kept in states.memory().kept)


@pytest.mark.parametrize(("name", "dims"), [("gpt2", ["past"]), ("gpt-neo-125m", ["past", "batch"])])
def test_symbolic_sizes_give_the_same_bytes(name: str, dims: list[str]) -> None:
    symbolic = netcalc.load(name, set={"length": 1, "use_cache": True}, symbolic=dims).memory()
    for past in (0, 17, 255, 256, 900):
        values = {"past": past, "batch": 3} if "batch" in dims else {"past": past}
        numbers = netcalc.load(name, set={"length": 1, **values}).memory()
        for one in symbolic.conventions:
            caches = symbolic.caches(one.name)
            assert isinstance(caches, Poly)
            assert caches.at(values) == numbers.caches(one.name)


def test_activations_beside_caches() -> None:
    plain = netcalc.load("resnet18").program
    assert beside_caches(plain) == activations(plain)
    # a step of decoding holds the same beside caches of any length
    steps = [netcalc.load("llama-3-8b").at_step(past, 1).program for past in (64, 4096)]
    short, long = (beside_caches(program) for program in steps)
    assert (short.peak, short.live) == (long.peak, long.live)
    assert long.peak < 2 * 128256 * 4 < activations(steps[1]).peak
    # a prefill holds what the network without caches does, but for keys and values that are copied to the cache
    net = netcalc.load("llama-3-8b", set={"length": 512})
    assert beside_caches(net.at_step(0, 512).program).peak <= activations(net.program).peak
    ideal = windowed(length=40).memory().ideal
    assert ideal is not None and not any("past" in tensor.path for tensor in ideal.live)
    states = netcalc.load("mamba-130m").at_step(9, 1).program
    assert not any(tensor.path.endswith("scan.1") for tensor in beside_caches(states).live)


@pytest.mark.parametrize("name", ["resnet50", "gpt2", "mixtral-8x7b", "bert-base", "albert-base"])
def test_stored_weights_add_up_to_the_counted_bytes(name: str) -> None:
    net = netcalc.load(name)
    report, total = net.memory(), net.cost()
    assert (report.weights, report.buffers) == (total.weight_bytes, total.buffer_bytes)
    small = net.quantized("int8").pruned("0.5")
    assert small.memory().weights == small.cost().weight_bytes
    adapted = netcalc.load("gpt2", lora=4).memory()
    assert [one.role for one in adapted.stored] == ["weights", "adapters"]
    assert adapted.stored[1].elements == netcalc.load("gpt2", lora=4).cost().params_trainable


def integer(size: Any) -> int:
    assert isinstance(size, int)
    return size

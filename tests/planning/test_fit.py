"""Answers of fit: memory accepts what fits, and no more; the numbers are those of devices and published sizes."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.analysis.fit.edge import Edge, largest
from netcalc.analysis.fit.report import Memory

#: Drawn cases: 20, or more on demand (``NETCALC_DRAWS=200``).
DRAWS = int(os.environ.get("NETCALC_DRAWS", "20"))

#: Small networks: with attention over all positions, over a window, with positions that end, with states, and without
#: any of these.
SMALL: dict[str, dict[str, Any]] = {
    "llama-3.1-8b": {"layers": 3, "d_model": 32, "heads": 4, "kv_heads": 2, "d_ff": 64, "vocab": 50},
    "gemma-3-270m": {"layers": 7, "window": 8, "vocab": 64},
    "gpt2": {"layers": 2, "d_model": 32, "heads": 2, "vocab": 50, "max_length": 64, "length": 1},
    "mamba-130m": {"layers": 2, "d_model": 32, "vocab": 64},
    "bert-base": {"layers": 2, "d_model": 32, "heads": 2, "d_ff": 64, "vocab": 50},
    "mlp": {},
}


def _memory(name: str, settings: dict[str, Any], batch: int | None, length: int | None, options: dict[str, Any]) -> int:
    """Return what ``memory`` counts at a batch and a length."""
    program = netcalc.load(name).program
    sizes = settings | ({} if batch is None else {"batch": batch})
    if length is not None:
        steps = options.get("phase") == "decode"
        sizes |= {"length": 1 if steps else length}
        sizes |= {"past": length - 1 if steps else 0} if "past" in program.dims else {}
    phase = options.get("phase") or ("prefill" if "past" in program.dims else None)
    asked = {key: value for key, value in options.items() if key != "phase"}
    if "training" not in asked:
        asked["phase"] = phase
    report = netcalc.load(name, set=sizes).memory(**asked)
    total = report.trained if "training" in asked else report.total(asked.get("cache", "ideal"))
    assert isinstance(total, int)
    return total


@given(st.data())
@settings(max_examples=DRAWS, deadline=None)
def test_memory_accepts_what_fits_and_not_one_more(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(SMALL)))
    decodes = "past" in netcalc.load(name).program.dims
    options: dict[str, Any] = {}
    if decodes:
        options |= {"phase": data.draw(st.sampled_from(["prefill", "decode"]))}
        options |= data.draw(st.sampled_from([{}, {"cache": "vllm"}, {"cache": "llama.cpp"}]))
    if data.draw(st.booleans()) and name != "gemma-3-270m":
        options = {"training": "adamw"}
    batch = data.draw(st.integers(1, 4))
    length = data.draw(st.integers(1, 60)) if name != "mlp" else None
    here = _memory(name, SMALL[name], batch, length, options)
    budget = here + data.draw(st.sampled_from([-1, 0, 1, here // 10, 2 * here]))
    sizes: dict[str, Any] = {"batch": batch} if length is None else {"batch": batch, "length": length}
    report = netcalc.load(name, set=SMALL[name]).fit(device=budget, **sizes, **options)
    assert report.need.total == here and report.fits is (here <= budget)
    if length is None or data.draw(st.booleans()):
        _assert_edge(report.largest_batch, budget, lambda n: _memory(name, SMALL[name], n, length, options))
    else:
        _assert_edge(report.largest_length, budget, lambda n: _memory(name, SMALL[name], batch, n, options))


def _assert_edge(edge: Edge | None, budget: int, memory_at: Any) -> None:
    assert edge is not None
    if edge.number is None:
        return
    assert edge.number == 0 or memory_at(edge.number) <= budget
    if edge.reason:
        with pytest.raises(netcalc.NetcalcError):
            memory_at(edge.number + 1)
    else:
        assert memory_at(edge.number + 1) > budget


@pytest.mark.parametrize("scheme", ["int8", "q4_k_m", "nf4", "q2_k"])
def test_the_length_that_a_scheme_leaves(scheme: str) -> None:
    report = netcalc.load("llama-3.1-8b").fit(device="8GiB")
    (edge,) = [form.length for form in report.schemes if form.scheme == scheme]
    assert edge is not None and edge.number is not None and not report.fits
    if edge.number:
        assert _total(netcalc.load("llama-3.1-8b", set={"length": edge.number}, quantize=scheme)) <= 1 << 33
    more = netcalc.load("llama-3.1-8b", set={"length": edge.number + 1}, quantize=scheme)
    assert _total(more) > 1 << 33


def _total(network: netcalc.Network) -> int:
    total = network.memory(phase="prefill").total()
    assert isinstance(total, int)
    return total


def _of(name: str, **options: Any) -> Memory:
    memory = netcalc.load(name).fit(**options).memory
    assert memory is not None
    return memory


@given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(0, 300), st.integers(1, 60))
def test_the_search_finds_the_edge_of_any_need_that_does_not_fall(steps: list[int], budget: int, start: int) -> None:
    needs = [sum(steps[: n + 1]) for n in range(len(steps))]

    def fits(number: int) -> bool:
        return number <= len(needs) and needs[number - 1] <= budget

    edge = largest(fits, lambda low, high: low + 3, start)
    assert edge == sum(need <= budget for need in needs)


def test_the_workload_is_the_smaller_of_8192_and_the_context() -> None:
    assert netcalc.load("gpt2").fit().workload == ("prefill", 1, 1024)
    assert netcalc.load("llama-3.1-8b").fit().workload == ("prefill", 1, 8192)
    assert netcalc.load("llama-3.1-8b", set={"length": 100, "batch": 3}).fit().workload == ("prefill", 3, 100)
    assert any("--length 8192" in text for text in netcalc.load("llama-3.1-8b").fit().assumptions)


@pytest.mark.parametrize(
    ("device", "options", "split"),
    [
        ("80GiB:2", {}, {"tp": 2}),
        ("24GiB:8", {"phase": "decode"}, {}),
        ("80GiB:8", {"training": "adamw", "precision": "bf16-mixed", "recompute": "full", "length": 1024}, {}),
    ],
)
def test_memory_accepts_the_split_that_fits(device: str, options: dict[str, Any], split: dict[str, int]) -> None:
    report = netcalc.load("llama-3.1-8b").fit(device=device, **options)
    assert report.fits and report.split is not None and report.memory is not None
    words = report.split.options.split()
    numbers = {words[i][2:]: int(words[i + 1]) for i in range(len(words) - 1) if words[i + 1].isdecimal()}
    assert split.items() <= numbers.items()
    asked: dict[str, Any] = {**options, **numbers} | ({"sp": True} if "--sp" in words else {})
    asked |= {"zero": str(numbers["zero"])} if "zero" in numbers else {}
    length, batch = asked.pop("length", 8192), numbers.get("accumulate", 1)
    if "training" in asked:
        asked["micro_batch"] = 1
    else:
        asked |= {"phase": options.get("phase", "prefill")}
    network = netcalc.load("llama-3.1-8b", set={"length": length, "batch": batch})
    found = network.memory(**asked).split
    assert found is not None and found.fullest.total == report.need.total == report.split.total
    assert found.devices == report.memory.number


@pytest.mark.parametrize(("divisor", "training"), [(3, None), (5, None), (3, "adamw"), (4, "adamw")])
def test_no_split_over_fewer_devices_fits(divisor: int, training: str | None) -> None:
    sizes = {**SMALL["llama-3.1-8b"], "layers": 6, "kv_heads": 4, "heads": 8, "d_model": 64, "d_ff": 128, "length": 16}
    network = netcalc.load("llama-3.1-8b", set=sizes)
    asked: dict[str, Any] = {"training": training} if training else {"phase": "prefill"}
    budget = network.fit(device="1GiB", length=16, **asked).need.total // divisor
    fewest = network.fit(device=budget, length=16, **asked).fewest
    assert fewest is not None and fewest.total <= budget
    for devices in range(2, fewest.devices):
        for tp, pp in ((tp, pp) for tp in (1, 2, 4, 8) for pp in (1, 2, 3, 6) if devices % (tp * pp) == 0):
            dp = devices // (tp * pp)
            for zero in "013" if training and dp > 1 else "0":
                options: dict[str, Any] = {
                    **asked,
                    "tp": tp,
                    "pp": pp,
                    "dp": dp,
                    "zero": zero,
                    "sp": bool(training and tp > 1),
                }
                if training:
                    options |= {"micro_batch": 1, "accumulate": pp}
                elif dp > 1:
                    continue
                try:
                    split = network.memory(**options).split
                except netcalc.NetcalcError:
                    continue
                assert split is not None and split.fullest.total > budget, (devices, options)


@pytest.mark.parametrize(
    ("options", "batch", "largest"),
    [({"accumulate": 4}, 4, 0), ({"batch": 6, "accumulate": 3}, 6, 0), ({"micro_batch": 2}, 2, None)],
)
def test_passes_share_the_batch(options: dict[str, Any], batch: int, largest: int | None) -> None:
    network = netcalc.load("bert-base", set=SMALL["bert-base"])
    budget = 3 * network.fit(training="adamw", length=8, **options).need.total
    report = network.fit(training="adamw", device=budget, length=8, **options)
    assert report.workload.batch == batch
    if largest is None:  # the memory is that of a micro-batch, whatever the batch
        assert report.largest_batch is None
        return
    edge, passes = report.largest_batch, options["accumulate"]
    assert edge is not None and edge.number is not None and edge.number % passes == 0

    def at(number: int) -> int:
        sizes = {**SMALL["bert-base"], "batch": number, "length": 8}
        total = netcalc.load("bert-base", set=sizes).memory(training="adamw", accumulate=passes).trained
        assert total is not None
        return total

    assert at(edge.number) <= budget < at(edge.number + passes)


def test_a_model_that_is_too_large_names_the_fewest_devices() -> None:
    report = netcalc.load("llama-3-70b").fit(device="h100")
    assert report.fits is False and report.fewest is not None and report.fewest.options == "--tp 4"
    assert netcalc.load("llama-3-70b").fit(device="h100:2").fits is False
    assert netcalc.load("llama-3-70b").fit(device="h100:4").fits is True


@pytest.mark.parametrize(("spec", "option"), [("llama-3.1-8b", "gpu_layers"), ("mixtral-8x7b", "experts_on")])
def test_the_placement_leaves_least_to_the_host(spec: str, option: str) -> None:
    report = netcalc.load(spec).fit(device="12GiB" if option == "gpu_layers" else "rtx-3090", reserve=0)
    assert report.placement is not None and report.memory is not None
    value = report.placement.options.split()[1]
    network = netcalc.load(spec, set={"length": 8192})

    def on_device(value: Any) -> tuple[int, int]:
        asked: dict[str, Any] = {option: value}
        placement = network.memory(phase="prefill", **asked).placement
        assert placement is not None
        return placement.device.totals["ideal"], placement.host.totals["ideal"]

    assert on_device(int(value) if option == "gpu_layers" else value) == report.placement[1:]
    more = int(value) + 1 if option == "gpu_layers" else f"cpu:{int(value.removeprefix('cpu:')) - 1}"
    assert report.placement.device <= report.memory.budget < on_device(more)[0]


def test_a_reserve_is_a_share_of_a_device_and_nothing_of_bytes() -> None:
    assert _of("mlp", device="80GiB").reserve == 0
    assert _of("mlp", device="t4").reserve == _of("mlp", device="t4", reserve="10%").reserve == 1_600_000_000
    assert _of("mlp", device="t4", reserve="1GiB").reserve == 1 << 30


def test_weights_of_a_microcontroller_lie_in_its_flash() -> None:
    report = netcalc.load("mlp").fit(device="cortex-m7", reserve=0)
    assert report.memory is not None and report.memory.flash is not None and report.fits is not None
    rest = report.need.total - report.need.of("weights")
    assert report.margin == min(report.memory.flash - report.need.of("weights"), report.memory.bytes - rest)


@pytest.mark.parametrize(
    ("spec", "options", "words"),
    [
        ("mlp", {"length": 3}, "has no positions"),
        ("mlp", {"device": "h10"}, "no such device"),
        ("mlp", {"device": "8GiB", "reserve": "x"}, "--reserve x"),
        ("mlp", {"device": "8GiB", "reserve": "8GiB"}, "leaves nothing"),
        ("resnet18", {"phase": "decode"}, "does not decode"),
        ("mlp", {"precision": "bf16-mixed"}, "says how to train"),
        ("mlp", {"training": "sgd", "micro_batch": 2, "batch": 3}, "does not divide"),
        ("gpt2", {"length": 1025}, "1024 positions"),
    ],
)
def test_what_cannot_be_answered(spec: str, options: dict[str, Any], words: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=words):
        netcalc.load(spec).fit(**options)


def test_a_workload_gives_symbols_their_sizes() -> None:
    assert netcalc.load("gpt2", symbolic=["batch", "length"]).fit().need == netcalc.load("gpt2").fit().need
    with pytest.raises(netcalc.NetcalcError, match="height is a symbol"):
        netcalc.load("resnet18", symbolic=["height"]).fit()

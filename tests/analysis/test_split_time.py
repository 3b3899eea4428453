"""Bounds of time of splits: counted by hand, from the bounds of one device, and below published times."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.analysis.time_report import TimeReport
from netcalc.diagnostics import NetcalcError

SMALL = {"layers": 4, "d_model": 64, "heads": 4, "kv_heads": 4, "d_ff": 128, "vocab": 64, "length": 16}
#: Devices that compute, read and send so fast that only one of these counts.
DEVICE = """
devices:
  odd:
    title: An odd device
    memory: 80GB
    bandwidth: {bandwidth}
    peaks: {{float32: {peak}, bfloat16: {peak}}}
    node_link: {node}
    network_link: {network}
"""
FAST = 10**17


def odd(path: Path, number: int, **figures: int) -> str:
    """Return the option for so many devices, all of whose figures are fast but those that are given."""
    given = {"bandwidth": FAST, "peak": FAST * 10**6, "node": FAST, "network": FAST, **figures}
    file = path / "odd.yaml"
    file.write_text(DEVICE.format(**given), encoding="utf-8")
    return f"{file}:{number}"


def bound(model: str, device: str, load: dict[str, Any] | None = None, **options: Any) -> TimeReport:
    return netcalc.load(model, **(load or {})).time(device=device, **options)


# -- one figure at a time -------------------------------------------------------------------------------


def test_links_take_the_time_of_the_sums_of_a_step_of_decoding(tmp_path: Path) -> None:
    # Megatron-LM (arXiv:1909.08053): two sums in each of 80 layers, and one of the embedding, each of 16 tokens of 8192
    # numbers; a ring sends 2·7/8 of them
    load = {"set": {"batch": 16, "length": 256}, "dtype": "bfloat16"}
    step = bound("llama-3-70b", odd(tmp_path, 8, node=10**6), load, phase="decode", tp=8)
    sent = (2 * 80 + 1) * 2 * 7 * (16 * 8192 * 2) // 8
    assert step.split is not None and step.limit == "network"
    assert sum(layer.sent for layer in step.layers) == sum(one.sent for one in step.split.traffic) == sent
    assert step.seconds == pytest.approx(sent / 10**6, rel=1e-8)  # all else takes a tenth of a microsecond
    # half of the devices in another node: the sums pass between nodes
    apart = bound("llama-3-70b", odd(tmp_path, 16, network=10**6), load, phase="decode", tp=8, dp=2)
    assert apart.seconds < 1e-3 * step.seconds and apart.tokens == 32


def test_replicas_wait_for_the_sum_of_their_gradients(tmp_path: Path) -> None:
    # a ring sends 2·(n - 1)/n of the gradients, each of 2 bytes (Patarasuk and Yuan 2009), between nodes for 16 devices
    network = netcalc.load("llama-2-7b", set=SMALL)
    assert isinstance(network.params, int)
    step = network.time(device=odd(tmp_path, 16, network=10**3), phase="training", dp=16)
    assert step.limit == "network" and step.seconds == pytest.approx(2 * 15 * network.params * 2 / 16 / 10**3)
    # nothing passes between nodes if they are in one
    assert network.time(device=odd(tmp_path, 8, network=10**3), phase="training", dp=8).seconds < 1e-3 * step.seconds


def test_ranks_share_all_products(tmp_path: Path) -> None:
    load = {"set": {"batch": 16, "length": 256}, "dtype": "bfloat16"}
    whole = bound("llama-3-70b", "h100", load, phase="decode")
    step = bound("llama-3-70b", odd(tmp_path, 8, peak=10**12), load, phase="decode", tp=8)
    assert 8 * step.flops == whole.flops == step.flops_of_all
    assert step.limit == "compute" and step.seconds == pytest.approx(step.flops / 10**12)


@pytest.mark.parametrize(("split", "times"), [({"cp": 4}, 1), ({"dp": 2, "cp": 2}, 2), ({"tp": 2, "sp": True}, 1)])
def test_ranks_of_any_kind_do_the_work_of_the_whole(split: dict[str, Any], times: int) -> None:
    # causal attention of a part of the positions with the keys of all
    load = {"set": {**SMALL, "batch": 2}}
    whole = bound("llama-2-7b", "h100", load, training="adamw")
    step = bound("llama-2-7b", f"h100:{2 * times if 'tp' in split else 4}", load, training="adamw", **split)
    assert step.flops_of_all == times * whole.flops
    assert whole.tokens == 32 and step.tokens == times * 32


def test_experts_are_read_where_they_are_held() -> None:
    load = {"set": {"layers": 2, "d_model": 64, "heads": 4, "kv_heads": 2, "d_ff": 128, "vocab": 64, "length": 32}}
    whole = bound("mixtral-8x7b", "h100:8", load, phase="training", dp=8)
    apart = bound("mixtral-8x7b", "h100:8", load, phase="training", dp=8, ep=8)
    read = [next(layer for layer in one.layers if layer.op == "experts") for one in (whole, apart)]
    weights = 2 * 8 * 3 * 64 * 128 * 2  # of two layers, 2 bytes each
    # once in the forward pass and once in the backward pass
    assert read[0].read - read[1].read == 2 * (weights - weights // 8)
    assert read[0].written - read[1].written == weights - weights // 8
    assert whole.flops == apart.flops
    # two of eight experts for each token: there and back, forward and backward, 7 of 8 to others
    assert read[1].sent == 2 * 4 * (32 * 64 * 2 * 2) * 7 // 8


def test_replicas_share_the_update_under_zero() -> None:
    load = {"set": SMALL}
    seconds = {}
    for name, options in {"none": {}, "all": {"training": "adamw"}, "zero": {"training": "adamw", "zero": "1"}}.items():
        step = bound("llama-2-7b", "h100:4", load, phase="training", dp=4, **options)
        seconds[name] = step.roofs["memory"]
    assert seconds["zero"] - seconds["none"] == pytest.approx((seconds["all"] - seconds["none"]) / 4, rel=1e-6)


def test_passes_share_an_update() -> None:
    load = {"set": {**SMALL, "batch": 4}}
    one = {"set": {**SMALL, "batch": 1}}
    passed, step = (bound("llama-2-7b", "h100", one, phase="training", **more) for more in ({}, {"training": "adamw"}))
    for options in ({"micro_batch": 1}, {"accumulate": 4}):
        whole = bound("llama-2-7b", "h100", load, training="adamw", **options)
        assert (whole.read, whole.written) == (step.read + 3 * passed.read, step.written + 3 * passed.written)
        assert whole.tokens == 4 * 16


# -- pipelines ------------------------------------------------------------------------------------------


def makespan(stages: list[float], passes: int) -> float:
    """Return the time of passes that go through stages one behind another, each stage doing one at a time."""
    done = [0.0] * len(stages)
    for _ in range(passes):
        before = 0.0
        for number, seconds in enumerate(stages):
            before = done[number] = max(before, done[number]) + seconds
    return done[-1]


@pytest.mark.parametrize("passes", [1, 2, 8])
def test_a_pipeline_takes_as_long_as_its_passes_one_behind_another(tmp_path: Path, passes: int) -> None:
    load = {"set": {**SMALL, "batch": passes}}
    step = bound("llama-2-7b", odd(tmp_path, 2, bandwidth=10**9), load, phase="training", pp=2, micro_batch=1)
    assert step.split is not None
    each = [step.split.fill, step.split.work / passes]
    order = each if step.split.stage == 1 else each[::-1]
    assert step.seconds == pytest.approx(makespan(order, passes))
    # the stages of a whole network have all its work between them
    whole = bound("llama-2-7b", odd(tmp_path, 1, bandwidth=10**9), {"set": SMALL}, phase="training")
    assert sum(each) == pytest.approx(whole.seconds)


def test_stages_of_equal_layers_wait_for_the_published_bubble(tmp_path: Path) -> None:
    # (p - 1)/m of the ideal time, and (p - 1)/(v·m) with v parts of each stage (arXiv:2104.04473, section 2.2); layers
    # so wide that embedding and output do not count
    load = {"set": {**SMALL, "layers": 8, "vocab": 2, "d_ff": 4096, "batch": 8}}
    for parts in (1, 2):
        options: dict[str, Any] = {"pp": 4, "micro_batch": 1, "virtual_stages": parts}
        step = bound("llama-2-7b", odd(tmp_path, 4, peak=10**9), load, phase="training", **options)
        assert step.split is not None
        assert step.split.fill / step.split.work == pytest.approx(step.split.bubble, rel=2e-3)
        assert step.split.bubble == 3 / (8 * parts)


# -- against fit, and published times ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "sizes", "options"),
    [
        ("llama-2-7b", SMALL, {"phase": "decode"}),
        ("llama-2-7b", SMALL, {"phase": "prefill", "attention": "flash"}),
        ("llama-2-7b", SMALL, {"training": "adamw", "precision": "bf16-mixed", "recompute": "full"}),
        ("mixtral-8x7b", {**SMALL, "layers": 2}, {"training": "adamw"}),
    ],
    ids=["decode", "prefill", "mixed", "experts"],
)
def test_fit_takes_the_bounds_of_time(model: str, sizes: dict[str, int], options: dict[str, Any]) -> None:
    report = netcalc.load(model, set={k: v for k, v in sizes.items() if k != "length"}).fit(
        device="h100:8", batch=1, length=16, **options
    )
    assert len(report.splits) >= 2
    for fit in report.splits:
        split: dict[str, Any] = {**fit.split._asdict(), "zero": str(fit.split.zero)}
        passes = split.pop("micro_batches")
        if report.workload.phase != "training":
            split.pop("zero")
        else:
            split |= {"accumulate": passes, "micro_batch": 1}
        step = bound(model, "h100:8", {"set": sizes}, **options, **split)
        assert fit.seconds == pytest.approx(step.seconds / (fit.split.dp * passes), rel=1e-12)


@pytest.mark.parametrize(
    ("model", "device", "load", "options", "speed", "least"),
    [
        # arXiv:2104.04473, table 1: 138 TFLOP/s for 174.6 B parameters on 1,024 A100
        (
            "gpt3-175b",
            "a100:1024",
            {"set": {"length": 2048, "vocab": 51200, "batch": 192}, "dtype": "float16"},
            {"phase": "training", "recompute": "full", "tp": 8, "pp": 16, "dp": 8, "micro_batch": 1},
            138,
            0.8,
        ),
        # arXiv:2407.21783, table 4: 430 TFLOP/s for 405 B on 8,192 H100
        (
            "llama-3.1-405b",
            "h100:8192",
            {"set": {"length": 8192, "batch": 32}},
            {"phase": "training", "tp": 8, "sp": True, "cp": 1, "pp": 14, "dp": 73, "micro_batch": 1, "zero": "1"},
            430,
            0.6,
        ),
    ],
    ids=["gpt-3", "llama-3"],
)
def test_published_speeds_are_below_the_bound(
    model: str, device: str, load: dict[str, Any], options: dict[str, Any], speed: int, least: float
) -> None:
    number = options["tp"] * options["pp"] * options["dp"]
    step = bound(model, f"{device.partition(':')[0]}:{number}", load, **options)
    reached = step.flops_of_all / number / step.seconds / 1e12
    assert step.peak.flops is not None
    assert speed < reached < step.peak.flops / number / 1e12
    assert step.mfu is not None and step.mfu > least


# -- what is not known, and what does not go together -----------------------------------------------------


def test_a_rate_that_is_not_published_is_named_and_left_out() -> None:
    network = netcalc.load("llama-2-7b", set=SMALL)
    step = network.time(device="rtx-4090:16", training="adamw", dp=16)
    assert step.split is not None and step.split.sending is None
    title = step.device.title
    assert f"no roof of the network between nodes: the rate of {title} is not published" in step.assumptions
    assert step.seconds == step.split.work
    splits = network.fit(device="rtx-4090:16", training="adamw").splits
    assert {fit.seconds is None for fit in splits if fit.split.dp == 16} == {True}


@pytest.mark.parametrize(
    ("device", "options", "message", "hint"),
    [
        ("h100:8", {"tp": 4}, "--tp 4: a split over 4 devices, and --device h100 has 8", "--dp 2, or --pp 2"),
        ("h100:12", {"tp": 2, "pp": 4}, "--tp 2 --pp 4: a split over 2 · 4 = 8 devices", "1, 2, 3, 4, 6, 12"),
        ("h100", {"tp": 4}, "--device h100 has 1", "--device h100:4"),
        ("h100:8", {"tp": 8}, "4 heads cannot be divided by 8", "--tp 2, 4"),
        ("h100:6", {"pp": 3, "dp": 2}, "4 layers of llama-2-7b cannot be divided by 3", "2, 4 divide them"),
        ("h100:2", {"zero": "1", "dp": 2}, "--zero and --fsdp divide what training holds", "--training adamw"),
        ("h100:2", {"tp": 2, "accumulate": 2}, "--accumulate says how to train", "--training OPTIMIZER"),
    ],
)
def test_splits_that_do_not_match_are_refused(device: str, options: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(NetcalcError) as error:
        bound("llama-2-7b", device, {"set": SMALL}, phase="prefill", **options)
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "E502" and message in diagnostic.message and hint in (diagnostic.hint or "")

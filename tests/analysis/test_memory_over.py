"""Memory over ranges: the totals of a table are those of a report at each point."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import netcalc
from netcalc.limits import MAX_POINTS
from netcalc.ranges import ranges_of

SMALL: dict[str, dict[str, Any]] = {
    "gpt2": {"layers": 2, "d_model": 32, "heads": 2, "vocab": 50, "max_length": 64, "length": 1},
    "gemma-3-270m": {"layers": 7, "window": 8, "vocab": 64},
    "mamba-130m": {"layers": 2, "vocab": 64},
}


@given(
    st.sampled_from(sorted(SMALL)),
    st.lists(st.integers(1, 60), min_size=1, max_size=3, unique=True),
    st.lists(st.integers(1, 4), min_size=1, max_size=2, unique=True),
    st.sampled_from([None, "prefill", "decode"]),
    st.sampled_from(["ideal", "vllm", "llama.cpp"]),
    st.sampled_from([(), ("int8",)]),
    st.sampled_from([None, "fp8"]),
)
@settings(max_examples=25, deadline=None)
def test_a_table_has_the_totals_of_reports(
    name: str,
    lengths: list[int],
    batches: list[int],
    phase: str | None,
    cache: str,
    quantize: tuple[str, ...],
    cache_dtype: str | None,
) -> None:
    options: dict[str, Any] = {"phase": phase, "cache": cache, "cache_dtype": cache_dtype}
    over = {"length": lengths, "batch": batches}
    table = netcalc.load(name, set=SMALL[name], quantize=quantize).memory_over(over, **options)
    assert [point.sizes for point in table.points] == [{"length": n, "batch": b} for n in lengths for b in batches]
    for point in table.points:
        report = netcalc.load(name, set={**SMALL[name], **point.sizes}, quantize=quantize).memory(**options)
        assert report.ideal is not None
        assert (point.weights, point.buffers) == (report.weights, report.buffers)
        assert (point.caches, point.activations) == ({cache: report.caches(cache)}, report.ideal.peak)
        assert point.totals == {cache: report.total(cache)} and point.refused is None


@pytest.mark.parametrize("optimizer", ["adamw", "sgd"])
def test_a_table_of_training_has_the_totals_of_reports(optimizer: str) -> None:
    table = netcalc.load("mlp", lora=4).memory_over("batch=1:9:4", training=optimizer)
    assert table.phase == "training" and [point.sizes["batch"] for point in table.points] == [1, 5, 9]
    for point in table.points:
        report = netcalc.load("mlp", lora=4, set=point.sizes).memory(training=optimizer)
        assert point.total == report.trained and point.gradients is not None and point.states is not None
        parts = (point.weights, point.buffers, point.gradients, point.states, point.saved, point.temporaries)
        assert sum(part or 0 for part in parts) == point.total


def test_vars_change_the_weights() -> None:
    table = netcalc.load("gpt2", symbolic=["batch"]).memory_over({"layers": [1, 2, 3], "batch": [1]}, phase="decode")
    first, second, third = (point.weights or 0 for point in table.points)
    assert third - second == second - first == 4 * 7_087_872  # the parameters of a layer of GPT-2


def test_sizes_that_a_network_does_not_have_are_named() -> None:
    table = netcalc.load("gpt2").memory_over("length=1024,1025")
    fits, fails = table.points
    assert fits.refused is None and fails.total is None and "1024 positions of the table" in str(fails.refused)
    with pytest.raises(netcalc.NetcalcError, match="1024 positions"):
        netcalc.load("gpt2").memory_over("length=1025,2000")


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("length=2k,8192,1M", (2048, 8192, 1 << 20)),
        ("length=2:5", (2, 3, 4, 5)),
        ("length=2:9:3", (2, 5, 8)),
        ("length=log:1:1000:4", (1, 10, 100, 1000)),
        ("length=log:1k:128k:8", tuple(1024 << power for power in range(8))),
        ("length=log:1:4:9", (1, 2, 3, 4)),
        ("logits=all, last", ("all", "last")),
    ],
)
def test_ranges_are_read(text: str, values: tuple[Any, ...]) -> None:
    assert ranges_of(text).values == {text.partition("=")[0]: values}
    assert ranges_of([text]).has_units == ("k" in text)


@pytest.mark.parametrize(
    "text",
    [
        *("length", "length=", "=3", "length=1,,2", "length=1,1", "length=5:2", "length=1:9:0", "length=a:b"),
        *("length=1:2:3:4", "length=log:1:8", "length=log:0:8:3", "length=log:8:8:2", f"length=1:{MAX_POINTS + 1}"),
        *("length=1:100000000000000", "length=log:1:9:1000000000"),
    ],
)
def test_malformed_ranges_are_refused(text: str) -> None:
    with pytest.raises(netcalc.NetcalcError) as caught:
        ranges_of(text)
    assert [problem.code for problem in caught.value.diagnostics] == ["E502"]


def test_points_are_bounded() -> None:
    assert len(list(ranges_of({"length": range(1, MAX_POINTS + 1)}).points)) == MAX_POINTS
    for over in (
        ["a=1:40", "b=1:40"],
        ["a=1", "a=2"],
        [f"{name}=1" for name in "abcde"],
        {"length": range(10**12)},
    ):
        with pytest.raises(netcalc.NetcalcError):
            ranges_of(over)

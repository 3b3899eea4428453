"""Algorithms of convolutions: the choice for each case, and agreement with the kernel."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest

import netcalc
from netcalc.analysis.memory import memory
from netcalc.engine.lower.conv import dispatch as conv
from netcalc.engine.native.library import available, blocks_fit
from netcalc.engine.plan import Plan
from netcalc.engine.tuning import Tuning
from netcalc.spec import elaborate
from netcalc.spec.library import load_data
from tests.engine.agreement import agree
from tests.engine.tunings import SMALL, without

_ALGORITHMS = (
    "emit_im2col",
    "emit_depthwise",
    "emit_grouped",
    "emit_chunked_product",
    "emit_product",
    "emit_winograd",
)

_CASES: list[tuple[str, list[int], dict[str, Any]]] = [
    ("emit_product", [2, 16, 9, 10], {"out": 24, "kernel": 1}),
    ("emit_product", [1, 16, 9, 10], {"out": 24, "kernel": 1, "stride": [2, 3], "bias": False}),
    ("emit_chunked_product", [1, 512, 7, 7], {"out": 256, "kernel": 1}),
    ("emit_winograd", [1, 32, 28, 28], {"out": 64, "kernel": 3, "padding": 1}),
    ("emit_winograd", [2, 48, 15, 18], {"out": 32, "kernel": 3, "padding": [[0, 2], [1, 0]]}),
    ("emit_winograd", [3, 64, 9, 21], {"out": 64, "kernel": 3}),
    ("emit_im2col", [1, 3, 64, 64], {"out": 16, "kernel": 7, "stride": 2, "padding": 3}),
    ("emit_im2col", [2, 3, 29, 31], {"out": 64, "kernel": 3, "padding": [[2, 0], [0, 1]]}),
    ("emit_im2col", [1, 2, 65], {"out": 12, "kernel": 5, "stride": 3}),
    (
        "emit_im2col",
        [2, 1, 40, 50],
        {"out": 8, "kernel": [3, 5], "stride": [1, 3], "dilation": [2, 1], "padding": 2},
    ),
    ("emit_im2col", [1, 2, 5, 30, 40], {"out": 8, "kernel": 3, "stride": [1, 2, 2], "padding": 1}),
    ("emit_depthwise", [1, 32, 28, 28], {"out": 32, "kernel": 3, "padding": 1, "groups": 32}),
    ("emit_depthwise", [2, 24, 15, 17], {"out": 24, "kernel": [5, 3], "stride": [2, 3], "padding": 2, "groups": 24}),
    ("emit_depthwise", [2, 24, 33], {"out": 24, "kernel": 4, "padding": [[3, 0]], "groups": 24}),
    ("emit_depthwise", [1, 8, 5, 9, 11], {"out": 8, "kernel": 3, "dilation": 2, "padding": 2, "groups": 8}),
    ("emit_grouped", [3, 24, 11, 9], {"out": 48, "kernel": 3, "dilation": 2, "padding": 2, "groups": 3}),
    ("emit_grouped", [2, 96, 17, 15], {"out": 24, "kernel": [3, 5], "stride": [2, 1], "padding": 2, "groups": 3}),
    ("emit_grouped", [1, 32, 41], {"out": 64, "kernel": 3, "padding": 1, "groups": 4}),
    (
        "emit_grouped",
        [1, 16, 5, 6, 7],
        {"out": 16, "kernel": [3, 1, 3], "stride": 2, "padding": [2, 0, 1], "groups": 2},
    ),
    ("emit_grouped", [2, 48, 13, 10], {"out": 96, "kernel": 3, "stride": 2, "padding": 1, "groups": 3}),
    ("emit_grouped", [2, 24, 12, 11], {"out": 24, "kernel": 3, "stride": [1, 2], "padding": [0, 2], "groups": 6}),
    ("emit_im2col", [3, 24, 11, 9], {"out": 36, "kernel": 3, "dilation": 2, "padding": 2, "groups": 3}),
    ("emit_im2col", [2, 24, 6, 8, 9], {"out": 12, "kernel": [2, 3, 2], "padding": 1, "groups": 4}),
    ("emit_im2col", [2, 64, 20, 20], {"out": 36, "kernel": 3, "padding": "same", "groups": 2}),
    ("emit_im2col", [1, 64, 14, 14], {"out": 32, "kernel": 3, "stride": 2, "padding": 1}),
    ("emit_im2col", [1, 256, 7, 7], {"out": 256, "kernel": 3, "padding": 1, "stride": 2}),
    ("emit_im2col", [2, 24, 20, 20], {"out": 36, "kernel": 3, "padding": "same", "groups": 6}),
    ("emit_im2col", [2, 24, 20], {"out": 48, "kernel": 5, "dilation": 2, "groups": 24}),
]


@pytest.mark.parametrize(("threads", "processes"), [(1, False), (2, False), (2, True), (3, True)])
@pytest.mark.parametrize(("algorithm", "shape", "attrs"), _CASES)
def test_algorithms(
    monkeypatch: pytest.MonkeyPatch,
    algorithm: str,
    shape: list[int],
    attrs: dict[str, Any],
    threads: int,
    processes: bool,
) -> None:
    if processes and sys.platform != "linux":
        pytest.skip("processes are copied on Linux")
    if not {"emit_grouped": available, "emit_winograd": blocks_fit}.get(algorithm, lambda: True)():
        pytest.skip("needs the kernels in C")
    chosen: list[str] = []
    for name in _ALGORITHMS:
        emit = getattr(conv, name)
        monkeypatch.setattr(conv, name, lambda *a, emit=emit, name=name: (chosen.append(name), emit(*a))[1])
    tuning = without("packed")
    agree({f"conv{len(shape) - 2}d": attrs}, (shape, []), tuning=tuning, threads=threads, processes=processes)
    few = algorithm == "emit_chunked_product" and threads > 1 and not processes  # BLAS splits it
    assert chosen == ["emit_product" if few else algorithm]


@pytest.mark.skipif(not blocks_fit(), reason="needs the kernels in C")
@pytest.mark.parametrize("name", ["resnet34", "vgg16", "resnet152"])
def test_transformed_filters_stay_within_the_budget(name: str) -> None:
    program = netcalc.load(name).program
    declared = memory(program)
    part = Plan(program).memory.weights / (declared.weights + declared.buffers)
    assert 1.05 < part < 1 + Tuning().transformed_fraction


@pytest.mark.parametrize("side", [2, 4])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ([1, 3, 8, 8], {"out": 5, "padding": 1}),  # fewer channels than the kernel takes at a time
        ([2, 16, 9, 13], {"out": 16, "padding": 1}),
        ([1, 20, 7, 6], {"out": 37, "padding": 2}),  # blocks of channels that overlap
        ([3, 33, 11, 10], {"out": 18, "padding": [0, 1]}),
        ([2, 16, 3, 3], {"out": 16}),  # a single pixel
    ],
)
@pytest.mark.parametrize(("threads", "tuning"), [(1, Tuning()), (1, SMALL), (3, SMALL)])
def test_tiles_of_winograds_algorithm(
    side: int, shape: list[int], attrs: dict[str, Any], threads: int, tuning: Tuning
) -> None:
    tuning = replace(tuning, winograd_sides=(side,), winograd_packing_cost=0, winograd_transform_cost=-9)
    agree({"conv2d": attrs | {"kernel": 3}}, (shape, []), threads=threads, tuning=tuning)


@pytest.mark.skipif(not blocks_fit(), reason="needs the kernels in C")
def test_memory_for_winograds_algorithm_goes_where_it_saves_most() -> None:
    line = {"conv2d": {"out": 64, "kernel": 3, "padding": 1}}
    layers = [line, {"interpolate": {"scale_factor": 2}}, line]
    program = elaborate(load_data({"netcalc": 1, "inputs": {"x": [1, 64, 14, 14]}, "layers": layers}))
    enough_for_one = replace(
        without("packed"), transformed_fraction=0.0, transformed_bytes=7 * 64 * 64 * 4, winograd_sides=(2,)
    )
    steps = Plan(program, tuning=enough_for_one).steps
    convolved = [step for step in steps if step.node.op.name == "conv2d"]
    assert ["products" in step.scratch for step in convolved] == [False, True]


@pytest.mark.parametrize("tuning", [Tuning(), SMALL])
@pytest.mark.parametrize(("threads", "processes"), [(1, False), (2, False), (3, True)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("shape", "attrs"),
    [
        ([2, 6, 9], {"out": 5, "kernel": 3, "stride": 3}),
        ([3, 8, 7, 5], {"out": 4, "kernel": 2, "stride": 2}),
        ([8, 4, 6], {"out": 3, "kernel": [3, 2], "stride": [3, 2], "bias": False}),
        ([2, 4, 3, 2, 5], {"out": 6, "kernel": [1, 2, 3], "stride": [1, 2, 3]}),
    ],
)
def test_transposed_convolutions_without_overlap_are_products(
    shape: list[int], attrs: dict[str, Any], dtype: str, threads: int, processes: bool, tuning: Tuning
) -> None:
    if processes and sys.platform != "linux":
        pytest.skip("processes are copied on Linux")
    line = {f"conv_transpose{len(attrs['kernel']) if isinstance(attrs['kernel'], list) else len(shape) - 2}d": attrs}
    agree(line, (shape, []), dtype=dtype, threads=threads, processes=processes, tuning=tuning)


@pytest.mark.parametrize(
    "attrs", [{"kernel": 3, "stride": 2}, {"kernel": 2, "stride": 2, "padding": 1}, {"kernel": 2, "stride": 3}]
)
def test_other_transposed_convolutions_run_by_the_kernel(attrs: dict[str, Any]) -> None:
    agree({"conv_transpose2d": {"out": 4} | attrs}, ([2, 6, 5, 4], []), planned=False)


@pytest.mark.parametrize("kernel", [3, 5, 7, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("channels", [8, 21, 70])
@pytest.mark.parametrize("width", [3, 5, 12, 17])
def test_depthwise_convolutions_of_all_widths(kernel: int, stride: int, channels: int, width: int) -> None:
    padding = {"padding": kernel // 2, "stride": stride, "groups": channels}
    agree({"conv2d": {"out": channels, "kernel": kernel} | padding}, ([1, channels, 8, width], []))

"""Profiles as text and as a record, for example figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from netcalc.engine.plan import PlanMemory
from netcalc.engine.profile import Fused, LayerTime, OperationTime, Profile
from netcalc.records.writing import written
from netcalc.render.page import page_text
from netcalc.render.profile import profile_page
from netcalc.render.text import Terminal

PROFILE = Profile(
    threads=2,
    passes=5,
    layers=(
        LayerTime(
            "stem.conv", "conv2d", (Fused("stem.bn", "batch_norm"), Fused("stem.act", "relu")), 0.0015, 150_000_000
        ),
        LayerTime("pool", "max_pool2d", (), 0.0004, 2_000_000),
        LayerTime("flat", "flatten", (), 0.0001, 0),
    ),
    operations=(
        OperationTime("conv2d", 1, 0.0014, 150_000_000),
        OperationTime("max_pool2d", 1, 0.0004, 2_000_000),
        OperationTime("copy", 2, 0.0002, 0),
    ),
    gemm=200e9,
    predicted=PlanMemory(3 << 20, 1 << 20, 512 << 10, 0, 0, 4000, 0),
    measured=6 << 20,
)


def test_the_text_of_a_profile(golden: Callable[[str, str], None]) -> None:
    golden("runs/profile.txt", "\n".join(page_text(profile_page(PROFILE, PROFILE.layers), Terminal(width=80))) + "\n")


def test_memory_that_could_not_be_measured() -> None:
    *_, last = page_text(profile_page(replace(PROFILE, measured=None), ()))
    assert "not measured" in last
    assert written(replace(PROFILE, measured=None))["memory"]["measured"] is None


def test_the_record_of_a_profile() -> None:
    record = written(PROFILE)
    assert record["seconds"] == 0.002
    assert record["flops"] == 152_000_000
    assert record["layers"][0] == {
        "path": "stem.conv",
        "op": "conv2d",
        "fused": [{"path": "stem.bn", "op": "batch_norm"}, {"path": "stem.act", "op": "relu"}],
        "seconds": 0.0015,
        "flops": 150_000_000,
    }
    assert record["operations"][2] == {"op": "copy", "layers": 2, "seconds": 0.0002, "flops": 0}
    assert record["memory"]["predicted"] == (3 << 20) + (1 << 20) + (512 << 10) + 4000

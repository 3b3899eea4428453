"""Kernels of 64-bit ARM under an emulator, against the same sources built for this processor."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from netcalc.arrays import Array
from netcalc.engine.native import sources

HARNESS = Path(__file__).parent / "neon" / "harness.c"
#: Products and sums are rounded one by one in both builds, which then add in the same order.
FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-Wno-psabi", "-ffp-contract=off")
COMPILER, EMULATOR = "aarch64-linux-gnu-gcc", "qemu-aarch64"
NAMES = [path.stem for path in sources.KERNELS if path.stem != "blocks"]

pytestmark = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in ("cc", COMPILER, EMULATOR)),
    reason=f"needs {COMPILER} and {EMULATOR}",
)


@pytest.mark.parametrize("name", NAMES)
def test_kernels_agree_with_another_processor(name: str, tmp_path: Path) -> None:
    here = _results(name, tmp_path / "here", ["cc", "-DISA=generic"], [])
    there = _results(name, tmp_path / "there", [COMPILER, "-static", "-DISA=neon"], [EMULATOR])
    assert len(here) == len(there) > 100
    assert np.isfinite(here).mean() > 0.9
    same = np.isnan(here) & np.isnan(there)
    steps = np.abs(_ordered(here) - _ordered(there))[~same]
    assert steps.max() <= 2, f"{steps.max()} units in the last place"


def _results(name: str, program: Path, compiler: list[str], emulator: list[str]) -> Array:
    source = sources.LIBRARY.with_name(f"{name}.c")
    options = [f'-DSOURCE="{source}"', f"-DOF_{name.upper()}", "-o", str(program)]
    subprocess.run([*compiler, *FLAGS, *options, str(HARNESS), "-lm"], check=True)
    lines = subprocess.run([*emulator, str(program)], capture_output=True, text=True, check=True).stdout.split()
    return np.array([int(line, 16) for line in lines], np.uint32).view(np.float32)


def _ordered(values: Array) -> Array:
    """Return integers in the order of the floats, one apart for neighbors."""
    bits = values.view(np.int32).astype(np.int64)
    return np.where(bits < 0, -(bits & 0x7FFFFFFF), bits)

"""Fourier transforms against torch.fft."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import netcalc
from netcalc.diagnostics import RuleError
from tests.ops.harness import execute
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

SHAPES = npst.array_shapes(min_dims=1, max_dims=3, max_side=6)


@draws
@given(shape=SHAPES, axis=st.lists(st.integers(-3, 2), min_size=1, max_size=3), seed=st.integers(0, 9))
def test_fourier(shape: tuple[int, ...], axis: list[int], seed: int) -> None:
    x = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    agree("fourier", {"axis": axis}, [x], lambda w, x: torch.fft.fftn(x, dim=axis).real)


NORMS = st.sampled_from(["backward", "forward", "ortho"])


@draws
@given(
    name=st.sampled_from(["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]),
    shape=SHAPES,
    axis=st.lists(st.integers(-3, 2), min_size=1, max_size=3),
    sizes=st.lists(st.integers(1, 7), min_size=3, max_size=3),
    sized=st.booleans(),
    norm=NORMS,
    dtype=st.sampled_from(["float32", "float64", "complex64", "complex128"]),
    seed=st.integers(0, 9),
)
def test_transforms(
    name: str,
    shape: tuple[int, ...],
    axis: list[int],
    sizes: list[int],
    sized: bool,
    norm: str,
    dtype: str,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    drawn = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    x = (drawn if dtype.startswith("complex") else drawn.real).astype(dtype)
    s = sizes[: len(axis)] if sized else None
    attrs = {"axis": axis, "norm": norm, **({} if s is None else {"n": s})}
    agree(name, attrs, [x], lambda w, x: getattr(torch.fft, f"{name}n")(x, s=s, dim=axis, norm=norm))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft"])
def test_what_is_no_transform(name: str) -> None:
    x = np.ones((3, 4), np.float32)
    agree(name, {"axis": 0, "n": [0]}, [x], lambda w, x: getattr(torch.fft, name)(x, n=0, dim=0))
    agree(name, {"axis": 2}, [x], lambda w, x: getattr(torch.fft, name)(x, dim=2))
    with pytest.raises(RuleError, match="a size for each axis"):
        execute(name, {"axis": [0, 1], "n": [4]}, x)


def flops(text: str, x: str) -> int:
    net = netcalc.loads(f"{{netcalc: 1, inputs: {{x: {x}}}, layers: [{text}]}}")
    assert net.cost("torch").flops == net.cost("fvcore").flops == 0
    return net.flops


@pytest.mark.parametrize("n", [1, 2, 64, 1024])
def test_work_is_that_of_fftw_s_benchmark(n: int) -> None:
    """5·n·log₂ n FLOPs of complex numbers, half of it of real ones (fftw.org/speed/method.html)."""
    log = round(math.log2(n))
    assert flops("fft", f"{{shape: [3, {n}], dtype: complex64}}") == 3 * 5 * n * log
    assert flops("{ifft: {norm: forward}}", f"[3, {n}]") == 3 * 5 * n * log
    if n > 1:
        assert 2 * flops("rfft", f"[3, {n}]") == 3 * 5 * n * log
        assert (
            2 * flops("{irfft: {norm: forward}}", f"{{shape: [3, {n // 2 + 1}], dtype: complex64}}") == 3 * 5 * n * log
        )


def test_work_of_other_sizes_and_norms() -> None:
    assert flops("fft", "[100]") == 5 * 100 * 7
    assert flops("{fft: {axis: [0, 1]}}", "[8, 16]") == 5 * 8 * 16 * (3 + 4)
    assert flops("{rfft: {axis: [0, 1]}}", "[8, 16]") == 5 * 8 * 8 * 4 + 5 * 8 * 9 * 3
    assert flops("rfft", "[7]") == 5 * 4 * 3
    assert flops("{fft: {norm: ortho}}", "[16]") == 5 * 16 * 4 + 2 * 16
    assert flops("irfft", "{shape: [9], dtype: complex64}") == 5 * 8 * 4 + 16

"""Parts of tensors written piece by piece, against NumPy's indexing, joining and conversion of whole arrays."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.arrays import numpy_dtype
from netcalc.ir import CheckpointLocation
from netcalc.numerics import initializers
from netcalc.numerics.initializers import draw, draw_into
from netcalc.opdef import Init
from netcalc.weights import pieces
from netcalc.weights.assembly import assembled_shape, load, write
from netcalc.weights.checkpoint_files import Joined, open_weights
from netcalc.weights.pieces import Part
from netcalc.weights.prefixed import Prefixed
from netcalc.weights.tensor_files import Arrays, Tensors, open_tensors
from netcalc.weights.writing import write_tensors

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True, params=[1, 40, 1 << 20], ids=["1 B", "40 B", "1 MiB"])
def small_pieces(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", request.param)


def _arrays() -> dict[str, np.ndarray]:
    return {
        "a": RNG.standard_normal((6, 4)).astype(np.float32),
        "b": RNG.standard_normal((3, 4)).astype(np.float32),
        "long": RNG.standard_normal((2, 3, 5, 7)),
        "half": RNG.standard_normal((5, 6)).astype(np.float16),
        "flags": RNG.random((9, 2)) < 0.5,
        "scalar": np.array(3.5, np.float32),
        "empty": np.zeros((3, 0), np.float32),
        "counts": RNG.integers(0, 99, (4, 4)),
    }


def _files(folder: Path, arrays: dict[str, np.ndarray]) -> Iterator[Tensors]:
    """Yield the same tensors from each kind of source."""
    yield Arrays(arrays)
    write_tensors(folder / "x.safetensors", arrays)
    yield open_tensors(folder / "x.safetensors")
    np.savez(folder / "x.npz", **arrays)  # type: ignore[arg-type]
    yield open_tensors(folder / "x.npz")
    np.savez_compressed(folder / "y.npz", **{k: v.copy("F") for k, v in arrays.items()})  # type: ignore[arg-type]
    yield open_tensors(folder / "y.npz")
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array.astype(array.dtype.newbyteorder(">")))
    yield Joined([open_tensors(folder / f"{name}.npy") for name in arrays], "all")
    names = sorted(arrays)
    write_tensors(folder / "m-00001-of-00002.safetensors", {n: arrays[n] for n in names[:3]})
    write_tensors(folder / "m-00002-of-00002.safetensors", {n: arrays[n] for n in names[3:]})
    yield open_weights([folder / f"m-0000{number}-of-00002.safetensors" for number in (1, 2)])
    yield Prefixed(open_tensors(folder / "x.safetensors"), "")


def _part(array: np.ndarray, seed: int) -> tuple[tuple[int, int], ...]:
    rng = np.random.default_rng(seed)
    starts = [int(rng.integers(0, size + 1)) for size in array.shape]
    return tuple((start, int(rng.integers(start, size + 1))) for start, size in zip(starts, array.shape, strict=True))


def test_parts_of_every_kind_of_source_are_those_of_the_arrays(tmp_path: Path) -> None:
    arrays = _arrays()
    for number, tensors in enumerate(_files(tmp_path, arrays)):
        for name, array in arrays.items():
            np.testing.assert_array_equal(tensors.load(name), array)
            for seed in range(5):
                ranges = tuple((0, size) for size in array.shape) if not seed else _part(array, seed)
                shape = tuple(stop - start for start, stop in ranges)
                for dtype in (array.dtype, np.dtype(np.float64)):
                    for out in (np.empty(shape, dtype), np.empty(shape[::-1], dtype).T):
                        tensors.write(name, Part(out, ranges, array.dtype))  # type: ignore[attr-defined]
                        expected = array[tuple(slice(*bounds) for bounds in ranges)]
                        np.testing.assert_array_equal(out, expected, f"{number} {name} {ranges}")


LOCATIONS: dict[str, tuple[CheckpointLocation, Any]] = {
    "joined": (CheckpointLocation(("a", "b")), lambda t: np.concatenate([t["a"], t["b"]])),
    "joined, last axis": (
        CheckpointLocation(("half", "half"), axis=-1),
        lambda t: np.concatenate([t["half"], t["half"]], axis=-1),
    ),
    "stacked": (CheckpointLocation(("a", "a", "a"), axis=1, stacked=True), lambda t: np.stack([t["a"]] * 3, axis=1)),
    "chunk": (CheckpointLocation(("a",), chunk=(2, 3)), lambda t: np.split(t["a"], 3)[2]),
    "chunk of joined, last axis": (
        CheckpointLocation(("a", "a"), axis=-1, chunk=(1, 2)),
        lambda t: np.split(np.concatenate([t["a"]] * 2, -1), 2, -1)[1],
    ),
    "slice across two": (CheckpointLocation(("a", "b"), slice=(4, 8)), lambda t: np.concatenate([t["a"], t["b"]])[4:8]),
    "transposed": (CheckpointLocation(("long",), transpose=True), lambda t: t["long"].swapaxes(-1, -2)),
    "transposed slice": (CheckpointLocation(("a",), slice=(1, 5), transpose=True), lambda t: t["a"][1:5].T),
    "interleaved": (
        CheckpointLocation(("a",), interleaved=1, transpose=True),
        lambda t: np.concatenate([t["a"][::2], t["a"][1::2]]).T,
    ),
    "flat": (CheckpointLocation(("long",), flatten=1), lambda t: t["long"].reshape(2, 15, 7)),
    "flat transposed": (
        CheckpointLocation(("long",), transpose=True, flatten=2),
        lambda t: t["long"].swapaxes(-1, -2).reshape(2, 3, 35),
    ),
    "slice of flat": (
        CheckpointLocation((CheckpointLocation(("long",), flatten=0),), slice=(1, 5)),
        lambda t: t["long"].reshape(6, 5, 7)[1:5],
    ),
    "joined transposed": (
        CheckpointLocation((CheckpointLocation(("a",), transpose=True), CheckpointLocation(("b",), transpose=True)), 1),
        lambda t: np.concatenate([t["a"].T, t["b"].T], 1),
    ),
    "numbered": (CheckpointLocation(("n{}",), transpose=True, numbers=3), lambda t: np.stack([t["a"].T] * 3)),
    "slice of numbered": (
        CheckpointLocation((CheckpointLocation(("n{}",), numbers=3),), slice=(1, 3)),
        lambda t: np.stack([t["a"]] * 2),
    ),
}


@pytest.mark.parametrize("case", LOCATIONS)
def test_assembled_parameters_are_those_of_whole_arrays(tmp_path: Path, case: str) -> None:
    arrays = _arrays()
    arrays |= {f"n{number}": arrays["a"] for number in range(3)}
    location, expected = LOCATIONS[case][0], LOCATIONS[case][1](arrays)
    write_tensors(tmp_path / "x.safetensors", arrays)
    for tensors in (Arrays(arrays), open_tensors(tmp_path / "x.safetensors")):
        assert assembled_shape(location, tensors.headers) == expected.shape
        np.testing.assert_array_equal(load(tensors, location, expected.dtype), expected)
        for seed in range(6):
            ranges = _part(expected, seed)
            out = np.empty([stop - start for start, stop in ranges])
            write(tensors, location, Part(out, ranges, expected.dtype))
            np.testing.assert_array_equal(out, expected[tuple(slice(*bounds) for bounds in ranges)])


def test_numbers_are_rounded_to_the_declared_type_before_they_are_widened(tmp_path: Path) -> None:
    array = RNG.standard_normal((20, 30))
    write_tensors(tmp_path / "x.safetensors", {"x": array})
    for name in ("float16", "bfloat16", "float32"):
        out = np.empty((30, 20), np.float32)
        write(
            open_tensors(tmp_path / "x.safetensors"), CheckpointLocation.of("x"), Part.whole(out.T, numpy_dtype(name))
        )
        np.testing.assert_array_equal(out, array.T.astype(numpy_dtype(name)).astype(np.float32))


INITS = {
    "uniform": Init("uniform", (("a", -2.0), ("b", 3.0))),
    "normal": Init("normal", (("mean", 0.5), ("std", 2.0))),
    "truncated_normal": Init("truncated_normal", (("std", 0.02),)),
    "cut": Init("truncated_normal", (("mean", 1.0), ("a", 0.5), ("b", 1.5))),
    "kaiming_normal": Init("kaiming_normal"),
    "xavier_uniform": Init("xavier_uniform"),
    "orthogonal": Init("orthogonal"),
    "constant": Init("constant", (("value", 0.1),)),
    "padded": Init("normal", (("padding_idx", 3),)),
}


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", INITS)
def test_drawn_numbers_depend_neither_on_the_pieces_nor_on_the_layout(
    name: str, dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = np.empty((7, 11), np.float64 if dtype == "float64" else np.float32)
    draw_into(INITS[name], target.T, dtype, np.random.default_rng(5))
    monkeypatch.setattr(pieces, "PIECE", 1 << 40)
    whole = draw(INITS[name], (11, 7), dtype, np.random.default_rng(5))
    assert whole.dtype == numpy_dtype(dtype)
    np.testing.assert_array_equal(target.T, whole.astype(target.dtype))


@settings(max_examples=20, deadline=None)
@given(st.floats(-300, 0), st.booleans())
def test_quantiles_are_those_of_the_standard_library(exponent: float, upper: bool) -> None:
    """The standard library's are by M. J. Wichura's approximations, ours by those of Cephes."""
    y = np.array([10.0**exponent / 2, 0.3, 0.135, 0.136, 0.0])
    y = 1 - y if upper else y
    limits = {0.0: -math.inf, 1.0: math.inf}
    quantile = NormalDist().inv_cdf
    expected = [limits[value] if value in limits else quantile(value) for value in y.tolist()]
    np.testing.assert_allclose(initializers.normal_quantile(y), expected, rtol=1e-13)

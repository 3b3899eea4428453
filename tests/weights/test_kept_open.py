"""Files that stay open while many tensors are read."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.weights.stored import DamagedError, kept_open, opened
from netcalc.weights.tensor_files import open_tensors
from netcalc.weights.writing import write_tensors

SUFFIXES = (".safetensors", ".npz", ".npy")


@pytest.fixture
def openings(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the files of tensors that were opened."""
    names: list[str] = []
    original = os.open

    def recorded(path: str, flags: int, *rest: int) -> int:
        if str(path).endswith(SUFFIXES):
            names.append(str(path))
        return original(path, flags, *rest)

    monkeypatch.setattr(os, "open", recorded)
    yield names


def written(path: Path, value: float = 0.0) -> Path:
    """A file of five tensors of different lengths."""
    write_tensors(path, {f"t{i}": np.full((i + 1, 700), i + value, np.float32) for i in range(5)})
    return path


def loaded(path: Path) -> list[float]:
    """The first element of each tensor, the last tensor first."""
    file = open_tensors(path)
    return [float(file.load(f"t{i}")[0, 0]) for i in reversed(range(5))]


@pytest.mark.parametrize("suffix", [".safetensors", ".npz"])
def test_a_file_is_opened_once(tmp_path: Path, suffix: str, openings: list[str]) -> None:
    path = written(tmp_path / f"w{suffix}")
    expected = loaded(path)
    assert len(openings) == 6  # with the header
    openings.clear()
    with kept_open(), kept_open():
        assert loaded(path) == expected == [4, 3, 2, 1, 0]
    assert openings == [str(path)]
    openings.clear()
    assert loaded(path) == expected
    assert len(openings) == 6


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_a_file_that_is_replaced_is_read_on(tmp_path: Path) -> None:
    path = written(tmp_path / "w.safetensors")
    with kept_open():
        file = open_tensors(path)
        written(tmp_path / "other.safetensors", 9.0).replace(path)
        assert file.load("t1")[0, 0] == 1
    assert file.load("t1")[0, 0] == 10


@pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be replaced there")
def test_a_file_that_is_cut_is_damaged(tmp_path: Path) -> None:
    path = written(tmp_path / "w.safetensors")
    with kept_open():
        file = open_tensors(path)
        assert file.load("t4")[0, 0] == 4
        os.truncate(path, 4000)
        with pytest.raises(NetcalcError, match="end too early"):
            file.load("t4")
        written(path)
        assert file.load("t4")[0, 0] == 4  # after an error it is opened anew


def test_few_files_are_open_at_a_time(tmp_path: Path, openings: list[str]) -> None:
    files = [written(tmp_path / f"{i}.safetensors") for i in range(40)]
    descriptors = Path("/proc/self/fd")
    if not descriptors.is_dir():
        pytest.skip("needs the descriptors of this process")
    before = len([*descriptors.iterdir()])
    with kept_open():
        for path in files:
            loaded(path)
            assert len([*descriptors.iterdir()]) <= before + 17
        assert len(openings) == 40
    assert len([*descriptors.iterdir()]) == before


def test_a_file_opened_twice_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(bytes(range(100)))
    with kept_open():
        for _ in range(2):
            with opened(path) as (outer, length):
                assert (outer.read(10), length) == (bytes(range(10)), 100)
                with opened(path) as (inner, _):
                    assert inner.read(20) == bytes(range(20))
                assert outer.read(10) == bytes(range(10, 20))
        with pytest.raises(DamagedError), opened(path, 50) as (file, _):  # the limit is that of each use
            file.read()


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_has_its_own_position(tmp_path: Path) -> None:
    path = written(tmp_path / "w.safetensors")
    with kept_open():
        file = open_tensors(path)
        file.load("t3")
        child = os.fork()
        if not child:
            for _ in range(50):
                file.load("t0")
            os._exit(int(file.load("t2")[0, 0]))
        values = [file.load(f"t{i % 5}")[0, 0] for i in range(50)]
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert values == [i % 5 for i in range(50)]

"""Tensor files: round trips, headers without data, and no partial files after errors."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors import safe_open

from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import NetcalcError
from netcalc.dtypes import DTYPES
from netcalc.files import replacing
from netcalc.weights.tensor_files import Arrays, Header, open_tensors
from netcalc.weights.writing import write_tensors
from tests.weights.hostile import entry, safetensors


def read_array(path: Path, name: str) -> np.ndarray:
    """The tensor of that name, or the only one."""
    file = open_tensors(path)
    return file.load(file.only(name))


#: Windows has no device files, and symbolic links only for some users.
posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

SAMPLE = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6, dtype=np.float64).reshape(2, 3).T,
    "scalar": np.array(7),
    "empty": np.zeros((0, 4), np.float16),
    "file": np.array([True, False]),
}


def same(tensors: dict[str, np.ndarray], path: Path) -> None:
    opened = open_tensors(path)
    assert opened.headers == {n: Header(a.shape, a.dtype.name) for n, a in tensors.items()}
    for name, array in tensors.items():
        loaded = opened.load(name)
        assert loaded.dtype == array.dtype.newbyteorder("=")
        np.testing.assert_array_equal(loaded, array)


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_round_trip(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"t{suffix}"
    write_tensors(path, SAMPLE)
    same(SAMPLE, path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_of_element(tmp_path: Path, dtype: str) -> None:
    tensors = {"x": np.ones((2, 3), numpy_dtype(dtype))}
    lacking = {"bfloat16": {".npz", ".npy"}, "complex128": {".safetensors"}}  # formats without such elements
    for suffix in {".safetensors", ".npz", ".npy"} - lacking.get(dtype, set()):
        path = tmp_path / f"x{suffix}"
        write_tensors(path, tensors)
        same(tensors, path)


@given(array=hnp.arrays(st.sampled_from([">f4", ">i8", "<f8", "?"]), hnp.array_shapes(min_dims=0, min_side=0)))
def test_files_of_numpy(tmp_path_factory: pytest.TempPathFactory, array: np.ndarray) -> None:
    folder = tmp_path_factory.mktemp("numpy")
    np.save(folder / "x.npy", array)
    np.savez_compressed(folder / "x.npz", x=array)
    for name in ("x.npy", "x.npz"):
        opened = open_tensors(folder / name)
        assert opened.headers["x"] == Header(array.shape, array.dtype.name)
        np.testing.assert_array_equal(opened.load("x"), array)


def test_numpy_reads_written_files(tmp_path: Path) -> None:
    write_tensors(tmp_path / "t.npz", SAMPLE)
    with np.load(tmp_path / "t.npz") as archive:
        assert set(archive) == set(SAMPLE)
        np.testing.assert_array_equal(archive["transposed"], SAMPLE["transposed"])


def test_headers_of_a_file_larger_than_memory(tmp_path: Path) -> None:
    """4 TiB of zeros in a sparse file: only its header is read."""
    size = 4 << 40
    header = b'{"w":{"dtype":"F32","shape":[1048576,1048576],"data_offsets":[0,%d]}}' % size
    path = tmp_path / "huge.safetensors"
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        try:
            file.truncate(8 + len(header) + size)
        except OSError:
            pytest.skip("this file system has no sparse files of that size")
    assert open_tensors(path).headers == {"w": Header((1 << 20, 1 << 20), "float32")}


def test_a_single_array_is_loaded(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.npy", {"x": np.ones(3)})
    write_tensors(tmp_path / "two.npz", {"x": np.ones(3), "y": np.zeros(2)})
    assert read_array(tmp_path / "x.npy", "image").shape == (3,)
    assert read_array(tmp_path / "two.npz", "y").shape == (2,)
    with pytest.raises(NetcalcError, match=r"no tensor 'z' among the 2 in this file.*known here: x, y"):
        read_array(tmp_path / "two.npz", "z")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("gone.npz", None, "no such file"),
        ("gone.safetensors", None, "no such file"),
        ("bad.npz", b"not a zip", "is damaged, or not what its name says"),
        ("bad.npy", b"\x93NUMPY", "is damaged"),
        ("bad.npy", b"\x93NUMPY\x09\x00" + bytes(60), "is damaged.*version 9.0|is damaged.*not \\(9, 0\\)"),
        ("bad.safetensors", b"{}", "is damaged"),
        ("empty.safetensors", b"", "is damaged"),
        ("model.pt", b"", "not a known format of tensors.*a pickle can run code"),
        ("model.txt", b"", "not a known format.*known formats: .safetensors, .npz, .npy"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(NetcalcError, match=message) as caught:
        open_tensors(tmp_path / name)
    assert caught.value.diagnostics[0].code == "E605"


def test_pickled_arrays_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([{}]))
    with pytest.raises(NetcalcError, match=r"elements of type '\|O' cannot be read"):
        read_array(tmp_path / "x.npy", "x")


def test_a_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "d.npz").mkdir()
    with pytest.raises(NetcalcError, match="E605"):
        open_tensors(tmp_path / "d.npz")
    with pytest.raises(NetcalcError, match="E605"):
        write_tensors(tmp_path / "d.npz", {})


def test_tensors_that_cannot_be_written(tmp_path: Path) -> None:
    half = {"h": np.ones(2, ml_dtypes.bfloat16)}
    with pytest.raises(NetcalcError, match="'h' is bfloat16, which NumPy's files cannot hold"):
        write_tensors(tmp_path / "x.npz", half)
    with pytest.raises(NetcalcError, match=r"a \.npy file holds one tensor, and there are 2"):
        write_tensors(tmp_path / "x.npy", {"a": np.ones(1), "b": np.ones(1)})
    with pytest.raises(NetcalcError, match="not a known format"):
        write_tensors(tmp_path / "x.csv", half)
    with pytest.raises(NetcalcError, match=r"x\.npz cannot be written"):
        write_tensors(tmp_path / "none" / "x.npz", {})
    with pytest.raises(NetcalcError, match="E605"):
        write_tensors(tmp_path / "x.safetensors", {"c": np.array(["text"])})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".npy"])
def test_an_error_keeps_the_old_file(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"x{suffix}"
    write_tensors(path, {"x": np.ones(3)})
    before = path.read_bytes()

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(NetcalcError, match="cannot be written: No space left on device"):
        write_tensors(path, {"x": np.zeros(3)})
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@posix
def test_symbolic_links_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real.npy").touch()
    (tmp_path / "link.npy").symlink_to("real.npy")
    write_tensors(tmp_path / "link.npy", {"x": np.ones(2)})
    assert (tmp_path / "link.npy").is_symlink()
    assert read_array(tmp_path / "real.npy", "x").shape == (2,)


@posix
def test_devices_are_written_to() -> None:
    with replacing("/dev/null") as path:
        path.write_text("x")
    assert not Path("/dev/null").is_file()


def test_arrays_in_memory() -> None:
    arrays = Arrays({"x": [[1.0, 2.0]], "y": np.float32(3)})
    assert arrays.headers == {"x": Header((1, 2), "float64"), "y": Header((), "float32")}
    assert arrays.load("y") == 3


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a\\..\\x", "C:\\x", "a\0b", "\ud800", "n" * 70_000])
def test_names_that_an_archive_cannot_hold_safely(tmp_path: Path, name: str) -> None:
    with pytest.raises(NetcalcError, match=r"E605.* cannot hold ") as caught:
        write_tensors(tmp_path / "x.npz", {name: np.ones(1)})
    assert len(str(caught.value)) < 400
    assert list(tmp_path.iterdir()) == []


def test_names_that_safetensors_cannot_hold(tmp_path: Path) -> None:
    for name in ("\ud800", "__metadata__"):
        with pytest.raises(NetcalcError, match="E605"):
            write_tensors(tmp_path / "x.safetensors", {name: np.ones(1)})


@pytest.mark.parametrize("suffix", [".npz", ".safetensors"])
def test_any_other_name_is_kept(tmp_path: Path, suffix: str) -> None:
    tensors = {name: np.ones(1) for name in ("a/b", "a\nb", "", "a.npy", "\x1b[31m", "n" * 10_000, "a:b", "über")}
    write_tensors(tmp_path / f"x{suffix}", tensors)
    same(tensors, tmp_path / f"x{suffix}")


@posix
@pytest.mark.parametrize("suffix", [".npz", ".safetensors", ".npy"])
def test_a_full_disk(tmp_path: Path, suffix: str) -> None:
    import resource

    path = tmp_path / f"x{suffix}"
    write_tensors(path, {"x": np.ones(3)})
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(NetcalcError, match=r"E605.*cannot be written: File too large"):
            write_tensors(path, {"x": np.ones(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@posix
@pytest.mark.parametrize("suffix", [".safetensors", ".npy"])
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path, suffix: str) -> None:
    pipe, link = tmp_path / "pipe", tmp_path / f"x{suffix}"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_tensors(link, {"x": np.ones(3)})
        assert pipe.is_fifo()
        (tmp_path / f"copy{suffix}").write_bytes(os.read(reader, 65536))
    finally:
        os.close(reader)
    np.testing.assert_array_equal(read_array(tmp_path / f"copy{suffix}", "x"), np.ones(3))


def test_the_reference_implementation_reads_written_files(tmp_path: Path) -> None:
    from safetensors.numpy import load_file

    tensors = SAMPLE | {"half": np.ones((2, 3), ml_dtypes.bfloat16), "big": np.ones(3, ">f4"), "über": np.ones(1)}
    write_tensors(tmp_path / "x.safetensors", tensors)
    loaded = load_file(tmp_path / "x.safetensors")
    assert loaded.keys() == tensors.keys()
    for name, array in tensors.items():
        np.testing.assert_array_equal(loaded[name], array)


def test_the_hint_at_a_name_is_bounded(tmp_path: Path) -> None:
    names = {f"input_ids{i}": np.zeros(1) for i in range(3)}
    write_tensors(tmp_path / "x.safetensors", names)
    with pytest.raises(NetcalcError, match="did you mean 'input_ids2'"):
        read_array(tmp_path / "x.safetensors", "input_idz")
    write_tensors(tmp_path / "x.safetensors", {"ab" * 40_000: np.zeros(1), "ba": np.zeros(1)})
    with pytest.raises(NetcalcError, match="E605") as caught:
        read_array(tmp_path / "x.safetensors", "ba" * 40_000)
    assert len(str(caught.value)) < 400


def test_metadata_of_a_file(tmp_path: Path) -> None:
    path, plain = tmp_path / "x.safetensors", tmp_path / "x.npz"
    write_tensors(path, {"x": np.ones(3)}, {"format": "a test", "é": "\n"})
    with safe_open(path, "numpy") as file:
        assert file.metadata() == {"format": "a test", "é": "\n"}
    assert open_tensors(path).metadata() == {"format": "a test", "é": "\n"}
    assert open_tensors(path).load("x").tolist() == [1, 1, 1]
    write_tensors(plain, {"x": np.ones(3)})
    assert open_tensors(plain).metadata() == {}


def test_metadata_may_be_null(tmp_path: Path) -> None:
    """The function ``save_safetensors`` of mlx 0.32.4 writes null where there are none."""
    path = tmp_path / "x.safetensors"
    path.write_bytes(safetensors({"__metadata__": None, "x": entry()}, np.ones(2, np.float32).tobytes()))
    with safe_open(path, "numpy") as file:
        assert file.metadata() is None
    assert open_tensors(path).metadata() == {}
    assert open_tensors(path).load("x").tolist() == [1, 1]


def test_headers_are_read_without_numpy(tmp_path: Path) -> None:
    write_tensors(tmp_path / "x.safetensors", {"x": np.ones((2, 3))})
    write_tensors(tmp_path / "x.npz", {"x": np.ones((2, 3), ">f4")})
    write_tensors(tmp_path / "x.npy", {"x": np.ones((2, 3), bool)})
    code = (
        "import sys, netcalc\n"
        "for suffix in ('safetensors', 'npz', 'npy'):\n"
        "    (tensor,) = netcalc.read_checkpoint(f'{sys.argv[1]}/x.{suffix}').tensors\n"
        "    print(tensor.dtype, tensor.shape, tensor.bytes)\n"
        "print(sorted({'numpy', 'ml_dtypes'} & {*sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines() == ["float64 (2, 3) 48", "float32 (2, 3) 24", "bool (2, 3) 6", "[]"]

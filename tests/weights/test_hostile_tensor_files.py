"""Damaged and hostile files of tensors: one diagnostic each, in little memory, and no waiting."""

from __future__ import annotations

import json
import os
import socket
import sys
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from netcalc import limits
from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.numerics.given import read_input
from netcalc.numerics.parameters import Parameters, check_weights
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.tensor_files import open_tensors
from netcalc.weights.writing import write_tensors
from tests.numerics.programs import program
from tests.weights.hostile import bomb, entry, mutants, npy, npy_of, npz, read_all, safetensors

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")

DEEP = b"[" * 100_000
ENCRYPTED = bytearray(npz({"a.npy": npy_of()}))
ENCRYPTED[ENCRYPTED.index(b"PK\x01\x02") + 8] |= 1
CHECKSUM = npz({"a.npy": npy_of(data=b"12345678")}).replace(b"12345678", b"12345679")


def the_error(path: Path, code: str = "E605") -> str:
    """The message of the one error of reading a file."""
    with pytest.raises(NetcalcError) as caught:
        read_all(path)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert str(path) in diagnostic.message
    assert len(diagnostic.message) < 600
    return diagnostic.message


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "length.safetensors",
            b"\xff\xff\xff\xff\0\0\0\0{}",
            "header should have 4,294,967,295 bytes, and the file has",
        ),
        ("deep.safetensors", safetensors(DEEP), "nested too deeply"),
        ("list.safetensors", safetensors([1, 2]), "no mapping of names"),
        ("entry.safetensors", safetensors({"a": 1}), "'a' should have dtype, shape and data_offsets"),
        ("key.safetensors", safetensors({"a": {"dtype": "F32", "shape": [2]}}, bytes(8)), "'a' should have"),
        ("bool.safetensors", safetensors({"a": entry(shape=[True, 2])}, bytes(8)), "'a' has no valid element type or"),
        ("minus.safetensors", safetensors({"a": entry(shape=[-1, -2])}, bytes(8)), "'a' has no valid element type or"),
        ("huge.safetensors", safetensors({"a": entry(shape=[10**18] * 60)}, bytes(8)), "its shape and element type do"),
        ("digits.safetensors", safetensors(b'{"a": ' + b"9" * 5000 + b"}"), "no JSON"),
        ("axes.safetensors", safetensors({"a": entry(shape=[1] * 65)}, bytes(8)), "has 65 axes, and the limit is 64"),
        ("dtype.safetensors", safetensors({"a": entry(dtype=[])}, bytes(8)), "no valid element type"),
        ("twice.safetensors", safetensors(b'{"a": {}, "a": {}}'), "'a' stands there twice"),
        ("utf8.safetensors", safetensors(b'{"\xff": {}}'), "no JSON"),
        ("half.safetensors", safetensors(b'{"\\ud800": {}}'), "surrogates not allowed"),
        ("gap.safetensors", safetensors({"a": entry(offsets=[4, 12])}, bytes(12)), "overlap others, or leave a gap"),
        ("order.safetensors", safetensors({"a": entry(offsets=[8, 0])}, bytes(8)), "overlap others, or leave a gap"),
        ("both.safetensors", safetensors({"a": entry(), "b": entry()}, bytes(8)), "'b' overlap others, or leave a gap"),
        ("short.safetensors", safetensors({"a": entry()}, bytes(7)), "ends too early: its tensors have 8 bytes, and"),
        ("long.safetensors", safetensors({"a": entry()}, bytes(9)), "1 bytes belong to no tensor"),
        ("meta.safetensors", safetensors({"__metadata__": {"a": 1}}), "__metadata__ is no mapping of text"),
        ("short.npy", npy_of(data=bytes(7)), r"ends too early: 'short.npy' has 2 float32"),
        ("long.npy", npy_of(data=bytes(9)), "1 bytes follow the data"),
        ("bool.npy", npy_of(shape="(True, 2)"), "the header of 'bool.npy' cannot be read"),
        ("minus.npy", npy_of(shape="(-2,)"), "cannot be read"),
        ("number.npy", npy_of(shape="(2)"), "the shape of 'number.npy' is not valid"),
        ("power.npy", npy_of(shape="(9**9**9,)"), "cannot be read"),
        ("huge.npy", npy_of(shape=f"({'9' * 30},)"), "the shape of 'huge.npy' is not valid"),
        ("product.npy", npy_of(shape=f"({'9' * 18}, {'9' * 18})"), "ends too early"),
        ("axes.npy", npy_of(shape=f"({'1, ' * 65})", data=bytes(4)), "has 65 axes, and the limit is 64"),
        ("object.npy", npy_of("'|O'"), r"elements of type '\|O' cannot be read"),
        ("text.npy", npy_of("'<U5'"), "elements of type '<U5' cannot be read"),
        ("bytes.npy", npy_of("'|S2147483647'"), r"elements of type '\|S2147483647' cannot be read"),
        ("void.npy", npy_of("'|V4'"), r"elements of type '\|V4' cannot be read"),
        ("time.npy", npy_of("'<M8[s]'"), "elements of type '<M8.s.' cannot be read"),
        ("fields.npy", npy_of("[('x', '<f4')]"), "elements of several fields"),
        ("deep.npy", npy("{'descr': " + "(" * 9000), "lacks its shape, order or element type"),
        ("escape.npy", npy("{'\\d': 1}"), "the header of 'escape.npy' cannot be read"),
        ("length.npy", npy("", version=2, length=(1 << 32) - 1), "4,294,967,295 bytes, and the limit is 10,000"),
        ("twice.npy", npy("{'shape': (2,), 'shape': (2,), 'descr': '<f4'}"), "cannot be read"),
        ("lacks.npy", npy("{'shape': (2,), 'descr': '<f4'}"), "lacks its shape, order or element type"),
        ("encrypted.npz", bytes(ENCRYPTED), "'a.npy' is encrypted"),
        ("checksum.npz", CHECKSUM, "the checksum of 'a.npy' does not fit"),
        ("lzma.npz", npz({"a.npy": npy_of()}, compression=zipfile.ZIP_LZMA), "compressed in a way that NumPy does not"),
        ("short.npz", npz({"a.npy": npy_of(data=bytes(7))}), "ends too early: 'a' has 2 float32"),
        ("empty.npz", npz({"a.npy": b""}), "ends within the header of an array"),
        ("twice.npz", npz({"a.npy": npy_of(), "a": npy_of()}), "'a' stands in it twice"),
        ("cut.npz", npz({"a.npy": npy_of()})[:-30], "not a zip file"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.endswith((".npy", ".npz", ".safetensors")) else "",
)
def test_a_damaged_file_is_one_error(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(NetcalcError, match=message):
        read_all(tmp_path / name)
    the_error(tmp_path / name)


def test_version_3_of_npy_and_numbers_of_python_2_are_read(tmp_path: Path) -> None:
    header = "{'shape': (2L,), \"descr\": '>f4', 'fortran_order': False}"
    for version in (1, 2, 3):
        (tmp_path / "x.npy").write_bytes(npy(header, np.array([1, 2], ">f4").tobytes(), version))
        array = open_tensors(tmp_path / "x.npy").load("x")
        np.testing.assert_array_equal(array, [1, 2])
        assert array.dtype == np.float32
        assert array.dtype.isnative


def test_bytes_of_booleans_other_than_one_are_true(tmp_path: Path) -> None:
    (tmp_path / "x.npy").write_bytes(npy_of("'|b1'", "(3,)", b"\x00\x01\x02"))
    assert open_tensors(tmp_path / "x.npy").load("x").view(np.uint8).tolist() == [0, 1, 1]


NET = "inputs: {x: [1, 4]}\nlayers: [{name: a, linear: {out: 2, bias: false}}]"


def test_the_audit_sees_that_an_archive_is_too_short(tmp_path: Path) -> None:
    whole = npy_of(shape="(2, 4)", data=bytes(32))
    for content, compression in [(whole[:-1], zipfile.ZIP_STORED), (whole[:-20], zipfile.ZIP_DEFLATED)]:
        (tmp_path / "w.npz").write_bytes(npz({"a.weight.npy": content}, compression=compression))
        with pytest.raises(NetcalcError, match=r"E605.*ends too early: 'a.weight' has 2×4 float32"):
            check_weights(program(NET), tmp_path / "w.npz")
    (tmp_path / "w.npz").write_bytes(npz({"a.weight.npy": whole}))
    assert check_weights(program(NET), tmp_path / "w.npz").ok


def test_a_stream_that_ends_before_its_declared_size(tmp_path: Path) -> None:
    data = bytearray(npz({"a.npy": npy_of(shape="(99,)", data=bytes(396))}, compression=zipfile.ZIP_DEFLATED))
    at = data.index(b"PK\x01\x02")
    header = 396 + len(npy_of(shape="(99,)", data=b""))
    assert int.from_bytes(data[at + 24 : at + 28], "little") == header
    for declared, message in [(header + 4, "1 bytes follow|4 bytes follow"), (1 << 30, "cannot have 1,073,741,824")]:
        data[at + 24 : at + 28] = declared.to_bytes(4, "little")
        (tmp_path / "x.npz").write_bytes(data)
        with pytest.raises(NetcalcError, match=message):
            read_all(tmp_path / "x.npz")


def peak_of(function: Any, *args: Any) -> int:
    """Bytes of Python and NumPy at most in use while a function raises NetcalcError."""
    tracemalloc.start()
    try:
        with pytest.raises(NetcalcError):
            function(*args)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_bomb_is_held_against_the_spec_before_it_is_decompressed(tmp_path: Path) -> None:
    (tmp_path / "x.npz").write_bytes(bomb(32 << 20))
    assert open_tensors(tmp_path / "x.npz").headers["x"].shape == (32 << 20,)
    assert peak_of(read_input, program(NET), "x", tmp_path / "x.npz") < 10 << 20
    (tmp_path / "x.npz").rename(tmp_path / "a.weight.npz")
    assert peak_of(Parameters, program(NET), tmp_path / "a.weight.npz") < 10 << 20


@posix
def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pipe.safetensors", "pipe.npz", "pipe.npy", "pipe.index.json"):
        os.mkfifo(tmp_path / name)
        assert "a pipe where a regular file is expected" in the_error(tmp_path / name)
    (tmp_path / "zero.npy").symlink_to("/dev/zero")
    assert "a device where" in the_error(tmp_path / "zero.npy")
    (tmp_path / "loop.npy").symlink_to("loop.npy")
    assert "cannot be read" in the_error(tmp_path / "loop.npy")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)  # paths of sockets are short
        listener.bind("s.npy")
        assert "a socket where" in the_error(Path("s.npy"))
    (tmp_path / "index").mkdir()
    index = tmp_path / "index" / "model.safetensors.index.json"
    (index.parent / "w.safetensors").symlink_to(tmp_path / "pipe.safetensors")
    index.write_text(json.dumps({"weight_map": {"a": "w.safetensors"}}))
    with pytest.raises(NetcalcError, match="a pipe where a regular file is expected"):
        open_weights(index)


@pytest.mark.parametrize("path", ["a\0b.npy", "\ud800.npz", "x" * 300 + ".safetensors", "x" * 300 + ".index.json"])
def test_impossible_paths(path: str) -> None:
    with pytest.raises(NetcalcError, match="E605"):
        open_weights(path)


@pytest.mark.parametrize("shard", ["x" * 300, "\ud800", "model.safetensors.index.json", "folder"])
def test_shards_that_are_no_files(tmp_path: Path, shard: str) -> None:
    (tmp_path / "folder").mkdir()
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": shard}}))
    with pytest.raises(NetcalcError, match="E605"):
        open_weights(index)


def test_numbers_of_tensors_and_files_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from netcalc.weights import checkpoint_files, npz_format, safetensors_format, stored

    for number in range(4):
        write_tensors(tmp_path / f"{number}.safetensors", {f"{number}.{i}": np.zeros(1) for i in range(3)})
    write_tensors(tmp_path / "x.npz", {str(i): np.zeros(1) for i in range(3)})
    assert len(open_weights(tmp_path).headers) == 12
    monkeypatch.setattr(checkpoint_files, "MAX_STORED_TENSORS", 11)
    with pytest.raises(NetcalcError, match="more than 11 tensors"):
        open_weights(tmp_path)
    monkeypatch.setattr(checkpoint_files, "MAX_TENSOR_FILES", 3)
    with pytest.raises(NetcalcError, match="4 files of weights, and the limit is 3"):
        open_weights(tmp_path)
    monkeypatch.setattr(safetensors_format, "MAX_STORED_TENSORS", 2)
    with pytest.raises(NetcalcError, match="3 tensors, and the limit is 2"):
        open_weights(tmp_path / "0.safetensors")
    monkeypatch.setattr(npz_format, "MAX_ARCHIVE_MEMBERS", 2)
    with pytest.raises(NetcalcError, match="3 files, and the limit is 2"):
        open_weights(tmp_path / "x.npz")
    monkeypatch.setattr(stored, "MAX_STORED_VALUES", 20)
    with pytest.raises(NetcalcError, match="more than 20 values"):
        open_weights(tmp_path / "0.safetensors")
    monkeypatch.setattr(safetensors_format, "MAX_TENSOR_HEADER", 100)
    with pytest.raises(NetcalcError, match=r"its header has [0-9]+ bytes, and the limit is 100"):
        open_weights(tmp_path / "0.safetensors")


def test_a_directory_of_an_archive_is_not_read_beyond_its_limit(tmp_path: Path) -> None:
    size = limits.MAX_ARCHIVE_DIRECTORY + 1
    end = b"PK\x05\x06" + bytes(8) + size.to_bytes(4, "little") + bytes(6)
    with (tmp_path / "x.npz").open("wb") as file:
        file.seek(size)
        file.write(end)
    assert "more than 16,777,216 bytes" in the_error(tmp_path / "x.npz")


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2"])
@pytest.mark.parametrize("suffix", [".safetensors", ".npz", ".npy"])
def test_inputs_of_small_floats_are_widened(tmp_path: Path, name: str, suffix: str) -> None:
    array = np.array([[0.5, -1, 2, 4]], getattr(ml_dtypes, name))
    path = tmp_path / f"x{suffix}"
    if suffix == ".safetensors":
        kind = {"bfloat16": "BF16", "float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2"}[name]
        path.write_bytes(safetensors({"x": entry(kind, (1, 4), (0, array.nbytes))}, array.tobytes()))
    elif suffix == ".npz":
        np.savez(path, x=array)
    else:
        np.save(path, array)
    if name == "float8_e4m3fn" and suffix != ".safetensors":  # NumPy writes several types of one byte alike
        with pytest.raises(NetcalcError, match="E602: the input 'x' holds <V1, and the spec has float32"):
            read_input(program(NET), "x", path)
        return
    given = read_input(program(NET), "x", path)
    assert given.dtype == getattr(ml_dtypes, name)
    from netcalc.numerics.inputs import run_inputs

    (taken,) = run_inputs(program(NET), {"x": given})
    assert taken.dtype == np.float32
    np.testing.assert_array_equal(taken, array.astype(np.float32))


@pytest.mark.parametrize(
    "value", [[[1j] * 4], [["a"] * 4], [[None] * 4], [[1], [1, 2]], [[{}] * 4], np.zeros((1, 4), "V2")]
)
def test_values_that_are_no_numbers(value: Any) -> None:
    from netcalc.numerics.inputs import run_inputs

    with pytest.raises(NetcalcError, match="E602"):
        run_inputs(program(NET), {"x": value})


def test_integers_in_lists_are_not_wrapped() -> None:
    from netcalc.numerics.inputs import run_inputs

    net = program("inputs: {x: {shape: [2], dtype: uint8}}\nlayers: [{reshape: [2]}]")
    with pytest.raises(NetcalcError, match="holds 1 to 256, which uint8 does not"):
        run_inputs(net, {"x": [1, 256]})
    assert run_inputs(net, {"x": [1, 255]})[0].tolist() == [1, 255]


def test_mutants_of_valid_files_are_read_or_refused(tmp_path: Path) -> None:
    tracemalloc.start()
    refused = 0
    try:
        for _, read in mutants(tmp_path, 400, seed=12):
            try:
                read()
            except NetcalcError as error:
                refused += 1
                assert {d.code for d in error.diagnostics} == {"E605"}
                assert len(str(error)) < 2000
        assert tracemalloc.get_traced_memory()[1] < 20 << 20
    finally:
        tracemalloc.stop()
    assert 200 < refused < 400


def test_a_tensor_larger_than_the_free_memory_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from netcalc.weights import stored_data

    sliced = program(NET + "\ncheckpoint: {a.weight: {from: x, slice: [0, 2]}}")
    (tmp_path / "x.npy").write_bytes(npy_of(shape="(1000, 4)", data=bytes(16_000)))
    monkeypatch.setattr(stored_data, "_SMALL", 30)
    monkeypatch.setattr(stored_data, "free_bytes", lambda: 32)
    (instance,) = instances(sliced)
    weights = Parameters(sliced, tmp_path / "x.npy")
    assert weights.fetch(instance, instance.node.params[0]).shape == (2, 4)  # only the slice is read
    with pytest.raises(NetcalcError, match=r"E603: .*x.npy does not fit into memory: a tensor of 15.6 KiB, and 32 B"):
        weights._tensors.load("x")  # type: ignore[union-attr]
    monkeypatch.setattr(stored_data, "free_bytes", lambda: 31)
    with pytest.raises(NetcalcError, match=r"E603: .*x.npy does not fit into memory: a tensor of 32 B, and 31 B"):
        weights.fetch(instance, instance.node.params[0])


@pytest.mark.skipif(not hasattr(os, "fork") or os.geteuid() != 0, reason="needs the right to become another user")
def test_files_without_permission(tmp_path: Path) -> None:
    private = [p for p in (tmp_path, *tmp_path.parents) if p.stat().st_mode & 0o055 != 0o055]
    for folder in private:
        folder.chmod(0o755)
    (tmp_path / "w.npy").write_bytes(npy_of())
    (tmp_path / "w.npy").chmod(0o000)
    (tmp_path / "closed").mkdir(mode=0o000)
    paths = [tmp_path / "w.npy", tmp_path / "closed", tmp_path / "closed" / "w.npz"]
    receiver, sender = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(65534)
            os.setuid(65534)
            found = []
            for path in paths:
                try:
                    open_weights(path)
                except NetcalcError as error:
                    found.append(str(error))
            try:
                write_tensors(tmp_path / "new.npz", {"a": np.zeros(1)})
            except NetcalcError as error:
                found.append(str(error))
            os.write(sender, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(sender)
    with os.fdopen(receiver, "rb") as file:
        found = json.loads(file.read())
    os.waitpid(child, 0)
    for folder in (tmp_path / "closed", *private):
        folder.chmod(0o700)
    assert [("E605" in text, "ermission denied" in text) for text in found] == [(True, True)] * 4
    assert not (tmp_path / "new.npz").exists()

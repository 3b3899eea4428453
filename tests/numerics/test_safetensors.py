"""The reader of safetensors files, against the format's own library."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import SafetensorError, safe_open

from netcalc.diagnostics import NetcalcError
from netcalc.numerics.tensors import open_tensors, read_array

SIZES = {"F64": 8, "F32": 4, "F16": 2, "I64": 8, "U8": 1, "BOOL": 1}


#: Headers as they are written, the data of each one byte.
HEADERS = [
    "",
    "{",
    "[]",
    "7",
    "\ufeff{}",
    "{}  ",
    "[" * 9000,
    '{"x": {}}',
    '{"x": [0, 1]}',
    '{"x": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}',
    '{"x": {"dtype": "U8", "shape": [true], "data_offsets": [0, 1]}}',
    '{"x": {"dtype": "U8", "shape": [1.0], "data_offsets": [0, 1]}}',
    '{"x": {"dtype": "U8", "shape": "", "data_offsets": [0, 1]}}',
    '{"x": {"dtype": "U8", "shape": {}, "data_offsets": [0, 1]}}',
    '{"x": {"dtype": "U8", "shape": [], "data_offsets": {"0": 0, "1": 1}}}',
    '{"x": {"dtype": 8, "shape": [1], "data_offsets": [0, 1]}}',
    '{"x": {"dtype": "U8", "shape": [0, 1180591620717411303424], "data_offsets": [0, 0]}}',
    '{"x": {"dtype": "U8", "shape": [-1], "data_offsets": [1, 0]}}',
]


def agree(path: Path) -> None:
    """What the library reads is read alike, and nothing else is read."""
    try:
        with safe_open(path, framework="numpy") as file:
            wanted = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
    except SafetensorError:
        with pytest.raises(NetcalcError, match="is damaged"):
            open_tensors(path)
        return
    opened = open_tensors(path)
    assert opened.headers.keys() == wanted.keys()
    for name, array in wanted.items():
        found = opened.load(name)
        assert (found.shape, found.dtype) == (array.shape, array.dtype)
        assert found.tobytes() == array.tobytes()


@pytest.mark.parametrize("data", [b"", b"\x07"])
@pytest.mark.parametrize("header", HEADERS)
def test_headers(header: str, data: bytes, tmp_path: Path) -> None:
    agree(written(tmp_path / "x.safetensors", header, data))


@st.composite
def files(draw: st.DrawFn) -> bytes:
    """A file in which perhaps one thing is not as it should be."""
    header: dict[str, Any] = draw(st.sampled_from([{}, {"__metadata__": {"format": "pt"}}]))
    length = 0
    names = draw(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=3, unique=True))
    for name in names:
        dtype = draw(st.sampled_from(sorted(SIZES)))
        shape = draw(st.lists(st.integers(0, 3), max_size=3))
        start, length = length, length + int(np.prod(shape)) * SIZES[dtype]
        header = {**header, name: {"dtype": dtype, "shape": shape, "data_offsets": [start, length]}}
    data = bytes(number % 2 for number in range(length))  # truth values among them
    what = draw(st.sampled_from(["nothing", "start", "end", "both", "shape", "missing", "order", "data", "size"]))
    entry = header[draw(st.sampled_from(names))]
    if what in ("start", "end", "both"):
        by = draw(st.integers(-9, 9))
        moved = (what != "end", what != "start")
        entry["data_offsets"] = [
            offset + by * is_moved for offset, is_moved in zip(entry["data_offsets"], moved, strict=True)
        ]
    elif what == "shape":
        entry["shape"].append(draw(st.integers(-1, 2)))
    elif what == "missing":
        del entry[draw(st.sampled_from(sorted(entry)))]
    elif what == "order":
        header = dict(reversed(header.items()))
    elif what == "data":
        data = data[: draw(st.integers(0, length))] + bytes(draw(st.integers(0, 9)))
    text = json.dumps(header).encode()
    size = len(text) + (draw(st.integers(-3, length + 3)) if what == "size" else 0)
    return struct.pack("<Q", size) + text + data


@settings(deadline=None, max_examples=300)
@given(content=files())
def test_files(content: bytes, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("files") / "x.safetensors"
    path.write_bytes(content)
    agree(path)


def written(path: Path, header: str, data: bytes = b"") -> Path:
    path.write_bytes(struct.pack("<Q", len(header)) + header.encode() + data)
    return path


def test_a_header_that_is_too_long_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(struct.pack("<Q", 1 << 62) + b"{}")
    with pytest.raises(NetcalcError, match=r"is damaged.*4,611,686,018,427,387,904 bytes"):
        open_tensors(path)


def test_types_that_netcalc_does_not_have_keep_their_name(tmp_path: Path) -> None:
    header = '{"x": {"dtype": "F8_E4M3", "shape": [2], "data_offsets": [0, 2]}}'
    path = written(tmp_path / "x.safetensors", header, b"ab")
    assert open_tensors(path).headers["x"].dtype == "F8_E4M3"
    with pytest.raises(NetcalcError, match="'x' holds F8_E4M3, which netcalc does not have"):
        read_array(path, "x")


def test_a_file_that_was_cut_off_since(tmp_path: Path) -> None:
    header = '{"x": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}'
    path = written(tmp_path / "x.safetensors", header, b"abcd")
    opened = open_tensors(path)
    written(path, header, b"ab")
    with pytest.raises(NetcalcError, match=r"is damaged.*the file has become shorter"):
        opened.load("x")

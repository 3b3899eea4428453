"""Hostile tensor files: as weights of a run, in an audit of a checkpoint, and as inputs."""

from __future__ import annotations

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from tests.hostile.case import Case, Content

SPEC = "netcalc: 1\nname: spec\ninputs: {x: [1, 8]}\nlayers: [{name: fc, linear: 4}]\n"
WEIGHT, BIAS = np.ones((4, 8), np.float32), np.ones(4, np.float32)


def safetensors(header: Any, data: bytes = b"", length: int | None = None) -> bytes:
    """Return a safetensors file of a header, as data or as bytes, and of tensor data."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def entry(dtype: str, shape: list[Any], start: int, stop: int) -> dict[str, Any]:
    """Return the entry of a tensor in the header of a safetensors file."""
    return {"dtype": dtype, "shape": shape, "data_offsets": [start, stop]}


def npy(header: str | bytes, data: bytes = b"", version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    """Return an npy file with a header as text."""
    text = header.encode("latin-1") if isinstance(header, str) else header
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version[0] == 1 else "<I", size) + text + data


def described(dtype: str, shape: str) -> str:
    """Return the text of an npy header."""
    return f"{{'descr': {dtype!r}, 'fortran_order': False, 'shape': {shape}, }}\n"


def npz(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    """Return a zip file of npy files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def saved(array: np.ndarray[Any, Any]) -> bytes:
    """Return the npy file of an array."""
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


GOOD_NPZ = npz({"fc.weight.npy": saved(WEIGHT), "fc.bias.npy": saved(BIAS)})
GOOD_HEADER = {"fc.weight": entry("F32", [4, 8], 0, 128), "fc.bias": entry("F32", [4], 128, 144)}
GOOD = safetensors(GOOD_HEADER, WEIGHT.tobytes() + BIAS.tobytes())


def _encrypted() -> bytes:
    data = bytearray(GOOD_NPZ)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = data.find(signature)
        while place >= 0:
            data[place + offset] |= 1
            place = data.find(signature, place + 4)
    return bytes(data)


def _bomb(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("fc.weight.npy", "w") as member:
        member.write(npy(described("<f4", "(67108864,)")))
        for _ in range(256):
            member.write(b"\0" * (1 << 20))


def _sparse(size: int, head: bytes) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with path.open("wb") as file:
            file.write(head)
            file.truncate(size)

    return make


def _foreign(count: int) -> bytes:
    names = [f"model.layers.{i}.weight" for i in range(count)]
    return safetensors({n: entry("F32", [1], 4 * i, 4 * i + 4) for i, n in enumerate(names)}, b"\0" * 4 * count)


#: Files of weights by code and name; the suffix is that of the name.
FILES: dict[str, dict[str, Content]] = {
    "E605": {
        "empty.npz": b"",
        "empty.safetensors": b"",
        "empty.npy": b"",
        "text.npz": b"hello",
        "text.safetensors": b"hello",
        "pickle.pth": b"\x80\x04K\x01.",
        "pickle.npz": b"\x80\x04cos\nsystem\n(S'ls'\ntR.",
        "pickle.safetensors": b"\x80\x04K\x01.",
        "cut.npz": GOOD_NPZ[: len(GOOD_NPZ) // 2],
        "cut-directory.npz": GOOD_NPZ[:-10],
        "cut.safetensors": GOOD[:-10],
        "cut-header.safetensors": GOOD[:40],
        "cut-length.safetensors": GOOD[:5],
        "longer.safetensors": GOOD + b"\0" * 100,
        "corrupt.npz": GOOD_NPZ.replace(BIAS.tobytes(), b"\xff" * 16),
        "corrupt-directory.npz": GOOD_NPZ.replace(b"PK\x01\x02", b"PK\x01\x03"),
        "encrypted.npz": _encrypted(),
        "huge-shape.npz": npz({"fc.weight.npy": npy(described("<f4", "(999999999999, 999999999999)"))}),
        "overflowing-shape.npz": npz({"fc.weight.npy": npy(described("<f4", f"({2**63}, {2**63})"))}),
        "digits-shape.npz": npz({"fc.weight.npy": npy(described("<f4", f"({'9' * 5000},)"))}),
        "boolean-shape.npz": npz({"fc.weight.npy": npy(described("<f4", "(True, 8)"))}),
        "negative-shape.npz": npz({"fc.weight.npy": npy(described("<f4", "(-4, 8)"))}),
        "text-shape.npz": npz({"fc.weight.npy": npy(described("<f4", "'ab'"))}),
        "none-shape.npz": npz({"fc.weight.npy": npy(described("<f4", "None"))}),
        "float-shape.npz": npz({"fc.weight.npy": npy(described("<f4", "(4.0, 8)"))}),
        "structured.npz": npz(
            {"fc.weight.npy": npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,)}\n")}
        ),
        "header-code.npz": npz({"fc.weight.npy": npy("__import__('os').system('ls')\n")}),
        "header-deep.npz": npz({"fc.weight.npy": npy("(" * 60000 + "\n")}),
        "header-deep-lists.npz": npz({"fc.weight.npy": npy("[" * 9000 + "]" * 9000 + "\n")}),
        "header-length.npz": npz({"fc.weight.npy": npy("{}", version=(2, 0), length=2**32 - 1)}),
        "header-keys.npz": npz({"fc.weight.npy": npy("{'descr': '<f4'}\n")}),
        "header-nul.npz": npz({"fc.weight.npy": npy(b"\0" * 100)}),
        "version.npz": npz({"fc.weight.npy": npy("{}\n", version=(9, 9))}),
        "magic.npz": npz({"fc.weight.npy": b"NUMPY!"}),
        "member-empty.npz": npz({"fc.weight.npy": b""}),
        "member-text.npz": npz({"fc.weight.txt": b"hello"}),
        "member-cut.npz": npz({"fc.weight.npy": saved(WEIGHT)[:-64], "fc.bias.npy": saved(BIAS)}),
        "length-4gib.safetensors": safetensors(b"{}", length=1 << 32),
        "length-max.safetensors": safetensors(b"{}", length=2**64 - 1),
        "length-zero.safetensors": safetensors(b"", length=0),
        "not-json.safetensors": safetensors(b"{not json}"),
        "not-utf8.safetensors": safetensors(b'{"\xff\xfe": 1}'),
        "json-list.safetensors": safetensors([1, 2]),
        "json-number.safetensors": safetensors(3),
        "json-nan.safetensors": safetensors(b'{"fc.weight": NaN}'),
        "json-deep.safetensors": safetensors(b"[" * 100_000),
        "json-deep-mapping.safetensors": safetensors(b'{"a":' * 50_000),
        "json-digits.safetensors": safetensors(b'{"fc.weight": ' + b"9" * 10_000 + b"}"),
        "entry-null.safetensors": safetensors({"fc.weight": None}),
        "entry-list.safetensors": safetensors({"fc.weight": []}),
        "entry-empty.safetensors": safetensors({"fc.weight": {}}),
        "entry-dtype-number.safetensors": safetensors(
            {"fc.weight": {"dtype": 3, "shape": [4, 8], "data_offsets": [0, 128]}}, b"\0" * 128
        ),
        "shape-text.safetensors": safetensors({"fc.weight": entry("F32", ["4", 8], 0, 128)}, b"\0" * 128),
        "shape-boolean.safetensors": safetensors({"fc.weight": entry("F32", [True, 8], 0, 32)}, b"\0" * 32),
        "shape-negative.safetensors": safetensors({"fc.weight": entry("F32", [-4, -8], 0, 128)}, b"\0" * 128),
        "shape-huge.safetensors": safetensors({"fc.weight": entry("F32", [2**62, 2**62], 0, 128)}, b"\0" * 128),
        "shape-overflow.safetensors": safetensors({"fc.weight": entry("F32", [2**64, 8], 0, 128)}, b"\0" * 128),
        "shape-float.safetensors": safetensors({"fc.weight": entry("F32", [4.5, 8], 0, 128)}, b"\0" * 128),
        "shape-number.safetensors": safetensors(
            {"fc.weight": {"dtype": "F32", "shape": 32, "data_offsets": [0, 128]}}, b"\0" * 128
        ),
        "offsets-reversed.safetensors": safetensors({"fc.weight": entry("F32", [4, 8], 128, 0)}, b"\0" * 128),
        "offsets-negative.safetensors": safetensors({"fc.weight": entry("F32", [4, 8], -128, 0)}, b"\0" * 128),
        "offsets-beyond.safetensors": safetensors({"fc.weight": entry("F32", [4, 8], 0, 2**40)}, b"\0" * 128),
        "offsets-short.safetensors": safetensors({"fc.weight": entry("F32", [4, 8], 0, 64)}, b"\0" * 64),
        "offsets-one.safetensors": safetensors(
            {"fc.weight": {"dtype": "F32", "shape": [4, 8], "data_offsets": [0]}}, b"\0" * 128
        ),
        "offsets-overlapping.safetensors": safetensors(
            {"fc.weight": entry("F32", [4, 8], 0, 128), "fc.bias": entry("F32", [4], 64, 80)}, b"\0" * 128
        ),
        "sparse.safetensors": _sparse(1 << 40, b""),
        "sparse.npz": _sparse(1 << 34, b"PK\x03\x04"),
        "index.json": b"{}",
        "list.index.json": b"[1]",
        "text.index.json": b"hello",
        "deep.index.json": b"[" * 100_000,
        "number-map.index.json": b'{"weight_map": 3}',
        "missing-shard.index.json": b'{"weight_map": {"fc.weight": "no.safetensors", "fc.bias": "no.safetensors"}}',
        "outside.index.json": b'{"weight_map": {"fc.weight": "../../../etc/passwd"}}',
        "absolute.index.json": b'{"weight_map": {"fc.weight": "/etc/passwd"}}',
        "number-shard.index.json": b'{"weight_map": {"fc.weight": 3}}',
        "itself.index.json": b'{"weight_map": {"fc.weight": "itself.index.json"}}',
        "empty-folder": lambda path: path.mkdir(),
        "folder.safetensors": lambda path: path.mkdir(),
        "dangling.safetensors": lambda path: path.symlink_to("nothing"),
        "circle.safetensors": lambda path: path.symlink_to(path.name),
        "fifo.safetensors": lambda path: os.mkfifo(path),
        "fifo.npz": lambda path: os.mkfifo(path),
        "fifo.index.json": lambda path: os.mkfifo(path),
        "device.safetensors": lambda path: path.symlink_to("/dev/zero"),
        "device.npz": lambda path: path.symlink_to("/dev/zero"),
        "device.index.json": lambda path: path.symlink_to("/dev/zero"),
        "\x1b[31mred\u202e.safetensors": b"hello",
        "\x9b2J.npz": b"hello",
        "no-suffix": b"hello",
        "onnx.onnx": b"\x08\x07",
    },
    "E601": {
        "entry-dtype.safetensors": safetensors({"fc.weight": entry("F1024", [4, 8], 0, 128)}, b"\0" * 128),
        "time.npz": npz({"fc.weight.npy": npy(described("<M8[s]", "(4, 8)"), b"\0" * 256)}),
        "unknown-dtype.npz": npz({"fc.weight.npy": npy(described("<f3", "(4, 8)"))}),
        "large-string.npz": npz({"fc.weight.npy": npy(described("|S2147483647", "(4, 8)"))}),
        "objects.npz": npz({"fc.weight.npy": npy(described("|O", "(4, 8)"), b"\x80\x04K\x01.")}),
        "foreign.safetensors": safetensors({"other": entry("F32", [1], 0, 4)}, b"\0" * 4),
        "foreign-60000.safetensors": _foreign(60_000),
        "missing.npz": npz({"fc.weight.npy": saved(WEIGHT)}),
        "none.npz": npz({}),
        "none.safetensors": safetensors({}),
        "shape.npz": npz({"fc.weight.npy": saved(np.ones((8, 4), np.float32)), "fc.bias.npy": saved(BIAS)}),
        "scalar.npz": npz({"fc.weight.npy": saved(np.float32(1)), "fc.bias.npy": saved(BIAS)}),
        "dtype.npz": npz({"fc.weight.npy": saved(WEIGHT.astype(np.int64)), "fc.bias.npy": saved(BIAS)}),
        "complex.npz": npz({"fc.weight.npy": saved(WEIGHT.astype(np.complex64)), "fc.bias.npy": saved(BIAS)}),
        "names.safetensors": safetensors(
            {"\x1b[2J\u2066name": entry("F32", [1], 0, 4), "b\x9b": entry("F32", [1], 4, 8)}, b"\0" * 8
        ),
        "long-name.safetensors": safetensors({"n" * 100_000: entry("F32", [1], 0, 4)}, b"\0" * 4),
        "declared.safetensors": _sparse(
            (1 << 34) + 8 + len(json.dumps({"fc.weight": entry("F32", [1 << 32], 0, 1 << 34)})),
            safetensors({"fc.weight": entry("F32", [1 << 32], 0, 1 << 34)}),
        ),
        "bomb.npz": _bomb,
    },
}

#: Files of the input ``x`` by code and name.
INPUTS: dict[str, dict[str, Content]] = {
    "E605": {
        "empty.npy": b"",
        "text.npy": b"hello",
        "cut.npy": saved(np.ones((1, 8), np.float32))[:-4],
        "huge.npy": npy(described("<f4", "(999999999999, 999999999999)")),
        "boolean.npy": npy(described("<f4", "(True, 8)"), b"\0" * 32),
        "deep.npy": npy("(" * 60000 + "\n"),
        "length.npy": npy("{}", version=(2, 0), length=2**32 - 1),
        "cut.npz": GOOD_NPZ[:100],
        "encrypted.npz": _encrypted(),
        "text.safetensors": b"hello",
        "length.safetensors": safetensors(b"{}", length=1 << 32),
        "missing.npy": lambda path: None,
        "folder.npy": lambda path: path.mkdir(),
        "fifo.npy": lambda path: os.mkfifo(path),
        "device.npy": lambda path: path.symlink_to("/dev/zero"),
        "text.txt": b"1 2 3",
    },
    "E602": {
        "objects.npy": npy(described("|O", "(1, 8)"), b"\x80\x04K\x01."),
        "string.npy": npy(described("|S2147483647", "(1, 8)")),
        "shape.npy": saved(np.ones((1, 7), np.float32)),
        "rank.npy": saved(np.ones(8, np.float32)),
        "integers.npy": saved(np.ones((1, 8), np.int64)),
        "large.npy": _sparse((1 << 32) + 128, npy(described("<f4", "(1, 1073741824)").rstrip("\n").ljust(117) + "\n")),
    },
    "": {
        "bfloat16.safetensors": safetensors({"x": entry("BF16", [1, 8], 0, 16)}, b"\0" * 16),
        "float8.safetensors": safetensors({"x": entry("F8_E4M3", [1, 8], 0, 8)}, b"\0" * 8),
    },
}


def cases() -> Iterator[Case]:
    """Yield cases for every file: audits of weights, some runs with them, and inputs."""
    for code, files in FILES.items():
        for name, content in files.items():
            given: dict[str, Content] = {"spec.yaml": SPEC, name: content}
            audited = "failed check" if code == "E601" else code  # an audit reports what does not match
            if name == "corrupt.npz":
                audited = ""  # an audit reads no data
            yield Case(f"audit/{name}", ("verify", "spec.yaml", "--weights", name), audited, given)
            if name.endswith((".npz", ".safetensors")) and name.split(".")[0] in RUN_WITH:
                yield Case(f"weights/{name}", ("run", "spec.yaml", "--weights", name), code, given)
    for code, files in INPUTS.items():
        for name, content in files.items():
            given = {"spec.yaml": SPEC, name: content}
            yield Case(f"input/{name}", ("run", "spec.yaml", "--input", f"x={name}"), code, given)


#: Files that runs read as well.
RUN_WITH = (
    *(
        "cut",
        "corrupt",
        "encrypted",
        "bomb",
        "large-string",
        "huge-shape",
        "boolean-shape",
        "member-cut",
        "length-4gib",
    ),
    *("json-deep", "sparse", "device", "fifo", "foreign-60000", "declared", "offsets-overlapping", "header-deep"),
)

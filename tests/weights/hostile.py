"""Files of tensors that are damaged or hostile: made by hand, or by mutation of valid ones."""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.writing import write_tensors

SAMPLE = {
    "a.weight": np.arange(6, dtype=np.float32).reshape(2, 3),
    "transposed": np.arange(6, dtype=np.float64).reshape(2, 3).T,
    "scalar": np.array(7),
    "empty": np.zeros((0, 4), np.float16),
    "file": np.array([True, False]),
}


def safetensors(header: Any, data: bytes = b"") -> bytes:
    """A file with this header, which is text or data for JSON."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype: str = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    """An entry of the header of a safetensors file."""
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


def npy(header: str, data: bytes = b"", version: int = 1, length: int | None = None) -> bytes:
    """A .npy file with this header."""
    text = header.encode("latin-1")
    size = struct.pack("<H" if version == 1 else "<I", len(text) if length is None else length)
    return b"\x93NUMPY" + bytes([version, 0]) + size + text + data


def npy_of(descr: str = "'<f4'", shape: str = "(2,)", data: bytes = bytes(8)) -> bytes:
    """A .npy file of these values in its header."""
    return npy(f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n", data)


def npz(members: dict[str, bytes], *, compression: int = zipfile.ZIP_STORED) -> bytes:
    """An archive of these files."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def bomb(count: int) -> bytes:
    """An archive of one deflated array of ``count`` zeros, made without holding them."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as member:
        member.write(npy_of(shape=f"({count},)", data=b""))
        for _ in range(0, count, 1 << 20):
            member.write(bytes(4 << 20))
    return buffer.getvalue()


def valid_files(folder: Path) -> list[Path]:
    """Write one file of each format, and an index of shards."""
    files = [folder / name for name in ("a.npy", "a.npz", "deflated.npz", "a.safetensors", "a.safetensors.index.json")]
    np.save(files[0], SAMPLE["transposed"])
    write_tensors(files[1], SAMPLE)
    np.savez_compressed(files[2], a=SAMPLE["transposed"], b=SAMPLE["empty"], c=SAMPLE["scalar"])
    write_tensors(files[3], SAMPLE)
    files[4].write_text(json.dumps({"weight_map": dict.fromkeys(SAMPLE, "a.safetensors")}))
    return files


#: Pieces that mutations insert: numbers, delimiters and text that formats give a meaning.
_PIECES = [b"", b"-", b"9" * 30, b"\x00", b"\xff" * 8, b"[", b"{" * 50, b'"', b"True", b"'|O'", b"(", b"PK\x01\x02"]


def mutate(data: bytes, rng: random.Random) -> bytes:
    """Return the bytes of a file with one to three changes."""
    changed = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        # headers are at the beginning, the directory of an archive at the end
        limit = min(len(changed), rng.choice([16, 128, 1 << 20])) or 1
        at = rng.randrange(limit) if rng.random() < 0.7 else max(0, len(changed) - 1 - rng.randrange(limit))
        match rng.randrange(6):
            case 0:
                changed[at : at + 1] = bytes([changed[at] ^ 1 << rng.randrange(8)]) if changed else b""
            case 1:
                del changed[at:]
            case 2:
                changed[at : at + rng.randrange(1, 9)] = rng.choice(_PIECES)
            case 3:
                changed[at:at] = rng.choice(_PIECES)
            case 4:
                changed[at : at + 4] = struct.pack("<I", rng.choice([0, 1, 255, 65535, 1 << 31, (1 << 32) - 1]))
            case _:
                changed[at:at] = changed[at : at + rng.randrange(1, 64)]
    return bytes(changed)


def read_all(path: Path) -> None:
    """Read everything that a file holds, as the weights of a network."""
    tensors = open_weights(path)
    for name in tensors.headers:
        tensors.load(name)


def mutants(folder: Path, count: int, seed: int) -> Iterator[tuple[Path, Callable[[], None]]]:
    """Yield files that are mutated in turn, each with a function that reads it."""
    rng = random.Random(seed)
    files = [(path, path.read_bytes()) for path in valid_files(folder)]
    for number in range(count):
        path, data = files[number % len(files)]
        path.write_bytes(mutate(data, rng))
        yield path, lambda path=path: read_all(path)  # type: ignore[misc]
        path.write_bytes(data)

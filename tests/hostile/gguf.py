"""Hostile models in GGUF."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from tests.hostile.case import Case, Content

_U32, _F32, _BOOL, _STRING, _ARRAY, _U64 = 4, 6, 7, 8, 9, 10


def text(value: str | bytes, length: int | None = None) -> bytes:
    """Return a text with its length."""
    data = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(data) if length is None else length) + data


def pair(key: str | bytes, kind: int, value: bytes) -> bytes:
    """Return an entry of the metadata."""
    return text(key) + struct.pack("<I", kind) + value


def number(key: str, value: int) -> bytes:
    """Return an entry with a number."""
    return pair(key, _U32, struct.pack("<I", value))


def array(kind: int, count: int, data: bytes = b"") -> bytes:
    """Return the value of an array."""
    return struct.pack("<IQ", kind, count) + data


def tensor(name: str | bytes, sizes: Sequence[int], kind: int = 0, offset: int = 0, axes: int | None = None) -> bytes:
    """Return the entry of a tensor."""
    axes = len(sizes) if axes is None else axes
    return text(name) + struct.pack(f"<I{len(sizes)}QIQ", axes, *sizes, kind, offset)


def file(
    pairs: Sequence[bytes] = (),
    tensors: Sequence[bytes] = (),
    data: int = 0,
    *,
    version: int = 3,
    counts: tuple[int, int] | None = None,
    magic: bytes = b"GGUF",
) -> bytes:
    """Return a file with so many bytes of data."""
    numbers = (len(tensors), len(pairs)) if counts is None else counts
    head = magic + struct.pack("<IQQ", version, *numbers) + b"".join(pairs) + b"".join(tensors)
    return head + b"\0" * (-len(head) % 32 + data)


def llama(**changed: Any) -> list[bytes]:
    """Return the metadata of a small model, some of them changed."""
    numbers = {
        "block_count": 1,
        "context_length": 8,
        "embedding_length": 8,
        "feed_forward_length": 8,
        "attention.head_count": 2,
        **{key.replace("__", "."): value for key, value in changed.items()},
    }
    pairs = [pair("general.architecture", _STRING, text("llama"))]
    pairs += [number(f"llama.{key}", value) for key, value in numbers.items()]
    return [*pairs, pair("llama.attention.layer_norm_rms_epsilon", _F32, struct.pack("<f", 1e-5))]


EMBEDDING = tensor("token_embd.weight", [8, 4])
GOOD = file(llama(), [EMBEDDING], 128)
HUGE = 1 << 60

FILES: dict[str, dict[str, Content]] = {
    "E605": {
        "empty": b"",
        "magic": b"GGUF",
        "not-gguf": b"hello, this is text",
        "version-1": file(version=1),
        "version-99": file(version=99),
        "cut": GOOD[:100],
        "cut-data": GOOD[:-1],
        "tensors-2-60": file(counts=(HUGE, 0)),
        "pairs-2-60": file(counts=(0, HUGE)),
        "pairs-2-63": file(counts=(0, (1 << 64) - 1)),
        "key-2-60": file([text(b"", HUGE)]),
        "key-long": file([pair("k" * 100_000, _U32, b"\0" * 4)]),
        "key-not-utf8": file([pair(b"\xff\xfe", _U32, b"\0" * 4)]),
        "key-twice": file([number("a", 1), number("a", 2)]),
        "kind": file([pair("a", 77, b"\0" * 8)]),
        "text-2-60": file([pair("a", _STRING, text(b"", HUGE))]),
        "array-2-60": file([pair("a", _ARRAY, array(0, HUGE))]),
        "array-texts-2-60": file([pair("a", _ARRAY, array(_STRING, HUGE))]),
        "array-kind": file([pair("a", _ARRAY, array(77, 1))]),
        "arrays": file([pair("a", _ARRAY, array(_ARRAY, 1) + array(_ARRAY, 1) * 50_000)]),
        "alignment-0": file([number("general.alignment", 0)]),
        "alignment-3": file([number("general.alignment", 3)]),
        "alignment-text": file([pair("general.alignment", _STRING, text("32"))]),
        "tensor-name-2-60": file([], [text(b"", HUGE)]),
        "tensor-twice": file(llama(), [EMBEDDING, EMBEDDING], 256),
        "axes-2-32": file(llama(), [tensor("a", [1], axes=(1 << 32) - 1)]),
        "sizes-2-63": file(llama(), [tensor("a", [1 << 63] * 4)]),
        "offset-2-63": file(llama(), [tensor("a", [4], offset=1 << 63)]),
        "offset-not-aligned": file(llama(), [tensor("a", [4], offset=1)], 64),
        "overlap": file(llama(), [EMBEDDING, tensor("b", [8])], 256),
        "elements": file(llama(), [tensor("a", [4], kind=99)], 64),
        "blocks": file(llama(), [tensor("a", [31], kind=2)], 64),
        "control\x1b[2J": file(llama(), [tensor("\x1b[2J\u202e", [31], kind=2)], 64),
        "missing": lambda path: None,
        "folder": lambda path: path.mkdir(),
        "fifo": lambda path: os.mkfifo(path),
        "device": lambda path: path.symlink_to("/dev/zero"),
        "part": file([*llama(), number("split.count", 2)], [EMBEDDING], 128),
        "model-00001-of-00002": file([*llama(), number("split.count", 2), number("split.no", 0)], [EMBEDDING], 128),
        "model-00001-of-99999": file([*llama(), number("split.count", 99_999)], [EMBEDDING], 128),
    },
    "E007": {
        "none": file(),
        "unknown": file([pair("general.architecture", _STRING, text("\x1b[31mllamma"))]),
        "architecture-path": file([pair("general.architecture", _STRING, text("../../etc/passwd"))]),
        "architecture-number": file([number("general.architecture", 1)]),
        "key-unknown": file(llama(hidden=1), [EMBEDDING], 128),
        "key-control": file(llama(**{"\x1b[2J" * 5_000: 1}), [EMBEDDING], 128),
        "no-tensors": file(llama()),
        "type": file([*llama(), pair("general.type", _STRING, text("adapter"))], [EMBEDDING], 128),
        "scaling": file([*llama(), pair("llama.rope.scaling.type", _STRING, text("x" * 60_000))], [EMBEDDING], 128),
    },
    "E104": {
        "texts": file([*llama(), pair("llama.rope.freq_base", _STRING, text("\x1b[2J"))], [EMBEDDING], 128),
        "layers": file(llama(block_count=(1 << 32) - 1), [EMBEDDING], 128),
    },
    "E104|E108|E203": {
        "kv-heads": file(llama(attention__head_count_kv=0), [EMBEDDING], 128),
        "heads": file(llama(attention__head_count=0), [EMBEDDING], 128),
        "layers-0": file(llama(block_count=0, embedding_length=0), [EMBEDDING], 128),
        "sizes": file(llama(embedding_length=(1 << 32) - 1, feed_forward_length=0), [EMBEDDING], 128),
        "experts": file(llama(expert_count=(1 << 32) - 1), [EMBEDDING], 128),
    },
}


def cases() -> Iterator[Case]:
    """Yield cases for every file: as a model, and as weights."""
    for code, files in FILES.items():
        for name, content in files.items():
            path = f"{name}.gguf"
            yield Case(f"gguf/{name}", ("summary", path), code, {path: content})
    yield Case("gguf/verify", ("verify", "a.gguf"), "failed check", {"a.gguf": GOOD})
    yield Case("gguf/good", ("params", "a.gguf"), "", {"a.gguf": GOOD})
    many = file(llama(block_count=10**8), [EMBEDDING], 128)
    yield Case("gguf/many-layers", ("params", "a.gguf"), "", {"a.gguf": many})
    given: dict[str, Content] = {"a.gguf": GOOD, "b.gguf": FILES["E605"]["array-2-60"]}
    yield Case("gguf/weights", ("run", "a.gguf", "--weights", "b.gguf"), "E605", given)
    yield Case("gguf/joined", ("verify", "a.gguf", "-w", "a.gguf", "-w", "b.gguf"), "E605", given)

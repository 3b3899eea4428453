"""Files in GGUF: headers and numbers are those that the library ``gguf`` reads; damaged files are one error."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import NetcalcError
from netcalc.weights.gguf.header import Unread
from netcalc.weights.gguf.tensors import GgufWeights, open_gguf
from netcalc.weights.stored import Header

#: Types of elements that the library can write.
WRITTEN = ("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "TQ1_0", "TQ2_0", "MXFP4")
TYPES = [kind for kind in gguf.GGML_QUANT_SIZES if kind.name not in ("F64", "I8", "I16", "I32", "I64")]


def write(path: Path, tensors: dict[str, tuple[np.ndarray[Any, Any], str]], **options: Any) -> Path:
    """Write a file with some metadata of every type, and tensors in types of their own."""
    writer = gguf.GGUFWriter(path, "llama", **options)
    writer.add_uint8("a.uint8", 200)
    writer.add_int8("a.int8", -3)
    writer.add_uint16("a.uint16", 60_000)
    writer.add_int16("a.int16", -300)
    writer.add_uint32("a.uint32", 4_000_000_000)
    writer.add_int32("a.int32", -5)
    writer.add_float32("a.float32", 1e-6)
    writer.add_float64("a.float64", 0.1)
    writer.add_uint64("a.uint64", 1 << 63)
    writer.add_int64("a.int64", -(1 << 62))
    writer.add_bool("a.bool", True)
    writer.add_string("a.string", "text ü")
    writer.add_array("a.numbers", [1, 2, 3])
    writer.add_array("a.flags", [True, False])
    writer.add_array("a.texts", ["x", "yz"])
    writer.add_array("a.many", list(range(5000)))
    writer.add_token_list([f"token {i}" for i in range(5000)])
    for name, (array, kind) in tensors.items():
        quantized = gguf.GGMLQuantizationType[kind]
        data = array if kind == "F32" else gguf.quantize(array, quantized)
        writer.add_tensor(name, data, raw_dtype=quantized)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def drawn(kinds: tuple[str, ...] = WRITTEN) -> dict[str, tuple[np.ndarray[Any, Any], str]]:
    """Return a tensor of each type."""
    rng = np.random.default_rng(0)
    return {f"tensor.{kind}": (rng.normal(size=(3, 2, 256)).astype(np.float32), kind) for kind in kinds}


def test_metadata_and_tensors_are_those_of_the_library(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", drawn())
    found, reader = open_gguf(path), gguf.GGUFReader(path)
    for key, value in found.metadata.items():
        expected = reader.fields[key].contents()
        if isinstance(value, Unread):
            assert value.items == len(expected) == 5000
        else:
            assert value == (pytest.approx(expected, rel=1e-7) if isinstance(value, float) else expected), key
    assert found.metadata["a.float32"] == 1e-6
    assert set(found.metadata) == {key for key in reader.fields if not key.startswith("GGUF.")}
    tensors = {
        t.name: (tuple(t.shape[::-1].tolist()), t.tensor_type.name, t.data_offset, t.n_bytes) for t in reader.tensors
    }
    assert found.tensors == tensors
    assert found.length == path.stat().st_size


@pytest.mark.parametrize("kind", WRITTEN)
def test_numbers_are_those_of_the_library(kind: str, tmp_path: Path) -> None:
    tensors = drawn((kind,))
    path = write(tmp_path / "a.gguf", tensors)
    weights = GgufWeights(open_gguf(path))
    (name,) = tensors
    (tensor,) = gguf.GGUFReader(path).tensors
    expected = gguf.dequantize(tensor.data, tensor.tensor_type).reshape(3, 2, 256)
    np.testing.assert_array_equal(weights.load(name).astype(np.float32), expected)
    dtype = {"F32": "float32", "F16": "float16", "BF16": "bfloat16"}.get(kind, "float32")
    assert weights.headers == {name: Header((3, 2, 256), dtype, any_float=True)}


@pytest.mark.parametrize("kind", sorted(gguf.GGML_QUANT_SIZES, key=lambda kind: kind.name), ids=lambda kind: kind.name)
def test_blocks_that_the_library_reads_and_others(kind: gguf.GGMLQuantizationType, tmp_path: Path) -> None:
    """Blocks of any bytes, also of types that the library only reads."""
    block, size = gguf.GGML_QUANT_SIZES[kind]
    if block == 1:
        pytest.skip("it has no blocks")
    data = np.random.default_rng(kind).integers(0, 256, (3, 2 * size)).astype(np.uint8)
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    writer.add_tensor("a.weight", data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    weights = GgufWeights(open_gguf(tmp_path / "a.gguf"))
    try:
        with np.errstate(all="ignore"):
            expected = gguf.dequantize(data, kind)
            found = weights.load("a.weight")
    except NotImplementedError:
        assert kind.name in ("Q1_0", "Q8_1", "Q8_K")
        message = f"'a.weight' has elements of type {kind.name}, which the library gguf cannot read"
        with pytest.raises(NetcalcError, match=message):
            weights.load("a.weight")
    else:
        np.testing.assert_array_equal(found, expected)


@given(
    st.lists(
        st.tuples(st.sampled_from(TYPES), st.integers(1, 4), st.lists(st.integers(1, 5), max_size=2)),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=60, deadline=None)
def test_bytes_are_those_of_the_library_and_of_the_file(
    tmp_path_factory: pytest.TempPathFactory, drawn: list[Any]
) -> None:
    path = tmp_path_factory.mktemp("gguf") / "a.gguf"
    writer = gguf.GGUFWriter(path, "llama")
    expected = {}
    for index, (kind, blocks, others) in enumerate(drawn):
        block, size = gguf.GGML_QUANT_SIZES[kind]
        rows = (*others, blocks * size)
        writer.add_tensor(f"t{index}", np.zeros(rows, np.uint8), raw_dtype=kind)
        expected[f"t{index}"] = ((*others, blocks * block), kind.name, int(np.prod(rows)))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    found = open_gguf(path)
    assert {name: (t.shape, t.type, t.size) for name, t in found.tensors.items()} == expected
    start = min(t.start for t in found.tensors.values())
    assert start + sum(-(-size // 32) * 32 for *_, size in expected.values()) == found.length


def test_files_of_the_other_byte_order(tmp_path: Path) -> None:
    array = np.arange(8, dtype=np.float32).reshape(2, 4)
    path = write(tmp_path / "a.gguf", {"t": (array, "F32")}, endianess=gguf.GGUFEndian.BIG)
    found = open_gguf(path)
    assert found.metadata["a.uint32"] == 4_000_000_000
    assert found.metadata["a.numbers"] == [1, 2, 3]
    np.testing.assert_array_equal(GgufWeights(found).load("t"), array)


def test_version_2_is_read_and_version_1_is_not(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", drawn(("F32",)))
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\x02" + content[5:])
    assert open_gguf(path).tensors
    path.write_bytes(content[:4] + b"\x01" + content[5:])
    with pytest.raises(NetcalcError, match="version is 1"):
        open_gguf(path)


def test_parts_are_one_model(tmp_path: Path) -> None:
    tensors = drawn(("F32", "F16", "Q8_0"))
    write(tmp_path / "m.gguf", tensors, split_max_tensors=1)
    parts = sorted(tmp_path.glob("*.gguf"))
    assert [part.name for part in parts] == [f"m-0000{i}-of-00003.gguf" for i in (1, 2, 3)]
    for part in parts:
        found = open_gguf(part)
        assert found.metadata["a.uint8"] == 200
        assert set(found.tensors) == set(tensors)
        assert found.length == sum(p.stat().st_size for p in parts)
        for name, (array, kind) in tensors.items():
            if kind == "F32":
                np.testing.assert_array_equal(GgufWeights(found).load(name), array)
    parts[1].rename(tmp_path / "gone")
    with pytest.raises(NetcalcError, match=r"00002-of-00003\.gguf: no such file"):
        open_gguf(parts[0])
    parts[1].write_bytes(parts[2].read_bytes())
    with pytest.raises(NetcalcError, match="should be part 2 of 3"):
        open_gguf(parts[0])


def test_mutants_of_a_file_are_read_or_one_error(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", drawn(("F32", "Q4_0")))
    content = path.read_bytes()
    end = min(t.start for t in open_gguf(path).tensors.values())
    places = [*range(600), *range(end - 400, end)]  # around the long arrays
    rng = random.Random(0)
    read = 0
    for _ in range(400):
        data = bytearray(content)
        for _ in range(rng.choice((1, 1, 2))):
            data[rng.choice(places)] = rng.choice((0, 1, 0x7F, 0xFF, rng.randrange(256)))
        path.write_bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data))))])
        try:
            weights = GgufWeights(open_gguf(path))
            for name in weights.headers:
                weights.load(name)
            read += 1
        except NetcalcError as error:
            (diagnostic,) = error.diagnostics
            assert diagnostic.code == "E605"
            assert len(diagnostic.message) < 600
    assert read


def test_the_library_is_an_extra_for_quantized_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "a.gguf", drawn(("F16", "Q8_0")))
    monkeypatch.setitem(__import__("sys").modules, "gguf.quants", None)
    weights = GgufWeights(open_gguf(path))
    plain, quantized = sorted(weights.headers, key=lambda name: weights.stored.headers[name].dtype == "Q8_0")
    assert weights.load(plain).shape == weights.headers[plain].shape
    with pytest.raises(NetcalcError) as caught:
        weights.load(quantized)
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, diagnostic.hint) == ("E605", 'install it: pip install "gguf>=0.17"')

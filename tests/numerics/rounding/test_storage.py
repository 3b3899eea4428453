"""Stored parameters: bytes as predicted, pruning and its indices."""

from __future__ import annotations

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import netcalc as api
from netcalc.analysis.precision import stored
from netcalc.analysis.walk import parameters
from netcalc.ir import Program
from netcalc.numerics.rounding import decode, encode, kept, rounded, rounding_bytes
from netcalc.opdef import Sparsity, Storage

NETWORK = {
    "netcalc": 1,
    "inputs": {"x": [2, 512]},
    "layers": [{"name": "fc", "linear": 256}, {"name": "head", "linear": {"out": 10}}],
}
SCHEMES = [
    *("float64", "float32", "float16", "bfloat16", "float8_e4m3", "float8_e5m2", "float8_e4m3-b128", "int8"),
    *(
        "int8-tensor",
        "int4-g128",
        "int3-g32",
        "int5-g64",
        "int4-g128-zp",
        "int4-channel",
        "mlx-int4-g64",
        "mlx-int3-g64",
        "gptq-int4-g128",
        "gptq-int3-g128",
    ),
    *("awq-int4-g128", "nf4", "fp4", "nf4-dq", "fp4-dq", "mxfp4", "mxfp8", "nvfp4", "q4_0", "q4_1", "q5_0", "q5_1"),
    *("q8_0", "q2_k", "q3_k", "q4_k", "q5_k", "q6_k", "iq4_nl", "iq4_xs"),
]
#: Schemes that can be pruned.
SPARSE = ["float32", "bfloat16", "float8_e4m3", "int8", "int8-tensor", "int4-g128", "int3-g64-zp", "int4-channel"]
#: What bitsandbytes writes into the text of its quant_state, which is no tensor of its own.
NO_TENSOR = {"offset of scales"}


def storage(program: Program, path: str = "fc.weight") -> Storage:
    found = next(p.param.storage for p in parameters(program) if p.path == path)
    assert found is not None
    return found


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_bytes_are_those_predicted(scheme: str) -> None:
    weights = np.random.default_rng(0).standard_normal((256, 512)).astype(np.float32)
    form = storage(stored(api.load_data(NETWORK).program, f"fc.*={scheme}"))
    tensors = encode(weights, form)
    sizes = {role: array.nbytes for role, array in tensors.items() if role not in NO_TENSOR}
    assert sizes == {tensor.role: tensor.bytes for tensor in form.tensors}
    assert rounded(weights, form).shape == weights.shape


@pytest.mark.parametrize("scheme", SPARSE)
@pytest.mark.parametrize("share", ["0.5", "0.3", "0.9-csr", "2:4", "1", "0"])
def test_pruned_parameters(scheme: str, share: str) -> None:
    weights = np.random.default_rng(1).standard_normal((256, 512)).astype(np.float32)
    form = storage(stored(api.load_data(NETWORK).program, f"fc.*={scheme}", f"fc.*={share}"))
    tensors = encode(weights, form)
    assert {role: array.nbytes for role, array in tensors.items()} == {t.role: t.bytes for t in form.tensors}
    assert form.sparsity is not None
    mask = kept(weights, form.sparsity)
    found = decode(tensors, form).reshape(weights.shape)
    dense = storage(stored(api.load_data(NETWORK).program, f"fc.*={scheme}"))
    np.testing.assert_array_equal(found, rounded(weights * mask, dense) * mask)


def test_the_smallest_magnitudes_are_removed() -> None:
    weights = np.array([[[3, -1, 2, 0.5, -4, 0.1]]], np.float32)
    assert kept(weights, Sparsity(Fraction(1, 2), "bitmap")).tolist() == [[[True, False, True, False, True, False]]]
    assert kept(weights, Sparsity(Fraction(2, 5), "bitmap")).sum() == 4
    ties = np.ones((1, 1, 8), np.float32)
    assert kept(ties, Sparsity(Fraction(1, 2), "pairs", (2, 4))).tolist() == [[[True, True, False, False] * 2]]
    assert kept(ties, Sparsity(Fraction(1, 4), "bitmap")).tolist() == [[[True] * 6 + [False] * 2]]


def test_the_index_of_rows_names_columns_and_the_first_element_of_each_row() -> None:
    weights = np.random.default_rng(2).standard_normal((256, 512)).astype(np.float32)
    form = storage(stored(api.load_data(NETWORK).program, (), "fc.*=0.8-csr"))
    tensors = encode(weights, form)
    assert form.sparsity is not None
    pruned = weights * kept(weights, form.sparsity)
    elements = [(column, value) for row in pruned.tolist() for column, value in enumerate(row) if value]
    starts = [np.count_nonzero(pruned[:row]) for row in range(len(pruned) + 1)]
    np.testing.assert_array_equal(tensors["columns"], [column for column, _ in elements])
    np.testing.assert_array_equal(tensors["row starts"][0], starts)
    np.testing.assert_array_equal(tensors["values"], [value for _, value in elements])


@pytest.mark.parametrize(
    ("scheme", "share"),
    [*((scheme, ()) for scheme in SCHEMES if scheme != "float64"), *((scheme, "fc.*=2:4") for scheme in SPARSE)],
)
def test_rounding_in_pieces_changes_nothing(
    scheme: str, share: str | tuple[()], monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = np.random.default_rng(4).standard_normal((256, 512)).astype(np.float32)
    form = storage(stored(api.load_data(NETWORK).program, f"fc.*={scheme}", share))
    whole = decode(encode(weights, form), form).reshape(weights.shape).astype(np.float32)
    for piece in (512, 40_000, 1 << 20):
        monkeypatch.setattr("netcalc.numerics.rounding._PIECE", piece)
        np.testing.assert_array_equal(rounded(weights, form), whole)


@pytest.mark.parametrize("scheme", ["int4-g128", "nf4", "nf4-dq", "mxfp4", "nvfp4", "float8_e4m3", "q4_0", "iq4_xs"])
def test_the_memory_of_rounding_is_bounded(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = np.random.default_rng(4).standard_normal((256, 512)).astype(np.float32)
    form = storage(stored(api.load_data(NETWORK).program, f"fc.*={scheme}"))
    for piece in (1 << 12, 1 << 20):
        monkeypatch.setattr("netcalc.numerics.rounding._PIECE", piece)
        rounded(weights, form)
        tracemalloc.start()
        rounded(weights, form)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < rounding_bytes(form) + 100_000


def test_other_element_types_are_kept() -> None:
    program = stored(api.load_data(NETWORK, dtype="bfloat16").program, "fc.*=int8")
    weights = np.random.default_rng(0).standard_normal((256, 512)).astype(np.float16)
    assert rounded(weights, storage(program)).dtype == np.float16

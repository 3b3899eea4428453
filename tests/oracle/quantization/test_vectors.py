"""Numbers of layers of aqlm and vptq: those of their own functions on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.arrays import Array, numpy_dtype
from tests.weights.decoders.harness import decoded

torch = pytest.importorskip("torch")

DTYPES = ["float16", "bfloat16", "float32"]


def arrays(state: dict[str, Any]) -> dict[str, Array]:
    """Return the tensors of a layer, of which NumPy has no bfloat16."""
    whole = {f"up.{name}": tensor.detach().contiguous() for name, tensor in state.items()}
    bf16 = numpy_dtype("bfloat16")
    return {
        name: tensor.view(torch.int16).numpy().view(bf16) if tensor.dtype == torch.bfloat16 else tensor.numpy()
        for name, tensor in whole.items()
    }


def assert_equal(found: Array, expected: Any) -> None:
    assert torch.equal(torch.from_numpy(np.ascontiguousarray(found)).to(expected.dtype), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("bits", "count", "block"), [(8, 2, (1, 8)), (16, 1, (1, 8)), (12, 3, (2, 4))])
def test_aqlm(bits: int, count: int, block: tuple[int, int], dtype: str) -> None:
    utils, inference = pytest.importorskip("aqlm.utils"), pytest.importorskip("aqlm.inference")
    torch.manual_seed(bits)
    kind = getattr(torch, dtype)
    layer = inference.QuantizedLinear(64, 32, block[1], block[0], count, bits, bias=False, dtype=kind)
    for parameter in (layer.codebooks, layer.scales):
        parameter.data = torch.randn(parameter.shape).to(kind)
    codes = torch.randint(0, 2**bits, layer.codes.shape)
    layer.codes.data = utils.pack_int_data(codes.clone(), bits)
    expected = utils._dequantize_weight(codes, layer.codebooks, layer.scales)
    said = {
        "quant_method": "aqlm",
        "num_codebooks": count,
        "nbits_per_codebook": bits,
        "in_group_size": block[1],
        "out_group_size": block[0],
    }
    found = decoded(arrays(layer.state_dict()), said)
    if dtype == "bfloat16":  # sums on the CPU round ties away from zero
        np.testing.assert_allclose(found, expected.float().numpy(), rtol=2**-6)
    else:
        assert_equal(found, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("vectors", "centroids", "rests", "groups", "outliers"),
    [((-1, 8), (-1, 256), -1, 1, 0), ((-1, 8), (-1, 4096), 256, 2, 0), ((4, 6), (64, 65536), 4096, 1, 3)],
)
def test_vptq(
    vectors: tuple[int, int], centroids: tuple[int, int], rests: int, groups: int, outliers: int, dtype: str
) -> None:
    ops, layers, pack = (
        pytest.importorskip(f"vptq.{name}") for name in ("ops.quant_gemm", "layers.vqlinear", "utils.pack")
    )
    torch.manual_seed(rests)
    kind, size, rows = getattr(torch, dtype), 20, 30
    columns = groups * size + outliers
    layer = {
        "vector_lens": [*vectors],
        "num_centroids": [*centroids],
        "num_res_centroids": [-1, rests],
        "group_num": groups,
        "group_size": size,
        "outlier_size": outliers,
        "in_features": columns,
        "out_features": rows,
        "enable_norm": True,
        "enable_perm": True,
        "is_indice_packed": True,
        "indices_as_float": False,
    }
    made = layers.VQuantLinear(**layer, bias=False, dtype=kind)
    for name, parameter in made.named_parameters():
        if parameter.dtype == kind:
            made.get_parameter(name).data = torch.randn(parameter.shape).to(kind)
    made.perm.data = torch.randperm(columns).to(torch.int16)
    places = torch.randint(0, centroids[1], (groups, made.num_indices, size)).to(torch.uint16)
    lows = torch.randint(0, rests, places.shape).to(torch.uint16) if rests > 0 else None
    bits, extra = made.index_bits, made.res_index_bits
    made.indices.data = pack.pack_index(places, bits, lows, extra)
    if outliers:
        made.outlier_indices.data = torch.randint(0, centroids[0], made.outlier_indices.shape).to(torch.int16)
    expected = ops.dequant(
        made.indices,
        made.centroids.weight.view(groups, centroids[1], vectors[1]),
        made.outlier_indices,
        made.outlier_centroids.weight if outliers else None,
        None,
        made.res_centroids.weight if rests > 0 else None,
        made.perm,
        made.weight_scale,
        made.weight_bias,
        True,
        bool(outliers),
        rests > 0,
        True,
        True,
        centroids[1],
        centroids[0],
        rests,
        made.padding,
        made.outlier_padding,
        groups,
        size,
        outliers,
        vectors[1],
        vectors[0],
    ).detach()
    said = {"quant_method": "vptq", "config_for_layers": {"up": layer}}
    assert_equal(decoded(arrays(made.state_dict()), said), expected)

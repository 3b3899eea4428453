"""Names of other libraries, and hints at netcalc's."""

from __future__ import annotations

import pytest

import netcalc
from netcalc import ops
from netcalc.diagnostics import simplified
from netcalc.spec import foreign_names
from netcalc.spec.foreign_names import suggested_attribute, suggested_operation
from netcalc.spec.library import find_block
from netcalc.spec.line_syntax import SEQUENCE
from netcalc.spec.shipped import shipped_blocks
from tests.spec.harness import layer_problems
from tests.spec.remedies import mended

TARGETS = [*ops.names(), *shipped_blocks(), SEQUENCE]
IMAGE = "inputs: {x: [1, 3, 32, 32]}\nlayers:\n"
ROWS = "inputs: {x: [4, 16, 8]}\nlayers:\n"


@pytest.mark.parametrize(
    ("name", "own"),
    [
        *[("ReLU", "relu"), ("nn.ReLU", "relu"), ("Conv2d", "conv2d"), ("Conv2D", "conv2d"), ("LazyConv3d", "conv3d")],
        *[("conv", "conv2d"), ("maxpool", "max_pool2d"), ("MaxPooling1D", "max_pool1d"), ("avgpool", "avg_pool2d")],
        *[("fc", "linear"), ("Dense", "linear"), ("Gemm", "linear"), ("mha", "multi_head_attention")],
        *[("attention", "multi_head_attention"), ("SelfAttention", "multi_head_attention")],
        *[("MultiheadAttention", "multi_head_attention"), ("positional_encoding", "sinusoidal_positions")],
        *[("BatchNorm1d", "batch_norm"), ("BatchNormalization", "batch_norm"), ("bn", "batch_norm")],
        *[("GlobalAveragePooling2D", "global_avg_pool2d"), ("GlobalAveragePool", "global_avg_pool2d")],
        *[("AdaptiveAvgPool1d", "adaptive_avg_pool1d"), ("Conv2DTranspose", "conv_transpose2d")],
        *[("ConvTranspose", "conv_transpose2d"), ("deconv", "conv_transpose2d"), ("deconv3d", "conv_transpose3d")],
        *[("Concatenate", "concat"), ("cat", "concat"), ("UpSampling2D", "interpolate"), ("Upsample", "interpolate")],
        *[("ZeroPad2d", "pad"), ("Dropout2d", "dropout"), ("DropPath", "stochastic_depth"), ("Swish", "silu")],
        *[
            ("ModuleList", "sequence"),
            ("torch.nn.functional.softmax", "softmax"),
            ("MatMul", "matmul"),
            ("ReduceMean", "mean"),
            ("LSTM", "lstm"),
        ],
    ],
)
def test_an_operation_is_found_by_its_foreign_name(name: str, own: str) -> None:
    assert suggested_operation(name, TARGETS) == (own, f"use `{own}`")


@pytest.mark.parametrize(
    ("misspelt", "own"), [("avgpol", "avg_pool2d"), ("max_pol", "max_pool2d"), ("conv1", "conv1d")]
)
def test_two_axes_precede_one_and_three_among_similar_names(misspelt: str, own: str) -> None:
    assert suggested_operation(misspelt, TARGETS).name == own


def test_the_names_of_a_spec_precede_the_table() -> None:
    assert suggested_operation("Dense", [*TARGETS, "dense"]).name == "dense"
    assert suggested_operation("mha", ["relu", "linear"]).name is None


@pytest.mark.parametrize(
    ("operation", "name", "hint"),
    [
        ("conv2d", "out_channels", "use `out`"),
        ("conv2d", "filters", "use `out`"),
        ("conv2d", "strides", "use `stride`"),
        ("conv2d", "in_channels", "leave it out: it is inferred from the input"),
        ("linear", "in_features", "leave it out: it is inferred from the input"),
        ("linear", "activation", "write it as a line of its own after this one, as in `- relu`"),
        ("softmax", "dim", "use `axis`"),
        ("embedding", "dim", "use `embedding_dim`"),
        ("flatten", "start_dim", "use `start_axis`"),
        ("batch_norm", "num_features", "leave it out: it is inferred from the input"),
        ("dropout", "rate", "use `p`"),
        ("layer_norm", "epsilon", "use `eps`"),
        ("lstm", "num_layers", "use `layers`"),
        ("conv2d", "in", "leave it out: it is inferred from the input"),
        ("conv2d", "s", "use `stride`"),
        ("conv2d", "p", "use `padding`"),
        ("lstm", "return_sequences", "leave it out: the outputs are every step and the last state"),
    ],
)
def test_an_attribute_is_found_by_its_foreign_name(operation: str, name: str, hint: str) -> None:
    declared = ops.find(operation)
    assert declared is not None
    assert suggested_attribute(name, declared.model_fields).hint == hint


@pytest.mark.parametrize(
    ("name", "start"),
    [("residual", "use `add`"), ("SkipConnection", "use `add`"), ("LayerScale", "use `mul`")],
)
def test_the_advice_for_a_structure_of_other_libraries_loads(name: str, start: str) -> None:
    hint = suggested_operation(name, TARGETS).hint or ""
    assert hint.startswith(start)
    example = hint.split("`")[-2]
    netcalc.loads(f"netcalc: 1\n{ROWS}  - {example}\n")


def test_a_ratio_is_given_as_a_size() -> None:
    (ratio, missing) = layer_problems("- feed_forward: {mlp_ratio: 4}")
    assert (ratio.code, missing.code) == ("E103", "E105")
    assert "`${4 * _.features}`" in (ratio.hint or "")


def test_a_foreign_name_beside_its_own_is_given_twice() -> None:
    assert suggested_attribute("filters", ["out"], {"out", "filters"}).hint == "use `out`, which is given already"


@pytest.mark.parametrize(
    "text",
    [
        IMAGE + "  - Conv2d: {in_channels: 3, out_channels: 8, kernel_size: 3}\n  - BatchNorm2d: {num_features: 8}\n",
        IMAGE
        + "  - Conv2D: {filters: 8, kernel_size: 3, strides: 1, padding: same}\n  - MaxPooling2D: {pool_size: 2}\n",
        IMAGE + "  - conv: {out_chs: 8, kernel_shape: [3, 3], pads: 1, group: 1}\n  - ReLU\n  - Flatten\n  - fc: 3\n",
        ROWS + "  - nn.Linear: {in_features: 8, out_features: 6}\n  - Softmax: {dim: -1}\n  - Dense: {units: 4}\n",
        ROWS + "  - TransformerEncoder: {d_model: 8, nhead: 2, mlp_dim: 4}\n  - LayerNorm: {epsilon: 1}\n",
        ROWS + "  - positional_encoding: {max_len: 64, d_model: 8}\n  - TransformerEncoderLayer: {nhead: 2, d_ff: 4}\n",
        "inputs: {x: {shape: [1, 4], dtype: int64, range: [0, 9]}}\nlayers:\n  - Embedding: {vocab_size: 9, dim: 4}\n",
    ],
)
def test_a_spec_in_the_words_of_another_library_loads_after_its_hints(text: str) -> None:
    assert netcalc.loads(mended("netcalc: 1\n" + text)).params > 0


def test_a_missing_attribute_with_a_foreign_name_is_reported_once() -> None:
    assert [found.code for found in layer_problems("- linear: {out_features: 3}")] == ["E103"]
    assert [found.code for found in layer_problems("- feed_forward: {d_ff: 3}")] == ["E103"]


def test_every_name_in_the_table_is_netcalcs() -> None:
    data = foreign_names._data()
    operations = {own.replace("Nd", "2d") for own in data["operations"]}
    assert operations <= set(TARGETS)
    attributes = {name for declared in ops.every().values() for name in declared.model_fields}
    attributes |= {name for block in shipped_blocks() if (found := find_block(block)) for name in found.decl.args}
    assert data["attributes"].keys() <= attributes


def test_the_table_lists_no_name_that_spelling_alone_finds() -> None:
    names = [other.replace("Nd", "2d") for others in foreign_names._data()["operations"].values() for other in others]
    spelled = {simplified(own) for own in TARGETS}
    assert [name for name in names if simplified(name) in spelled] == []
    assert len(names) == len(set(names))

"""Audits of quantized checkpoints in which something is wrong: one finding each, with its pattern and count."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

import netcalc
from tests.conftest import CommandResult
from tests.formats.huggingface.packed import GPT_OSS, LINEAR, LLAMA, Stored, packed_llama, plain_llama, write_model
from tests.formats.huggingface.packed_variants import LAYOUTS, VARIANTS
from tests.formats.huggingface.test_quantized import experts_in_blocks

Run = Callable[..., CommandResult]
Change = Callable[[Stored, str], None]
UP = "model.layers.*.mlp.up_proj"
#: The modules that are changed, with their rows and columns.
CHANGED = {name: shape for name, shape in LINEAR.items() if name.endswith("up_proj")}


def drop(*suffixes: str) -> Change:
    def change(stored: Stored, module: str) -> None:
        for suffix in suffixes:
            del stored[module + suffix]

    return change


def rename(old: str, new: str) -> Change:
    def change(stored: Stored, module: str) -> None:
        stored[module + new] = stored.pop(module + old)

    return change


def retype(suffix: str, dtype: str) -> Change:
    def change(stored: Stored, module: str) -> None:
        stored[module + suffix] = dtype, stored[module + suffix][1]

    return change


def reshape(suffix: str, *shape: int) -> Change:
    def change(stored: Stored, module: str) -> None:
        stored[module + suffix] = stored[module + suffix][0], shape

    return change


def stored_as(layout: str) -> Change:
    """Store a module in another layout, or plainly."""

    def change(stored: Stored, module: str) -> None:
        for name in [name for name in stored if name.startswith(module + ".")]:
            del stored[name]
        stored |= LAYOUTS[layout](module, *LINEAR[module]) if layout else {f"{module}.weight": ("BF16", LINEAR[module])}

    return change


class Case(NamedTuple):
    """A mutation of a scheme: what changes in each of two modules, and the kind, the name and words of the finding."""

    scheme: str
    change: Change
    kind: str
    suffix: str
    text: str
    hint: str | None = None


CASES = [
    # fp8
    Case("fp8", drop(".weight_scale_inv"), "missing", ".weight_scale_inv", "fp8 has it beside .weight"),
    Case(
        "fp8",
        rename(".weight_scale_inv", ".scale_inv"),
        "missing",
        ".weight_scale_inv",
        "fp8 has it",
        f"the file has '{UP}.scale_inv'",
    ),
    Case("fp8", rename(".weight", ".weights"), "missing", ".weight", "beside .weight_scale_inv", f"'{UP}.weights'"),
    Case("fp8", retype(".weight_scale_inv", "I32"), "dtype", ".weight_scale_inv", "is int32, and fp8 has F8_E8M0, "),
    Case("fp8", retype(".weight", "BF16"), "dtype", ".weight", "is bfloat16, and fp8 has F8_E4M3"),
    Case(
        "fp8", stored_as(""), "scheme", ".weight", "stored plainly as bfloat16, and the configuration says float8_e4m3"
    ),
    Case("fp8", reshape(".weight_scale_inv", 2, 1), "shape", ".weight_scale_inv", "2 = ⌈128/128⌉ does not hold"),
    Case("fp8", reshape(".weight_scale_inv"), "shape", ".weight_scale_inv", "does not hold"),
    Case("fp8-32x16", reshape(".weight_scale_inv", 4, 2), "shape", ".weight_scale_inv", "2 = ⌈64/16⌉ does not hold"),
    Case("fp8-tensor", drop(".weight_scale_inv"), "missing", ".weight_scale_inv", "fp8 has it beside .weight"),
    Case(
        "fp8-static",
        drop(".activation_scale"),
        "missing",
        ".activation_scale",
        "beside .weight if activation_scheme == 'static'",
    ),
    Case("fp8", stored_as("gptq-4"), "scheme", ".weight", "is packed as gptq does, and the configuration says fp8"),
    Case("mxfp8", reshape(".weight_scale_inv", 128, 3), "shape", ".weight_scale_inv", "64 = 32·3 does not hold"),
    Case("mxfp8", drop(".weight_scale_inv"), "missing", ".weight_scale_inv", "mxfp8 has it beside .weight"),
    Case("fbgemm", drop(".weight_scale"), "missing", ".weight_scale", "fbgemm_fp8 has it beside .weight"),
    # gptq and awq
    Case("gptq-4", drop(".g_idx"), "missing", ".g_idx", "gptq has it beside .qweight if desc_act"),
    Case("gptq-4", drop(".qzeros"), "missing", ".qzeros", "gptq has it beside .qweight"),
    Case("gptq-4", drop(".qweight"), "missing", ".qweight", "gptq has it beside .qzeros, .scales, .g_idx"),
    Case("gptq-4", rename(".scales", ".scale"), "missing", ".scales", "gptq has it", f"the file has '{UP}.scale'"),
    Case("gptq-4", retype(".qweight", "I64"), "dtype", ".qweight", "is int64, and gptq has int32"),
    Case("gptq-4", retype(".scales", "I32"), "dtype", ".scales", "is int32, and gptq has bfloat16, "),
    Case(
        "gptq-4", reshape(".scales", 3, 128), "shape", ".scales", "is 3×128, and should be [groups, rows] with groups 2"
    ),
    Case("gptq-4", reshape(".qzeros", 3, 16), "shape", ".qzeros", "is 3×16, and should be [groups, zero_words] with"),
    Case("gptq-4", reshape(".g_idx", 60), "shape", ".g_idx", "is 60, and should be [columns] with columns 64"),
    Case(
        "gptq-4", reshape(".qweight", 9, 128), "shape", ".qweight", "does not unpack: columns is 64, and by the shapes"
    ),
    Case("gptq-4", stored_as("awq"), "scheme", ".weight", "is packed as awq does, and the configuration says gptq"),
    Case("awq", drop(".scales"), "missing", ".scales", "awq has it beside .qweight"),
    Case("awq", reshape(".scales", 4, 128), "shape", ".scales", "is 4×128, and should be [groups, rows] with groups 2"),
    Case("awq", stored_as("gemv"), "scheme", ".weight", "is packed as awq does if version in ['gemv', 'GEMV'], which"),
    Case(
        "awq", stored_as("nf4"), "scheme", ".weight", "is packed as bitsandbytes does, and the configuration says awq"
    ),
    Case(
        "awq", stored_as(""), "scheme", ".weight", "stored plainly as bfloat16, and the configuration says awq-int4-g32"
    ),
    # bitsandbytes
    Case("bitsandbytes-4", drop(".weight.absmax"), "missing", ".weight.absmax", "bitsandbytes has it beside .weight"),
    Case("bitsandbytes-4", drop(".weight.quant_map"), "missing", ".weight.quant_map", "bitsandbytes has it"),
    Case(
        "bitsandbytes-4",
        drop(".weight.nested_absmax"),
        "missing",
        ".weight.nested_absmax",
        "if types['.weight.absmax']",
    ),
    Case("bitsandbytes-4", drop(".weight.nested_quant_map"), "missing", ".weight.nested_quant_map", "== 'uint8'"),
    Case(
        "bitsandbytes-4",
        rename(".weight.quant_state.bitsandbytes__nf4", ".weight.quant_state.bitsandbytes__fp4"),
        "missing",
        ".weight.quant_state.bitsandbytes__nf4",
        "if bnb_4bit_quant_type == 'nf4'",
    ),
    Case("nf4", reshape(".weight.absmax", 100), "shape", ".weight.absmax", "100 = ⌈2·4,096/64⌉ or"),
    Case(
        "nf4", stored_as("bitsandbytes-8"), "scheme", ".weight", "if load_in_8bit or _load_in_8bit, which the configur"
    ),
    Case("bitsandbytes-8", drop(".SCB"), "missing", ".SCB", "bitsandbytes has it beside .weight"),
    Case("bitsandbytes-8", reshape(".SCB", 64), "shape", ".SCB", "is 64, and should be [rows] with rows 128"),
    Case("bitsandbytes-8", retype(".weight", "U8"), "dtype", ".weight", "is uint8, and bitsandbytes has int8"),
    # compressed-tensors
    Case("pack-4", drop(".weight_shape"), "missing", ".weight_shape", "if format == 'pack-quantized'"),
    Case(
        "pack-4",
        retype(".weight_packed", "I64"),
        "dtype",
        ".weight_packed",
        "is int64, and compressed-tensors has int32",
    ),
    Case("pack-4", reshape(".weight_scale", 128, 4), "shape", ".weight_scale", "does not fit"),
    Case("pack-4", stored_as("float8"), "scheme", ".weight", "if format in ['float-quantized', "),
    Case("pack-4-zp", drop(".weight_zero_point"), "missing", ".weight_zero_point", "if symmetric == false"),
    Case("pack-4-zp", reshape(".weight_zero_point", 8, 2), "shape", ".weight_zero_point", "8 = ⌈128·4/32⌉ or"),
    Case(
        "pack-4-order", drop(".weight_g_idx"), "missing", ".weight_g_idx", "if actorder in ['group', 'dynamic', true]"
    ),
    Case("float8", reshape(".weight_scale", 1, 1), "shape", ".weight_scale", "1 = 128 and 1 = 1 does not hold"),
    Case(
        "float8",
        stored_as("fp8"),
        "scheme",
        ".weight",
        "is packed as fp8 does, and the configuration says compressed-t",
    ),
    Case("float8-static", drop(".input_scale"), "missing", ".input_scale", "if input_activations['dynamic'] == false"),
    Case("bytes-static", drop(".input_zero_point"), "missing", ".input_zero_point", "input_activations['symmetric']"),
    Case("bytes", retype(".weight", "F8_E4M3"), "scheme", ".weight", "if format in ['float-quantized', "),
    Case(
        "tiles", reshape(".weight_scale", 4, 1), "shape", ".weight_scale", "4 = ⌈128/32⌉ and 1 = ⌈64/32⌉ does not hold"
    ),
    Case(
        "nvfp4", drop(".weight_global_scale"), "missing", ".weight_global_scale", "if format == 'nvfp4-pack-quantized'"
    ),
    Case("nvfp4-inputs", drop(".input_global_scale"), "missing", ".input_global_scale", "in [false, 'local']"),
    # others
    Case("modelopt", drop(".weight_scale_2"), "missing", ".weight_scale_2", "modelopt has it beside .weight"),
    Case("modelopt", drop(".input_scale"), "missing", ".input_scale", "if quant_algo == 'NVFP4'"),
    Case("modelopt", reshape(".weight_scale", 128, 2), "shape", ".weight_scale", "64 = 16·2 does not hold"),
    Case("modelopt-fp8", drop(".input_scale"), "missing", ".input_scale", "if quant_algo == 'FP8'"),
    Case("mlx-4", drop(".biases"), "missing", ".biases", "mlx has it beside .weight if mode == 'affine'"),
    Case("mlx-4", retype(".scales", "I32"), "dtype", ".scales", "is int32, and mlx has bfloat16, "),
    Case("metal-4", rename(".qbiases", ".biases"), "missing", ".qbiases", "metal has it", f"'{UP}.biases'"),
    Case("quanto", drop(".input_scale"), "missing", ".input_scale", "if activations != null"),
    Case("quanto", drop(".weight._scale"), "missing", ".weight._scale", "quanto has it beside .weight._data"),
    Case("quanto-4", drop(".weight._shift"), "missing", ".weight._shift", "quanto has it beside .weight._data._data"),
    Case("torchao-int4", drop("._weight_zero_point"), "missing", "._weight_zero_point", "if _type in ['Int4WeightOnly"),
    Case("torchao-int8", reshape("._weight_scale", 128, 2), "shape", "._weight_scale", "does not hold"),
    Case("torchao-nvfp4", drop("._weight_per_tensor_scale"), "missing", "._weight_per_tensor_scale", "use_dynamic_per"),
    Case("hqq", drop(".zero"), "missing", ".zero", "hqq has it beside .W_q"),
    Case("hqq", retype(".scale", "U8"), "dtype", ".scale", "is uint8, and hqq has bfloat16, "),
    Case("aqlm", drop(".codebooks"), "missing", ".codebooks", "aqlm has it beside .codes"),
    Case("aqlm", reshape(".codebooks", 2, 512, 1, 4), "shape", ".codebooks", "4 = 8 does not hold"),
    Case("bitnet-norm", drop(".rms_norm.weight"), "missing", ".rms_norm.weight", "if use_rms_norm"),
    Case("eetq", drop(".weight_scales"), "missing", ".weight_scales", "eetq has it beside .weight"),
    Case("auto-round", drop(".qzeros"), "missing", ".qzeros", "auto-round has it beside .qweight"),
    Case("fp_quant-nvfp4", drop(".weight_global_scale"), "missing", ".weight_global_scale", "fp_quant has it beside"),
    Case("fouroversix", drop(".quantized_weight_amax"), "missing", ".quantized_weight_amax", "fouroversix has it"),
    Case("gemma", retype(".weight_scale", "I32"), "dtype", ".weight_scale", "is int32, and gemma has"),
    Case("higgs-4", drop(".tables2"), "missing", ".tables2", "higgs has it beside .weight"),
    Case("spqr", drop(".in_perm"), "missing", ".in_perm", "if in_perm > 0"),
    Case("vptq", drop(".res_centroids.weight"), "missing", ".res_centroids.weight", "if num_res_centroids[1] > 0"),
    Case("vptq", drop(".perm"), "missing", ".perm", "if enable_perm"),
]


def mutated(case: Case, folder: Path) -> Path:
    said, pack = VARIANTS[case.scheme]
    stored = packed_llama(pack)
    for module in CHANGED:
        case.change(stored, module)
    return write_model(folder, LLAMA | said, stored)


@pytest.mark.parametrize("scheme", VARIANTS)
def test_an_audit_of_each_scheme_is_clean(scheme: str, tmp_path: Path) -> None:
    said, pack = VARIANTS[scheme]
    report = netcalc.load(write_model(tmp_path / "model", LLAMA | said, packed_llama(pack))).audit()
    assert report.ok, report.mismatches


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.scheme}-{case.kind}{case.suffix}")
def test_a_mutation_is_one_finding(case: Case, tmp_path: Path) -> None:
    report = netcalc.load(mutated(case, tmp_path / "model")).audit()
    (group,) = report.groups
    assert (group.kind, group.name, group.count) == (case.kind, UP + case.suffix, 2), group.message
    assert f"'{UP}{case.suffix}' ×2" in group.message
    assert case.text in group.message
    if case.hint is not None:
        assert case.hint in str(group.hint)
    assert report.inventory is not None
    assert report.inventory.extra == ()


def test_there_are_mutations_of_many_methods() -> None:
    methods = {
        str(VARIANTS[case.scheme][0].get("quantization_config", {}).get("quant_method", "mlx")) for case in CASES
    }
    assert len(CASES) >= 40
    assert len(methods) >= 20


@pytest.mark.parametrize("scheme", ["fp8", "gptq-4", "bitsandbytes-4", "pack-4", "modelopt"])
def test_what_all_modules_lack_is_named_once(scheme: str, tmp_path: Path) -> None:
    """Each of the seven projections of both layers."""
    said, pack = VARIANTS[scheme]
    stored = packed_llama(pack)
    suffix = {"fp8": ".weight_scale_inv", "gptq-4": ".scales", "bitsandbytes-4": ".weight.absmax"}.get(
        scheme, ".weight_scale"
    )
    stored = {name: entry for name, entry in stored.items() if not name.endswith("_proj" + suffix)}
    report = netcalc.load(write_model(tmp_path / "m", LLAMA | said, stored)).audit()
    (group,) = report.groups
    assert (group.kind, group.count) == ("missing", 14)
    assert group.name == "model.layers.*.{self_attn,mlp}.*" + suffix


@pytest.mark.parametrize(
    ("change", "kind", "suffix", "text"),
    [
        (drop("_scales"), "missing", "_scales", "is missing: mxfp4 has it beside _blocks"),
        (drop("_blocks"), "missing", "_blocks", "is missing: mxfp4 has it beside _scales"),
        (retype("_scales", "F32"), "dtype", "_scales", "is float32, and mxfp4 has F8_E8M0 or uint8"),
        (reshape("_scales", 4, 64, 3), "shape", "_scales", "is 4×64×3, and should be [experts, rows, groups]"),
        (reshape("_blocks", 4, 64, 2, 8), "shape", "_blocks", "does not unpack: 8 = 16 does not hold"),
    ],
    ids=range(5),
)
def test_experts_in_blocks(change: Change, kind: str, suffix: str, text: str, tmp_path: Path) -> None:
    stored = experts_in_blocks()
    change(stored, "model.layers.0.mlp.experts.gate_up_proj")
    report = netcalc.load(write_model(tmp_path / "model", GPT_OSS, stored)).audit()
    (mismatch,) = report.mismatches
    assert (mismatch.kind, mismatch.name) == (kind, "model.layers.0.mlp.experts.gate_up_proj" + suffix)
    assert text in mismatch.message


def test_experts_that_are_stored_one_by_one(tmp_path: Path) -> None:
    """One of two layers lacks the zero points of the first projection of each of three experts."""
    said, pack = VARIANTS["gptq-4"]
    config = LLAMA | said | {"model_type": "mixtral", "architectures": ["MixtralForCausalLM"], "num_local_experts": 3}
    stored = {name: entry for name, entry in packed_llama(pack).items() if ".mlp." not in name}
    for layer in range(2):
        block = f"model.layers.{layer}.block_sparse_moe"
        stored[f"{block}.gate.weight"] = ("BF16", (3, 64))
        for expert in range(3):
            for part, (rows, columns) in {"w1": (128, 64), "w2": (64, 128), "w3": (128, 64)}.items():
                stored |= pack(f"{block}.experts.{expert}.{part}", rows, columns)
            if layer:
                del stored[f"{block}.experts.{expert}.w1.qzeros"]
    report = netcalc.load(write_model(tmp_path / "model", config, stored)).audit()
    (group,) = report.groups
    name = "model.layers.*.block_sparse_moe.experts.*.w1.qzeros"
    assert (group.kind, group.name, group.count) == ("missing", name, 3)


def test_a_checkpoint_in_full_precision_beside_a_quantized_configuration(tmp_path: Path) -> None:
    report = netcalc.load(write_model(tmp_path / "model", LLAMA | VARIANTS["fp8"][0], plain_llama())).audit()
    assert {(group.kind, group.count) for group in report.groups} == {("scheme", 14)}
    assert len(report.mismatches) == len(LINEAR)
    assert {mismatch.predicate for mismatch in report.mismatches} == {
        "is stored plainly as bfloat16, and the configuration says float8_e4m3-b128"
    }


def test_a_run_refuses_weights_in_full_precision_that_should_be_quantized(tmp_path: Path, netcalc: Run) -> None:
    folder = write_model(tmp_path / "model", LLAMA | VARIANTS["fp8"][0], plain_llama())
    ran = netcalc("run", str(folder), "--weights", ".", "--set", "length=4")
    assert (ran.code, ran.out) == (2, "")
    assert "is stored plainly as bfloat16" in " ".join(ran.err.split())


def test_other_tensors_of_a_module_are_no_hints(tmp_path: Path) -> None:
    """A bias that the model lacks stands for no scale, and is a finding of its own."""
    said, pack = VARIANTS["fp8"]
    stored = packed_llama(pack) | {f"{module}.bias": ("BF16", (128,)) for module in CHANGED}
    for module in CHANGED:
        del stored[f"{module}.weight_scale_inv"]
    groups = netcalc.load(write_model(tmp_path / "model", LLAMA | said, stored)).audit().groups
    assert [(group.kind, group.name, group.hint) for group in groups] == [
        ("missing", UP + ".weight_scale_inv", None),
        ("unexpected", UP + ".bias", None),
    ]


def test_without_conditions_of_the_configuration_nothing_more_is_required(tmp_path: Path) -> None:
    """GPTQ needs the groups of columns only where their order was chosen."""
    said, pack = VARIANTS["gptq-4"]
    said = {"quantization_config": said["quantization_config"] | {"desc_act": False}}
    stored = {name: entry for name, entry in packed_llama(pack).items() if not name.endswith(".g_idx")}
    assert netcalc.load(write_model(tmp_path / "model", LLAMA | said, stored)).audit().ok


def test_a_page_of_findings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, netcalc: Run, golden: Callable[[str, str], None]
) -> None:
    monkeypatch.chdir(tmp_path)
    said, pack = VARIANTS["fp8"]
    stored = packed_llama(pack)
    changes: Mapping[str, Change] = {
        "up_proj": drop(".weight_scale_inv"),
        "down_proj": reshape(".weight_scale_inv", 2, 1),
        "gate_proj": stored_as(""),
        "o_proj": rename(".weight_scale_inv", ".weight_scales"),
        "q_proj": retype(".weight_scale_inv", "I32"),
    }
    for module in LINEAR:
        change = changes.get(module.rpartition(".")[2])
        if change is not None:
            change(stored, module)
    write_model(Path("model"), LLAMA | said, stored)
    golden("checkpoints/verify-packing.txt", netcalc("verify", "model").out)

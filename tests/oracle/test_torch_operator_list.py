"""The page of PyTorch's operators without a rule (``pytest --update`` writes it)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

from netcalc.formats.torch.operators import rule_of  # noqa: E402

PAGE = Path(__file__).parents[2] / "docs" / "from-pytorch-operators.md"

#: Operators that give no tensor of numbers, are of one kind of processor or of sparse and quantized tensors.
_OTHERS = re.compile(
    r"(is_|q_|to_|sparse_|cudnn|miopen|mkldnn|fbgemm|quantize|fake_quant|fused_|choose_qparams|batch_norm_)\w*"
    r"|\w*(_copy|indices|backward\w*|_inverse_copy|quantized\w*)"
    r"|can_cast|coalesce|data|dense_dim|dequantize|dim|empty_quantized|equal|from_file|get_device|hash_tensor|hspmm|int_repr"
    r"|numel|output_nr|promote_types|qscheme|record_stream|resize|resize_as|result_type|retain_grad|retains_grad|size|smm"
    r"|sspaddmm|storage_offset|stride|values|allclose|cudnn_is_acceptable|segment_reduce|squeeze_copy|sparse_mask"
)


def remaining() -> list[str]:
    """Return the operators behind public functions of PyTorch that have no rule in any overload."""
    places = (torch, torch.linalg, torch.fft, torch.special, torch.nn.functional, torch.Tensor)
    public = {name for place in places for name in dir(place) if not name.startswith("_")}
    names = {name.partition("::")[2].partition(".")[0] for name in torch._C._dispatch_get_all_op_names()}
    found = []
    for name in sorted(names):
        packet = getattr(torch.ops.aten, name, None)
        plain = re.sub(r"^(linalg|fft|special)_", "", name)
        if packet is None or name.startswith("_") or name.endswith("_") or not {name, plain} & public:
            continue
        if _OTHERS.fullmatch(name) or any(rule_of(f"aten.{name}.{kind}") for kind in packet.overloads()):
            continue
        found.append(name)
    return found


def page(names: list[str]) -> str:
    families = {
        "Fourier transforms": r"fft_.*|i?stft",
        "Linear algebra": r"linalg_.*|cholesky.*|.*det|p?inverse|.*qrf?|svd|lu_.*|matrix_exp|triangular_solve",
        "Special functions": r"special_.*|.*gamma.*|i0|erfinv|polygamma",
        "Others": r".*",
    }
    lines = [
        "# Operators of PyTorch without a rule",
        "",
        "Modules that call these operators are [imported](from-pytorch.md) with `--allow-unknown`, or with work that",
        "`netcalc.register_torch` gives them.",
        "Operators of sparse and quantized tensors, of single processors, and those that give no tensor are left out.",
        "`pytest --update tests/oracle/test_torch_operator_list.py` writes this page.",
    ]
    left = names
    for family, pattern in families.items():
        chosen = [name for name in left if re.fullmatch(pattern, name)]
        left = [name for name in left if name not in chosen]
        if chosen:
            lines += ["", f"## {family}", "", ", ".join(f"`{name}`" for name in chosen)]
    return "\n".join(lines) + "\n"


def test_page_lists_what_has_no_rule(request: pytest.FixtureRequest) -> None:
    text = page(remaining())
    if request.config.getoption("--update"):
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text

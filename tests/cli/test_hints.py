"""Every hint of the golden error cases, followed: the error is gone afterwards."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError
from tests.cli.test_errors import COMMANDS, SPEC, SPECS
from tests.conftest import CommandResult
from tests.spec.remedies import mended

#: Cases whose hint is no plain replacement: the change that a reader of the hint makes, as text and its replacement.
FIXES: dict[tuple[str, str], tuple[str, str]] = {
    ("E001", "brackets"): ("{out: 4\n", "{out: 4}\n"),
    ("E001", "tab"): ("\t- relu", "  - relu"),
    ("E002", "duplicate-key"): ("out: 4, ", ""),
    ("E101", "key"): ("layer:\n  - relu\n", ""),
    ("E101", "beside"): ("- conv2d:\n    out: 4\n    kernel: 3", "- conv2d: {out: 4, kernel: 3}"),
    ("E102", "two-lines"): ("    - flatten", "  - flatten"),
    ("E103", "attribute"): ("kernal: 3, ", ""),
    ("E103", "argument"): ("widht: 3, ", ""),
    ("E105", "version"): ("name: a", "netcalc: 1\ninputs: {x: [1, 8]}\nname: a"),
    ("E107", "two-operations"): ("{relu: {}, linear: 4}", "{linear: 4}"),
    ("E101", "without"): ("without: [pst]\n", ""),
    ("E202", "without"): ("past]", "past, past_key_values.*, attention_mask]"),
    ("E110", "block"): (
        'args: {width: int, norm: op}\n    inputs: [x, skip]\n    layers: [{conv2d: {out: "${width}", kernel: 3}}]',
        'args: {channels: int, mid_channels: "${channels}", padding: 1, norm: {type: op?, default: batch_norm}}\n'
        '    inputs: [in]\n    layers: [{conv2d: {out: "${channels}", kernel: 3}}]',
    ),
    ("E204", "block-in-itself"): ("layers: [b]", "layers: [relu]"),
    ("E303", "no-inputs"): ("layers:", "inputs: {x: [1, 4, 8, 8]}\nlayers:"),
    ("E302", "later"): ("from: end", "from: x"),
    ("E304", "tie"): ("4}\n  - {name: b, tie: a, linear: 4}", "8}\n  - {name: b, tie: a, linear: 8}"),
    ("E401", "add"): (
        "shortcut: []",
        'shortcut: [{conv2d: {out: 3, kernel: 1, stride: "${stride}"}}]',
    ),
    ("E401", "too-small"): ("kernel: 9", "kernel: 9, padding: 1"),
    ("E402", "ids"): ("x: [1, 8]", "x: {shape: [1, 8], dtype: int64, range: [0, 100]}"),
    ("E403", "repeat"): ("outputs: [d, e]\n    layers: [{name: d, linear: 4}", "layers: [{name: d, linear: 8}"),
}


def errors(text: str) -> tuple[Diagnostic, ...]:
    try:
        netcalc.loads(text)
    except NetcalcError as error:
        return error.diagnostics
    return ()


HINTED = [case for case, text in SPECS.items() if any(found.hint for found in errors(text))]


@pytest.mark.parametrize("case", HINTED, ids="-".join)
def test_following_the_hint_removes_the_error(case: tuple[str, str]) -> None:
    text = SPECS[case]
    found = next(one for one in errors(text) if one.hint)
    if case in FIXES:
        old, new = FIXES[case]
        assert text.count(old) == 1
        fixed = text.replace(old, new)
    else:
        fixed = mended(text)
    left = [(one.code, one.message) for one in errors(fixed)]
    assert (found.code, found.message) not in left
    assert found.code not in {code for code, _ in left}


#: Wrong command lines whose error has a hint, as a reader of the hint corrects them.
CORRECTED: dict[tuple[str, str], list[str]] = {
    ("E004", "missing-file"): ["shapes", "spec.yaml"],
    ("E005", "missing-spec"): ["shapes", "resnet34"],
    ("E005", "family"): ["shapes", "llama-3-8b"],
    ("E404", "symbolic-run"): ["run", "open.yaml", "--set", "batch=1"],
    ("E501", "no-value"): ["shapes", "spec.yaml", "--set", "batch=8"],
    ("E501", "unknown-name"): ["shapes", "spec.yaml", "--set", "classes=3", "--set", "batch=2"],
    ("E501", "symbolic"): ["shapes", "spec.yaml", "--symbolic", "batch"],
    ("E502", "option"): ["shapes", "spec.yaml", "--depth", "2"],
    ("E502", "command"): ["summary", "spec.yaml"],
    ("E502", "choice"): ["shapes", "spec.yaml", "--format", "json"],
    ("E502", "missing-argument"): ["shapes", "spec.yaml"],
    ("E502", "input"): ["run", "spec.yaml", "--input", "x=right.npy"],
    ("E502", "init"): ["run", "spec.yaml", "--init", "kaiming_normal"],
    ("E502", "init-file"): ["init", "spec.yaml", "--force"],
    ("E503", "path"): ["explain", "spec.yaml", "head"],
    ("E503", "trace"): ["run", "spec.yaml", "--trace", "head"],
    ("E601", "weights"): ["run", "spec.yaml", "--weights", "right.npz"],
    ("E602", "shape"): ["run", "spec.yaml", "--input", "x=right.npy"],
    ("E602", "name"): ["run", "spec.yaml", "--input", "x=right.npy"],
    ("E603", "input"): ["run", "spec.yaml", "--set", "batch=2"],
    ("E603", "output"): ["run", "spec.yaml", "--set", "classes=2"],
    ("E605", "pickle"): ["run", "spec.yaml", "--weights", "right.npz"],
    ("E701", "convention"): ["flops", "spec.yaml", "--convention", "torchvision"],
}


@pytest.mark.parametrize("case", COMMANDS, ids="-".join)
def test_the_corrected_command_works(
    case: tuple[str, str],
    netcalc: Callable[..., CommandResult],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spec.yaml").write_text(SPEC)
    Path("open.yaml").write_text(SPEC.replace("batch: 1", "batch: null"))
    np.save("wrong.npy", np.zeros((1, 7), "float32"))
    np.save("right.npy", np.zeros((1, 8), "float32"))
    np.savez("weights.npz", **{"head.weight": np.zeros((10, 9), "float32"), "head.bais": np.zeros(10, "float32")})
    np.savez("right.npz", **{"head.weight": np.zeros((10, 8), "float32"), "head.bias": np.zeros(10, "float32")})
    Path("weights.pth").write_bytes(b"")
    hinted = "= hint: " in netcalc(*COMMANDS[case]).err
    assert hinted == (case in CORRECTED)
    if hinted:
        assert netcalc(*CORRECTED[case]).code == 0

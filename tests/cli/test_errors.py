"""Messages for every kind of error in a spec, an option or a file, compared with golden files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from netcalc.diagnostics import CODES
from tests.conftest import CommandResult
from tests.weights.hostile import npy_of, npz

HEAD = "netcalc: 1\ninputs: {x: [1, 8]}\n"
IMAGE = "netcalc: 1\ninputs: {x: [1, 3, 8, 8]}\n"

#: (code, case) -> the spec.
SPECS: dict[tuple[str, str], str] = {
    ("E001", "brackets"): HEAD + "layers:\n  - linear: {out: 4\n  - relu\n",
    ("E001", "tab"): "netcalc: 1\nlayers:\n\t- relu\n",
    ("E001", "empty"): "# nothing\n",
    ("E002", "duplicate-key"): HEAD + "layers:\n  - linear: {out: 4, out: 5}\n",
    ("E003", "tag"): HEAD + "layers:\n  - !!python/object/apply:os.system [ls]\n",
    ("E005", "extends"): "netcalc: 1\nextends: renset34\n",
    ("E006", "extends-itself"): "netcalc: 1\nextends: spec\n",
    ("E101", "key"): HEAD + "layer:\n  - relu\nlayers:\n  - relu\n",
    ("E101", "modifier"): HEAD + "layers:\n  - {nam: a, relu: {}}\n",
    ("E102", "operation"): HEAD + "layers:\n  - lineer: {out: 4}\n",
    ("E101", "beside"): IMAGE + "layers:\n  - conv2d:\n    out: 4\n    kernel: 3\n",
    ("E102", "call"): HEAD + "layers:\n  - linear(10)\n",
    ("E102", "two-lines"): HEAD + "layers:\n  - relu\n    - flatten\n",
    ("E102", "foreign"): IMAGE + "layers:\n  - MaxPool2d: 2\n",
    ("E103", "attribute"): IMAGE + "layers:\n  - conv2d: {out: 4, kernal: 3, kernel: 3}\n",
    ("E103", "foreign"): IMAGE + "layers:\n  - conv2d: {in_channels: 3, out_channels: 4, kernel: 3}\n",
    ("E103", "argument"): HEAD
    + "blocks:\n  b: {args: {width: int}, layers: [{linear: '${width}'}]}\nlayers:\n  - b: {widht: 3, width: 2}\n",
    ("E104", "type"): IMAGE + "layers:\n  - conv2d: {out: many, kernel: 3}\n",
    ("E104", "variable"): "netcalc: 1\nvars: {width: 4}\ninputs: {x: [1, 8]}\nlayers:\n  - linear: {out: 2 * width}\n",
    ("E104", "quotes"): 'netcalc: 1\nvars: {width: "4"}\ninputs: {x: [1, 8]}\nlayers:\n  - linear: "${width}"\n',
    ("E104", "shape"): "netcalc: 1\ninputs: {x: 1x3x32x32}\nlayers:\n  - relu\n",
    ("E104", "range"): IMAGE + "layers:\n  - conv2d: {out: 4, kernel: 3, stride: 0}\n",
    ("E104", "size"): "netcalc: 1\ninputs: {x: [1, -8]}\nlayers:\n  - relu\n",
    ("E105", "attribute"): IMAGE + "layers:\n  - conv2d: {out: 4}\n",
    ("E105", "version"): "name: a\nlayers:\n  - relu\n",
    ("E104", "version"): "netcalc: 2\nlayers:\n  - relu\n",
    ("E104", "version-true"): "netcalc: true\nlayers:\n  - relu\n",
    ("E106", "name"): HEAD + "layers:\n  - {name: a, relu: {}}\n  - {name: a, relu: {}}\n",
    ("E107", "two-operations"): HEAD + "layers:\n  - {relu: {}, linear: 4}\n",
    ("E101", "without"): "netcalc: 1\nextends: gpt2\nwithout: [pst]\n",
    (
        "E202",
        "without",
    ): "netcalc: 1\nextends: gpt2\nwithout: [use_cache, past]\nlayers:\n  - {from: input_ids, cast: float32}\n"
    + "  - {name: lm_head, linear: 4}\n",
    ("E110", "block"): IMAGE
    + """\
blocks:
  double_conv:
    args: {width: int, norm: op}
    inputs: [x, skip]
    layers: [{conv2d: {out: "${width}", kernel: 3}}]
layers:
  - unet_down: {channels: 8}
""",
    ("E201", "expression"): HEAD + 'layers:\n  - linear: {out: "${4 +}"}\n',
    ("E202", "name"): 'netcalc: 1\nvars: {width: 4}\ninputs: {x: [1, 8]}\nlayers:\n  - linear: {out: "${2 * widht}"}\n',
    ("E203", "division"): HEAD + 'layers:\n  - linear: {out: "${4 // 0}"}\n',
    ("E204", "circle"): 'netcalc: 1\nvars: {a: "${b}", b: "${a}"}\ninputs: {x: [1, 8]}\nlayers:\n  - linear: "${a}"\n',
    ("E204", "block-in-itself"): HEAD + "blocks:\n  b: {layers: [b]}\nlayers:\n  - b\n",
    ("E301", "missing"): HEAD + "layers:\n  - {name: first, relu: {}}\n  - {from: frist, relu: {}}\n",
    ("E302", "later"): HEAD + "layers:\n  - {from: end, relu: {}}\n  - {name: end, relu: {}}\n",
    ("E303", "inputs"): HEAD + "layers:\n  - {from: [x, x], relu: {}}\n",
    ("E303", "no-inputs"): "netcalc: 1\nlayers:\n  - conv2d: {out: 4, kernel: 3}\n",
    ("E304", "tie"): HEAD + "layers:\n  - {name: a, linear: 4}\n  - {name: b, tie: a, linear: 4}\n",
    ("E401", "add"): IMAGE
    + """\
blocks:
  block:
    args: {channels: int, stride: 1}
    layers:
      - add:
          residual:
            - conv2d: {out: "${channels}", kernel: 3, stride: "${stride}", padding: 1}
          shortcut: []
layers:
  - {name: stage, repeat: 2, block: {channels: 3, stride: "${index + 1}"}}
""",
    ("E401", "too-small"): IMAGE + "layers:\n  - conv2d: {out: 4, kernel: 9}\n",
    ("E402", "dtype"): HEAD + "layers:\n  - cast: int64\n  - linear: 4\n",
    ("E402", "ids"): HEAD + "layers:\n  - embedding: {num_embeddings: 100, embedding_dim: 4}\n",
    ("E403", "repeat"): HEAD
    + "blocks:\n  b:\n    outputs: [d, e]\n    layers: [{name: d, linear: 4}, {name: e, linear: 4}]\n"
    + "layers:\n  - {repeat: 2, b: {}}\n",
}


def write(text: str) -> str:
    Path("spec.yaml").write_text(text)
    return "spec.yaml"


@pytest.mark.parametrize(("code", "what"), SPECS, ids=lambda value: value)
def test_invalid_specs(
    code: str,
    what: str,
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = netcalc("shapes", write(SPECS[code, what]))
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    golden(f"errors/{code}-{what}.txt", ran.err)


#: (code, case) -> the command line, on a spec with a dim, a var and a layer.
COMMANDS: dict[tuple[str, str], list[str]] = {
    ("E004", "missing-file"): ["shapes", "spc.yaml"],
    ("E005", "missing-spec"): ["shapes", "renset34"],
    ("E005", "family"): ["shapes", "llama3"],
    ("E404", "symbolic-run"): ["run", "open.yaml"],
    ("E501", "no-value"): ["shapes", "spec.yaml", "--set", "batch"],
    ("E501", "unknown-name"): ["shapes", "spec.yaml", "--set", "clases=3", "--set", "batch=2"],
    ("E501", "wrong-type"): ["shapes", "spec.yaml", "--set", "classes=many"],
    ("E501", "out-of-range"): ["shapes", "spec.yaml", "--set", "batch=0", "--set", "classes=0"],
    ("E501", "symbolic"): ["shapes", "spec.yaml", "--symbolic", "clases"],
    ("E502", "option"): ["shapes", "spec.yaml", "--dept", "2"],
    ("E502", "command"): ["summry", "spec.yaml"],
    ("E502", "choice"): ["shapes", "spec.yaml", "--format", "xml"],
    ("E502", "missing-argument"): ["shapes"],
    ("E502", "output"): ["shapes", "spec.yaml", "--output", "no/such/folder.txt"],
    ("E502", "input"): ["run", "spec.yaml", "--input", "x"],
    ("E502", "init"): ["run", "spec.yaml", "--init", "kaiming_nromal"],
    ("E502", "init-file"): ["init", "spec.yaml"],
    ("E503", "path"): ["explain", "spec.yaml", "hed"],
    ("E503", "trace"): ["run", "spec.yaml", "--trace", "hed"],
    ("E601", "weights"): ["run", "spec.yaml", "--weights", "weights.npz"],
    ("E602", "shape"): ["run", "spec.yaml", "--input", "x=wrong.npy"],
    ("E602", "name"): ["run", "spec.yaml", "--input", "y=wrong.npy"],
    ("E603", "input"): ["run", "spec.yaml", "--set", f"batch={2**62}"],
    ("E603", "output"): ["run", "spec.yaml", "--set", f"classes={2**62}"],
    ("E605", "missing"): ["run", "spec.yaml", "--weights", "none.npz"],
    ("E605", "pickle"): ["run", "spec.yaml", "--weights", "weights.pth"],
    ("E605", "header"): ["verify", "spec.yaml", "--weights", "header.safetensors"],
    ("E605", "short"): ["verify", "spec.yaml", "--weights", "short.npz"],
    ("E605", "input"): ["run", "spec.yaml", "--input", "x=short.npy"],
    ("E605", "shard"): ["verify", "spec.yaml", "--weights", "model.safetensors.index.json"],
    ("E605", "folder"): ["verify", "spec.yaml", "--weights", "folder.npz"],
    ("E701", "convention"): ["flops", "spec.yaml", "--convention", "torchvison"],
}
SPEC = """\
netcalc: 1
name: spec
dims: {batch: 1}
vars: {classes: {default: 10, min: 1}}
inputs: {x: [batch, 8]}
layers:
  - {name: head, linear: "${classes}"}
"""


@pytest.mark.parametrize(("code", "what"), COMMANDS, ids=lambda value: value)
def test_invalid_commands(
    code: str,
    what: str,
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    write(SPEC)
    Path("open.yaml").write_text(SPEC.replace("batch: 1", "batch: null"))
    np.save("wrong.npy", np.zeros((1, 7), "float32"))
    np.savez("weights.npz", **{"head.weight": np.zeros((10, 9), "float32"), "head.bais": np.zeros(10, "float32")})
    Path("weights.pth").write_bytes(b"")
    Path("header.safetensors").write_bytes(b"\xff\xff\xff\xff\0\0\0\0{}")
    Path("short.npz").write_bytes(npz({"head.weight.npy": npy_of(data=bytes(7))}))
    Path("short.npy").write_bytes(npy_of(data=bytes(7)))
    Path("model.safetensors.index.json").write_text('{"weight_map": {"head.weight": "model-1.safetensors"}}')
    Path("folder.npz").symlink_to("folder.npz")
    ran = netcalc(*COMMANDS[code, what])
    assert (ran.code, ran.out) == (2, "")
    assert f"error[{code}]" in ran.err
    golden(f"errors/{code}-{what}.txt", ran.err)


#: Layers in place of those of a decoder, which read no caches.
OWN_LAYERS = """\
netcalc: 1
name: own
extends: llama-2-7b
layers:
  - {name: embed, from: input_ids, embedding: {num_embeddings: "${vocab}", embedding_dim: "${d_model}"}}
  - {name: layers, repeat: "${layers}", gated_feed_forward: {hidden: "${d_ff}"}}
  - {name: lm_head, linear: "${vocab}"}
"""

#: (code, case) -> a spec, and the options of the command.
WARNINGS: dict[tuple[str, str], tuple[str, list[str]]] = {
    ("W101", "replaced-layers"): (OWN_LAYERS, ["--set", "past=16", "--set", "tied=true"]),
    ("W101", "input"): ("netcalc: 1\ninputs: {x: [1, 8], mask: [1, 8]}\nlayers:\n  - relu\n", []),
    ("W101", "block-not-called"): (
        "netcalc: 1\nextends: gpt2\nblocks:\n  multi_head_attention: {layers: [relu]}\n",
        [],
    ),
    ("W102", "expression"): (
        "netcalc: 1\nextends: rnnsearch-50\nvars: {hidden: '${embedding_size}'}\n",
        [],
    ),
}


@pytest.mark.parametrize(("code", "what"), WARNINGS, ids=lambda value: value)
def test_warnings(
    code: str,
    what: str,
    netcalc: Callable[..., CommandResult],
    golden: Callable[[str, str], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    text, options = WARNINGS[code, what]
    ran = netcalc("shapes", write(text), *options)
    assert ran.code == 0
    assert f"warning[{code}]" in ran.err
    golden(f"errors/{code}-{what}.txt", ran.err)


def test_all_errors_are_reported_with_their_number(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = ["{name: a, lineer: 4}", "{from: a, relu: {}}", "{from: nothing, relu: {}}", "linear: {out: 0}"]
    ran = netcalc("shapes", write(HEAD + "layers:\n" + "".join(f"  - {line}\n" for line in lines)))
    assert [line for line in ran.err.splitlines() if line.startswith("error")] == [
        "error[E102]: unknown operation or block 'lineer'",
        "error[E301]: unknown value 'nothing'",
        "error[E104]: linear attribute 'out': should be at least 1, not 0",
    ]  # no error for the line that depends on the first error
    assert ran.err.endswith("\n3 errors\n")


def test_errors_as_json(netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = netcalc("summary", write(SPECS["E401", "add"]), "--format", "json")
    assert (ran.code, ran.err) == (2, "")
    (error,) = json.loads(ran.out)["errors"]
    assert error["code"] == "E401"
    assert error["title"] == CODES["E401"]
    assert (error["at"]["file"], error["at"]["line"]) == ("spec.yaml", 7)
    assert ["1×3×4×4" in error["related"][0]["text"], "1×3×8×8" in error["related"][1]["text"]] == [True, True]
    assert [step["at"]["line"] for step in error["chain"]] == [12, 12]
    assert error["bindings"] == {"channels": 3, "stride": 2}


def test_usage_errors_as_json(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("summary", "--format=json")
    assert ran.code == 2
    assert json.loads(ran.out)["errors"][0]["code"] == "E502"


def test_user_text_is_not_interpreted_as_markup(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORCE_COLOR", "1")
    ran = netcalc("shapes", write('netcalc: 1\ninputs: {x: [1]}\nlayers:\n  - "[bold]\\e[31mred"\n'))
    assert "[bold]\\x1b[31mred" in ran.err
    assert "\x1b" not in ran.err

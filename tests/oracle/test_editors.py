"""The schema of specs in a validator that editors and hooks use: check-jsonschema."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from netcalc.cli.schema import schema_file
from netcalc.spec.shipped import specs_dir

pytest.importorskip("check_jsonschema")
#: Folders of tables, which are not specs.
_TABLES = {"gguf", "huggingface", "timm"}
_SPEC = "netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n  - linear: {out: 4, bias: true}\n"


def validated(*files: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(schema_file("spec")), *map(str, files)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_shipped_specs_are_valid() -> None:
    files = [path for path in specs_dir().rglob("*.yaml") if not _TABLES & {*path.relative_to(specs_dir()).parts}]
    run = validated(*files)
    assert run.returncode == 0, run.stdout


#: A typed part, what stands in its place, and what the message names.
WRONG = [
    ("bias: true", "bias: 3", "bias"),
    ("out: 4", "outs: 4", "outs"),
    ("[1, 8]", "[1, [8]]", "inputs"),
    ("netcalc: 1", "netcalc: 2", "netcalc"),
    ("layers:", "layer:", "layer"),
]


def test_typed_errors_are_found(tmp_path: Path) -> None:
    right = tmp_path / "right.yaml"
    right.write_text(_SPEC, encoding="utf-8")
    files = [tmp_path / f"{named}.yaml" for _, _, named in WRONG]
    for file, (typed, wrong, _) in zip(files, WRONG, strict=True):
        file.write_text(_SPEC.replace(typed, wrong), encoding="utf-8")
    run = validated(right, *files)
    assert run.returncode == 1
    told = [line for line in run.stdout.splitlines() if "::" in line]
    assert not any(str(right) in line for line in told)
    for file, (_, _, named) in zip(files, WRONG, strict=True):
        assert any(str(file) in line and named in line.partition("::")[2] for line in told), named

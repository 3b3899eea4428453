"""Inputs of models that have to be constants."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.formats.onnx.constants import constants_of
from netcalc.formats.onnx.document import imported
from netcalc.formats.onnx.file import OnnxFile, open_onnx
from netcalc.formats.onnx.known import Known
from tests.formats.onnx.drafts import Draft, DraftNode


def opened(folder: Path, draft: Draft) -> OnnxFile:
    path = folder / "model.onnx"
    path.write_bytes(draft.encoded())
    return open_onnx(path)


def resized(rows: str) -> Draft:
    """Return a model that reshapes ``x`` to the sizes of ``rows``, a sum of inputs, and adds ``y``."""
    nodes = [
        DraftNode("Add", ["a", "b"], ["sum"]),
        DraftNode("Shape", ["y"], ["shape"]),
        DraftNode("Reshape", ["x", rows], ["reshaped"]),
        DraftNode("Add", ["reshaped", "y"], ["z"]),
    ]
    kinds = {"a": "int64", "b": "int64"}
    inputs: dict[str, list[Any]] = {"x": [6], "y": [2, 3], "a": [2], "b": [2]}
    return Draft(nodes, inputs, {"z": [2, 3]}, types=kinds)


def test_what_determines_a_shape_is_a_constant(tmp_path: Path) -> None:
    assert constants_of(opened(tmp_path, resized("sum")).model) == {"a", "b"}


def test_a_shape_does_not_depend_on_elements(tmp_path: Path) -> None:
    assert constants_of(opened(tmp_path, resized("shape")).model) == set()


def test_a_condition_and_what_its_branches_need_are_constants(tmp_path: Path) -> None:
    branch = Draft([DraftNode("Expand", ["x", "size"], ["inner"])], {}, {"inner": [2, 3]})
    other = Draft([DraftNode("Identity", ["y"], ["inner"])], {}, {"inner": [2, 3]})
    choice = DraftNode("If", ["c"], ["z"], attributes={"then_branch": branch, "else_branch": other})
    inputs: dict[str, list[Any]] = {"x": [3], "y": [2, 3], "size": [2], "c": []}
    draft = Draft([choice], inputs, {"z": [2, 3]}, types={"size": "int64", "c": "bool"})
    assert constants_of(opened(tmp_path, draft).model) == {"c", "size"}


def test_an_error_names_the_input(tmp_path: Path) -> None:
    file = opened(tmp_path, resized("sum"))
    with pytest.raises(NetcalcError, match="the input 'shape' has to be a constant"):
        imported(file, "case")
    known = {name: Known("int64", (2,), (1, number)) for name, number in (("a", 1), ("b", 2))}
    document = imported(file, "case", known).document
    assert [*document["inputs"]] == ["x", "y"]

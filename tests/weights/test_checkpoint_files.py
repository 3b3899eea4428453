"""Checkpoints of several files: folders, indices of shards, and lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.arrays import numpy_dtype
from netcalc.diagnostics import NetcalcError
from netcalc.numerics.parameters import Parameters, check_weights
from netcalc.weights.checkpoint_files import open_weights
from netcalc.weights.tensor_files import open_tensors
from netcalc.weights.writing import write_tensors
from tests.numerics.programs import program
from tests.numerics.test_parameters import loaded

NET = "inputs: {x: [2, 6]}\nlayers: [{name: a, linear: {out: 6, bias: false}}, {name: b, linear: {out: 4}}]"
INDEX = "model.safetensors.index.json"
SHARDS = ("model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors")


def tensors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"a.weight": (6, 6), "b.weight": (4, 6), "b.bias": (4,)}
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an index and two shards."""
    given = tensors()
    write_tensors(tmp_path / SHARDS[0], {"a.weight": given["a.weight"]})
    write_tensors(tmp_path / SHARDS[1], {"b.weight": given["b.weight"], "b.bias": given["b.bias"]})
    write_index(tmp_path, {"a.weight": SHARDS[0], "b.weight": SHARDS[1], "b.bias": SHARDS[1]})
    return tmp_path


def write_index(folder: Path, places: Any) -> None:
    size = sum(array.nbytes for array in tensors().values())
    (folder / INDEX).write_text(json.dumps({"metadata": {"total_size": size}, "weight_map": places}))


def the_error(weights: Any) -> str:
    with pytest.raises(NetcalcError) as caught:
        open_weights(weights)
    assert {d.code for d in caught.value.diagnostics} == {"E605"}
    return str(caught.value)


def test_a_folder_its_index_its_shards_and_a_list_are_one_checkpoint(folder: Path) -> None:
    net = program(NET)
    for weights in (folder, str(folder), folder / INDEX, [folder / name for name in SHARDS]):
        report = check_weights(net, weights)
        assert (report.ok, report.tensors) == (True, 3)
        for name, array in loaded(net, weights).items():
            np.testing.assert_array_equal(array, tensors()[name])
    (folder / INDEX).unlink()
    assert check_weights(net, folder).ok


def test_shards_may_be_links_as_in_the_cache_of_hugging_face(folder: Path, tmp_path_factory: Any) -> None:
    snapshot = tmp_path_factory.mktemp("snapshot")
    for name in (INDEX, *SHARDS):
        (snapshot / name).symlink_to(folder / name)
    assert check_weights(program(NET), snapshot).ok


def test_a_single_file_in_a_folder(tmp_path: Path) -> None:
    write_tensors(tmp_path / "model.safetensors", tensors())
    write_tensors(tmp_path / "model.fp16.safetensors", tensors())
    assert check_weights(program(NET), tmp_path).ok
    (tmp_path / "model.safetensors").rename(tmp_path / "other.safetensors")
    expected = f"'a.weight' and 2 more are in both {tmp_path}/model.fp16.safetensors and {tmp_path}/other.safetensors"
    assert expected in the_error(tmp_path)


def test_a_folder_of_npz_files(tmp_path: Path) -> None:
    write_tensors(tmp_path / "weights.npz", tensors())
    assert check_weights(program(NET), tmp_path).ok


def test_tensors_are_weights_as_they_are(tmp_path: Path) -> None:
    write_tensors(tmp_path / "w.safetensors", tensors())
    opened = open_tensors(tmp_path / "w.safetensors")
    assert open_weights(opened) is opened
    assert check_weights(program(NET), opened).ok


def test_folders_without_weights(tmp_path: Path) -> None:
    assert "holds no weights (it should have .safetensors or .npz files)" in the_error(tmp_path)
    (tmp_path / "training_args.bin").write_bytes(b"")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    message = the_error(tmp_path)
    assert "holds pickles only: pytorch_model.bin" in message
    assert 'convert it with: python -c "import sys, torch; ' in message
    assert message.endswith(f'" {tmp_path}/pytorch_model.bin)')


def test_missing_shards(folder: Path) -> None:
    (folder / SHARDS[1]).unlink()
    assert f"{INDEX}: the shard {SHARDS[1]} is missing" in the_error(folder)
    (folder / INDEX).unlink()
    assert f"1 of 2 shards missing, the first of them {SHARDS[1]}" in the_error(folder)


def test_tensors_in_two_files(folder: Path) -> None:
    write_tensors(folder / SHARDS[0], {"a.weight": np.zeros((6, 6)), "b.bias": np.zeros(4)})
    assert f"'b.bias' is in both {folder / SHARDS[0]} and {folder / SHARDS[1]}" in the_error(folder)
    assert "'a.weight' and 1 more are in both" in the_error([folder / SHARDS[0], folder / SHARDS[0]])


def test_tensors_that_are_not_in_their_shard(folder: Path) -> None:
    write_index(folder, {"a.weight": SHARDS[1], "b.weight": SHARDS[1], "c": SHARDS[0]})
    assert f"'a.weight' is not in its shard {SHARDS[1]}, nor 1 more that the index names" in the_error(folder)


@pytest.mark.parametrize("name", ["../w.safetensors", "/tmp/w.safetensors", "sub/w.safetensors", "..", "a\\b", ""])
def test_shards_outside_the_folder_are_refused(folder: Path, name: str) -> None:
    write_index(folder, {"a.weight": name})
    assert f"the shard {name!r} should be the name of a file in the same folder" in the_error(folder)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"weight_map": []}', '{"weight_map": {"a": 1}}', "\xff", "[" * 99999]
)
def test_files_that_are_no_index(tmp_path: Path, text: str) -> None:
    (tmp_path / INDEX).write_text(text, encoding="latin-1")
    assert "is not an index of shards" in the_error(tmp_path)


def test_other_errors(folder: Path, tmp_path_factory: Any) -> None:
    (folder / "other.safetensors.index.json").write_text("{}")
    assert "has several indices: model.safetensors.index.json, other" in the_error(folder)
    empty = tmp_path_factory.mktemp("empty")
    assert "no such file" in the_error(empty / INDEX)
    assert "no such file" in the_error(empty / "absent.safetensors")
    assert "the list of weights is empty" in the_error([])


HALF = numpy_dtype("bfloat16")


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_weights_of_another_type_are_cast_on_request(tmp_path: Path, dtype: str) -> None:
    net, file = program(NET), tmp_path / "w.safetensors"
    stored = {name: array.astype(numpy_dtype(dtype)) for name, array in tensors().items()}
    write_tensors(file, stored)
    (group,) = check_weights(net, file).groups
    assert group.message == f"3 tensors are {dtype}, and the spec has float32"
    assert group.hint == f"add --cast, or --dtype {dtype}"
    with pytest.raises(NetcalcError):
        Parameters(net, file)
    assert check_weights(net, file, cast=True).ok
    values = loaded(net, file, cast=True)
    assert {array.dtype.name for array in values.values()} == {"float32"}
    np.testing.assert_array_equal(values["a.weight"], stored["a.weight"].astype(np.float32))


def test_a_file_of_several_types_can_only_be_cast() -> None:
    given = tensors() | {"b.bias": np.zeros(4, HALF)}
    (group,) = check_weights(program(NET), given).groups
    assert (group.message, group.hint) == ("'b.bias' is bfloat16, and the spec has float32", "add --cast")


def test_integers_are_not_cast() -> None:
    given = tensors() | {"b.bias": np.zeros(4, np.int64)}
    (group,) = check_weights(program(NET), given, cast=True).groups
    assert (group.message, group.hint) == ("'b.bias' is int64, and the spec has float32", None)


def test_bfloat16_files_load_into_bfloat16_networks(tmp_path: Path) -> None:
    file = tmp_path / "w.safetensors"
    write_tensors(file, {name: array.astype(HALF) for name, array in tensors().items()})
    values = loaded(program("dtype: bfloat16\n" + NET), file)
    assert values["a.weight"].dtype == HALF
    np.testing.assert_array_equal(values["a.weight"], tensors()["a.weight"].astype(HALF))

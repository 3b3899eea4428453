"""Damaged and hostile files of Keras: errors with codes and names of layers, never a traceback, a hang or a write."""

from __future__ import annotations

import copy
import json
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.keras.examples import (
    archived,
    conv,
    dense,
    functional,
    given,
    image_net,
    layer,
    saved,
    sequential,
    stored,
    tensor,
)


def problems(path: Path) -> str:
    """Return the errors of a file, as they are printed."""
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(path).summary()
    return str(caught.value)


def test_truncated_archives_are_errors(tmp_path: Path) -> None:
    path = archived(tmp_path, image_net())
    content = path.read_bytes()
    for length in range(0, len(content), 397):
        path.write_bytes(content[:length])
        assert "E605" in problems(path), length


def test_truncated_configurations_are_errors(tmp_path: Path) -> None:
    text = json.dumps(image_net())
    for length in range(1, len(text), 401):
        assert "E00" in problems(archived(tmp_path, text[:length])), length


def test_archive_bombs_are_errors(tmp_path: Path) -> None:
    """A configuration of 64 MB of spaces, which takes 64 KB, and a directory that understates it."""
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", " " * (64 << 20))
    assert path.stat().st_size < 100_000
    assert "E003" in problems(path)
    content = path.read_bytes()
    path.write_bytes(content.replace((64 << 20).to_bytes(4, "little"), (1000).to_bytes(4, "little")))
    assert "E605" in problems(path) or "E001" in problems(path)


@pytest.mark.parametrize(
    "name", ["../config.json", "/etc/config.json", "a/../../config.json", "C:/config.json", "..\\x"]
)
def test_names_that_lead_out_of_the_archive_are_errors(tmp_path: Path, name: str) -> None:
    path = archived(tmp_path, image_net())
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr(zipfile.ZipInfo(name), "{}")
    assert "leads out of the archive" in problems(path)


def test_archives_without_a_configuration_are_errors(tmp_path: Path) -> None:
    assert "no config.json" in problems(archived(tmp_path, None))
    path = tmp_path / "text.keras"
    path.write_text("netcalc: 1\n", encoding="utf-8")
    assert "E605" in problems(path)


def test_custom_objects_are_named_at_once(tmp_path: Path) -> None:
    """Code of Python and classes of others are refused, all in one error; nothing of them is executed."""
    code = {"class_name": "__lambda__", "config": {"value": "cHJpbnQoMSk=", "defaults": None, "closure": None}}
    net = sequential(
        [4],
        layer("Lambda", "first", function=code, arguments={}),
        layer("Mine", "second", module="package.layers"),
        layer("Mine", "third", module="package.layers"),
        layer("NewLayer", "fourth"),
        dense("fifth", 3, activation={"module": "package", "class_name": "function", "config": "mine"}),
    )
    text = problems(saved(tmp_path, net))
    assert "Lambda ('first'): a layer of Python code, which is not executed" in text
    assert "Mine ('second', 'third'): a custom object" in text  # behind what is not known
    assert "NewLayer ('fourth'): a class that netcalc does not know" in text
    both = functional(
        given("x", 4),
        layer("Lambda", "first", tensor("x"), function=code),
        layer("Mine", "second", tensor("x"), module="package.layers"),
        layer("NewLayer", "third", tensor("x")),
        dense("fourth", 3, tensor("x"), activation={"module": "package", "class_name": "function", "config": "mine"}),
        inputs=["x"],
        outputs=["first", "second", "third", "fourth"],
    )
    text = problems(saved(tmp_path, both))
    named = ("Lambda ('first')", "Mine ('second')", "NewLayer ('third')", "layer 'fourth': activation 'package.mine'")
    assert all(name in text for name in named), text


def test_subclasses_of_models_are_errors(tmp_path: Path) -> None:
    config = {"module": "mine", "class_name": "MyModel", "config": {"units": 3}, "registered_name": "mine>MyModel"}
    assert "class 'MyModel' is neither Functional nor Sequential" in problems(saved(tmp_path, config))


def test_cycles_and_missing_layers_are_errors(tmp_path: Path) -> None:
    ring = functional(
        given("x", 4),
        layer("Add", "one", [tensor("x"), tensor("two")]),
        dense("two", 4, tensor("one")),
        inputs=["x"],
        outputs=["two"],
    )
    assert "the layers 'one', 'two' wait for results of each other" in problems(saved(tmp_path, ring))
    lost = functional(given("x", 4), dense("one", 4, tensor("nowhere")), inputs=["x"], outputs=["one"])
    assert "layer 'one' takes a result of 'nowhere', which is missing" in problems(saved(tmp_path, lost))
    twice = functional(given("x", 4), dense("one", 4, tensor("x")), dense("one", 4), inputs=["x"], outputs=["one"])
    assert "two layers have the name 'one'" in problems(saved(tmp_path, twice))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"units": -1}, "units should be a whole number from 1 on, and it is -1"),
        ({"units": "5"}, "units should be a whole number"),
        ({"use_bias": 1}, "use_bias should be true or false"),
        ({"lora_rank": 4}, "setting 'lora_rank' is not known"),
        (
            {"dtype": {"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8"}}},
            "the type 'QuantizedDTypePolicy'",
        ),
        ({"activation": "unknown"}, "activation 'unknown' is not known"),
    ],
)
def test_settings_that_are_wrong_are_errors_with_the_name(tmp_path: Path, change: Any, message: str) -> None:
    text = problems(
        saved(tmp_path, sequential([4], dense("first", 4), layer("Dense", "second", **({"units": 5} | change))))
    )
    assert "layer 'second'" in text
    assert message in text


def test_shapes_that_differ_from_the_file_are_errors(tmp_path: Path) -> None:
    net = functional(
        given("image", 6, 6, 3),
        conv("conv", 4, tensor("image", [None, 6, 6, 3])),
        dense("head", 2, tensor("conv", [None, 6, 6, 5])),
        inputs=["image"],
        outputs=["head"],
    )
    assert "layer 'head': the result of 'conv' is 1×6×6×4, and the file says ?×6×6×5" in _plain(saved(tmp_path, net))


def _plain(path: Path) -> str:
    return problems(path).replace("batch×", "1×")


def test_weights_of_other_shapes_are_errors(tmp_path: Path, netcalc: Any) -> None:
    pytest.importorskip("h5py")
    arrays = {"layers/dense/vars/0": np.zeros((4, 6)), "layers/dense/vars/1": np.zeros(5)}
    path = archived(tmp_path, sequential([4], dense("head", 5)), stored(arrays))
    result: CommandResult = netcalc("verify", str(path))
    assert result.code == 1
    assert "head.weight" in result.out
    missing = archived(tmp_path, sequential([4], dense("head", 5)), stored({"layers/dense/vars/1": np.zeros(5)}))
    assert "head.weight" in netcalc("verify", str(missing)).out


def test_weights_that_are_no_hdf5_are_errors(tmp_path: Path, netcalc: Any) -> None:
    pytest.importorskip("h5py")
    result: CommandResult = netcalc("run", str(archived(tmp_path, image_net(), b"no HDF5")), "--weights", ".")
    assert (result.code, result.err.startswith("error: E605") or "E605" in result.err) == (2, True)


def test_compressed_weights_are_bounded(tmp_path: Path) -> None:
    """Weights of 64 MB in place of a few hundred bytes are not decompressed."""
    pytest.importorskip("h5py")
    path = tmp_path / "net.keras"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("config.json", json.dumps(sequential([4], dense("head", 5))))
        archive.writestr("model.weights.h5", bytes(64 << 20))
    with pytest.raises(NetcalcError, match="the weights of the model are fewer"):
        netcalc.load(path).audit(weights=str(path))


def test_links_to_other_files_are_not_followed(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    other = tmp_path / "secret.h5"
    with h5py.File(other, "w") as file:
        file.create_dataset("secret", data=np.ones((4, 5), np.float32))
    content = tmp_path / "weights.h5"
    with h5py.File(content, "w") as file:
        file.create_dataset("layers/dense/vars/1", data=np.ones(5, np.float32))
        file["layers/dense/vars/0"] = h5py.ExternalLink(str(other), "secret")
    path = archived(tmp_path, sequential([4], dense("head", 5)), content.read_bytes())
    assert not netcalc.load(path).audit(weights=str(path)).ok


def test_changed_values_have_no_traceback() -> None:
    """Every value of a configuration replaced by one of another kind."""
    config, draw = image_net(), random.Random(0)
    for place in _places(config):
        changed = copy.deepcopy(config)
        holder = changed
        for step in place[:-1]:
            holder = holder[step]
        holder[place[-1]] = draw.choice([None, True, -1, 10**30, 1.5, "", "x", [], [None], {}, {"class_name": "x"}])
        try:
            netcalc.load(json.dumps(changed))
        except NetcalcError:
            continue


def _places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else []
    return [place for key, value in items for place in ((*path, key), *_places(value, (*path, key)))]

"""Configurations of Keras models, written by hand in the form that Keras 3 gives them, and files of them."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

Config = dict[str, Any]


def tensor(layer: str, shape: list[int | None] | None = None, call: int = 0, result: int = 0) -> Config:
    """Return a result of a layer, as the arguments of a call have it."""
    config = {"shape": shape, "dtype": "float32", "keras_history": [layer, call, result]}
    return {"class_name": "__keras_tensor__", "config": config}


def layer(kind: str, name: str, *inputs: Any, module: str = "keras.layers", **config: Any) -> Config:
    """Return a layer that is called once, with these arguments, or not at all."""
    calls = [{"args": list(inputs), "kwargs": {}}] if inputs else []
    own = {"name": name, "trainable": True, **config}
    return {
        "module": module,
        "class_name": kind,
        "config": own,
        "registered_name": None,
        "name": name,
        "inbound_nodes": calls,
    }


def given(name: str, *shape: int | None) -> Config:
    """Return an input layer."""
    return layer("InputLayer", name, batch_shape=[None, *shape], dtype="float32")


def functional(*layers: Config, inputs: list[str], outputs: list[str], name: str = "net") -> Config:
    """Return a functional model."""
    config = {
        "name": name,
        "trainable": True,
        "layers": list(layers),
        "input_layers": [[one, 0, 0] for one in inputs],
        "output_layers": [[one, 0, 0] for one in outputs],
    }
    return {"module": "keras", "class_name": "Functional", "config": config, "registered_name": "Functional"}


def sequential(shape: list[int | None], *layers: Config, name: str = "net") -> Config:
    """Return a sequential model."""
    listed = [given("input", *shape), *layers]
    config = {"name": name, "trainable": True, "layers": listed, "build_input_shape": [None, *shape]}
    return {"module": "keras", "class_name": "Sequential", "config": config, "registered_name": None}


def conv(name: str, filters: int, *inputs: Any, kernel: int = 3, **more: Any) -> Config:
    """Return a convolution over images with padding."""
    settings: Config = {
        "filters": filters,
        "kernel_size": [kernel] * 2,
        "strides": [1, 1],
        "padding": "same",
        "groups": 1,
    }
    settings |= {"data_format": "channels_last", "dilation_rate": [1, 1], "activation": "linear", "use_bias": True}
    return layer("Conv2D", name, *inputs, **(settings | more))


def dense(name: str, units: int, *inputs: Any, **more: Any) -> Config:
    """Return a dense layer."""
    settings: Config = {"units": units, "activation": "linear", "use_bias": True}
    return layer("Dense", name, *inputs, **(settings | more))


def image_net() -> Config:
    """Return a small network of images with a residual connection, whose activations have three kinds of names."""
    return functional(
        given("image", 6, 6, 3),
        conv("conv", 4, tensor("image", [None, 6, 6, 3]), activation="relu"),
        layer(
            "BatchNormalization", "norm", tensor("conv"), axis=-1, momentum=0.9, epsilon=1e-3, center=True, scale=True
        ),
        layer("Add", "sum", [tensor("norm"), tensor("conv", [None, 6, 6, 4])]),
        layer("GlobalAveragePooling2D", "pool", tensor("sum"), data_format="channels_last", keepdims=False),
        dense("head", 5, tensor("pool", [None, 4]), activation="softmax"),
        inputs=["image"],
        outputs=["head"],
    )


def saved(folder: Path, config: Config, name: str = "net.json") -> Path:
    """Write the configuration of a model in JSON."""
    path = folder / name
    path.write_text(json.dumps(config), encoding="utf-8")
    return path


def archived(folder: Path, config: Config | str | None, weights: bytes = b"", name: str = "net.keras") -> Path:
    """Write a file of a model."""
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("metadata.json", '{"keras_version": "3.15.1"}')
        if config is not None:
            archive.writestr("config.json", config if isinstance(config, str) else json.dumps(config))
        archive.writestr("model.weights.h5", weights)
    return path


def stored(arrays: dict[str, Any]) -> bytes:
    """Return a file of weights, by the paths of the variables; it needs h5py."""
    import h5py

    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        for path, array in arrays.items():
            file.create_dataset(path, data=array)
    return content.getvalue()

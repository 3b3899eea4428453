"""All models of keras.applications: weights, trained or not, and shapes as Keras has them, and the outputs of ten.

Weights are drawn, none are downloaded.  Outputs are those of Keras with the backend JAX, or with another one that
KERAS_BACKEND names: PyTorch takes a tenth of the time, and lacks NASNet.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from typing import Any

from tests.exhaustive import in_turn

#: Packages that the check needs.
NEEDED = ("keras", "jax", "h5py")
#: Models whose outputs are compared, of different architectures, and the size of their images.
RUN = (
    *("MobileNetV2", "MobileNetV3Small", "MobileNetV3Large", "EfficientNetB0", "EfficientNetV2B0", "DenseNet121"),
    *("NASNetMobile", "ResNet50", "Xception", "ConvNeXtTiny"),
)
_IMAGE = 96
#: Sizes where a model leaves the size of its images open.
_OPEN = {"height": 224, "width": 224}
#: Models in the sample, which are quick.
SAMPLE = ("MobileNetV2", "VGG16")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "part of the names of the models, such as ResNet")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the models; return their results, and those that fail."""
    names = sorted((name for name in _names() if options.only in name), key=lambda name: name not in RUN)
    return in_turn.results_of(names, _compared, options)


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick models of a record again."""
    return {name: in_turn.result(name, _compared) for name in SAMPLE if name in result_before["cases"]}


def _keras() -> Any:
    import_module("tests.oracle.keras")  # which chooses the backend
    return import_module("keras")


def _names() -> list[str]:
    """Return the names of the functions that make models."""
    applications = _keras().applications
    return [name for name in dir(applications) if name[0].isupper() and callable(getattr(applications, name))]


def _compared(name: str) -> str:
    from tests.oracle.keras.comparison import compared, not_drawn

    keras = _keras()
    keras.backend.clear_session()
    make = getattr(keras.applications, name)
    with not_drawn():
        model = make(weights=None)
        sizes = _OPEN if None in model.input_shape[1:] else {}
        found = compared(model, run=False, sizes=sizes)
        if found != "ok" or name not in RUN:
            return found
        return compared(make(weights=None, input_shape=(_IMAGE, _IMAGE, 3)), run=True)

"""All models of keras.applications: weights, trained or not, and shapes as Keras has them, and the outputs of ten.

Weights are drawn, none are downloaded.  Outputs are those of Keras with the backend JAX, which pads means as TensorFlow
does.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from tests.exhaustive import in_turn

#: Packages that the check needs.
NEEDED = ("keras", "jax", "h5py")
#: Models whose outputs are compared, of different architectures.
RUN = (
    *("MobileNet", "MobileNetV2", "MobileNetV3Small", "EfficientNetB0", "EfficientNetV2B0", "DenseNet121"),
    *("NASNetMobile", "ResNet50V2", "Xception", "ConvNeXtTiny"),
)
#: Models in the sample, which are quick.
SAMPLE = ("MobileNetV2", "MobileNetV3Small")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "part of the names of the models, such as ResNet")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the models; return their results, and those that fail."""
    return in_turn.results_of([name for name in _names() if options.only in name], _compared, options)


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick models of a record again."""
    return {name: in_turn.result(name, _compared) for name in SAMPLE if name in result_before["cases"]}


def _keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    return keras


def _names() -> list[str]:
    """Return the names of the functions that make models."""
    applications = _keras().applications
    return [name for name in dir(applications) if name[0].isupper() and callable(getattr(applications, name))]


def _compared(name: str) -> str:
    from tests.oracle.keras.comparison import compared

    keras = _keras()
    keras.backend.clear_session()
    return compared(getattr(keras.applications, name)(weights=None), run=name in RUN)

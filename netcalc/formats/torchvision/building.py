"""Models of torchvision, built by name without weights."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.formats.libraries.building import Built, without_weights
from netcalc.formats.libraries.torchvision_import import import_torchvision
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.examples import Example

#: Frames of a clip where the published weights do not say, and sides of an image.
_FRAMES, _SIDE = 16, 224


def built(model: Mapping[str, Any], settings: Mapping[str, Any]) -> Built:
    """Return the model of a ``name`` in ``torchvision.models``; ``settings`` are arguments of its builder.

    Raises:
        NetcalcError: E009 if there is none of the name, or its builder does not take the settings.
    """
    torchvision = import_torchvision()
    names, name = torchvision.models.list_models(), str(model["name"])
    if name not in names:
        hint = did_you_mean(name, names)
        raise NetcalcError(
            Diagnostic("E009", f"torchvision {torchvision.__version__} has no model {name!r}", hint=hint)
        )
    builder = torchvision.models.get_model_builder(name)
    unloaded = {key: None for key in signature(builder).parameters if key in ("weights", "weights_backbone")}
    if taken := settings.keys() & unloaded.keys():
        raise NetcalcError(Diagnostic("E501", f"--set {min(taken)}: models are built without weights"))
    with without_weights():
        try:
            module = builder(**unloaded, **settings)
        except NetcalcError:
            raise
        except Exception as error:  # of the library's checks
            raise refused(f"torchvision builds no {name}", error) from error
    about = f"{name} of torchvision {torchvision.__version__}"
    return Built(module.eval(), name, about, "float32", [_examples(module, name)])


def _examples(module: Any, name: str) -> list[Example]:
    """Return images, clips or pairs of images, of the size that the module takes or else that weights are made for."""
    models: Any = import_module("torchvision.models")
    preset = next(iter(models.get_model_weights(name))).transforms()
    names = [*signature(module.forward).parameters]
    height, width = _sides(preset, module)
    kind = type(preset).__name__
    if kind == "VideoClassification":
        return [_image(names[0], 1, 3, _FRAMES, height, width)]
    if kind == "OpticalFlow":
        return [_image(name, 1, 3, 520, 960) for name in names[:2]]
    return [_image(names[0], 1, 3, height, width)]


def _image(name: str, *sizes: int) -> Example:
    return Example(name, "float32", sizes, {0: "batch", len(sizes) - 2: "height", len(sizes) - 1: "width"})


def _sides(preset: Any, module: Any) -> tuple[int, int]:
    """Return height and width of the images that a module is made for, or that a preset makes."""
    if isinstance(side := getattr(module, "image_size", None), int):
        return side, side
    for name in ("crop_size", "resize_size"):
        if size := getattr(preset, name, None):
            sides = [*size] * 2 if len(size) == 1 else [*size]
            return sides[0], sides[1]
    return _SIDE, _SIDE

"""Layers that only do something in training."""

from __future__ import annotations

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.lines.operands import unless_default
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._windows import axes_of
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped


@layer("Dropout")
def dropout(call: Call) -> Operand:
    operand, noise = call.operand(), call.get("noise_shape")
    rate = call.number("rate")
    if noise is None or not rate:
        return dropped(call, operand, rate)
    if not isinstance(noise, list) or len(noise) != operand.rank or any(size != 1 for size in noise[1:]):
        raise RuleError(f"noise_shape {clipped(noise)} is not supported")
    mode = "batch" if noise[0] == 1 else "row"
    attributes = {"p": rate, "mode": unless_default(mode, "row")}
    made = call.build.line("stochastic_depth", [operand.value], attributes)
    return Operand(made, operand.first, operand.mask)


def dropped(call: Call, operand: Operand, rate: float) -> Operand:
    """Return an operand of which training drops elements."""
    if not rate:
        return operand
    return Operand(call.line("dropout", [operand.value], {"p": rate}), operand.first, operand.mask)


@layer("SpatialDropout1D", "SpatialDropout2D", "SpatialDropout3D")
def spatial_dropout(call: Call) -> Operand:
    axes_of(call)
    rate = call.number("rate")
    return Operand(call.line("dropout", [call.first()], {"p": rate, "channelwise": True}), True, call.operand().mask)


@layer(
    *("GaussianDropout", "GaussianNoise", "AlphaDropout"),
    *("RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomBrightness"),
    *("RandomShear", "RandomErasing", "RandomHue", "RandomSaturation", "RandomGrayscale", "RandomColorJitter"),
    *("RandAugment", "AugMix", "CutMix", "MixUp", "RandomColorDegeneration", "RandomElasticTransform"),
    *("Equalization", "Solarization", "MaxNumBoundingBoxes", "RandomSharpness"),
    *("RandomPosterization", "RandomInvert", "RandomGaussianBlur", "RandomPerspective"),
)
def training_only(call: Call) -> Operand:
    """The input itself, as it is in inference; what training does is left out, with a remark."""
    call.note(f"{call.layer.kind} acts in training alone, and is left out")
    call.argument(1, "training")  # true by default, and false in inference
    for name in call.layer.config:
        call.get(name)
    return call.operand()

"""Inputs whose channels layers want as axis 1, as images and signals have them in netcalc."""

from __future__ import annotations

import re

from netcalc.formats.keras.configuration import Model, flat

#: Layers over windows, whose operations have channels as axis 1.
_WINDOWS = re.compile(
    r"(Conv|DepthwiseConv|SeparableConv|MaxPooling|AveragePooling|Global|Adaptive|UpSampling|ZeroPadding|Cropping|SpatialDropout)"
    r"\w*[123]D(Transpose)?|GroupNormalization"
)
#: Layers that take axes in either order.
_EITHER = frozenset(
    (
        *("InputLayer", "Rescaling", "Normalization", "BatchNormalization", "Activation", "ReLU", "LeakyReLU", "PReLU"),
        *("ELU", "Dropout", "GaussianDropout", "GaussianNoise", "AlphaDropout", "Identity", "ActivityRegularization"),
        *(
            "Add",
            "Subtract",
            "Multiply",
            "Average",
            "Maximum",
            "Minimum",
            "Concatenate",
            "Divide",
            "Resizing",
            "CenterCrop",
        ),
        *("RandomFlip", "RandomRotation", "RandomZoom", "RandomTranslation", "RandomContrast", "RandomBrightness"),
    )
)


def prefers_channels_first(model: Model, name: str) -> bool:
    """Return True if the first layers after an input that do not take any order of axes are layers over windows."""
    after: dict[str, list[str]] = {}
    for layer in model.layers.values():
        for call in layer.calls:
            for reference in (*flat(call.args), *flat(call.kwargs)):
                after.setdefault(reference.layer, []).append(layer.name)
    seen, left = {name}, [name]
    while left:
        for follower in after.get(left.pop(), []):
            taker = model.layers.get(follower)
            if taker is None or follower in seen:
                continue
            seen.add(follower)
            if _WINDOWS.fullmatch(taker.kind):
                return True
            if taker.model is not None:
                if any(prefers_channels_first(taker.model, reference.layer) for reference in flat(taker.model.inputs)):
                    return True
            elif taker.kind in _EITHER:
                left.append(follower)
    return False

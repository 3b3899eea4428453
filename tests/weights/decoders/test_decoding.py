"""Decoders as the descriptions of methods name them."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from netcalc.schemes.methods import method_named, method_names
from netcalc.weights.packing.decoding import decoded, function
from netcalc.weights.packing.layouts import companions_of
from netcalc.weights.tensor_files import Arrays

LAYOUTS = [
    (method.name, number, layout)
    for name in method_names()
    if (method := method_named(name)) is not None
    for number, layout in enumerate(method.layouts)
]


@pytest.mark.parametrize(("method", "number"), [row[:2] for row in LAYOUTS])
def test_a_decoder_takes_the_arguments_of_its_layout(method: str, number: int) -> None:
    layout = next(layout for name, place, layout in LAYOUTS if (name, place) == (method, number))
    if layout.shape_reader:
        inspect.signature(function(layout.shape_reader)).bind({})
    if layout.decoder is not None:
        inspect.signature(function(layout.decoder.place)).bind({}, (), **layout.decoder.arguments)


def test_a_layout_without_a_decoder_is_refused() -> None:
    layout = next(layout for name, _, layout in LAYOUTS if name == "eetq")._replace(decoder=None)
    stored = Arrays({"up.weight": np.zeros((4, 8), np.int8), "up.weight_scales": np.zeros(8, np.float16)})
    packed = companions_of(layout, "up.weight", stored.headers)
    assert packed is not None
    with pytest.raises(ValueError, match="the layout of its numbers is not known"):
        decoded(packed, stored, {}, (8, 4))

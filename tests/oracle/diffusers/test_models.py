"""Models of diffusers at reduced sizes: parameters and FLOPs against the library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.formats.libraries.capture import captured_document
from tests.exhaustive.imports import OK
from tests.exhaustive.libraries import compared

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

#: Diffusers, and what it imports, call functions that PyTorch has newer ones for.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

REDUCED = json.loads((Path(__file__).parent / "reduced.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("fields", REDUCED, ids=lambda fields: fields["_class_name"])
def test_reduced_models(fields: dict[str, Any]) -> None:
    from netcalc.formats.diffusers.building import built

    assert compared(built(fields, {})) == OK


def test_sizes_of_latents_stay_dims() -> None:
    from netcalc.formats.diffusers.building import built

    fields = next(fields for fields in REDUCED if fields["_class_name"] == "UNet2DConditionModel")
    document = captured_document(built(fields, {"layers_per_block": 1}), ())
    network = netcalc.load_data(document, set={"batch": 2, "height": 48, "length": 20})
    assert [value.shape for value in network.outputs.values()] == [(2, 4, 48, fields["sample_size"])]


@pytest.mark.parametrize(
    ("fields", "settings", "message"),
    [
        ({"_class_name": "UNet2DConditionModell"}, {}, "has no model 'UNet2DConditionModell'"),
        ({"_class_name": "FluxPipeline"}, {}, "has no model 'FluxPipeline'"),
        ({"_class_name": ["UNet2DModel"]}, {}, "has no model"),
        ({"_class_name": "AutoencoderKL", "block_out_channels": "many"}, {}, "does not take the configuration"),
        ({"_class_name": "AutoencoderKL", "block_out_channels": [10**7]}, {}, "is not built"),
        ({"_class_name": "VQModel"}, {"latent_chanels": 4}, "--set latent_chanels: VQModel has no such field"),
    ],
)
def test_what_the_library_refuses(fields: dict[str, Any], settings: dict[str, Any], message: str) -> None:
    from netcalc.formats.diffusers.building import built

    with pytest.raises(netcalc.NetcalcError, match=message):
        built(fields, settings)

"""Models of diffusers at reduced sizes: parameters and FLOPs against the library, and folders of pipelines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netcalc
from netcalc.formats.libraries.capture import captured_document
from netcalc.formats.torch.calls import call_of
from netcalc.formats.torch.trial import error_of

torch = pytest.importorskip("torch")
pytest.importorskip("diffusers")

#: Diffusers, and what it imports, call functions that PyTorch has newer ones for.
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

REDUCED = json.loads((Path(__file__).parent / "reduced.json").read_text(encoding="utf-8"))


def _flops(module: Any, built: Any) -> int:
    from torch.utils.flop_counter import FlopCounterMode

    calls = (call_of(module, examples) for examples in built.calls)
    call = next(call for call in calls if error_of(module, call) is None)
    arguments = (call.args, {**call.kwargs, **call.constants})
    args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.to("meta"), arguments)
    uncounted = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with uncounted, FlopCounterMode(display=False) as counter, torch.no_grad():
        module(*args, **kwargs)
    return int(counter.get_total_flops())


@pytest.mark.parametrize("fields", REDUCED, ids=lambda fields: fields["_class_name"])
def test_reduced_models(fields: dict[str, Any]) -> None:
    from netcalc.formats.diffusers.building import built

    model = built(fields, {})
    model = model._replace(calls=[*model.calls])
    total = netcalc.load_data(captured_document(model, ())).analysis("torch").total
    assert total.params == sum(p.numel() for p in model.module.parameters())
    assert total.flops == _flops(model.module.to("meta"), model)


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


def test_a_part_of_a_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NETCALC_CACHE", str(tmp_path / "cache"))
    fields = next(fields for fields in REDUCED if fields["_class_name"] == "AutoencoderKL")
    (tmp_path / "vae").mkdir()
    (tmp_path / "vae" / "config.json").write_text(json.dumps(fields), encoding="utf-8")
    index = {"_class_name": "Pipeline", "vae": ["diffusers", "AutoencoderKL"], "scheduler": ["diffusers", "DDIM"]}
    (tmp_path / "model_index.json").write_text(json.dumps(index), encoding="utf-8")
    assert netcalc.load(tmp_path / "vae").params > 0
    with pytest.raises(netcalc.NetcalcError, match=r"is a pipeline of diffusers \(Pipeline\)") as caught:
        netcalc.load(tmp_path)
    assert str(caught.value.diagnostics[0].hint) == f"its models are {tmp_path}/vae"

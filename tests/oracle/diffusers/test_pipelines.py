"""Pipelines whose parts the libraries build, in a folder and on the Hub, against the classes themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import netcalc
from tests.formats.hub.server import Repository, ran_with, serving
from tests.formats.hub.test_hub import files_of
from tests.oracle.diffusers.test_models import REDUCED
from tests.test_pipelines import CLIP, pipeline

torch = pytest.importorskip("torch")
diffusers = pytest.importorskip("diffusers")

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

TOWER = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
#: A checker that transformers builds of a class of diffusers.
CHECKER = {
    "model_type": "clip",
    "architectures": ["StableDiffusionSafetyChecker"],
    "projection_dim": 32,
    "text_config": {"model_type": "clip_text_model", **TOWER},
    "vision_config": {"model_type": "clip_vision_model", **TOWER, "image_size": 32, "patch_size": 8},
    "torch_dtype": "float32",
}
VAE = next(fields for fields in REDUCED if fields["_class_name"] == "AutoencoderTiny")


def checker() -> Any:
    from diffusers.pipelines.stable_diffusion.safety_checker import StableDiffusionSafetyChecker
    from transformers import CLIPConfig

    return StableDiffusionSafetyChecker(CLIPConfig.from_dict(dict(CHECKER))).eval()


def test_models_of_all_libraries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    monkeypatch.setenv("NETCALC_CACHE", str(tmp_path / "cache"))
    folder = pipeline(tmp_path / "pipe", text_encoder=CLIP, safety_checker=CHECKER, vae=VAE)
    summary = netcalc.summarize_pipeline(folder, convention="torch")
    assert summary.diagnostics == ()
    safety = summary.parts[1]
    module = checker()
    images = [torch.zeros(1, 3, 32, 32), torch.zeros(1, 3, 32, 32)]
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:  # it counts no kernel of the CPU
        module(*images)  # the forward pass that decides by values
    assert safety.params == sum(p.numel() for p in module.parameters())
    assert safety.flops == counter.get_total_flops()
    vae = getattr(diffusers, VAE["_class_name"]).from_config(VAE)
    assert summary.parts[2].params == sum(p.numel() for p in vae.parameters())
    assert summary.totals.params == sum(part.params or 0 for part in summary.parts)


def test_repositories_on_the_hub(tmp_path: Path) -> None:
    folder = pipeline(tmp_path / "pipe", text_encoder=CLIP, vae=VAE)
    repositories = {
        "acme/pipeline": Repository(files_of(folder)),
        "acme/vae": Repository(files_of(folder / "vae")),
        "acme/lcnet": Repository({"config.json": b'{"architecture": "lcnet_050", "num_classes": 10}'}),
    }
    with serving(repositories) as hub:

        def params(name: str, command: str = "params") -> Any:
            cache = tmp_path / "cache"
            ran = ran_with(hub, cache, command, name, "-f", "json", NETCALC_CACHE=str(cache))
            assert ran.code == 0, ran.err
            return json.loads(ran.out)

        alone = params("hf:acme/vae")["totals"]["params"]
        assert alone == sum(p.numel() for p in diffusers.AutoencoderTiny.from_config(VAE).parameters())
        assert params("hf:acme/pipeline/vae")["totals"]["params"] == alone
        assert params("hf:acme/pipeline", "summary")["parts"][1]["params"] == alone
        lcnet = pytest.importorskip("timm").create_model("lcnet_050", num_classes=10)
        assert params("hf:acme/lcnet")["totals"]["params"] == sum(p.numel() for p in lcnet.parameters())


def test_classes_of_pipelines_are_found() -> None:
    from netcalc.formats.diffusers.classes import diffusers_class

    found = diffusers_class("StableDiffusionSafetyChecker")
    assert found is not None and found.__module__ == "diffusers.pipelines.stable_diffusion.safety_checker"
    assert diffusers_class("UNet2DModel") is diffusers.UNet2DModel
    assert [diffusers_class(name) for name in ("models", "Nothing", "os.path", 3)] == [None] * 4

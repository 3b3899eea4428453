"""The models of the benchmarks, and cases: a model at a batch size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from netcalc import Network

__all__ = ["MODELS", "REFERENCE", "Case", "Model"]


class Model(NamedTuple):
    """A spec and its settings.

    ``peer`` names a module of ``peers`` and the torch class or function of the network, and ``dims`` the sizes of the
    spec that a batch size sets.  Outputs may differ from torch's by ``tolerance`` of the largest element.
    """

    name: str
    settings: dict[str, Any]
    peer: str
    dims: tuple[str, ...] = ("batch",)
    tolerance: float = 1e-4

    def sizes(self, batch: int) -> dict[str, Any]:
        """Return the settings at a batch size."""
        return self.settings | dict.fromkeys(self.dims, batch)


MODELS = {
    model.name: model
    for model in (
        Model("resnet34", {}, "vision:resnet34"),
        Model("resnet50", {}, "vision:resnet50"),
        Model("vgg16", {}, "vision:vgg16"),
        Model("googlenet", {}, "vision:googlenet"),
        Model("inception_v3", {}, "vision:inception_v3"),
        Model("densenet121", {}, "vision:densenet121"),
        Model("mobilenet_v2", {}, "vision:mobilenet_v2"),
        Model("mobilenet_v3_large", {}, "vision:mobilenet_v3_large"),
        Model("shufflenet_v2_x1_0", {}, "vision:shufflenet_v2_x1_0"),
        Model("efficientnet_b0", {}, "vision:efficientnet_b0"),
        Model("regnet_y_400mf", {}, "vision:regnet_y_400mf"),
        Model("convnext_tiny", {}, "vision:convnext_tiny"),
        Model("unet", {"height": 256, "width": 256}, "unet:UNet"),
        Model("vit_b_16", {}, "vision:vit_b_16"),
        Model("swin_t", {}, "vision:swin_t"),
        Model("detr-resnet-50", {"height": 480, "width": 640}, "pairs:Detr"),
        Model("bert-base", {"length": 128}, "text:Bert"),
        Model("distilbert-base", {"length": 128}, "text:DistilBert"),
        Model("roberta-base", {"length": 128}, "text:Roberta"),
        Model("t5-small", {"source": 128, "target": 128}, "pairs:T5"),
        Model("whisper-tiny", {"target": 64}, "pairs:Whisper"),
        Model("gpt2", {"length": 128}, "text:GPT2"),
        Model("qwen2-0.5b", {"length": 64, "layers": 8}, "text:Qwen2"),
        # torch's own float32 differs from float64 by 6e-4
        Model("mamba-130m", {"length": 64}, "text:Mamba", tolerance=2e-3),
        Model("lstm", {"features": 512, "hidden": 512, "layers": 2, "length": 100}, "text:LSTM"),
        Model("alexnet", {}, "vision:alexnet"),
        Model("squeezenet1_1", {}, "vision:squeezenet1_1"),
        Model("resnext50_32x4d", {}, "vision:resnext50_32x4d"),
        Model("wide_resnet50_2", {}, "vision:wide_resnet50_2"),
        Model("mnasnet1_0", {}, "vision:mnasnet1_0"),
        Model("mobilenet_v3_small", {}, "vision:mobilenet_v3_small"),
        Model("efficientnet_v2_s", {}, "vision:efficientnet_v2_s"),
        Model("regnet_x_400mf", {}, "vision:regnet_x_400mf"),
        Model("convnextv2-tiny", {}, "images:ConvNextV2"),
        Model("mobilevit-small", {}, "images:MobileViT"),
        Model("mixer_b16", {}, "images:Mixer"),
        Model("vit_b_32", {}, "vision:vit_b_32"),
        Model("dinov2-small", {"mask_token": False}, "images:Dinov2"),
        Model("swin_v2_t", {}, "vision:swin_v2_t"),
        Model("segformer-b0", {"height": 512, "width": 512}, "images:Segformer"),
        Model("clip-vit-base-patch32", {}, "images:Clip", ("images", "texts")),
        Model("wav2vec2-base", {"length": 16000}, "encoders:Wav2Vec2"),
        Model("albert-base", {"length": 128}, "encoders:Albert"),
        Model("electra-small", {"length": 128}, "encoders:Electra"),
        Model("mpnet-base", {"length": 128}, "encoders:MPNet"),
        Model("modernbert-base", {"length": 128}, "encoders:ModernBert"),
        Model("bart-base", {"source": 128, "target": 128}, "pairs:Bart"),
        Model("opt-125m", {"length": 128}, "decoders:OPT"),
        Model("gpt-neo-125m", {"length": 128}, "decoders:GPTNeo"),
        Model("pythia-70m", {"length": 128}, "decoders:Pythia"),
        Model("qwen3-0.6b", {"length": 128, "layers": 8}, "decoders:Qwen3"),
        Model("gemma-3-1b", {"length": 128, "layers": 6}, "decoders:Gemma3"),
    )
}
#: Models and batch sizes that onnx's ReferenceEvaluator runs too; it would take most of the time of a run of all.
REFERENCE = {("resnet34", 1), ("mobilenet_v2", 1), ("bert-base", 1), ("lstm", 1)}


class Case(NamedTuple):
    """A network at a batch size, and a folder with its weights, inputs and outputs, which all engines read.

    The weights are those of all batch sizes.
    """

    model: Model
    batch: int
    root: Path

    @property
    def network(self) -> Network:
        """The elaborated spec."""
        import netcalc  # not in the processes of the other engines, whose memory is measured

        return netcalc.load(self.model.name, set=self.model.sizes(self.batch), dtype="float32")

    @property
    def weights(self) -> Path:
        """The weights, by the names of torchvision, transformers and torch."""
        return self.root / "weights.safetensors"

    @property
    def folder(self) -> Path:
        """The files of this batch size."""
        return self.root / f"batch-{self.batch}"

    @property
    def onnx(self) -> Path:
        """The torch module, exported."""
        return self.folder / "model.onnx"

    @property
    def not_exported(self) -> Path:
        """Why there is no export."""
        return self.folder / "not_exported.txt"

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs by the names of the spec, in its order."""
        return _arrays(self.folder / "inputs.npz")

    @property
    def outputs(self) -> dict[str, np.ndarray]:
        """The outputs of torch, by the names of the spec, in its order."""
        return _arrays(self.folder / "outputs.npz")

    @property
    def output_names(self) -> list[str]:
        """The names of the outputs, in order."""
        with np.load(self.folder / "outputs.npz") as arrays:
            return list(arrays.files)

    def keep(self, inputs: dict[str, np.ndarray], outputs: dict[str, np.ndarray]) -> None:
        """Write inputs and outputs."""
        np.savez(self.folder / "inputs.npz", **inputs)
        np.savez(self.folder / "outputs.npz", **outputs)


def _arrays(file: Path) -> dict[str, np.ndarray]:
    with np.load(file) as arrays:
        return dict(arrays)

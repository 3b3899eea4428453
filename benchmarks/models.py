"""The models of the benchmarks, and cases: a model at a batch size."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from netcalc import Network

__all__ = ["MODELS", "Case", "Model"]


class Model(NamedTuple):
    """A spec and its settings; ``peer`` names a module of ``peers`` and the torch class or function of the network."""

    name: str
    settings: dict[str, Any]
    peer: str


MODELS = {
    model.name: model
    for model in (
        Model("resnet34", {}, "convolutional:resnet34"),
        Model("resnet50", {}, "convolutional:resnet50"),
        Model("mobilenet_v2", {}, "convolutional:MobileNetV2"),
        Model("vit_b_16", {}, "vit:VisionTransformer"),
        Model("bert-base", {"length": 128}, "sequence:Bert"),
        Model("gpt2", {"length": 128}, "sequence:GPT2"),
        Model("lstm", {"features": 512, "hidden": 512, "layers": 2, "length": 100}, "sequence:LSTM"),
    )
}


class Case(NamedTuple):
    """A network, and a folder with its weights, inputs and expected outputs, which all engines read."""

    model: Model
    batch: int
    folder: Path

    @property
    def network(self) -> Network:
        """The elaborated spec."""
        import netcalc  # not in the processes of the other engines, whose memory is measured

        return netcalc.load(self.model.name, set=self.model.settings | {"batch": self.batch})

    @property
    def weights(self) -> Path:
        """The weights, by the names of torchvision, transformers and torch."""
        return self.folder / "weights.safetensors"

    @property
    def onnx(self) -> Path:
        """The torch module, exported."""
        return self.folder / "model.onnx"

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

"""Models that PyTorch exports to ONNX: outputs of onnxruntime, and figures and length of the spec of the module."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc

torch: Any = pytest.importorskip("torch")
onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
transformers = pytest.importorskip("transformers")

Network = tuple[Any, Any]


def resnet18() -> Network:
    torchvision = pytest.importorskip("torchvision")
    return torchvision.models.resnet18(num_classes=10), torch.randn(1, 3, 64, 64)


def bert() -> Network:
    config = transformers.BertConfig(
        hidden_size=64, intermediate_size=128, num_hidden_layers=3, num_attention_heads=4, vocab_size=100
    )
    return _first_result(transformers.BertModel(config, add_pooling_layer=False)), torch.randint(0, 100, (1, 8))


def gpt2() -> Network:
    config = transformers.GPT2Config(n_embd=64, n_layer=3, n_head=4, vocab_size=100, bos_token_id=1, eos_token_id=1)
    config.use_cache = False
    return _first_result(transformers.GPT2LMHeadModel(config)), torch.randint(0, 100, (1, 8))


def lstm() -> Network:
    class Tagger(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = torch.nn.LSTM(10, 16, bidirectional=True)
            self.head = torch.nn.Linear(32, 5)

        def forward(self, x: Any) -> Any:
            return self.head(self.lstm(x)[0])

    return Tagger(), torch.randn(6, 2, 10)


def _first_result(model: Any) -> Any:
    class First(torch.nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, x: Any) -> Any:
            return self.model(x)[0]

    return First()


def exported(module: Any, x: Any, path: Path, *, dynamo: bool) -> Path:
    """Write a module, with parameters and statistics that differ from each other, to a file."""
    module.eval()
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape) * 0.1)
        for name, buffer in module.named_buffers():
            if name.endswith("running_var"):
                buffer.uniform_(0.5, 1.5)
    options: dict[str, Any] = {"dynamo": True, "external_data": False} if dynamo else {"dynamo": False}
    quiet = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(quiet), contextlib.redirect_stderr(quiet):
        warnings.simplefilter("ignore")
        torch.onnx.export(module, (x,), path, verbose=False, **options)
    return path


@pytest.mark.parametrize(
    ("model", "dynamo", "folded"),
    [(resnet18, False, True), (resnet18, True, True), (bert, True, False), (gpt2, True, True), (lstm, False, False)],
)
def test_exports_give_what_the_module_gives(
    model: Callable[[], Network], dynamo: bool, folded: bool, tmp_path: Path
) -> None:
    """Norms that an export folds into convolutions, and copies of tied weights (``folded``), are other parameters."""
    module, x = model()
    path = exported(module, x, tmp_path / "model.onnx", dynamo=dynamo)
    net, reference = netcalc.load(path), netcalc.from_torch(module, x)
    assert net.macs == reference.macs
    assert folded or net.params == reference.params
    assert len(net.to_yaml().splitlines()) <= 1.5 * len(reference.to_yaml().splitlines())
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (name,) = (node.name for node in session.get_inputs())
    wanted = session.run(None, {name: x.numpy()})[0]
    (given,) = netcalc.load(path).program.inputs
    result = next(iter(net.run({given.name: x.numpy()}, weights=net.own_weights).outputs.values()))
    assert np.abs(result - wanted).max() <= 1e-5 * np.abs(wanted).max()

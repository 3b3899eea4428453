"""Modules imported in training mode: graphs, outputs with batch statistics and the same draws, work of a step."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc import NetcalcError
from netcalc.cli import main
from tests.oracle.module_outputs import Case, by_name
from tests.oracle.network_flops import assert_same_flops

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("timm")

from timm.layers import DropPath  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torchvision import models  # noqa: E402
from torchvision.models import GoogLeNet  # noqa: E402
from torchvision.ops import StochasticDepth  # noqa: E402

IMAGE = (torch.zeros(4, 3, 8, 8),)


class Frozen(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Norms that stay in inference, as in the backbones of detectors."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.norm = nn.BatchNorm2d(4)
        self.tracked = nn.InstanceNorm2d(4, track_running_stats=True)
        self.drop = nn.Dropout(0.5)

    def train(self, mode: bool = True) -> Frozen:
        super().train(mode)
        for part in (self.norm, self.tracked, self.drop):
            part.eval()
        return self

    def forward(self, x: Any) -> Any:
        return self.drop(self.tracked(self.norm(self.conv(x))))


class Shared(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A norm that is used three times, once of these without gradients."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)

    def forward(self, x: Any) -> Any:
        for _ in range(2):
            x = self.norm(self.conv(x)).relu()
        with torch.no_grad():
            return x + self.norm(x)


class Sequence(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Recurrent layers and attention that drop."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(8, 8, 3, dropout=0.3, batch_first=True)
        self.attention = nn.MultiheadAttention(8, 2, dropout=0.2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)

    def forward(self, x: Any) -> Any:
        x, _ = self.lstm(x)
        fused, _ = self.attention(x, x, x, need_weights=False)
        written, weights = self.attention(x, x, x)
        return self.layer(fused + written), weights, functional.gumbel_softmax(x)


class Heads(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A second head in training."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Linear(6, 6)
        self.main = nn.Linear(6, 3)
        self.auxiliary = nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        x = self.body(x)
        return {"main": self.main(x), "auxiliary": self.auxiliary(x)} if self.training else {"main": self.main(x)}


def norms() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, bias=False),
        nn.BatchNorm2d(4, eps=1e-3, momentum=0.01),
        nn.ReLU(inplace=True),
        nn.SyncBatchNorm(4),
        nn.BatchNorm2d(4, affine=False),
        nn.BatchNorm2d(4, track_running_stats=False),
        nn.BatchNorm2d(4, momentum=None),
        nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        nn.InstanceNorm2d(4),
    )


def drops() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3),
        nn.Dropout(0.2),
        nn.Dropout(0.3, inplace=True),
        nn.Dropout2d(0.3),
        nn.AlphaDropout(0.2),
        nn.FeatureAlphaDropout(0.3),
        nn.RReLU(),
        StochasticDepth(0.2, "row"),
        StochasticDepth(0.3, "batch"),
        DropPath(0.15),
    )


CASES = [
    Case("norms", norms, IMAGE),
    Case("drops", drops, IMAGE),
    Case("frozen", Frozen, IMAGE),
    Case("shared", Shared, IMAGE),
    Case("sequence", Sequence, (torch.zeros(2, 5, 8),)),
    Case("heads", Heads, (torch.zeros(2, 6),)),
]


@by_name(CASES)
def test_outputs_in_training_mode(case: Case) -> None:
    module = case.make().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = netcalc.from_torch(module, *case.args, training=True)
        report = net.verify_against(module, *case.args)
    assert report.ok, report
    assert all(output.difference < 1e-5 for output in report.outputs)
    assert not any(part.training for part in module.modules())
    assert net.params == sum(parameter.numel() for parameter in module.parameters())
    again = netcalc.loads(net.to_yaml(), mode="train")
    assert again.cost("torch", training="adam") == net.cost("torch", training="adam")
    assert again.verify(backward=True).ok


def test_running_statistics_are_updated_as_in_torch() -> None:
    torch.manual_seed(0)
    module, image = norms(), torch.randn(4, 3, 8, 8)
    net = netcalc.from_torch(module, image, training=True)
    state = {name: tensor.numpy().copy() for name, tensor in module.state_dict().items()}
    updated = net.run({"input": image.numpy()}, weights=state).buffers
    module.train()(image)
    expected = {name: tensor.numpy() for name, tensor in module.named_buffers()}
    assert expected.keys() - updated.keys() == {"7.num_batches_tracked"}  # an instance norm does not count
    for name, array in updated.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_counts_of_batches_are_no_lines(device: str) -> None:
    with torch.device(device):
        module, image = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)), torch.zeros(2, 3, 8, 8)
    text = netcalc.from_torch(module, image, training=True).to_yaml()
    assert text.partition("layers:\n")[2].count("\n  - ") == 1, text


def test_layers_stay_readable() -> None:
    net = netcalc.from_torch(drops(), *IMAGE, training=True)
    operations = {instance.path: instance.op for instance in net.summary().layers if instance.op}
    assert {
        "1": "dropout",
        "3": "dropout",
        "7": "stochastic_depth",
        "9": "stochastic_depth",
    }.items() <= operations.items()
    assert "stochastic_depth: 0.2" in net.to_yaml() and "{p: 0.3, mode: batch}" in net.to_yaml()


def test_a_network_captured_in_training_mode_is_in_mode_train() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.2))
    trained, inferred = (netcalc.from_torch(module, *IMAGE, training=training) for training in (True, False))
    assert trained.program.training and not inferred.program.training
    assert trained.flops > inferred.flops
    # layers that depend on the mode are the same lines in both, so that a step costs the same
    assert trained.cost(training="adam") == inferred.cost(training="adam")


def test_an_auxiliary_head_is_in_the_graph_of_training_alone() -> None:
    x = torch.zeros(2, 6)
    module = Heads()
    trained, inferred = (netcalc.from_torch(module, x, training=training) for training in (True, False))
    assert trained.program.output_names == ("main", "auxiliary")
    assert inferred.program.output_names == ("main",)
    assert trained.cost("torch").flops - inferred.cost("torch").flops == 2 * 2 * 6 * 3
    assert netcalc.summary(module, x, training=True).totals.macs == trained.macs
    assert module.training


def test_a_program_exported_in_training_mode() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.2)).train()
    program = torch.export.export(module, IMAGE, strict=False)
    net = netcalc.from_torch(program, training=True)
    assert net.cost(training="adam") == netcalc.from_torch(module, *IMAGE, training=True).cost(training="adam")
    # in inference it drops and takes statistics of the batch too
    text = netcalc.from_torch(program).to_yaml()
    assert "bernoulli" in text and "track_running_stats: false" in text


def test_random_numbers_that_decide_what_is_computed() -> None:
    class LayerDrop(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: Any) -> Any:
            return x if self.training and torch.rand([]) < 0.5 else self.fc(x)

    x = torch.zeros(2, 4)
    assert netcalc.from_torch(LayerDrop(), x).params == 20
    with pytest.raises(NetcalcError, match="refuses the module"):
        netcalc.from_torch(LayerDrop(), x, training=True)


def test_training_is_true_or_false() -> None:
    with pytest.raises(NetcalcError, match="the argument 'training' should be True or False, not 'adam'"):
        netcalc.from_torch(Heads(), torch.zeros(2, 6), training="adam")


def test_import_in_mode_train(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    text = "import torch\nfrom tests.oracle.test_torch_training import Heads\n"
    (tmp_path / "models_in_training.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    source = ["import", "torch:models_in_training:Heads", "-e", "x=float32:2,6"]
    assert main([*source, "--mode", "train", "--verify", "-o", "heads.yaml"]) == 0
    assert "outputs, FLOPs and parameters agree" in capsys.readouterr().out
    assert netcalc.load("heads.yaml").program.output_names == ("main", "auxiliary")
    assert main(["import", "config.json", "--mode", "train"]) == 2
    assert "--mode" in capsys.readouterr().err


#: Models of torchvision with their sizes of images; two have auxiliary heads in training.
MODELS = {
    "googlenet": (partial(GoogLeNet, init_weights=False), 64),
    "inception_v3": (partial(models.inception_v3, init_weights=False), 299),
    "resnet18": (models.resnet18, 32),
    "mobilenet_v3_small": (models.mobilenet_v3_small, 32),
    "vit_b_16": (
        partial(models.VisionTransformer, 32, 16, num_layers=2, num_heads=12, hidden_dim=768, mlp_dim=3072),
        32,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_flops_of_a_step(name: str) -> None:
    make, size = MODELS[name]
    with torch.device("meta"):
        module, image = make().train(), torch.empty(2, 3, size, size)
    net = netcalc.from_torch(module, image, training=True)

    def outputs() -> dict[str, Any]:
        result = module(image)
        return dict(zip(net.program.output_names, result if isinstance(result, tuple) else (result,), strict=True))

    assert_same_flops(net.program, outputs)
    assert net.params == sum(parameter.numel() for parameter in module.parameters())

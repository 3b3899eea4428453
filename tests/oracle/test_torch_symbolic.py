"""Modules of PyTorch imported with symbolic sizes: the formulas give PyTorch's own figures at other sizes."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import pytest
import yaml

import netcalc
from netcalc import NetcalcError
from netcalc.dims import default_of
from tests.oracle import conftest  # noqa: F401 - imports torchvision

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402, N812

from tests.oracle.torch_modules import plain_operators  # noqa: E402

Sizes = Mapping[str, int]
#: Element type and shape of each input, with the names of its symbolic sizes.
Inputs = Mapping[str, tuple[str, Sequence[int | str]]]


class Case(NamedTuple):
    """A module with its inputs; the first of the sizes are those of the export."""

    make: Callable[[], Any]
    inputs: Inputs
    sizes: Sequence[Sizes]
    constants: Mapping[str, Any] = {}


def text(*sizes: tuple[int, int]) -> list[Sizes]:
    return [{"batch": batch, "length": length} for batch, length in sizes]


def pictures(*sizes: tuple[int, int, int]) -> list[Sizes]:
    return [{"batch": batch, "height": height, "width": width} for batch, height, width in sizes]


def transformers(model: str, **settings: Any) -> Callable[[], Any]:
    """Return a function that makes a model of transformers with random weights."""

    def make() -> Any:
        library = pytest.importorskip("transformers")
        kind = getattr(library, model)
        return kind(kind.config_class(**settings))

    return make


def torchvision(model: str, **settings: Any) -> Callable[[], Any]:
    return lambda: pytest.importorskip("torchvision.models").get_model(model, weights=None, **settings)


def timm(model: str, **settings: Any) -> Callable[[], Any]:
    return lambda: pytest.importorskip("timm").create_model(model, pretrained=False, **settings)


def efficientnet() -> Any:
    library = pytest.importorskip("torchvision").models.efficientnet
    blocks = [library.MBConvConfig(1, 3, 1, 16, 16, 1), library.MBConvConfig(4, 5, 2, 16, 24, 2)]
    return library.EfficientNet(blocks, 0.1)


IDS: Inputs = {"input_ids": ("int64", ["batch", "length"])}
IMAGE: Inputs = {"x": ("float32", ["batch", 3, "height", "width"])}
NO_CACHE = {"use_cache": False}
SIZES = text((2, 12), (1, 7), (3, 33), (5, 16))
DECODER = {
    "vocab_size": 99,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 64,
    "head_dim": 8,
    "pad_token_id": 0,
}
SEQ2SEQ: Inputs = {
    "input_ids": ("int64", ["batch", "length"]),
    "decoder_input_ids": ("int64", ["batch", "target"]),
}
SEQ2SEQ_SIZES = [
    {"batch": batch, "length": length, "target": target}
    for batch, length, target in ((2, 12, 9), (1, 7, 3), (3, 20, 30), (4, 5, 6))
]


# -- modules written by hand ------------------------------------------------------------------------


class Flattened(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 6, 3, stride=2)
        self.fc = nn.Linear(6, 5)

    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        rows = y.flatten(2).transpose(1, 2)
        return self.fc(rows), y.flatten(1).sum(1), y.view(x.shape[0], -1)


class Joined(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 6)
        self.token = nn.Parameter(torch.zeros(1, 1, 4))

    def forward(self, x: Any) -> Any:
        batch, length, _ = x.shape
        y = torch.cat([self.token.expand(batch, -1, -1), x], 1)
        y = F.pad(y, (0, 0, 2, length % 2))
        heads = self.fc(y).view(batch, -1, 2, 3).permute(0, 2, 1, 3)
        scores = heads @ heads.transpose(-1, -2)
        return scores[:, :, : length // 2, 1:], y[:, ::2].mean(1), y.reshape(-1, 4)


class Resized(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 4, 3, 2, 1)
        self.up = nn.ConvTranspose2d(4, 4, 2, 2)

    def forward(self, x: Any) -> Any:
        y = self.down(x)
        up = F.interpolate(y, scale_factor=2.0, mode="bilinear")
        like = F.interpolate(y, size=x.shape[-2:], mode="nearest")
        return up, like + x[:, :1], self.up(y), F.adaptive_avg_pool2d(y, 1)


class Masked(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.position = nn.Embedding(40, 8)
        self.qkv = nn.Linear(8, 24)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        x = x + self.position(torch.arange(length, device=x.device))
        q, k, v = self.qkv(x).reshape(batch, length, 3, 2, width // 2).permute(2, 0, 3, 1, 4).unbind(0)
        mask = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        causal = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return causal.transpose(1, 2).reshape(batch, length, width), x.sum(1) / length


class Recurrent(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(12, 5)

    def forward(self, x: Any) -> Any:
        y, _ = self.lstm(x)
        return self.gru(y.transpose(0, 1))


class Seq2Seq(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Transformer(16, 2, 2, 1, 32, batch_first=True)

    def forward(self, source: Any, target: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(target.shape[1], device=target.device)
        return self.net(source, target, tgt_mask=mask, tgt_is_causal=True)


CASES: dict[str, Case] = {
    "flattened": Case(Flattened, IMAGE, pictures((2, 9, 12), (1, 7, 8), (3, 33, 5), (4, 16, 17))),
    "joined": Case(Joined, {"x": ("float32", ["batch", "length", 4])}, SIZES),
    "resized": Case(Resized, IMAGE, pictures((2, 9, 12), (1, 7, 8), (3, 33, 5), (4, 16, 17))),
    "masked": Case(Masked, {"x": ("float32", ["batch", "length", 8])}, SIZES),
    "recurrent": Case(Recurrent, {"x": ("float32", ["batch", 7, 4])}, [{"batch": n} for n in (2, 1, 3, 8)]),
    "encoder": Case(
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2),
        {"src": ("float32", ["batch", "length", 16])},
        SIZES,
    ),
    "transformer": Case(
        Seq2Seq,
        {"source": ("float32", ["batch", "length", 16]), "target": ("float32", ["batch", "target", 16])},
        SEQ2SEQ_SIZES,
    ),
    "bert": Case(
        transformers(
            "BertModel", vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48
        ),
        {**IDS, "attention_mask": ("int64", ["batch", "length"])},
        SIZES,
    ),
    "gpt2": Case(transformers("GPT2LMHeadModel", vocab_size=99, n_embd=32, n_layer=2, n_head=4), IDS, SIZES, NO_CACHE),
    "llama": Case(transformers("LlamaForCausalLM", **DECODER), IDS, SIZES, NO_CACHE),
    "mistral": Case(transformers("MistralModel", **DECODER, sliding_window=10), IDS, SIZES, NO_CACHE),
    "mistral_wide": Case(transformers("MistralModel", **DECODER, sliding_window=50), IDS, SIZES, NO_CACHE),
    "qwen2": Case(transformers("Qwen2ForCausalLM", **DECODER), IDS, SIZES, NO_CACHE),
    "gemma2": Case(transformers("Gemma2ForCausalLM", **DECODER, sliding_window=10), IDS, SIZES, NO_CACHE),
    "gemma3": Case(transformers("Gemma3ForCausalLM", **DECODER, sliding_window=10), IDS, SIZES, NO_CACHE),
    "t5": Case(
        transformers("T5Model", vocab_size=99, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4),
        SEQ2SEQ,
        SEQ2SEQ_SIZES,
        NO_CACHE,
    ),
    "bart": Case(
        transformers(
            "BartModel",
            vocab_size=99,
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            max_position_embeddings=64,
        ),
        SEQ2SEQ,
        SEQ2SEQ_SIZES,
        NO_CACHE,
    ),
    "opt": Case(
        transformers(
            "OPTModel",
            vocab_size=99,
            hidden_size=32,
            num_hidden_layers=2,
            ffn_dim=48,
            num_attention_heads=4,
            word_embed_proj_dim=32,
            max_position_embeddings=64,
        ),
        IDS,
        SIZES,
        NO_CACHE,
    ),
    "bloom": Case(transformers("BloomModel", vocab_size=99, hidden_size=32, n_layer=2, n_head=4), IDS, SIZES, NO_CACHE),
    "whisper": Case(
        transformers(
            "WhisperModel",
            vocab_size=99,
            d_model=32,
            encoder_layers=2,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=48,
            decoder_ffn_dim=48,
            max_source_positions=20,
            max_target_positions=40,
            num_mel_bins=8,
            pad_token_id=0,
        ),
        {"input_features": ("float32", ["batch", 8, 40]), "decoder_input_ids": ("int64", ["batch", "target"])},
        [{"batch": batch, "target": target} for batch, target in ((2, 9), (1, 3), (3, 30), (4, 6))],
        NO_CACHE,
    ),
    "segformer": Case(
        transformers(
            "SegformerForSemanticSegmentation",
            num_encoder_blocks=2,
            depths=[1, 1],
            sr_ratios=[4, 2],
            hidden_sizes=[8, 16],
            num_attention_heads=[1, 2],
            patch_sizes=[7, 3],
            strides=[4, 2],
            mlp_ratios=[2, 2],
            decoder_hidden_size=16,
        ),
        {"pixel_values": IMAGE["x"]},
        [
            {"batch": batch, "height": height, "width": width}
            for batch, height, width in ((2, 64, 96), (1, 64, 64), (3, 160, 64), (4, 101, 131))
        ],
    ),
    "vit": Case(
        transformers(
            "ViTModel",
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=48,
            image_size=32,
            patch_size=8,
        ),
        {"pixel_values": ("float32", ["batch", 3, 32, 32])},
        [{"batch": n} for n in (2, 1, 3, 8)],
    ),
    "swin": Case(
        lambda: __import__("torchvision").models.swin_transformer.SwinTransformer([4, 4], 16, [2, 1], [2, 4], [7, 7]),
        {"x": ("float32", ["batch", 3, 56, 64])},
        [{"batch": n} for n in (2, 1, 3, 8)],
    ),
    "convnext": Case(
        timm("convnext_atto", depths=(1, 1, 1, 1), dims=(8, 8, 16, 16)),
        IMAGE,
        pictures((2, 64, 96), (1, 70, 64), (3, 128, 65), (2, 99, 101)),
    ),
    "resnet18": Case(torchvision("resnet18"), IMAGE, pictures((2, 64, 96), (1, 70, 64), (3, 128, 65), (2, 99, 101))),
    "mobilenet": Case(
        torchvision("mobilenet_v3_small"), IMAGE, pictures((2, 64, 96), (1, 70, 64), (3, 128, 65), (2, 99, 101))
    ),
    "densenet": Case(
        lambda: __import__("torchvision").models.densenet.DenseNet(8, (2, 2, 2), 16),
        IMAGE,
        pictures((2, 64, 96), (1, 70, 64), (3, 128, 65), (2, 99, 101)),
    ),
    "efficientnet": Case(efficientnet, IMAGE, pictures((2, 64, 96), (1, 70, 64), (3, 128, 65), (2, 99, 101))),
}


def example(inputs: Inputs, sizes: Sizes, device: str = "cpu") -> dict[str, Any]:
    """Return tensors of the inputs' shapes at some sizes."""
    tensors = {}
    for name, (dtype, shape) in inputs.items():
        whole = [sizes[size] if isinstance(size, str) else size for size in shape]
        if dtype == "int64":
            tensors[name] = (
                torch.randint(2, 60, whole, device=device)
                if name != "attention_mask"
                else torch.ones(whole, dtype=torch.int64, device=device)
            )
        else:
            tensors[name] = torch.randn(whole, device=device)
    return tensors


def figures(network: Any) -> dict[str, Any]:
    """Return the figures and shapes of outputs of a network."""
    return {
        "params": network.params,
        "macs": network.macs,
        "flops": network.flops,
        "torch": network.cost("torch").flops,
        "outputs": shapes_of(network),
    }


def shapes_of(network: Any) -> list[tuple[int, ...]]:
    return [tuple(value.known_type.shape) for value in network.program.main.outputs]


def torch_figures(module: Any, tensors: Mapping[str, Any], constants: Mapping[str, Any]) -> tuple[int, list[Any]]:
    """Return the FLOPs that PyTorch counts and the shapes of the outputs."""
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    with (
        plain_operators(),
        torch.no_grad(),
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        counter,
    ):
        found = module(**tensors, **constants)
    leaves = torch.utils._pytree.tree_leaves(found)
    return counter.get_total_flops(), [tuple(leaf.shape) for leaf in leaves if isinstance(leaf, torch.Tensor)]


def symbolic(case: Case) -> Any:
    """Return the network of a module, which has no data, with symbolic sizes."""
    dynamic = {
        name: {axis: size for axis, size in enumerate(shape) if isinstance(size, str)}
        for name, (_, shape) in case.inputs.items()
    }
    with torch.device("meta"):
        module = case.make()
    tensors = example(case.inputs, case.sizes[0], "meta")
    return netcalc.from_torch(module, dynamic=dynamic, **tensors, **case.constants)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", CASES)
def test_formulas_give_the_figures_of_other_sizes(name: str) -> None:
    case = CASES[name]
    module = case.make().eval()
    network = symbolic(case)
    again = netcalc.loads(network.to_yaml(), symbolic=list(case.sizes[0]))
    assert {dim: default_of(size) for dim, size in network.program.dims.items()} == case.sizes[0]
    assert figures(again) == figures(network)
    for sizes in case.sizes:
        sized = network.specialize(**sizes)
        counted, shapes = torch_figures(module, example(case.inputs, sizes), case.constants)
        assert sized.cost("torch").flops == counted, sizes
        assert shapes_of(sized) == shapes, sizes
        assert sized.params == sum(parameter.numel() for parameter in module.parameters())
    sizes = case.sizes[list(CASES).index(name) % len(case.sizes)]  # an import takes longer than the rest
    static = figures(netcalc.from_torch(module, **example(case.inputs, sizes), **case.constants))
    assert figures(network.specialize(**sizes)) == static
    assert figures(netcalc.loads(network.to_yaml(), set=dict(sizes))) == static


@pytest.mark.parametrize("name", ["joined", "encoder", "llama", "t5", "resnet18"])
def test_outputs_at_a_size_that_was_not_exported(name: str) -> None:
    case = CASES[name]
    found = symbolic(case).verify_against(case.make(), **example(case.inputs, case.sizes[1]), **case.constants)
    assert found.ok, found


class Grouped(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        return x.unflatten(1, (-1, 4))[:, 2:], x.unflatten(1, (6, -1))


def test_limits_of_sizes() -> None:
    network = netcalc.from_torch(Grouped(), torch.ones(1, 24, 3), dynamic=["batch", "length"])
    dims = yaml.safe_load(network.to_yaml())["dims"]
    assert (dims["batch"], dims["length"]["default"], dims["length"]["multiple_of"]) == (1, 24, 12)
    assert shapes_of(network.specialize(batch=3, length=36)) == [(3, 7, 4, 3), (3, 6, 6, 3)]
    with pytest.raises(NetcalcError, match="length should be"):
        network.specialize(length=28)


class Padded(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        length = x.shape[1]
        return F.pad(x, (0, 0, 0, math.ceil(length / 8) * 8 - length)), x[:, : math.floor(length * 0.7)]


@pytest.mark.parametrize("length", [16, 17, 33, 40])
def test_sizes_that_are_rounded(length: int) -> None:
    network = netcalc.from_torch(Padded(), torch.ones(2, 20, 3), dynamic=["batch", "length"])
    expected = [tuple(tensor.shape) for tensor in Padded()(torch.ones(3, length, 3))]
    assert shapes_of(network.specialize(batch=3, length=length)) == expected


class Halved(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        return x[:, : int(x.shape[1] * 0.5)]


class Scaled(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        return x * x.shape[1] ** -0.5


@pytest.mark.parametrize(
    ("module", "message"), [(Halved, r"fixes TruncToInt\(0\.5\*ToFloat\(length\)\) at 10"), (Scaled, "no polynomial")]
)
def test_what_only_one_size_allows_is_refused(module: Any, message: str) -> None:
    with pytest.raises(NetcalcError, match=message) as caught:
        netcalc.from_torch(module(), torch.ones(2, 20, 3), dynamic=["batch", "length"])
    assert [problem.code for problem in caught.value.diagnostics] == ["E009"]


class Same(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, x: Any) -> Any:
        return x


def test_a_module_that_returns_its_input() -> None:
    network = netcalc.from_torch(Same(), torch.ones(2, 3), dynamic=["batch"])
    assert shapes_of(network.specialize(batch=5)) == [(5, 3)]
    assert (network.params, network.flops) == (0, 0)


class Product(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    def forward(self, a: Any, b: Any) -> Any:
        return a @ b.transpose(-1, -2)


@pytest.mark.parametrize("dynamic", [None, ["batch", "length"]])
def test_a_tensor_that_is_given_twice(dynamic: Any) -> None:
    x = torch.ones(2, 4, 3)
    network = netcalc.from_torch(Product(), x, x, dynamic=dynamic)
    assert network.verify_against(Product(), x, torch.randn(2, 4, 3)).ok

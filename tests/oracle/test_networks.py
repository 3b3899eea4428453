"""Networks that no library ships, written in torch, against their specs, including every parameter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from netcalc.engine.run import forward
from netcalc.numerics.parameters import check_weights
from tests.oracle.network_flops import assert_same_flops
from tests.oracle.network_gradients import assert_same_gradients
from tests.zoo.harness import built, torch_total

torch = pytest.importorskip("torch")


def check(module: Any, spec: str, settings: dict[str, Any], *inputs: Any) -> None:
    """Assert equal outputs and gradients for weights drawn by torch, and equal FLOPs of both passes by its counter."""
    module = module.eval()
    program = built(spec, **settings)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    weights = {name: tensor.numpy() for name, tensor in module.state_dict().items()}
    assert check_weights(program, weights).ok
    assert torch_total(program)[0] == sum(p.numel() for p in module.parameters())
    assert_same_flops(program, lambda: {program.output_names[0]: module(*inputs)})
    given = {declared.name: x.numpy() for declared, x in zip(program.inputs, inputs, strict=True)}
    (actual,) = forward(program, given, weights=weights).outputs.values()
    np.testing.assert_allclose(actual, expected, atol=2e-6)
    assert_same_gradients(program, module, given, {program.output_names[0]: module(*inputs)})


def test_graph_convolution() -> None:
    class Convolution(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, features: int, out: int) -> None:
            super().__init__()
            self.lin = torch.nn.Linear(features, out, bias=False)
            self.bias = torch.nn.Parameter(torch.randn(out))

        def forward(self, x: Any, adjacency: Any) -> Any:
            return adjacency @ self.lin(x) + self.bias

    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.conv1, self.conv2 = Convolution(11, 5), Convolution(5, 3)

        def forward(self, x: Any, adjacency: Any) -> Any:
            return self.conv2(torch.relu(self.conv1(x, adjacency)), adjacency)

    torch.manual_seed(0)
    links = torch.rand(9, 9) < 0.3
    neighbours = (links | links.T | torch.eye(9, dtype=torch.bool)).float()
    root = neighbours.sum(1).rsqrt()
    sizes = {"nodes": 9, "features": 11, "hidden": 5, "classes": 3}
    check(Network(), "gcn", sizes, torch.randn(9, 11), root[:, None] * neighbours * root)


def test_recurrent_translation_with_attention() -> None:
    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, vocab: int, size: int) -> None:
            super().__init__()
            self.source_embed, self.target_embed = torch.nn.Embedding(vocab, size), torch.nn.Embedding(vocab, size)
            self.encoder = torch.nn.LSTM(size, size, 2, batch_first=True)
            self.decoder = torch.nn.LSTM(size, size, 2, batch_first=True)
            self.score = torch.nn.Linear(size, size, bias=False)
            self.combine = torch.nn.Linear(2 * size, size, bias=False)
            self.head = torch.nn.Linear(size, vocab, bias=False)

        def forward(self, source: Any, target: Any, mask: Any) -> Any:
            memory, state = self.encoder(self.source_embed(source))
            decoded, _ = self.decoder(self.target_embed(target), state)
            scores = decoded @ self.score(memory).transpose(1, 2)
            weights = scores.masked_fill(mask[:, None] == 0, -torch.inf).softmax(-1)
            return self.head(torch.tanh(self.combine(torch.cat([weights @ memory, decoded], -1))))

    torch.manual_seed(0)
    mask = torch.ones(2, 6, dtype=torch.int64)
    mask[1, 4:] = 0
    sizes = {"batch": 2, "source": 6, "target": 4, "vocab": 30, "hidden": 8, "layers": 2}
    source, target = torch.randint(30, (2, 6)), torch.randint(30, (2, 4))
    check(Network(30, 8), "seq2seq-attention", sizes, source, target, mask)


def test_translation_with_attention_before_every_word() -> None:
    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, vocab: int, words: int, size: int, maxout: int) -> None:
            super().__init__()
            linear = torch.nn.Linear
            self.source_embed, self.target_embed = torch.nn.Embedding(vocab, words), torch.nn.Embedding(vocab, words)
            self.encoder = torch.nn.GRU(words, size, bidirectional=True, batch_first=True)
            self.attention = torch.nn.ModuleDict({"key": linear(2 * size, size)})
            self.bridge = linear(size, size)
            query, v = linear(size, size, bias=False), linear(size, 1, bias=False)
            looking = torch.nn.ModuleDict({"query": query, "v": v})
            decoder = torch.nn.GRUCell(words + 2 * size, size)
            self.step = torch.nn.ModuleDict({"attention": looking, "decoder": decoder})
            self.output, self.head = linear(3 * size + words, 2 * maxout), linear(maxout, vocab)

        def forward(self, source: Any, target: Any, mask: Any) -> Any:
            memory, (_, back) = self.encoder(self.source_embed(source))
            keys, state = self.attention["key"](memory), torch.tanh(self.bridge(back))
            look, decoder = self.step["attention"], self.step["decoder"]
            # the last state is made, although no word depends on it
            states, inputs = [state], []
            for word in self.target_embed(target).unbind(1):
                scores = look["v"](torch.tanh(look["query"](state)[:, None] + keys))[..., 0]
                weights = scores.masked_fill(mask == 0, -torch.inf).softmax(-1)
                context = (weights[:, None] @ memory)[:, 0]
                inputs.append(torch.cat([word, context], -1))
                state = decoder(inputs[-1], state)
                states.append(state)
            words = torch.cat([torch.stack(states, 1)[:, :-1], torch.stack(inputs, 1)], -1)
            pairs = self.output(words).unflatten(-1, (-1, 2))
            return self.head(pairs.amax(-1))

    torch.manual_seed(0)
    mask = torch.ones(2, 6, dtype=torch.int64)
    mask[1, 4:] = 0
    sizes = {"batch": 2, "source": 6, "target": 4, "vocab": 30, "d_embed": 7, "hidden": 8, "maxout": 5}
    source, target = torch.randint(30, (2, 6)), torch.randint(30, (2, 4))
    check(Network(30, 7, 8, 5), "rnnsearch-50", sizes, source, target, mask)


def test_recurrent_language_model() -> None:
    class Network(torch.nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, vocab: int, size: int) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(vocab, size)
            self.rnn = torch.nn.LSTM(size, size, 2, batch_first=True)
            self.head = torch.nn.Linear(size, vocab)

        def forward(self, ids: Any) -> Any:
            return self.head(self.rnn(self.embed(ids))[0])

    torch.manual_seed(0)
    sizes = {"batch": 2, "length": 5, "vocab": 30, "hidden": 8}
    check(Network(30, 8), "lstm-lm-ptb-small", sizes, torch.randint(30, (2, 5)))

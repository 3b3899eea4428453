"""Twenty steps of training against torch, from the same weights, on the same data, with the same optimizer."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.numerics.parameters import Parameters
from netcalc.training import Recipe, Trainer
from netcalc.training.batches import Batches
from netcalc.training.state import State
from netcalc.weights.tensor_files import Arrays

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("torchvision")

from tests.oracle.checkpoints.torch_models import TORCH_MODELS  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402

Tensors = dict[str, Any]
STEPS = 20
RECORD = Path(__file__).parent.parent / "truth" / "training_steps.json"
functional = torch.nn.functional


class MLP(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The network of the spec ``mlp``."""

    def __init__(self, features: int, hidden: list[int], classes: int) -> None:
        super().__init__()
        sizes = [features, *hidden]
        layers = [
            torch.nn.Sequential(torch.nn.Linear(a, b), torch.nn.ReLU()) for a, b in zip(sizes, hidden, strict=False)
        ]
        self.hidden, self.output = torch.nn.Sequential(*layers), torch.nn.Linear(sizes[-1], classes)

    def forward(self, x: Any) -> Any:
        return self.output(self.hidden(x))


class SeedCNN(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The network of the spec ``seed_cnn``."""

    def __init__(self, size: int, hidden: int) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(3, 64, 7, stride=2, padding=3)
        self.conv2 = torch.nn.Conv2d(64, 128, 3, padding="same")
        self.fc1 = torch.nn.Linear((size // 4) ** 2 * 128, hidden)
        self.fc2 = torch.nn.Linear(hidden, 10)

    def forward(self, image: Any) -> Any:
        x = self.conv2(self.conv1(image).relu()).relu()
        x = functional.max_pool2d(x, 2).flatten(1)
        return self.fc2(self.fc1(x).relu()).softmax(-1)


class LSTM(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The network of the spec ``lstm-lm-ptb-small``."""

    def __init__(self, vocab: int, size: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocab, size)
        self.rnn = torch.nn.LSTM(size, size, 2, batch_first=True)
        self.head = torch.nn.Linear(size, vocab)

    def forward(self, ids: Any) -> Any:
        return self.head(self.rnn(self.embed(ids))[0])


class Transformer(torch.nn.Module):  # type: ignore[misc, name-defined]
    """The network of the spec ``transformer``: torch.nn.Transformer with one embedding for all three."""

    def __init__(self, vocab: int, size: int, d_ff: int, layers: int) -> None:
        super().__init__()
        self.embed = torch.nn.Embedding(vocab, size)
        self.transformer = torch.nn.Transformer(size, 4, layers, layers, d_ff, dropout=0.0, batch_first=True)
        self.pos = torch.nn.Module()
        positions, half = torch.arange(16).double(), torch.arange(0, size, 2).double()
        angles = positions[:, None] * 10000.0 ** (-half / size)
        self.pos.register_buffer("pe", torch.stack([angles.sin(), angles.cos()], -1).flatten(1))

    def embedded(self, ids: Any) -> Any:
        return self.embed(ids) * self.embed.embedding_dim**0.5 + self.pos.pe[: ids.shape[1]]

    def forward(self, src: Any, tgt: Any) -> Any:
        # a mask in float32 would not go with float64
        causal = torch.full((tgt.shape[1],) * 2, -torch.inf, dtype=self.embed.weight.dtype).triu(1)
        y = self.transformer(self.embedded(src), self.embedded(tgt), tgt_mask=causal, tgt_is_causal=True)
        return y @ self.embed.weight.T


@dataclass
class Case:
    """A spec at small sizes, its reference in torch, and the loss of the reference by inputs and labels."""

    spec: str
    settings: dict[str, Any]
    module: Callable[[], Any]
    loss: Callable[[Any, Tensors], Any]
    data: Callable[[np.random.Generator], dict[str, np.ndarray]]
    recipe: dict[str, Any] = field(default_factory=dict)


def _classified(module: Any, given: Tensors) -> Any:
    """Cross-entropy of a classifier whose input is the first array."""
    inputs = next(array for name, array in given.items() if name != "labels")
    return functional.cross_entropy(module(inputs), given["labels"])


def _classified_by_probability(module: Any, given: Tensors) -> Any:
    """Negative log-likelihood of a classifier of images whose output is probabilities."""
    return functional.nll_loss(module(given["image"]).log(), given["labels"])


def _next_token(module: Any, given: Tensors) -> Any:
    """Cross-entropy of a language model; that of transformers would be computed in float32."""
    found = module(next(array for name, array in given.items() if name != "labels"))
    logits = (found if torch.is_tensor(found) else found.logits)[:, :-1]
    return functional.cross_entropy(logits.flatten(0, 1), given["labels"][:, 1:].flatten())


def _translated(module: Any, given: Tensors) -> Any:
    logits = module(given["src"], given["tgt"])
    return functional.cross_entropy(logits.flatten(0, 1), given["labels"].flatten(), label_smoothing=0.1)


def _gpt2(dropout: float) -> Any:
    import transformers

    case = TRANSFORMERS_MODELS["gpt2"]
    rates = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), dropout)
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**case.config, **rates, attn_implementation="eager", use_cache=False)
    )


def _images(name: str, *shape: int) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    return lambda rng: {name: rng.normal(size=shape), "labels": rng.integers(0, 10, shape[0])}


def _tokens(vocab: int, **shapes: tuple[int, int]) -> Callable[[np.random.Generator], dict[str, np.ndarray]]:
    def drawn(rng: np.random.Generator) -> dict[str, np.ndarray]:
        found = {name: rng.integers(0, vocab, shape) for name, shape in shapes.items()}
        found["labels"][0, -1] = -100  # left out
        return found

    return drawn


MLP_CASE = Case(
    "mlp",
    {"batch": 4, "features": 12, "hidden": [16, 8]},
    lambda: MLP(12, [16, 8], 10),
    _classified,
    _images("x", 11, 12),
)
SMALL_TRANSFORMER = {
    "batch": 2,
    "source": 7,
    "target": 5,
    "vocab": 40,
    "d_model": 16,
    "heads": 4,
    "d_ff": 24,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "max_length": 16,
    "padding_mask": False,
    "dropout": 0,
}
GPT2 = TRANSFORMERS_MODELS["gpt2"]
CASES = {
    "mlp": MLP_CASE,
    "seed_cnn": Case(
        "seed_cnn",
        {"batch": 2, "height": 16, "width": 16, "hidden": 32},
        lambda: SeedCNN(16, 32),
        _classified_by_probability,
        _images("image", 4, 3, 16, 16),
    ),
    "resnet18": Case(
        "resnet18",
        TORCH_MODELS["resnet18"]()[1] | {"batch": 4, "height": 64, "width": 64},
        lambda: TORCH_MODELS["resnet18"]()[0],
        _classified,
        _images("image", 4, 3, 64, 64),
        {"optimizer": "momentum", "lr": 0.01},
    ),
    "transformer": Case(
        "transformer",
        SMALL_TRANSFORMER,
        lambda: Transformer(40, 16, 24, 2),
        _translated,
        _tokens(40, src=(2, 7), tgt=(2, 5), labels=(2, 5)),
    ),
    "lstm": Case(
        "lstm-lm-ptb-small",
        {"batch": 2, "length": 6, "vocab": 30, "hidden": 8, "dropout": 0},
        lambda: LSTM(30, 8),
        _next_token,
        _tokens(30, ids=(2, 6), labels=(2, 6)),
    ),
    "gpt2": Case(
        "gpt2",
        {**GPT2.settings, "dropout": 0},
        lambda: _gpt2(0.0),
        _next_token,
        _tokens(50, input_ids=(2, 11), labels=(2, 11)),
    ),
}


def _arrays(case: Case, dtype: str) -> dict[str, np.ndarray]:
    """Return the data of a case, floating-point arrays in the type of the network."""
    drawn = case.data(np.random.default_rng(7))
    return {name: array.astype(dtype) if array.dtype.kind == "f" else array for name, array in drawn.items()}


def _module(case: Case, dtype: str) -> Any:
    torch.manual_seed(0)
    return case.module().to(getattr(torch, dtype)).train()


def _state(module: Any) -> dict[str, np.ndarray]:
    return {name: tensor.detach().numpy().copy() for name, tensor in module.state_dict().items()}


def _optimizer(parameters: Any, name: str, lr: float, settings: Mapping[str, float]) -> Any:
    rest: Any = {key: value for key, value in settings.items() if not key.startswith("beta")}
    if name in ("adam", "adamw"):
        kind = torch.optim.Adam if name == "adam" else torch.optim.AdamW
        return kind(parameters, lr, betas=(settings.get("beta1", 0.9), settings.get("beta2", 0.999)), **rest)
    if name == "adafactor":
        return torch.optim.Adafactor(parameters, lr, **rest)
    if name != "sgd":
        rest.setdefault("momentum", 0.9)
    return torch.optim.SGD(parameters, lr, nesterov=name == "nesterov", **rest)


def _torch_losses(case: Case, module: Any, batches: Batches, names: list[str], recipe: Recipe) -> Iterator[Any]:
    """Yield loss, learning rate and norm of gradients of each step."""
    lr = 1e-3 if recipe.lr is None else recipe.lr
    optimizer = _optimizer(module.parameters(), recipe.optimizer, lr, recipe.settings)
    schedule = None
    if recipe.schedule == "cosine":
        warmup = recipe.warmup
        schedule = torch.optim.lr_scheduler.SequentialLR(
            optimizer,
            [
                torch.optim.lr_scheduler.LinearLR(optimizer, 1 / warmup, total_iters=warmup - 1),
                torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS - warmup, recipe.least_lr),
            ],
            [warmup],
        )
    if recipe.schedule == "step":
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, recipe.step_size, recipe.gamma)
    for step in range(STEPS):
        given = dict(zip(names, map(torch.from_numpy, batches.arrays(step)), strict=True))
        optimizer.zero_grad()
        loss = case.loss(module, given)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(module.parameters(), recipe.clip or torch.inf)
        yield loss.item(), optimizer.param_groups[0]["lr"], norm.item()
        optimizer.step()
        if schedule is not None:
            schedule.step()


def check(case: Case, dtype: Any, **recipe: Any) -> None:
    """Assert that both give the same losses, gradient norms and learning rates, and the same buffers at the end."""
    how = Recipe(STEPS, **{"lr": 1e-3, **recipe})
    module, data = _module(case, dtype), _arrays(case, dtype)
    net = netcalc.load(case.spec, set=case.settings, dtype=dtype)
    options: Any = {
        name: getattr(how, name)
        for name in ("lr", "settings", "schedule", "warmup", "clip", "least_lr", "step_size", "gamma")
    }
    ours = net.train(STEPS, data=data, weights=_state(module), training=how.optimizer, **options)
    program = net.request.with_mode("train").program_with_loss
    names = [spec.name for spec in program.inputs]
    theirs = list(_torch_losses(case, module, Batches(program, Arrays(data)), names, how))
    few, tolerance = (STEPS, 1e-8) if dtype == "float64" else (5, 1e-3)
    for mine, (loss, lr, norm) in zip(ours.steps[:few], theirs, strict=False):
        assert mine.loss == pytest.approx(loss, rel=tolerance)
        assert mine.gradient_norm == pytest.approx(norm, rel=tolerance * 10)
        assert mine.lr == pytest.approx(lr, rel=1e-12)
    assert theirs[-1][0] != pytest.approx(theirs[0][0], rel=1e-3)  # training changed something
    state = _state(module)
    for name, buffer in ours.buffers.items():
        if dtype == "float64" and name in state:
            np.testing.assert_allclose(buffer, state[name], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, "float64") for name in CASES),
        *(pytest.param(name, "float32", marks=pytest.mark.sampled(3)) for name in CASES),
    ],
)
def test_twenty_steps(name: str, dtype: str) -> None:
    check(CASES[name], dtype, **CASES[name].recipe)


RECIPES: list[dict[str, Any]] = [
    {"optimizer": "sgd", "lr": 0.1},
    {"optimizer": "sgd", "lr": 0.1, "settings": {"weight_decay": 0.1}},
    {"optimizer": "momentum", "lr": 0.05, "settings": {"dampening": 0.2}},
    {"optimizer": "nesterov", "lr": 0.05, "settings": {"momentum": 0.8}},
    {"optimizer": "adam", "lr": 0.01, "settings": {"weight_decay": 0.1, "beta2": 0.95}},
    {"optimizer": "adamw", "lr": 0.01, "schedule": "cosine", "warmup": 5, "least_lr": 1e-4, "clip": 0.3},
    {"optimizer": "sgd", "lr": 0.1, "schedule": "cosine", "warmup": 1, "clip": 100.0},
    {"optimizer": "sgd", "lr": 0.1, "schedule": "step", "step_size": 6, "gamma": 0.3},
    {"optimizer": "adafactor", "lr": 0.05},
]


@pytest.mark.parametrize("recipe", RECIPES, ids=str)
def test_recipes(recipe: dict[str, Any]) -> None:
    check(MLP_CASE, "float64", **recipe)


def test_recorded_losses() -> None:
    """The record that tests without torch use; ``python -m tests.oracle.test_training`` writes it."""
    recorded = json.loads(RECORD.read_text())
    for run, live in zip(recorded["runs"], _record()["runs"], strict=True):
        assert run["recipe"] == live["recipe"]
        assert run["losses"] == pytest.approx(live["losses"], rel=1e-12)
        assert run["gradient_norms"] == pytest.approx(live["gradient_norms"], rel=1e-10)


def _record() -> dict[str, Any]:
    """Return weights and data of a small network, and torch's losses and norms of gradients for each recipe."""
    settings = {"batch": 4, "features": 4, "hidden": [5, 4], "classes": 3}
    case = Case("mlp", settings, lambda: MLP(4, [5, 4], 3), _classified, _images("x", 11, 4))
    data = _arrays(case, "float64")
    data["labels"] %= 3
    program = netcalc.load("mlp", set=settings, dtype="float64").request.program_with_loss
    runs = []
    for recipe in RECIPES:
        batches = Batches(program, Arrays(data))
        steps = list(_torch_losses(case, _module(case, "float64"), batches, ["x", "labels"], Recipe(STEPS, **recipe)))
        losses, _, norms = zip(*steps, strict=True)
        runs.append({"recipe": recipe, "losses": losses, "gradient_norms": norms})
    return {
        "torch": torch.__version__,
        "spec": "mlp",
        "settings": settings,
        "weights": {name: array.tolist() for name, array in _state(_module(case, "float64")).items()},
        "data": {name: array.tolist() for name, array in data.items()},
        "runs": runs,
    }


class Masks:
    """Masks of dropout that torch drew, given out in their order as random numbers that a kernel compares with p."""

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def dropout(self, x: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
        """Replace torch.nn.functional.dropout, and record its mask."""
        factor = torch.dropout(torch.ones_like(x), p, training)
        if training and p:
            self.kept.append(factor.numpy() != 0)
        return x * factor

    def random(self, shape: Any) -> np.ndarray:
        kept = self.kept.pop(0)
        assert kept.shape == tuple(shape)
        return np.where(kept, 1.0, 0.0)


def test_masks_of_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the masks that torch drew, GPT-2 with dropout has torch's losses."""
    case, masks = CASES["gpt2"], Masks()
    torch.manual_seed(0)
    module, data = _gpt2(0.2).double().train(), _arrays(case, "float64")
    weights = _state(module)
    net = netcalc.load(case.spec, set={**case.settings, "dropout": 0.2}, dtype="float64")
    program = net.request.with_mode("train").program_with_loss
    recipe, batches = Recipe(STEPS, lr=1e-3), Batches(program, Arrays(data))
    monkeypatch.setattr(functional, "dropout", masks.dropout)
    expected = [loss for loss, _, _ in _torch_losses(case, module, batches, [s.name for s in program.inputs], recipe)]
    assert len(masks.kept) == STEPS * (1 + 2 * 3)  # of embeddings; scores, attention and feed-forward of each layer
    state = State.initial(program, Parameters(program, weights), recipe.updater(), 0)
    state.rng = masks  # type: ignore[assignment]
    trainer = Trainer(program, state, batches, "loss", recipe)
    for step in range(STEPS):
        assert trainer.step().loss == pytest.approx(expected[step], rel=1e-8)
    assert not masks.kept


if __name__ == "__main__":
    RECORD.write_text(json.dumps(_record(), indent=1) + "\n")

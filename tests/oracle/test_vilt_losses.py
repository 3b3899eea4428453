"""The losses of ViLT's pre-training against torch: masked words, matching, and alignment by optimal transport.

The authors' repository is no package.  What is compared with is written here from the papers: Algorithm 2 of Xie et al.
2018 (arXiv:1802.04307), pair by pair without padding, and §3.2 of Kim et al. 2021 (arXiv:2102.03334).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import netcalc  # noqa: E402
from netcalc.engine.gradients import gradients  # noqa: E402
from netcalc.engine.run import forward  # noqa: E402
from tests.oracle.checkpoints.harness import assert_close, drawn_inputs, randomise, transformers_model  # noqa: E402
from tests.oracle.checkpoints.transformers_models import TRANSFORMERS_MODELS  # noqa: E402
from tests.oracle.harness import draws  # noqa: E402
from tests.oracle.network_flops import assert_same_flops  # noqa: E402
from tests.oracle.network_gradients import by_owner  # noqa: E402
from tests.zoo.harness import requested  # noqa: E402

F = torch.nn.functional


def moved(words: Any, patches: Any, beta: float, steps: int) -> Any:
    """Return the cost of transporting equal masses of words to equal masses of patches, without padding."""
    costs = 1 - F.cosine_similarity(words[:, None], patches[None], dim=-1, eps=1e-5)
    rows, columns = costs.shape
    with torch.no_grad():
        nearness, plan = torch.exp(-costs / beta), torch.ones_like(costs)
        row_factors = torch.full((rows,), 1 / rows, dtype=costs.dtype)
        for _ in range(steps):
            near = nearness * plan
            column_factors = 1 / columns / (near.T @ row_factors)
            row_factors = 1 / rows / (near @ column_factors)
            plan = torch.diag(row_factors) @ near @ torch.diag(column_factors)
    return (costs * plan).sum()


@draws
@given(
    st.integers(1, 5), st.integers(1, 6), st.sampled_from([1, 3, 50]), st.sampled_from([0.5, 1.0]), st.integers(0, 99)
)
def test_transport_distance(rows: int, columns: int, steps: int, beta: float, seed: int) -> None:
    rng, batch, width = np.random.default_rng(seed), 3, 4
    words, patches = rng.normal(size=(batch, rows + 2, width)), rng.normal(size=(batch, columns + 1, width))
    padded = [np.arange(n)[None] >= rng.integers(1, n + 1, (batch, 1)) for n in (rows + 2, columns + 1)]
    padded[0][2] = True  # the last has no words
    inputs = {"words": words, "patches": patches, "padded_words": padded[0], "padded_patches": padded[1]}
    shapes = {n: {"shape": [*a.shape], "dtype": "bool" if a.dtype == bool else "float64"} for n, a in inputs.items()}
    line = {"from": [*inputs], "transport_distance": {"beta": beta, "iterations": steps}}
    net = netcalc.load_data({"netcalc": 1, "dtype": "float64", "inputs": shapes, "layers": [line]})
    found = net.gradients(inputs, loss="sum", wrt=["words", "patches"])
    w, p = (torch.from_numpy(array).requires_grad_() for array in (words, patches))
    there = [torch.from_numpy(~mask) for mask in padded]
    expected = torch.stack([moved(w[n][there[0][n]], p[n][there[1][n]], beta, steps) for n in range(batch - 1)])
    outputs = net.run(inputs).outputs["output"]
    np.testing.assert_allclose(outputs, [*expected.detach().numpy(), 0], rtol=1e-9, atol=1e-12)
    expected.sum().backward()
    for name, leaf in (("words", w), ("patches", p)):
        np.testing.assert_allclose(found.inputs[name], leaf.grad.numpy(), rtol=1e-9, atol=1e-12)


@draws
@given(st.integers(2, 5), st.integers(0, 99))
def test_many_steps_reach_the_optimum(size: int, seed: int) -> None:
    """Equal numbers of rows and columns: the least cost is that of the optimal assignment."""
    optimize = pytest.importorskip("scipy.optimize")
    costs = np.random.default_rng(seed).uniform(0, 2, (1, size, size))
    nothing = np.zeros((1, size), bool)
    shapes: dict[str, Any] = {"costs": {"shape": [*costs.shape], "dtype": "float64"}}
    shapes |= {name: {"shape": [1, size], "dtype": "bool"} for name in ("rows", "columns")}
    line = {"from": [*shapes], "optimal_transport": {"iterations": 2000}}
    net = netcalc.load_data({"netcalc": 1, "dtype": "float64", "inputs": shapes, "layers": [line]})
    plan = net.run({"costs": costs, "rows": nothing, "columns": nothing}).outputs["output"][0]
    np.testing.assert_allclose(plan.sum(0), 1 / size, atol=1e-6)
    np.testing.assert_allclose(plan.sum(1), 1 / size, atol=1e-6)
    best = costs[0][optimize.linear_sum_assignment(costs[0])].sum() / size
    assert (costs[0] * plan).sum() == pytest.approx(best, abs=2e-3)


class Pretraining(torch.nn.Module):  # type: ignore[misc, name-defined]
    """ViLT with the heads of its pre-training."""

    def __init__(self, words: Any, width: int) -> None:
        super().__init__()
        self.words, self.matching = words, torch.nn.Linear(width, 2)

    def forward(self, **inputs: Any) -> dict[str, Any]:
        found = self.words.vilt(**inputs)
        text = found.last_hidden_state[:, : inputs["input_ids"].shape[1]]
        matching = self.matching(found.pooler_output)
        return {
            "logits": self.words.mlm_score(text),
            "matching_logits": matching,
            "last_hidden_state": found.last_hidden_state,
        }


def losses(outputs: dict[str, Any], mask: Any, labels: Any, matches: Any) -> dict[str, Any]:
    """Return the three losses; rows whose label is −100 are not matched."""
    length, distances = mask.shape[1], []
    for hidden, there, match in zip(outputs["last_hidden_state"], mask, matches, strict=True):
        if match >= 0:
            tokens = hidden[:length][there.bool()]
            distances.append((2 * match - 1) * moved(tokens[1:-1], hidden[length + 1 :], 0.5, 50))
    return {
        "masked_words": F.cross_entropy(outputs["logits"].flatten(0, 1), labels.flatten()),
        "matching": F.cross_entropy(outputs["matching_logits"], matches),
        "alignment": torch.stack(distances).mean(),
    }


def test_losses_of_pretraining(monkeypatch: pytest.MonkeyPatch) -> None:
    # the order of the patches is drawn
    monkeypatch.setattr(torch, "multinomial", lambda weights, count, **_: torch.arange(count))
    case = TRANSFORMERS_MODELS["vilt-b32-mlm"]
    words = transformers_model(case)
    model = Pretraining(words, words.config.hidden_size)
    randomise(model.matching)
    settings = case.settings | {"batch": 5}
    request = requested("vilt-b32-pretraining", **settings).executed
    program = request.program_with_loss
    inputs = drawn_inputs(request.program)
    inputs["attention_mask"] = (np.arange(7) < np.array([[7], [5], [4], [7], [6]])).astype(np.int64)
    labels = np.random.default_rng(3).integers(0, 50, (5, 7))
    labels[:, 1::2] = -100
    matches = np.array([1, 0, 1, -100, 0])
    state = {name: tensor.detach().numpy() for name, tensor in words.state_dict().items()}
    state |= {f"itm_score.fc.{name}": tensor.detach().numpy() for name, tensor in model.matching.state_dict().items()}
    counted = netcalc.load("vilt-b32-pretraining", set=settings).params
    assert counted == sum(parameter.numel() for parameter in model.parameters())
    given = inputs | {"labels": labels, "matches": matches}
    result = forward(program, given, weights=state, trace=["loss.*"], keep=True)
    tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
    outputs = model(**tensors)
    for name, tensor in outputs.items():
        assert_close(result.outputs[name], tensor.detach().numpy(), name)
    parts = losses(outputs, tensors["attention_mask"], torch.from_numpy(labels), torch.from_numpy(matches))
    total = parts["masked_words"] + parts["matching"] + 0.1 * parts["alignment"]
    traced = {row.path: row.array for row in result.trace}
    for name, path in (
        ("masked_words", "loss.masked_words.cross_entropy"),
        ("matching", "loss.matching"),
        ("alignment", "loss.alignment.div"),
    ):
        assert traced[path] == pytest.approx(float(parts[name].detach()), rel=2e-5), name
    assert float(result.outputs["loss"]) == pytest.approx(float(total.detach()), rel=2e-5)
    total.backward()
    found = gradients(program, given, loss="loss", weights=state).parameters
    named = dict(words.named_parameters(remove_duplicate=False)) | {
        f"itm_score.fc.{n}": p for n, p in model.matching.named_parameters()
    }
    theirs = {n: np.zeros_like(state[n]) if p.grad is None else p.grad.numpy() for n, p in named.items()}
    expected = by_owner(program, {**state, **theirs})
    largest = max(float(np.abs(gradient).max()) for gradient in found.values())
    for path, gradient in found.items():
        np.testing.assert_allclose(gradient, expected[path], rtol=2e-3, atol=1e-5 * largest, err_msg=path)
    assert_same_flops(request.program, lambda: {**model(**tensors), "padding": tensors["attention_mask"] == 0})

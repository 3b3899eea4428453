"""Recurrent layers and cells with drawn attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from netcalc.diagnostics import RuleError
from netcalc.opdef import Context
from netcalc.ops.recurrent import LSTM
from netcalc.tensor_type import TensorType
from tests.oracle.harness import agree, draws

torch = pytest.importorskip("torch")

MODULES = {"rnn": "RNN", "lstm": "LSTM", "gru": "GRU"}
TORCH_NAMES = {"hidden": "hidden_size", "layers": "num_layers"}
#: Error added to a size: 0, or in one of nine cases 1.
slips = st.sampled_from([0, 0, 0, 0, 0, 0, 0, 0, 1])


def loaded(module: Any, weights: dict[str, Any]) -> Any:
    """Return the module with exactly these tensors as its weights, so that gradients reach them."""
    assert {name: p.shape for name, p in module.named_parameters()} == {name: w.shape for name, w in weights.items()}
    for name, weight in weights.items():
        delattr(module, name)
        setattr(module, name, weight)
    return module


def flat(result: Any) -> list[Any]:
    if torch.is_tensor(result):
        return [result]
    return [tensor for part in result for tensor in flat(part)]


def module(name: str, attrs: dict[str, Any], features: int, *, cell: bool = False) -> Any:
    kwargs = {TORCH_NAMES.get(key, key): value for key, value in attrs.items() if value is not None}
    return getattr(torch.nn, MODULES[name] + ("Cell" if cell else ""))(features, **kwargs)


@pytest.mark.filterwarnings("ignore:dropout option adds dropout", "ignore:LSTM with projections is not supported")
@draws
@given(st.data(), st.sampled_from(list(MODULES)), st.booleans())
def test_layers(data: st.DataObject, name: str, training: bool) -> None:
    draw = data.draw
    hidden = draw(st.integers(1, 4))
    attrs: dict[str, Any] = {
        "hidden": hidden,
        "layers": draw(st.integers(1, 3)),
        "bidirectional": draw(st.booleans()),
        "batch_first": draw(st.booleans()),
        "bias": draw(st.booleans()),
        "dropout": 1.0 if training and draw(st.booleans()) else 0.0,
    }
    if name == "rnn":
        attrs["nonlinearity"] = draw(st.sampled_from(["tanh", "relu", "tanh", "sigmoid"]))
    if name == "lstm":
        attrs["proj_size"] = draw(st.none() | st.integers(1, 4))
    steps, features = draw(st.integers(0, 5)), draw(st.integers(1, 4))
    batch = draw(st.none() | st.integers(1, 3))
    axes = (steps,) if batch is None else (batch, steps) if attrs["batch_first"] else (steps, batch)
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=(*axes, features)).astype(np.float32)

    lengths = None
    if batch is not None and steps and draw(st.booleans()):
        lengths = rng.integers(1, steps + 1, size=batch + draw(slips))
    rows = attrs["layers"] * (1 + attrs["bidirectional"])
    states: list[Any] = []
    for size in (attrs.get("proj_size") or hidden, hidden) if name == "lstm" else (hidden,):
        shape = (rows + draw(slips), *([] if batch is None else [batch + draw(slips)]), size + draw(slips))
        states.append(rng.normal(size=shape).astype(np.float32))
    if not draw(st.booleans()):
        states = [None] * len(states)

    def reference(weights: dict[str, Any], x: Any, *given: Any) -> Any:
        *hx, lengths = given
        run = loaded(module(name, attrs, features), weights).train(training)
        hx = None if hx[0] is None else hx[0] if len(hx) == 1 else tuple(hx)
        if lengths is None:
            return flat(run(x, hx))
        utils = torch.nn.utils.rnn
        packed = utils.pack_padded_sequence(x, lengths, batch_first=attrs["batch_first"], enforce_sorted=False)
        if hx is not None:  # torch makes this check for padded input only: see the next test
            run.check_forward_args(packed.data, hx, packed.batch_sizes)
        output, ends = run(packed, hx)
        padded, _ = utils.pad_packed_sequence(output, batch_first=attrs["batch_first"], total_length=steps)
        return flat((padded, ends))

    agree(name, attrs, [x, *states, lengths], reference, training=training)


def test_packed_states_of_a_wrong_shape() -> None:
    """torch 2.13 does not check the states given with a packed sequence; netcalc refuses the ones that do not fit.

    torch ignores surplus rows of ``c_0`` and, when it sorts by length, surplus sequences of ``h_0`` and ``c_0``;
    surplus rows of ``h_0``, or too few of ``c_0``, make it read past the end of a list.
    """
    module = torch.nn.LSTM(4, 3)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.zeros(5, 2, 4), torch.tensor([3, 5]), enforce_sorted=False)
    for h_0, c_0 in (((1, 2, 3), (2, 2, 3)), ((1, 2, 3), (1, 3, 3)), ((1, 3, 3), (1, 2, 3))):
        states = torch.zeros(h_0), torch.zeros(c_0)
        _, (_, c_n) = module(packed, states)
        assert c_n.shape == (1, 2, 3)
        with pytest.raises(RuntimeError, match="Expected hidden"):
            module.check_forward_args(packed.data, states, packed.batch_sizes)
        types = TensorType((5, 2, 4)), TensorType(h_0), TensorType(c_0), TensorType((2,), "int64")
        with pytest.raises(RuleError, match="_0 should be 1×2×3"):
            LSTM(hidden=3).infer(Context(), *types)


@draws
@given(st.data(), st.sampled_from(list(MODULES)))
def test_cells(data: st.DataObject, name: str) -> None:
    draw = data.draw
    attrs: dict[str, Any] = {"hidden": draw(st.integers(1, 5)), "bias": draw(st.booleans())}
    if name == "rnn":
        attrs["nonlinearity"] = draw(st.sampled_from(["tanh", "relu", "tanh", "sigmoid"]))
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    x = rng.normal(size=shape).astype(np.float32)
    states: list[Any] = [None] * (2 if name == "lstm" else 1)
    if draw(st.booleans()):
        sizes = [(*(n + draw(slips) for n in shape[:-1]), attrs["hidden"] + draw(slips)) for _ in states]
        states = [rng.normal(size=size).astype(np.float32) for size in sizes]

    def reference(weights: dict[str, Any], x: Any, *states: Any) -> Any:
        cell = loaded(module(name, attrs, shape[-1], cell=True), weights)
        hx = None if states[0] is None else states[0] if len(states) == 1 else states
        return flat(cell(x, hx))

    agree(f"{name}_cell", attrs, [x, *states], reference)


def normalized_step(name: str, op: dict[str, Any], w: dict[str, Any], suffix: str, x: Any, states: list[Any]) -> Any:
    """Return the states after a step, by equations 20 to 22 of arXiv:1607.06450, or those of its GRU."""
    size = op["hidden"]

    def norm(kind: str, product: Any, sizes: list[int]) -> Any:
        parts = [torch.nn.functional.layer_norm(part, part.shape[-1:]) for part in product.split(sizes, -1)]
        bias = w.get(f"bias_{kind}{suffix}", 0)
        return torch.cat(parts, -1) * w[f"gain_{kind}{suffix}"] + bias

    sizes = [4 * size] if name == "lstm" else [2 * size, size]
    of_input = norm("ih", x @ w[f"weight_ih{suffix}"].T, sizes)
    of_state = norm("hh", states[0] @ w[f"weight_hh{suffix}"].T, sizes)
    if name == "gru":
        reset, update = (of_input + of_state)[..., : 2 * size].sigmoid().chunk(2, -1)
        new = torch.tanh(of_input[..., 2 * size :] + reset * of_state[..., 2 * size :])
        return [(1 - update) * new + update * states[0]]
    i, f, g, o = (of_input + of_state).chunk(4, -1)
    c = f.sigmoid() * states[1] + i.sigmoid() * g.tanh()
    h = o.sigmoid() * norm("c", c, [size]).tanh()
    return [h @ w[f"weight_hr{suffix}"].T if f"weight_hr{suffix}" in w else h, c]


@draws
@given(st.data(), st.sampled_from(["lstm", "gru"]), st.booleans())
def test_layer_norms(data: st.DataObject, name: str, is_cell: bool) -> None:
    draw = data.draw
    attrs: dict[str, Any] = {"hidden": draw(st.integers(2, 4)), "bias": draw(st.booleans()), "layer_norm": True}
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    projected = attrs["hidden"]
    if is_cell:
        x = rng.normal(size=(2, 3)).astype(np.float32)
        shape: tuple[int, ...] = (2,)
    else:
        attrs |= {"layers": draw(st.integers(1, 2)), "bidirectional": draw(st.booleans())}
        if name == "lstm" and draw(st.booleans()):
            projected = attrs["proj_size"] = attrs["hidden"] - 1
        x = rng.normal(size=(draw(st.integers(1, 4)), 2, 3)).astype(np.float32)
        shape = (attrs["layers"] * (1 + attrs["bidirectional"]), 2)
    states: list[Any] = [None] * (2 if name == "lstm" else 1)
    if draw(st.booleans()):
        sizes = (projected, attrs["hidden"])[: len(states)]
        states = [rng.normal(size=(*shape, size)).astype(np.float32) for size in sizes]

    def reference(weights: dict[str, Any], x: Any, *starts: Any) -> Any:
        sizes = (projected, attrs["hidden"])
        start = [x.new_zeros(*shape, size) if s is None else s for s, size in zip(starts, sizes, strict=False)]
        if is_cell:
            return normalized_step(name, attrs, weights, "", x, start)
        ends: list[list[Any]] = []
        for layer in range(attrs["layers"]):
            outputs = []
            for way in ("", "_reverse")[: 1 + attrs["bidirectional"]]:
                now, produced = [s[len(ends)] for s in start], []
                for step in reversed(x) if way else x:
                    now = normalized_step(name, attrs, weights, f"_l{layer}{way}", step, now)
                    produced.append(now[0])
                outputs.append(torch.stack(produced[::-1] if way else produced))
                ends.append(now)
            x = torch.cat(outputs, -1)
        return [x, *(torch.stack(parts) for parts in zip(*ends, strict=True))]

    agree(name + "_cell" * is_cell, attrs, [x, *states], reference)

"""Recurrent layers and cells: recorded torch results, and consistency of layers with cells."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from netcalc import ops
from netcalc.dims import Poly, product, symbol, value_at
from netcalc.ir.build import infer
from netcalc.models import ValidationError
from netcalc.opdef import Context, RuleError
from netcalc.tensor_type import TensorType
from tests.ops.harness import case_ids, execute, truth_case

RECORDED: dict[str, tuple[str, dict[str, Any]]] = {
    "0_lstm": ("lstm", {"hidden": 11, "batch_first": True}),
    "1_lstm": ("lstm", {"hidden": 8, "layers": 2, "bidirectional": True, "batch_first": True}),
    "2_gru": ("gru", {"hidden": 9, "layers": 2, "bidirectional": True, "batch_first": True}),
    "3_gru": ("gru", {"hidden": 9, "batch_first": True}),
    "4_rnn": ("rnn", {"hidden": 10, "layers": 2, "batch_first": True}),
    "lstm_init_state": ("lstm", {"hidden": 5, "layers": 2, "batch_first": True}),
    "gru_seqfirst_h0": ("gru", {"hidden": 5}),
    "rnncell": ("rnn_cell", {"hidden": 6}),
    "lstmcell": ("lstm_cell", {"hidden": 6}),
    "grucell": ("gru_cell", {"hidden": 6}),
}

# (operation, attributes, input) -> parameters, torch FLOPs (2 a MAC), output shapes.  Computed with torch 2.13.0 by
# torch.utils.flop_counter; ids torchnn/{rnn,lstm,gru}-i128-h256-l{1,2}@b1-t50 and torchnn/lstmcell-i40-h72@b3.
COUNTED = [
    ("rnn", {"hidden": 256}, (50, 1, 128), 98_816, 9_830_400, [(50, 1, 256), (1, 1, 256)]),
    ("lstm", {"hidden": 256}, (50, 1, 128), 395_264, 39_321_600, [(50, 1, 256), (1, 1, 256), (1, 1, 256)]),
    ("lstm", {"hidden": 256, "layers": 2}, (50, 1, 128), 921_600, 91_750_400, [(50, 1, 256), (2, 1, 256), (2, 1, 256)]),
    ("gru", {"hidden": 256}, (50, 1, 128), 296_448, 29_491_200, [(50, 1, 256), (1, 1, 256)]),
    ("lstm_cell", {"hidden": 72}, (3, 40), 32_832, 193_536, [(3, 72), (3, 72)]),
]


def predicted(name: str, attrs: dict[str, Any], *types: Any, training: bool = False) -> tuple[Any, Any, Any]:
    """Return the output types, parameters and cost terms."""
    declared = ops.find(name)
    assert declared is not None
    op, ctx = declared(**attrs), Context(training=training)
    outputs = infer(op, types, ctx)
    return outputs, op.params(ctx, *types), op.cost(ctx, types, outputs)


def total(terms: Any, kind: str, **sizes: int) -> int:
    return sum(value_at(term.count, sizes) for term in terms if term.kind == kind)


@pytest.mark.parametrize("case", case_ids("op_rnn"))
def test_equals_torch(case: str) -> None:
    recorded = truth_case("op_rnn", case)
    name, attrs = RECORDED[case]
    recorded.check(execute(name, attrs, *recorded.inputs, weights=recorded.weights).outputs)


@pytest.mark.parametrize(("name", "attrs", "shape", "params", "flops", "shapes"), COUNTED)
def test_counts_equal_torch(
    name: str, attrs: dict[str, Any], shape: tuple[int, ...], params: int, flops: int, shapes: list[tuple[int, ...]]
) -> None:
    outputs, declared, terms = predicted(name, attrs, TensorType(shape))
    assert [o.shape for o in outputs] == shapes
    assert sum(p.elements for p in declared) == params
    assert 2 * total(terms, "mac") == flops


@st.composite
def layers(draw: st.DrawFn) -> tuple[str, dict[str, Any], list[Any], bool]:
    """Draw a layer with inputs for all of its ports or for some."""
    name = draw(st.sampled_from(["rnn", "lstm", "gru"]))
    hidden, depth, both, first = (
        draw(st.integers(2, 4)),
        draw(st.integers(1, 3)),
        draw(st.booleans()),
        draw(st.booleans()),
    )
    attrs: dict[str, Any] = {"hidden": hidden, "layers": depth, "bidirectional": both, "batch_first": first}
    attrs |= {"bias": draw(st.booleans()), "dropout": draw(st.sampled_from([0.0, 0.3, 1.0]))}
    out = hidden
    if name == "rnn":
        attrs["nonlinearity"] = draw(st.sampled_from(["tanh", "relu"]))
    else:
        attrs["layer_norm"] = draw(st.booleans())
    if name == "lstm" and draw(st.booleans()):
        attrs["proj_size"] = out = hidden - 1
    steps, features = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    batch = draw(st.none() | st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    axes = (steps,) if batch is None else (batch, steps) if first else (steps, batch)
    dtype = draw(st.sampled_from(["float32", "float64", "float16"]))
    arrays: list[Any] = [rng.normal(size=(*axes, features)).astype(dtype)]
    rows = depth * (1 + both)
    given_states = draw(st.booleans())
    for size in (out, hidden) if name == "lstm" else (out,):
        state = rng.normal(size=(rows, *([] if batch is None else [batch]), size)).astype(dtype)
        arrays.append(state if given_states else None)
    lengths = batch is not None and draw(st.booleans())
    arrays.append(rng.integers(1, steps + 1, size=batch) if lengths else None)
    return name, attrs, arrays, draw(st.booleans())


#: A layer of which the terms of one element cancel to 1/200 of their size.
CANCELLING = (
    "rnn",
    {"hidden": 4, "bias": False, "nonlinearity": "relu"},
    [
        np.array([[-0.65179116]], np.float32),
        np.array([[-0.17471729, 1.663724, 0.65914774, -1.6413972]], np.float32),
        None,
    ],
    False,
)


@settings(max_examples=60, deadline=None)
@given(layers())
@example(CANCELLING)
def test_prediction_equals_execution(drawn: tuple[str, dict[str, Any], list[Any], bool]) -> None:
    name, attrs, arrays, training = drawn
    execute(name, attrs, *arrays, training=training)


@pytest.mark.parametrize("name", ["rnn_cell", "lstm_cell", "gru_cell"])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 4), (4,)])
def test_cells_predict_their_execution(name: str, bias: bool, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=shape).astype(np.float32)
    states = [rng.normal(size=(*shape[:-1], 5)).astype(np.float32) for _ in range(2 if name == "lstm_cell" else 1)]
    execute(name, {"hidden": 5, "bias": bias}, x)
    execute(name, {"hidden": 5, "bias": bias}, x, *states)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_a_layer_is_its_cell_step_by_step(name: str) -> None:
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 2, 3))
    _, declared, _ = predicted(f"{name}_cell", {"hidden": 5}, TensorType((2, 3), "float64"))
    weights = {p.name: rng.normal(size=p.shape) for p in declared}
    states: tuple[np.ndarray, ...] = ()
    steps = []
    for t in range(4):
        states = execute(f"{name}_cell", {"hidden": 5}, x[t], *states, weights=weights).outputs
        steps.append(states[0])
    output, *ends = execute(name, {"hidden": 5}, x, weights={f"{n}_l0": w for n, w in weights.items()}).outputs
    np.testing.assert_allclose(output, steps, rtol=1e-12)
    np.testing.assert_allclose(ends, [state[None] for state in states], rtol=1e-12)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_a_bias_of_the_input_alone_is_two_of_which_one_is_zero(name: str) -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 2, 3))
    attrs = {"hidden": 5, "layers": 2, "bidirectional": True}
    _, declared, _ = predicted(name, attrs, TensorType(x.shape, "float64"))
    both = {p.name: np.zeros(p.shape) if "bias_hh" in p.name else rng.normal(size=p.shape) for p in declared}
    one = {name: array for name, array in both.items() if "bias_hh" not in name}
    assert {p.name for p in predicted(name, attrs | {"bias": "input"}, TensorType(x.shape))[1]} == set(one)
    expected = execute(name, attrs, x, weights=both).outputs
    for found, wanted in zip(execute(name, attrs | {"bias": "input"}, x, weights=one).outputs, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_sequences_of_a_padded_batch_are_independent(name: str) -> None:
    rng = np.random.default_rng(4)
    attrs = {"hidden": 3, "layers": 2, "bidirectional": True, "batch_first": True}
    x, lengths = rng.normal(size=(3, 5, 2)), np.array([2, 5, 1])
    states = [None, None] if name == "lstm" else [None]
    _, declared, _ = predicted(name, attrs, TensorType(x.shape, "float64"))
    weights = {p.name: rng.normal(size=p.shape) for p in declared}
    output, *ends = execute(name, attrs, x, *states, lengths, weights=weights).outputs
    for i, length in enumerate(lengths):
        alone, *alone_ends = execute(name, attrs, x[i, :length], weights=weights).outputs
        np.testing.assert_allclose(output[i, :length], alone, rtol=1e-12)
        assert not output[i, length:].any()
        np.testing.assert_allclose([end[:, i] for end in ends], alone_ends, rtol=1e-12)


@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize("training", [True, False])
def test_symbolic_sizes_agree_with_integers(name: str, training: bool) -> None:
    sizes = {"steps": 7, "batch": 3, "features": 4, "hidden": 5}
    symbols: dict[str, Poly] = {n: symbol(n, v) for n, v in sizes.items()}
    attrs = {"layers": 3, "bidirectional": True, "dropout": 0.5}
    if name == "lstm":
        attrs["proj_size"] = 2
    runs = []
    for s in (symbols, sizes):
        lengths = TensorType((s["batch"],), "int64")
        states = [None, None] if name == "lstm" else [None]
        x = TensorType((s["steps"], s["batch"], s["features"]))
        runs.append(predicted(name, attrs | {"hidden": s["hidden"]}, x, *states, lengths, training=training))
    (outputs, params, terms), (plain_outputs, plain_params, plain_terms) = runs
    assert [tuple(value_at(d, sizes) for d in o.shape) for o in outputs] == [o.shape for o in plain_outputs]
    assert [(p.name, value_at(product(p.shape), sizes)) for p in params] == [(p.name, p.elements) for p in plain_params]
    for kind in ("mac", "add", "mul", "div", "compare", "transcendental"):
        assert total(terms, kind, **sizes) == total(plain_terms, kind)


F, I = "float32", "int64"  # noqa: E741


@pytest.mark.parametrize(
    ("name", "attrs", "types", "message"),
    [
        ("rnn", {}, [((5, 2, 3), I)], "floating-point"),
        ("rnn", {}, [((3,), F)], "2 or 3 dimensions"),
        ("rnn_cell", {}, [((5, 2, 3), F)], "1 or 2 dimensions"),
        ("gru", {}, [((0, 2, 3), F)], "at least 1 element"),
        ("gru", {}, [((5, 2, 3), F), ((1, 2, 5), F)], "h_0 should be 1×2×4, and it is 1×2×5"),
        ("gru", {}, [((5, 2, 3), F), ((1, 2, 4), "float64")], "h_0 should be float32"),
        ("lstm", {}, [((5, 2, 3), F), ((1, 2, 4), F)], "c_0 is missing"),
        ("lstm", {}, [((5, 2, 3), F), None, ((1, 2, 4), F)], "h_0 is missing"),
        ("lstm_cell", {}, [((2, 3), F), ((2, 4), F)], "c_0 is missing"),
        ("lstm", {"proj_size": 4}, [((5, 2, 3), F)], "below the hidden size 4"),
        ("rnn", {}, [((5, 3), F), None, ((5,), I)], "no batch axis"),
        ("rnn", {}, [((5, 2, 3), F), None, ((5,), I)], "one for each of 2 sequences"),
        ("rnn", {}, [((5, 2, 3), F), None, ((2,), "int32")], "lengths should be int64"),
    ],
)
def test_invalid_inputs(name: str, attrs: dict[str, Any], types: list[Any], message: str) -> None:
    with pytest.raises(RuleError, match=message):
        predicted(name, {"hidden": 4, **attrs}, *(TensorType(*t) if t else None for t in types))


@pytest.mark.parametrize("lengths", [[0, 2], [2, 6]])
def test_lengths_outside_the_batch_are_errors(lengths: list[int]) -> None:
    with pytest.raises(RuleError, match="from 1 to the 5 steps"):
        execute("rnn", {"hidden": 4}, np.zeros((5, 2, 3), np.float32), None, np.array(lengths))


@pytest.mark.parametrize(
    ("name", "attrs"),
    [
        ("rnn", {"hidden": 0}),
        ("rnn", {"hidden": 4, "layers": 0}),
        ("rnn", {"hidden": 4, "layers": True}),
        ("rnn", {"hidden": 4, "dropout": 1.5}),
        ("rnn", {"hidden": 4, "nonlinearity": "sigmoid"}),
        ("gru", {"hidden": 4, "proj_size": 2}),
        ("lstm", {"hidden": 4, "proj_size": 0}),
        ("gru_cell", {"hidden": 4, "layers": 2}),
    ],
)
def test_invalid_attributes(name: str, attrs: dict[str, Any]) -> None:
    declared = ops.find(name)
    assert declared is not None
    with pytest.raises(ValidationError):
        declared(**attrs)

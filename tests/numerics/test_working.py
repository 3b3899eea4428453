"""The working of layers in numbers: each line that is printed gives its value, and values are those of torch.

The text of a line is evaluated as an expression, so that formula, numbers and result are held against each other; the
results are those of kernels, which other tests hold against PyTorch.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.working import Section
from netcalc.diagnostics import NetcalcError
from netcalc.opdef import WorkingLine

SPEC = """
netcalc: 1
dims: {n: 3, d: 2}
inputs:
  q: [n, d]
  k: [n, d]
  v: [n, d]
  x: [n, d]
  img: [2, 2, 4, 4]
  seen: {shape: [n, n], dtype: bool}
  bias: [n, n]
  heads: [2, 4, n, d]
  shared: [2, 2, n, d]
layers:
  - {name: att, from: [q, k, v], scaled_dot_product_attention: {causal: true}}
  - {name: masked, from: {query: q, key: k, value: v, attn_mask: seen}, scaled_dot_product_attention: {softcap: 2.0}}
  - {name: biased, from: {query: q, key: k, value: v, attn_mask: bias}, scaled_dot_product_attention: {}}
  - {name: grouped, from: [heads, shared, shared], scaled_dot_product_attention: {enable_gqa: true, scale: 0.3}}
  - {name: sm, from: x, softmax: {axis: 0}}
  - {name: lsm, from: x, log_softmax: {}}
  - {name: lin, from: x, linear: 3}
  - {name: act, tanh: {}}
  - {name: rnn, from: x, rnn: {hidden: 2}}
  - {name: lstm, from: x, lstm: {hidden: 2, layers: 2, bidirectional: true}}
  - {name: gru, from: x, gru: {hidden: 2}}
  - {name: conv, from: img, conv2d: {out: 4, kernel: 3, padding: 1, groups: 2, dilation: 2}}
  - {name: bn, batch_norm: {}}
  - {name: gn, group_norm: {groups: 2}}
  - {name: inorm, instance_norm: {affine: true}}
  - {name: mp, max_pool2d: {kernel: 2, padding: 1}}
  - {name: ap, from: gn, avg_pool2d: {kernel: 3, padding: 1, stride: 2, count_include_pad: false}}
  - {name: gp, from: gn, global_avg_pool2d: {}}
  - {name: gm, from: gn, global_max_pool2d: {}}
  - {name: ln, from: x, layer_norm: {}}
  - {name: rms, from: x, rms_norm: {offset: 1.0}}
outputs: {a: att, b: masked, bi: biased, c: grouped, sm: sm, lsm: lsm, act: act, rnn: rnn.0, l: lstm.0, g: gru.0,
  mp: mp, ap: ap, gp: gp, gm: gm, inorm: inorm, ln: ln, rms: rms}
"""
LAYERS = re.findall(r"name: (\w+)", SPEC)
INIT = ("*.weight=normal(std=0.8)", "*.bias=uniform(-1, 1)")
_FUNCTIONS = {
    "sqrt": math.sqrt,
    "tanh": math.tanh,
    "exp": math.exp,
    "sigma": lambda x: 1 / (1 + math.exp(-x)),
    "ln": math.log,
    "max": lambda *numbers: max(numbers),
}


@pytest.fixture(scope="module")
def network() -> netcalc.Network:
    return netcalc.loads(SPEC)


def evaluated(text: str) -> float:
    """Return the value of a text of working."""
    for old, new in (("−", "-"), ("·", "*"), ("²", "**2"), ("√", "sqrt"), ("σ(", "sigma("), ("e^(", "exp(")):
        text = text.replace(old, new)
    text = re.sub(r"sqrt(\d+)", r"sqrt(\1)", re.sub(r"ln ([\d.e-]+)", r"ln(\1)", text))
    return float(eval(text, dict(_FUNCTIONS)))


def values_of(network: netcalc.Network, path: str, **options: Any) -> tuple[WorkingLine, ...]:
    sections = network.explain(path, values=True, **options).sections
    return next(section.steps for section in sections if section.title == "values")


@pytest.mark.parametrize("mode", ["eval", "train"])
@pytest.mark.parametrize("layer", LAYERS)
def test_each_line_gives_its_value(layer: str, mode: Any, network: netcalc.Network) -> None:
    chosen = network if mode == "eval" else netcalc.loads(SPEC, mode="train")
    for at in ((), "1"):
        lines = values_of(chosen, layer, at=at, seed=3, init=INIT)
        checked = [
            line for line in lines if line.substituted and isinstance(line.value, float) and "…" not in line.substituted
        ]
        assert checked, lines
        for line in checked:
            assert evaluated(line.substituted) == pytest.approx(line.value, rel=2e-4, abs=2e-5), line


def test_elements_are_those_of_the_output(network: netcalc.Network) -> None:
    """Labels such as y[1,0] name elements of what the layer returns."""
    paths = [layer for layer in LAYERS if layer not in ("rnn", "lstm", "gru")]
    traced = {row.path: row.array for row in network.run(seed=3, init=INIT, trace=["*"], keep=True).trace}
    for path in paths:
        lines = [line for line in values_of(network, path, seed=3, init=INIT) if line.label.startswith("y[")]
        array = traced[path]
        assert lines and array is not None
        for line in lines:
            place = tuple(map(int, line.label[2:-1].split(",")))
            assert array[place] == line.value


def test_a_step_of_recurrent_layers(network: netcalc.Network) -> None:
    """The state that the working ends in is the layer's."""
    traced = {row.path: row.array for row in network.run(seed=3, init=INIT, trace=["*"], keep=True).trace}
    for layer, last in (("rnn", "h[1]"), ("gru", "h[1]")):
        line = values_of(network, layer, seed=3, init=INIT, at=(2, 1))[-1]
        assert line.label == last
        array = traced[f"{layer}.0"]
        assert array is not None and line.value == pytest.approx(float(array[2, 1]), rel=1e-5)


def test_softmax_and_attention_by_hand() -> None:
    network = netcalc.loads(SPEC)
    lines = {line.label: line.value for line in values_of(network, "sm", inputs={"x": [[1, 0], [2, 0], [3, 0]]})}
    assert lines["x[:,0]"] == "1, 2, 3"
    assert [round(lines[f"y[{n},0]"], 6) for n in range(3)] == [0.090031, 0.244728, 0.665241]
    lines = {line.label: line.value for line in values_of(network, "lsm", inputs={"x": [[1, 2], [0, 0], [0, 0]]})}
    assert [round(lines[f"y[0,{n}]"], 6) for n in range(2)] == [-1.313262, -0.313262]
    given = {"q": [[2, 0], [0, 2]], "k": [[1, 0], [0, 1]], "v": [[10, 0], [0, 10]], "x": [[0, 0], [0, 0]]}
    rows = {line.label: line.value for line in values_of(network, "att", inputs=given)}
    assert rows["scores[0]"] == "1.41421, −∞" and rows["weights[0]"] == "1, 0"
    share = math.exp(math.sqrt(2)) / (1 + math.exp(math.sqrt(2)))  # of the second key for the second query
    assert rows["y[1,1]"] == pytest.approx(10 * share, rel=1e-6)


def test_a_convolution_by_hand() -> None:
    """Rows 1 to 3 of a 3×3 image, a filter of ones with 2 in the middle, and a bias of 10: 45 + 5 + 10."""
    network = netcalc.loads("netcalc: 1\ninputs: {x: [1, 1, 3, 3]}\nlayers: [{name: c, conv2d: {out: 1, kernel: 3}}]\n")
    weights = {"c.weight": np.ones((1, 1, 3, 3), "float32"), "c.bias": np.array([10], "float32")}
    weights["c.weight"][0, 0, 1, 1] = 2
    lines = {
        line.label: line
        for line in values_of(network, "c", weights=weights, inputs={"x": [[[[1, 2, 3], [4, 5, 6], [7, 8, 9]]]]})
    }
    assert lines["window, channel 0[1]"].value == "4, 5, 6"
    assert lines["channel 0"].value == 50 and lines["channel 0"].substituted.startswith("1·1 + 2·1 + 3·1 + 4·1 + 5·2")
    assert (lines["y[0,0,0,0]"].substituted, lines["y[0,0,0,0]"].value) == ("50 + 10", 60)


def test_gradients_are_torch_s() -> None:
    """Softmax of (1, 2, 3) with the gradient (1, 0, 0): torch 2.13 gives these in float64."""
    network = netcalc.loads("netcalc: 1\ndims: {n: 2}\ninputs: {x: [n]}\nlayers: [{name: s, softmax: {}}]\n")
    sections = network.explain("s", {"x": [1, 2, 3]}, backward=True, loss="output=[1, 0, 0]").sections
    lines = {line.label: line for line in _titled(sections, "values").steps}
    expected = [0.08192507, -0.02203304, -0.05989202]
    assert [lines[f"dx[{n}]"].value for n in range(3)] == pytest.approx(expected, abs=1e-7)
    for n in range(3):
        assert evaluated(lines[f"dx[{n}]"].substituted) == pytest.approx(expected[n], abs=1e-6)
    gradients = {line.label: line.value for line in _titled(sections, "values of gradients").steps}
    assert gradients["d output"] == "1, 0, 0" and gradients["d input"].startswith("0.0819251, −0.022033, −0.05989")


def _titled(sections: tuple[Section, ...], title: str) -> Section:
    return [section for section in sections if section.title == title][-1]


def test_initial_values() -> None:
    """Fans and bound of Glorot and Bengio by hand: conv1 of ResNet-18 has 3·49 and 64·49."""
    sections = netcalc.load("resnet18").explain("conv1", init="xavier_uniform").sections
    lines = {line.label: line for line in _titled(sections, "initial weight").steps}
    assert (lines["fan in"].value, lines["fan out"].value) == (147, 3136)
    bound = math.sqrt(6 / 3283)
    assert lines["bound"].value == f"{bound:.6g}" and "√(6/3283)" in lines["bound"].substituted
    low, high = lines["drawn: minimum"].value, lines["drawn: maximum"].value
    assert -bound <= low < -0.999 * bound and 0.999 * bound < high <= bound
    assert lines["drawn: deviation"].value == pytest.approx(bound / math.sqrt(3), rel=0.02)
    assert abs(lines["drawn: mean"].value) < 4 * bound / math.sqrt(3 * 9408)


@pytest.mark.parametrize(
    "init",
    [
        "default",
        "kaiming_uniform(mode=fan_out, nonlinearity=relu)",
        "he_normal(a=0.2)",
        "xavier_normal(gain=2)",
        "lecun_normal",
        "uniform(-2, 1)",
        "orthogonal(gain=3)",
        "truncated_normal(std=0.5)",
        "constant(0.25)",
    ],
)
def test_the_formulas_of_initializers_give_what_is_drawn(init: str) -> None:
    network = netcalc.loads("netcalc: 1\ninputs: {x: [1, 300]}\nlayers: [{name: a, linear: 200}]\n")
    lines = {line.label: line for line in _titled(network.explain("a", init=init).sections, "initial weight").steps}
    drawn = lines["drawn: deviation"].value
    assert drawn == pytest.approx(float(lines["expected deviation"].value), rel=0.02, abs=1e-9)
    if "deviation" in lines:
        assert evaluated(lines["deviation"].substituted) == pytest.approx(drawn, rel=0.02)
    if "bound" in lines:
        assert evaluated(lines["bound"].substituted) == pytest.approx(lines["drawn: maximum"].value, rel=0.01)


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("lin", {"values": True, "at": "3"}, "--at 3: the output of linear is 3×3"),
        ("lin", {"values": True, "at": "0,0,0"}, "--at 0,0,0"),
        ("lin", {"at": "0"}, "--at is of a working in numbers"),
        ("lin", {"values": True, "at": "a"}, "the argument 'at' should be indices"),
        (None, {"values": True}, "only a layer has a working in numbers"),
        ("no", {"values": True}, "nothing at 'no'"),
        ("act", {"init": "zeros"}, "nothing is initialized at"),
        ("lin", {"init": "zeroes"}, "unknown initializer"),
    ],
)
def test_what_has_no_working(path: str | None, options: Any, message: str, network: netcalc.Network) -> None:
    with pytest.raises(NetcalcError, match=re.escape(message)):
        network.explain(path, **options)

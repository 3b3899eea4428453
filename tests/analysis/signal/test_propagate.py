"""Predictions of signals through programs, against published rules and against wide networks that are run."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.signal.curves import Curve
from netcalc.analysis.signal.mixture import applied, discrete
from netcalc.analysis.signal.propagate import PredictedOperation, propagate
from netcalc.analysis.signal.report import SignalRow
from netcalc.inits import InitRules
from netcalc.verification.signal import measure


def predicted(text: str, init: str = "default", *, training: bool = False) -> dict[str, PredictedOperation]:
    program = netcalc.loads(text, mode="train" if training else "eval").program
    return {row.path: row for row in propagate(program, InitRules.of(program, init))}


def chain(*lines: str, shape: str = "[64, 256]", init: str = "", **dims: Any) -> str:
    rules = "init: {" + init + "}\n" if init else ""
    listed = "\n".join(f"  - {line}" for line in lines)
    return f"netcalc: 1\ninputs: {{x: {shape}}}\n{rules}layers:\n{listed}\n"


HE = '"[lc][io]n*.weight": he_normal(nonlinearity=relu), "*.bias": zeros'
XAVIER = '"[lc][io]n*.weight": xavier_normal, "*.bias": normal(std=0.3)'
DEEP = ["{linear: 256}", "{linear: 256}", "{linear: 256}"]


def between(lines: list[str], *others: str) -> list[str]:
    return [part for line in lines for part in (line, *others)]


#: Networks with few approximations: specs, if they are in training mode, and tolerances relative to the prediction.
NETWORKS: dict[str, tuple[str, bool, float]] = {
    "relu": (chain(*between(DEEP, "relu"), init=HE), False, 0.1),
    "defaults": (chain(*between(DEEP, "relu")), False, 0.15),
    "tanh": (chain(*between(DEEP, "tanh"), init=XAVIER), False, 0.1),
    "sigmoid": (chain(*between(DEEP, "sigmoid"), init='"*.weight": normal(std=0.3)'), False, 0.1),
    "gelu": (chain(*between(DEEP, "gelu"), init=XAVIER), False, 0.15),
    "composed": (chain("{linear: 512}", "tanh", "{mul: 1.7}", "{add: 0.1}", "silu", "{linear: 256}"), False, 0.1),
    "orthogonal": (chain("{linear: 128}", "{linear: 512}", init='"*.weight": orthogonal(gain=1.5)'), False, 0.1),
    "layer_norm": (chain(*between(DEEP, "relu", "layer_norm"), init=HE), False, 0.1),
    "rms_norm": (chain(*between(DEEP, "rms_norm", "tanh"), init=HE), False, 0.1),
    "batch_norm": (chain(*between(DEEP, "batch_norm", "relu"), init=HE), True, 0.1),
    "fixed statistics": (chain(*between(DEEP, "batch_norm", "relu"), init=HE), False, 0.1),
    "dropout": (chain(*between(DEEP, "relu", "{dropout: 0.4}"), init=HE), True, 0.15),
    "residual": (
        chain(
            "{name: first, linear: 256}",
            "{name: inner, relu: {}}",
            "{name: branch, linear: 256}",
            "{name: sum, add: {}, from: [branch, first]}",
            "{name: last, tanh: {}}",
            init=HE,
        ),
        False,
        0.1,
    ),
    "post-activation residual": (
        chain(
            "{name: first, linear: 256}",
            "{name: x0, relu: {}}",
            *[
                f"{{name: {line}, from: {source}}}" if source else f"{{name: {line}}}"
                for n in range(4)
                for line, source in (
                    (f"branch{n}, linear: 256", ""),
                    (f"sum{n}, add: {{}}", f"[branch{n}, x{n}]"),
                    (f"x{n + 1}, relu: {{}}", ""),
                )
            ],
            init='"*.weight": he_normal(nonlinearity=linear), "*.bias": zeros',
        ),
        False,
        0.1,
    ),
    "gated": (
        chain("{name: a, linear: 256}", "{name: b, linear: 256, from: x}", "{mul: {}, from: [a, b]}", "{linear: 256}"),
        False,
        0.15,
    ),
    "convolution": (
        chain("{conv2d: {out: 128, kernel: 3}}", "relu", "{conv2d: {out: 128, kernel: 3}}",
              shape="[8, 32, 12, 12]", init=HE),
        False,
        0.1,
    ),
    "padding": (
        chain("{conv2d: {out: 128, kernel: 5, padding: 2}}", "relu", "{conv2d: {out: 64, kernel: 3, padding: 1}}",
              shape="[8, 32, 6, 6]", init=HE),
        False,
        0.1,
    ),
    "standardized": (
        chain("{conv2d: {out: 128, kernel: 3, padding: 1, bias: false}}", "relu",
              "{conv2d: {out: 128, kernel: 3, padding: 1, bias: false, weight_standardization: true}}",
              shape="[8, 32, 6, 6]", init=HE),
        False,
        0.1,
    ),
    "groups": (
        chain("{conv2d: {out: 128, kernel: 3, groups: 4}}", "relu", "{group_norm: 4}", "{conv2d: {out: 64, kernel: 1}}",
              shape="[8, 64, 8, 8]", init=HE),
        False,
        0.1,
    ),
    "average pooling": (
        chain("{conv2d: {out: 256, kernel: 1}}", "tanh", "{avg_pool2d: 2}", "{conv2d: {out: 128, kernel: 1}}",
              "{global_avg_pool2d: {}}", shape="[8, 64, 8, 8]", init=XAVIER),
        False,
        0.15,
    ),
    "joined": (
        chain("{name: a, linear: 64}", "{name: b, linear: 256, from: x}", "{concat: {axis: 1}, from: [a, b]}",
              "{linear: 256}", "relu"),
        False,
        0.1,
    ),
    "positions": (
        chain("{embedding: {num_embeddings: 500, embedding_dim: 256}}", "{learned_positions: 16}", "{linear: 256}",
              shape="{shape: [32, 16], dtype: int64, range: [0, 500]}"),
        False,
        0.1,
    ),
    "scale": (
        chain("{name: a, linear: 256}", "{name: s, parameter: {shape: [256], init: constant(0.3)}}",
              "{mul: {}, from: [a, s]}", "tanh", "{linear: 64}"),
        False,
        0.1,
    ),
    "maxima": (
        chain("{conv2d: {out: 64, kernel: 3}}", "batch_norm", "{max_pool2d: 2}", "{conv2d: {out: 64, kernel: 3}}",
              "batch_norm", "relu", shape="[8, 32, 12, 12]"),
        True,
        0.1,
    ),
    "uniform input": (chain(*between(DEEP, "relu"), shape="{shape: [64, 256], range: [0, 1]}", init=HE), False, 0.15),
    "embedding": (
        chain("{embedding: {num_embeddings: 500, embedding_dim: 256}}", "{linear: 256}",
              shape="{shape: [32, 8], dtype: int64, range: [0, 500]}"),
        False,
        0.1,
    ),
}  # fmt: skip
FIGURES = ("variance", "channel_square", "channel_variance", "gradient", "gain", "back", "saturated")


def close(row: SignalRow, name: str, tolerance: float) -> None:
    measured, expected = getattr(row.measured, name), getattr(row.predicted, name)
    if measured is None or expected is None:
        return
    scale = row.measured.rms or 0.0
    if name.startswith("channel"):
        tolerance *= 1.5  # a mean over some hundred channels alone
    absolute = 0.06 * scale**2 if name.startswith("channel") else 0.05 if name == "saturated" else 0.0
    assert measured == pytest.approx(expected, rel=tolerance, abs=absolute), (row.path, row.op, name)


@pytest.mark.parametrize("name", NETWORKS)
def test_predictions_hold_in_wide_networks(name: str) -> None:
    text, training, tolerance = NETWORKS[name]
    report = measure(netcalc.loads(text, mode="train" if training else "eval").program, seeds=6)
    assert report.rows
    for row in report.rows:
        for figure in FIGURES:
            close(row, figure, tolerance)
        for parameter, norm in (row.measured.parameters or {}).items():
            expected = (row.predicted.parameters or {}).get(parameter)
            if expected is not None:
                assert norm == pytest.approx(expected, rel=2 * tolerance), (row.path, parameter)


def test_nothing_is_left_out_where_the_rules_are_known() -> None:
    for name in set(NETWORKS) - {"maxima", "average pooling", "composed"}:
        text, training, _ = NETWORKS[name]
        for row in predicted(text, training=training).values():
            assert row.signal.square is not None, (name, row)


def nf_resnet(blocks: int, alpha: float, gain: float) -> str:
    """Normalizer-free residual blocks of standardized 1×1 convolutions, with a transition before each stage."""
    channels = 256
    lines = ["{name: stem, linear: 256}", "{name: stage_in, mul: 1.0}"]
    previous, variance = "stage_in", 1.0
    for stage in range(2):
        for block in range(blocks):
            name = f"s{stage}b{block}"
            lines += [
                f"{{name: {name}_scaled, mul: {1 / math.sqrt(variance)}, from: {previous}}}",
                f"{{name: {name}_relu, relu: {{}}}}",
                f"{{name: {name}_gain, mul: {gain}}}",
                f"{{name: {name}_conv, conv1d: {{out: 256, kernel: 1, bias: false, weight_standardization: true}}}}",
                f"{{name: {name}_unit, mul: {1 / math.sqrt(channels)}}}",
                f"{{name: {name}_branch, mul: {alpha}}}",
            ]
            shortcut = previous
            if block == 0:
                shortcut = f"{name}_short"
                lines += [
                    f"{{name: {name}_proj, conv1d: {{out: 256, kernel: 1, bias: false, "
                    f"weight_standardization: true}}, from: {name}_gain}}",
                    f"{{name: {shortcut}, mul: {1 / math.sqrt(channels)}}}",
                ]
            lines.append(f"{{name: {name}, add: {{}}, from: [{name}_branch, {shortcut}]}}")
            variance = 1 + alpha**2 if block == 0 else variance + alpha**2
            previous = name
    lines[0] = "{name: stem, conv1d: {out: 256, kernel: 1, bias: false}}"
    return chain(*lines, shape="[16, 256, 16]", init='"*.weight": he_normal(nonlinearity=linear)')


def test_variances_of_normalizer_free_networks() -> None:
    """arXiv:2101.08692: the variance is reset to 1 + α² at transitions, and grows by α² in every other block."""
    alpha, gain = 0.2, 1.7128585504496634
    text = nf_resnet(3, alpha, gain)
    rows = predicted(text)
    found = [rows[f"s{stage}b{block}"].signal.variance for stage in range(2) for block in range(3)]
    assert found == pytest.approx([1.04, 1.08, 1.12] * 2, rel=1e-9)
    report = measure(netcalc.loads(text).program, seeds=3)
    for row in report.rows:
        if row.op == "add":
            assert row.measured.variance == pytest.approx(row.predicted.variance, rel=0.1)


def test_gaps_are_named_and_end_at_norms() -> None:
    text = chain("{linear: 64}", "{softmax: {}}", "{name: after, linear: 64}", "{name: norm, layer_norm: {}}", "relu")
    rows = list(predicted(text).values())
    assert [row.signal.gap for row in rows[1:3]] == ["no rule for softmax (softmax)"] * 2
    norm, relu = rows[3:]
    assert (norm.signal.mean, norm.signal.square) == (0.0, pytest.approx(1.0))
    assert relu.signal.square == pytest.approx(0.5)
    assert "no rule for the gradient of layer_norm (norm)" in rows[2].gradient_gap


def test_correlated_sums_and_other_rules_without_an_answer() -> None:
    same = chain("{name: a, linear: 64}", "{name: b, tanh: {}}", "{name: sum, add: {}, from: [a, b]}")
    assert predicted(same)["sum"].signal.gap == "a sum of parts that are correlated, with the same weights"
    positive = predicted(chain("{linear: 64}"), "uniform(0, 1)")["linear"]
    assert positive.signal.gap == "no rule for weights whose mean is not 0"
    # a dropped activation has no distribution that is known
    mixed = chain("{name: a, linear: 64}", "{name: r, relu: {}}", "{name: d, dropout: 0.5}", "{name: last, relu: {}}")
    rows = predicted(mixed, training=True)
    assert rows["d"].signal.square is not None
    assert rows["last"].signal.gap == "no rule for functions of an input that is not normal (last)"


def test_functions_of_a_sum_of_a_normal_variable_and_an_activation() -> None:
    """Moments by quadrature, against a sample."""
    rng = np.random.default_rng(0)
    u, z = rng.standard_normal((2, 1_000_000))
    relu = Curve("relu", lambda x: max(x, 0.0), lambda x: float(x > 0))
    first = discrete(relu, 0.2, 1.5).plus(0.1, 0.8)
    moments, second = applied(relu, first)
    s = np.maximum(0.2 + np.sqrt(1.5) * u, 0) + 0.1 + np.sqrt(0.8) * z
    y = np.maximum(s, 0)
    assert moments == pytest.approx((y.mean(), (y**2).mean(), (s > 0).mean()), rel=5e-3)
    again, _ = applied(relu, second.times(0.5).plus(0.0, 0.3))
    t = np.maximum(0.5 * y + np.sqrt(0.3) * rng.standard_normal(len(y)), 0)
    assert again.square == pytest.approx((t**2).mean(), rel=5e-3)
    assert not second.smooth and second.plus(0.0, 1.0).smooth


def test_gradients_of_both_branches_add_up() -> None:
    text = chain(
        "{name: first, linear: 256}",
        "{name: branch, linear: 256}",
        "{name: sum, add: {}, from: [branch, first]}",
        init='"*.weight": he_normal(nonlinearity=linear), "*.bias": zeros',
    )
    rows = predicted(text)
    assert rows["sum"].gradient == pytest.approx(1.0)
    assert rows["first"].gradient == pytest.approx(2.0)  # ∂y/∂x = 1 + ∂F/∂x, of which both have a norm of 1

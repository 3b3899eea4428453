"""Measurements of signals, and what is said about them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import netcalc
from netcalc.analysis.signal.report import Finding, SignalReport
from netcalc.diagnostics import NetcalcError


def report(lines: str, init: str, *, width: int = 64, training: bool = False, batch: int = 32) -> SignalReport:
    text = f"netcalc: 1\ninputs: {{x: [{batch}, {width}]}}\ninit: {{{init}}}\nlayers:\n{lines}"
    return netcalc.loads(text, mode="train" if training else "eval").signal(seeds=2)


def chain(*ops: str, layers: int, width: int = 64) -> str:
    each = ", ".join([f"{{name: linear, linear: {width}}}", *(f"{{name: {op}, {op}: {{}}}}" for op in ops)])
    return f"  - {{name: layers, repeat: {{times: {layers}}}, sequence: [{each}]}}\n"


def finding(found: SignalReport, kind: str) -> Finding:
    (match,) = [finding for finding in found.findings if finding.kind == kind]
    return match


def test_figures_of_a_tensor_that_is_given() -> None:
    text = "netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{name: r, relu: {}}]\n"
    x = np.array([[1.0, -2.0, 3.0], [3.0, -4.0, 0.0]], "float32")
    (row,) = netcalc.loads(text).signal({"x": x}, seeds=1, loss="sum").rows
    y = np.maximum(x, 0)
    assert row.measured.mean == pytest.approx(y.mean())
    assert row.measured.variance == pytest.approx(y.var())
    assert row.measured.channel_square == pytest.approx((4 + 0 + 2.25) / 3)
    assert row.measured.channel_variance == pytest.approx((1 + 0 + 2.25) / 3)
    assert row.measured.dead == pytest.approx(1 / 3)
    assert row.measured.gain == pytest.approx(math.sqrt((y**2).mean() / (x**2).mean()))
    assert row.measured.gradient == pytest.approx(math.sqrt(6))
    assert row.measured.back == pytest.approx(math.sqrt(3 / 6))


def test_saturation_is_where_the_slope_is_below_a_tenth() -> None:
    text = "netcalc: 1\ninputs: {x: [4, 1]}\nlayers: [{name: s, sigmoid: {}}, {name: t, tanh: {}, from: x}]\n"
    x = np.array([[0.0], [2.0], [3.0], [4.0]], "float32")
    rows = netcalc.loads(text).signal({"x": x}, seeds=1).rows
    assert [row.measured.saturated for row in rows] == [0.25, 0.75]


def test_gradients_vanish_in_a_chain_of_sigmoids() -> None:
    found = report(chain("sigmoid", layers=8), '"*.weight": xavier_normal, "*.bias": zeros')
    vanish = finding(found, "gradients vanish")
    assert vanish.path == "layers.5.linear"  # two layers below the last one the norm is below a fifth
    assert "sigmoid multiplies by 0.2" in vanish.why and "residual" in vanish.why
    assert "slope is at most ¼" in vanish.help
    assert {finding.kind for finding in found.findings} == {"gradients vanish", "samples alike"}


def test_large_weights_explode_and_saturate() -> None:
    found = report(chain("relu", layers=6), '"*.weight": normal(std=1.0)')
    assert finding(found, "activations explode").path == "layers.1.linear"
    assert "he_normal" in finding(found, "activations explode").help
    assert "a layer with weights multiplies by" in finding(found, "gradients explode").why
    saturated = report(chain("tanh", layers=3), '"*.weight": normal(std=2.0)')
    assert finding(saturated, "saturation").path == "layers.0.tanh"


def test_small_weights_make_both_vanish() -> None:
    found = report(chain("tanh", layers=4), '"*.weight": normal(std=0.01), "*.bias": zeros')
    assert finding(found, "activations vanish").path == finding(found, "activations vanish").path
    assert "xavier_normal" in finding(found, "gradients vanish").help


def test_negative_biases_kill_rectifiers() -> None:
    found = report(chain("relu", layers=2), '"*.weight": he_normal, "*.bias": constant(-8)')
    assert finding(found, "dead units").path == "layers.0.relu"


def test_weights_of_zero_are_named_as_the_reason() -> None:
    found = finding(report(chain("tanh", layers=4), '"*.weight": zeros'), "gradients vanish")
    assert "a layer with weights multiplies by 0" in found.why
    assert "xavier_normal" in found.help


def test_units_of_one_datum_are_not_called_dead() -> None:
    init = ["*.weight=he_normal", "*.bias=constant(-8)"]
    one = netcalc.load("mlp").signal(init=init, seeds=1)
    several = netcalc.load("mlp", set={"batch": 8}).signal(init=init, seeds=1)
    assert one.data == 1 and "dead units" not in [found.kind for found in one.findings]
    assert finding(several, "dead units").path == "hidden.0.1"


def test_a_network_that_keeps_its_scale() -> None:
    found = report(chain("relu", layers=6), '"*.weight": he_normal(nonlinearity=relu), "*.bias": zeros', width=256)
    assert [finding.kind for finding in found.findings] == ["steady"]


def test_infinities_are_reported() -> None:
    found = report(chain("relu", layers=3), '"*.weight": normal(std=1e30)')
    assert finding(found, "activations explode").path == "layers.1.linear"


def test_the_gradient_of_a_group_is_that_of_all_its_operations() -> None:
    lines = (
        "  - {name: block, sequence: [{name: a, linear: 64}, {name: b, tanh: {}}, {name: c, linear: 64}]}\n"
        "  - {name: last, relu: {}}\n"
    )
    found = report(lines, '"*.weight": xavier_normal, "*.bias": zeros')
    a, _, c, last = found.rows
    block, again = found.at_depth(1).rows
    assert again == last
    assert block.measured.variance == c.measured.variance
    assert block.measured.gain == pytest.approx(math.prod(row.measured.gain or 0 for row in found.rows[:3]), rel=1e-3)
    assert block.measured.back == pytest.approx(math.prod(row.measured.back or 0 for row in found.rows[:3]), rel=1e-3)
    squares = [norm**2 for row in (a, c) for norm in (row.measured.parameters or {}).values()]
    assert block.measured.parameters == {"": pytest.approx(math.sqrt(sum(squares)))}
    with pytest.raises(NetcalcError, match="depth"):
        found.at_depth(0)


def test_repeated_layers_with_shared_weights_have_a_row_for_each_iteration() -> None:
    lines = "  - {name: layers, repeat: 3, share: true, sequence: [{name: linear, linear: 64}, tanh]}\n"
    found = report(lines, '"*.weight": orthogonal')
    assert len(found.rows) == 6
    assert found.gradients == ""


def test_at_least_one_seed_and_no_more_work_than_a_limit() -> None:
    mlp = netcalc.load("mlp")
    with pytest.raises(NetcalcError, match="'seeds' should be a whole number of at least 1"):
        mlp.signal(seeds=0)
    with pytest.raises(NetcalcError, match="--max-work") as raised:
        mlp.signal(seeds=10**9)
    assert raised.value.diagnostics[0].code == "E603"
    with pytest.raises(NetcalcError, match="--max-work"):
        mlp.signal(seeds=1, max_work=3 * mlp.flops)
    assert mlp.signal(seeds=1, max_work=5 * mlp.flops).rows


def test_the_mode_is_that_which_is_asked_for() -> None:
    text = "netcalc: 1\ninputs: {x: [8, 4]}\nlayers: [{name: n, batch_norm: {}}]\n"
    x = np.arange(32.0, dtype="float32").reshape(8, 4)
    trained, found = (netcalc.loads(text).signal({"x": x}, seeds=1, mode=mode).rows[0] for mode in ("train", "eval"))
    assert trained.measured.variance == pytest.approx(1.0, rel=1e-3)
    assert found.measured.variance == pytest.approx(x.var(), rel=1e-3)
    assert "nothing is normalized" in found.note and not trained.note
    with pytest.raises(NetcalcError, match="more than one value per channel"):
        netcalc.loads(text.replace("8, 4", "1, 4")).signal(mode="train")

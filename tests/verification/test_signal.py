"""Measurements of signals, and what is said about them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import netcalc
from netcalc.analysis.signal.report import Finding, SignalReport
from netcalc.diagnostics import NetcalcError
from tests.zoo.harness import SMALL


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
    assert vanish.path == "layers.7.linear"
    assert "sigmoid multiplies by 0.2" in vanish.why and "residual" in vanish.why
    assert "slope is at most ¼" in vanish.help
    assert {finding.kind for finding in found.findings} == {"gradients vanish", "samples alike"}


def test_large_weights_explode_and_saturate() -> None:
    found = report(chain("relu", layers=6), '"*.weight": normal(std=1.0)')
    explode = finding(found, "activations explode")
    assert explode.path == "layers.0.linear"
    assert "he_normal" in explode.help and "a layer with weights multiplies by" in explode.why
    assert "gradients explode by the same factor" in explode.text
    saturated = report(chain("tanh", layers=3), '"*.weight": normal(std=2.0)')
    assert finding(saturated, "saturation").path == "layers.0.tanh"


def test_small_weights_make_both_vanish_by_the_same_factor() -> None:
    found = report(chain("tanh", layers=4), '"*.weight": normal(std=0.01), "*.bias": zeros')
    vanish = finding(found, "activations vanish")
    assert "xavier_normal" in vanish.help and "gradients vanish by the same factor" in vanish.text
    norms = [row.measured.parameters["weight"] for row in found.layers]
    assert max(norms) < 1.5 * min(norms)


def test_negative_biases_kill_rectifiers() -> None:
    found = report(chain("relu", layers=2), '"*.weight": he_normal, "*.bias": constant(-8)')
    assert finding(found, "dead units").path == "layers.0.relu"


def test_weights_of_zero_are_named_as_the_reason() -> None:
    found = report(chain("tanh", layers=4), '"*.weight": zeros, "*.bias": zeros')
    assert "the weights of layers.3.linear are 0" in finding(found, "no gradient").why
    assert finding(found, "no gradient").path == "layers.2.tanh"


def test_stage_of_which_the_outputs_are_not_used() -> None:
    """An encoder whose features are multiplied by 0, beside a longer stage that trains."""
    lines = (
        "  - {name: encoder, from: x, repeat: {times: 4}, linear: 64}\n"
        "  - {name: gate, mul: 0}\n"
        "  - {name: layers, from: x, repeat: {times: 8}, linear: 64}\n"
        "  - {name: merged, from: [gate, layers], add: {}}\n"
    )
    found = report(lines, '"*.weight": xavier_normal, "*.bias": zeros')
    assert [finding.kind for finding in found.findings if finding.kind != "step"] == ["no gradient"]
    dead = finding(found, "no gradient")
    assert dead.path == "encoder.0" and "all 4 lines of encoder.*" in dead.text


def test_growth_before_a_norm_is_seen() -> None:
    """30 layers of which each nearly triples the scale, and a norm that hides it from the output."""
    lines = chain("relu", layers=30) + "  - layer_norm: {}\n"
    found = report(lines, '"*.weight": normal(std=0.5), "*.bias": zeros')
    assert [finding.kind for finding in found.findings] == ["activations explode"]
    (stage,) = found.stages
    (growth,) = stage.activations.growths
    assert stage.path == "layers.*.linear" and len(stage.lines) == 30
    assert (growth.begins, growth.ends) == ("layers.0.linear", "layers.29.linear")
    assert growth.by_line == pytest.approx(8**0.5, rel=0.05)  # 64 · 0.5² / 2
    assert stage.activations.largest > 1e12 and stage.gradients is not None and not stage.gradients.growths


def test_a_fall_and_a_rise_in_one_stage() -> None:
    text = (
        "netcalc: 1\ninputs: {x: [32, 64]}\n"
        'init: {"*.bias": zeros, "layers.?.weight": normal(std=0.01), '
        '"layers.1[0-4].weight": normal(std=0.01), "layers.*.weight": normal(std=0.39)}\n'
        "layers:\n  - {name: layers, repeat: {times: 30}, linear: 64}\n"
    )
    found = netcalc.loads(text, dtype="float64").signal(seeds=1)
    kinds = {finding.kind: finding.path for finding in found.findings}
    assert kinds == {"activations vanish": "layers.0", "activations explode": "layers.14"}
    fall, rise = found.stages[0].activations.growths
    assert (fall.first, fall.last, rise.first, rise.last) == (1, 15, 15, 30)
    assert fall.by_line == pytest.approx(0.08, rel=0.1) and rise.by_line == pytest.approx(3.12, rel=0.1)


def test_a_step_between_stages_is_no_growth() -> None:
    """A layer of tiny weights between two residual stages changes the scale once."""
    each = "add: {shortcut: [], main: [{layer_norm: {}}, {linear: 64}]}"
    lines = f"  - {{name: a, repeat: 6, {each}}}\n  - {{name: small, linear: 64}}\n  - {{name: b, repeat: 6, {each}}}\n"
    found = report(lines, '"small.weight": normal(std=1e-5), "*norm.weight": ones, "*.weight": he_normal')
    kinds = {finding.kind for finding in found.findings}
    assert kinds == {"samples alike", "step"}  # the biases of the small layer outweigh its sums
    assert [stage.path for stage in found.stages] == ["a.*.add", "b.*.add"]


@pytest.mark.parametrize(
    ("op", "init", "unwanted"),
    [("gelu", "he_normal(nonlinearity=relu)", "he_normal"), ("tanh", "xavier_normal", "xavier_normal")],
)
def test_what_is_in_use_is_not_recommended(op: str, init: str, unwanted: str) -> None:
    found = report(chain(op, layers=60), f'"*.weight": {init}, "*.bias": normal(std=0.2)')
    assert all(unwanted not in finding.help for finding in found.findings)
    lines = chain("relu", "layer_norm", layers=40)
    normed = report(lines, '"*linear.weight": normal(std=3.0), "*.bias": zeros')
    assert all("layer_norm" not in finding.help for finding in normed.findings)


def test_equal_units_are_symmetric() -> None:
    found = report(chain("tanh", layers=4), '"*.weight": constant(0.1), "*.bias": zeros')
    assert finding(found, "symmetric weights").path == "layers.0.linear"
    # a last layer of zeros learns at once
    steady = report(
        chain("tanh", layers=3), '"*.bias": zeros, "layers.2.linear.weight": zeros, "*.weight": xavier_normal'
    )
    assert "symmetric weights" not in [finding.kind for finding in steady.findings]


def test_a_dead_network_has_no_gradient() -> None:
    found = report(chain("relu", layers=4), '"*.weight": he_normal, "*.bias": constant(-8)')
    dead = finding(found, "no gradient")
    assert dead.path == "layers.3.linear" and "slope of relu is 0" in dead.why


def test_inputs_out_of_scale() -> None:
    x = np.random.default_rng(0).uniform(0, 255, (32, 784)).astype("float32")
    mlp = netcalc.load("mlp", set={"batch": 32})
    found = finding(mlp.signal({"x": x}, seeds=1), "inputs out of scale")
    assert found.path == "hidden.0.0" and "mean square of 147" in found.text
    assert "inputs out of scale" not in [each.kind for each in mlp.signal({"x": x / 255}, seeds=1).findings]
    text = "netcalc: 1\ninputs: {x: [32, 784]}\nlayers: [{layer_norm: {}}, {linear: 8}]\n"
    assert "inputs out of scale" not in [each.kind for each in netcalc.loads(text).signal({"x": x}, seeds=1).findings]


def test_coordinates_have_no_scale() -> None:
    """Boxes are places, to which no gradient flows."""
    text = (
        "netcalc: 1\ninputs: {x: [2, 3, 16, 16], boxes: {shape: [2, 4, 4], range: [0, 64]}}\n"
        "layers: [{from: x, conv2d: {out: 8, kernel: 3}}, "
        "{from: [_, boxes], roi_align: {output_size: 2, sampling_ratio: 2}}, flatten, {linear: 4}]\n"
    )
    assert "inputs out of scale" not in [each.kind for each in netcalc.loads(text).signal(seeds=1).findings]


def test_batch_norms_normalize_unless_the_batch_is_too_small() -> None:
    text = "netcalc: 1\ninputs: {x: [8, 4]}\nlayers: [{name: n, batch_norm: {}}]\n"
    assert netcalc.loads(text).signal(seeds=1).training
    assert not netcalc.loads(text, mode="eval").signal(seeds=1).training
    assert not netcalc.loads(text).signal(seeds=1, mode="eval").training
    assert not netcalc.loads(text.replace("8, 4", "1, 4")).signal(seeds=1).training
    assert not netcalc.load("mlp").signal(seeds=1).training


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
    assert finding(found, "activations explode").path == "layers.0.linear"


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


def test_a_norm_that_sets_the_scale_is_no_explosion() -> None:
    lines = "  - {name: layers, repeat: 3, sequence: [{name: linear, linear: 64}, {name: norm, layer_norm: {}}]}\n"
    found = report(
        lines, '"layers.0.linear.weight": normal(std=1e-5), "*linear.weight": he_normal, "*linear.bias": zeros'
    )
    (stage,) = found.stages
    assert stage.activations.largest > 1e4 * stage.activations.smallest
    assert [each.kind for each in found.findings] == ["steady"]


def test_lines_that_begin_at_0_do_not_explode() -> None:
    """The queries of a decoder of DETR begin at 0."""
    found = netcalc.load("detr-resnet-50", set=dict(SMALL["detr-resnet-50"])).signal(seeds=1)
    decoder = next(stage for stage in found.stages if stage.path.startswith("model.decoder"))
    assert decoder.activations.smallest == 0
    assert "activations explode" not in [each.kind for each in found.findings]

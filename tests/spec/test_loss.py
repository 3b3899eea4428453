"""The loss of a spec: what it sees, what it adds to a program, and errors in it."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.cost import analyze
from netcalc.diagnostics import NetcalcError
from netcalc.ir.check import check
from tests.spec.harness import problems, program, request, shapes

NETWORK = """
name: classifier
dims: {batch: 4}
vars: {classes: 3}
inputs: {x: [batch, 8]}
layers:
  - {name: fc, linear: "${classes}"}
outputs: {logits: fc}
"""
LOSS = """
loss:
  inputs: {labels: {shape: [batch], dtype: int64, range: [0, "${classes}"]}}
  layers:
    - {from: [logits, labels], cross_entropy: {}}
"""


def spec(loss: str) -> str:
    return dedent(NETWORK) + dedent(loss)


def test_a_loss_is_no_part_of_the_network() -> None:
    plain, lossy = program(NETWORK), program(spec(LOSS))
    assert shapes(lossy) == shapes(plain)
    assert lossy.output_names == ("logits",)
    assert [each.name for each in lossy.inputs] == ["x"]
    assert analyze(lossy, "netcalc").total == analyze(plain, "netcalc").total


def test_the_program_with_its_loss() -> None:
    found = request(spec(LOSS)).program_with_loss
    check(found)
    assert [str(each.type) for each in found.inputs] == ["4×8", "4"]
    assert found.output_names == ("logits", "loss")
    assert shapes(found) == {"fc": "4×3", "loss.cross_entropy": "scalar"}


def test_a_loss_may_use_the_parameters_of_the_network() -> None:
    tied = """
    loss:
      inputs: {labels: {shape: [batch], dtype: int64, range: [0, "${classes}"]}, other: [batch, 8]}
      layers:
        - {from: other, tie: /fc, linear: "${classes}"}
        - {from: [_, labels], cross_entropy: {}}
    """
    found = request(spec(tied)).program_with_loss
    check(found)
    assert analyze(found, "netcalc").total.params == 8 * 3 + 3
    weight, bias = np.ones((3, 8), np.float32), np.array([1, 0, -1], np.float32)
    given = {
        "x": np.zeros((4, 8), np.float32),
        "labels": np.array([0, 1, 2, 0]),
        "other": np.eye(4, 8, dtype=np.float32),
    }
    weights = {"fc.weight": weight, "fc.bias": bias}
    result = netcalc.loads("netcalc: 1\n" + spec(tied)).gradients(given, weights=weights)
    # the logits of each row are (2, 1, 0)
    chances = np.exp([2, 1, 0]) / np.exp([2, 1, 0]).sum()
    assert result.loss == pytest.approx(-np.log(chances[[0, 1, 2, 0]]).mean())
    assert result.parameters["fc.bias"] == pytest.approx(chances - np.array([0.5, 0.25, 0.25]), abs=1e-6)


def test_a_loss_takes_no_weight_beside_which_an_adapter_stands() -> None:
    tied = "loss: {inputs: {other: [batch, 8]}, layers: [{from: other, tie: /fc, linear: 3}, {mean: {}}]}"
    with pytest.raises(NetcalcError, match="E104: the loss uses the parameters of 'fc', which has an adapter"):
        netcalc.loads("netcalc: 1\n" + spec(tied), lora=["fc=2"])


@pytest.mark.parametrize("present", [True, False])
def test_an_output_may_be_absent(present: bool) -> None:
    network = dedent(NETWORK).replace("classes: 3", f"classes: 3, more: {present}")
    network = network.replace("outputs: {logits: fc}", "outputs: {logits: fc, squares: squares?}")
    network = network.replace("outputs:", "  - {when: more, name: squares, mul: 2}\noutputs:")
    lines = """
    loss:
      layers:
        - {name: total, mean: {}}
        - {when: more, from: squares, sum: {}}
    """
    found = request(network + dedent(lines)).program_with_loss
    assert ("loss.sum" in shapes(found)) is present


def test_symbolic_sizes_are_those_of_the_network() -> None:
    symbolic = request(spec(LOSS), symbolic=("batch",))
    cost = analyze(symbolic.with_sizes({"batch": 7}).program_with_loss, "netcalc").total
    assert cost == analyze(request(spec(LOSS), batch=7).program_with_loss, "netcalc").total


def test_the_path_of_a_loss_is_free() -> None:
    text = NETWORK.replace("name: fc", "name: loss.fc").replace("logits: fc", "logits: loss.fc")
    assert list(shapes(request(text + LOSS).program_with_loss)) == ["loss.fc", "loss_1.cross_entropy"]


def test_the_value_of_a_loss_is_that_of_its_formula() -> None:
    rng = np.random.default_rng(0)
    x, labels = rng.normal(size=(4, 8)).astype(np.float32), np.array([0, 2, 1, 2])
    net = netcalc.loads("netcalc: 1\n" + spec(LOSS))
    found = net.gradients({"x": x, "labels": labels})
    scores = found.outputs["logits"].astype(np.float64)
    shares = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert found.loss == pytest.approx(float(-np.log(shares[np.arange(4), labels]).mean()), rel=1e-6)
    wrong = shares - np.eye(3)[labels]
    np.testing.assert_allclose(found.parameters["fc.weight"], wrong.T @ x / 4, rtol=1e-4, atol=1e-6)


def test_lines_see_the_first_output_and_all_by_name() -> None:
    text = """
    name: two
    inputs: {x: [2, 8]}
    layers: [{name: a, linear: 4}, {name: b, linear: 3}]
    outputs: [b, a]
    loss:
      layers:
        - {name: first, mean: {}}
        - {from: a, mean: {}}
        - {from: [first, _], add: {}}
    """
    found = request(text).program_with_loss
    assert [str(each) for each in found.main.nodes[-1].input_types] == ["2×3", "2×4"]
    assert shapes(found)["loss.add"] == "scalar"


def test_a_loss_with_a_condition(tmp_path: Path) -> None:
    text = spec(LOSS).replace("loss:\n", "loss:\n  when: classes > 1\n")
    assert request(text).loss is not None
    assert request(text, classes=1).loss is None
    with pytest.raises(NetcalcError, match="has no loss"):
        assert request(text, classes=1).program_with_loss


def test_an_input_of_a_loss_may_be_absent() -> None:
    text = """
    loss:
      inputs: {weights: {shape: [classes], when: weighted}, labels: {shape: [batch], dtype: int64, range: [0, 3]}}
      layers: [{from: {input: logits, target: labels, weight: weights}, cross_entropy: {}}]
    """
    text = spec(text).replace("classes: 3", "classes: 3, weighted: {default: false}")
    assert [each.name for each in request(text).program_with_loss.inputs] == ["x", "labels"]
    assert [each.name for each in request(text, weighted=True).program_with_loss.inputs] == ["x", "weights", "labels"]


def child(tmp_path: Path, text: str, **settings: Any) -> netcalc.Network:
    (tmp_path / "parent.yaml").write_text("netcalc: 1\n" + spec(LOSS))
    return netcalc.loads("netcalc: 1\nextends: parent\n" + dedent(text), folder=tmp_path, set=settings)


def test_a_loss_is_inherited_whole(tmp_path: Path) -> None:
    assert child(tmp_path, "name: same\n").request.loss is not None
    own = child(tmp_path, "loss: {layers: [{mean: {}}]}\n").request
    assert [each.name for each in own.program_with_loss.inputs] == ["x"]
    assert child(tmp_path, "loss: null\n").request.loss is None


def test_an_inherited_loss_that_does_not_fit_is_an_error_where_it_is_used(tmp_path: Path) -> None:
    net = child(tmp_path, "outputs: {scores: fc}\n")
    assert net.params == 27
    with pytest.raises(NetcalcError) as caught:
        net.gradients()
    (found,) = caught.value.diagnostics
    assert found.code == "E301" and "that of the spec that this one extends" in (found.hint or "")
    assert "scores" in child(tmp_path, "outputs: {scores: fc}\n").run().outputs


def test_the_text_of_a_network_has_its_loss(tmp_path: Path) -> None:
    net = child(tmp_path, "vars: {classes: 5}\n")
    again = netcalc.loads(net.to_yaml())
    assert again.gradients(seed=3).loss == net.gradients(seed=3).loss


ERRORS = {
    "unknown output": ("loss: {layers: [{from: scores, mean: {}}]}", "E301", "unknown value 'scores'"),
    "inner value": ("loss: {layers: [{from: x, mean: {}}]}", "E301", "unknown value 'x'"),
    "not one number": ("loss: {layers: [softmax]}", "E401", "should be a single number, and is 4×3"),
    "not a float": (
        "loss: {layers: [{argmax: -1}, {sum: {}}]}",
        "E402",
        "should be a floating-point number, and is int64",
    ),
    "name of an input": ("loss: {inputs: {x: [1]}, layers: [{mean: {}}]}", "E106", "'x' is the name of an input too"),
    "name of an output": ("loss: {inputs: {logits: [1]}, layers: [{mean: {}}]}", "E106", "name of an output too"),
    "parameters": ("loss: {layers: [{linear: 1}, {mean: {}}]}", "E104", "the loss has parameters, of linear"),
    "unknown tie": (
        "loss: {layers: [{tie: /fd, linear: 3}, {mean: {}}]}",
        "E304",
        "no earlier line has '/fd.weight' to tie to",
    ),
    "one of two tied": (
        "loss: {layers: [{tie: {weight: /square.weight}, linear: 3}, {mean: {}}]}",
        "E304",
        "no earlier line has",
    ),
    "no lines": ("loss: {layers: []}", "E105", "the loss has no layers"),
    "unknown key": ("loss: {layer: [{mean: {}}]}", "E101", "unknown key 'layer'"),
    "no layers": ("loss: {inputs: {}}", "E105", "'layers' is missing"),
    "two lines of a path": (
        "loss: {layers: [{name: a, mean: {}}, {name: a, mean: {}}]}",
        "E106",
        "a",
    ),
    "several": ("loss: {layers: [{from: a, mean: {}}, {from: b, mean: {}}]}", "E301", "unknown value 'a'"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    loss, code, message = ERRORS[name]
    first = problems(spec(loss))[0]
    assert first.code == code and message in first.message
    assert first.span is not None and first.span.file == "spec.yaml"


def test_every_error_is_reported() -> None:
    assert len(problems(spec(ERRORS["several"][0]))) == 2


def test_an_output_called_loss() -> None:
    (found,) = problems(spec(LOSS).replace("outputs: {logits: fc}", "outputs: {logits: fc, loss: fc}"))
    assert found.code == "E106"

"""Training: resumed runs, what steps change and leave, losses that fall, and arguments that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.numerics.initializers import generator
from netcalc.training import Recipe, Schedule, TrainingResult
from netcalc.weights.writing import write_tensors

LOSS = """
loss:
  inputs: {labels: {shape: [batch], dtype: int64, range: [0, 3]}}
  layers: [{from: [logits, labels], cross_entropy: {}}]
"""
#: Dropout, batch statistics, a tied weight and a frozen layer.
NET = f"""
netcalc: 1
name: small
dims: {{batch: 4}}
inputs: {{x: [batch, 6]}}
layers:
  - {{name: first, linear: 6, freeze: true}}
  - {{name: norm, batch_norm: {{}}}}
  - tanh
  - {{name: tied, linear: 6}}
  - {{name: again, linear: 6, tie: {{weight: tied.weight}}}}
  - dropout: 0.3
  - {{name: head, linear: 3}}
outputs: {{logits: head}}
{LOSS}
"""
NETWORK = netcalc.loads(NET)
RNG = np.random.default_rng(0)
DATA = {"x": RNG.normal(size=(11, 6)).astype("float32"), "labels": RNG.integers(0, 3, 11)}


def _equal(first: TrainingResult, second: TrainingResult) -> bool:
    """Return True if all but the times of two results are the same, bit by bit."""
    figures = ("losses", "learning_rates", "gradient_norms")
    if any(getattr(first, name) != getattr(second, name) for name in figures):
        return False
    for kind in ("parameters", "buffers"):
        one: Mapping[str, Any] = getattr(first, kind)
        other: Mapping[str, Any] = getattr(second, kind)
        if one.keys() != other.keys() or any(one[name].tobytes() != other[name].tobytes() for name in one):
            return False
    return True


def _code(function: Callable[[], Any]) -> tuple[str, str]:
    """Return the code and the message of the first error that a call raises."""
    with pytest.raises(NetcalcError) as caught:
        function()
    return caught.value.diagnostics[0].code, caught.value.diagnostics[0].message


TRUTH = json.loads((Path(__file__).parent.parent / "truth" / "training_steps.json").read_text())


@pytest.mark.parametrize("run", TRUTH["runs"], ids=lambda run: str(run["recipe"]))
def test_losses_of_torch(run: dict[str, Any]) -> None:
    """Twenty steps in float64 with weights and losses that torch recorded."""
    net = netcalc.load(TRUTH["spec"], set=TRUTH["settings"], dtype="float64")
    weights, data = ({name: np.array(a) for name, a in TRUTH[part].items()} for part in ("weights", "data"))
    recipe = dict(run["recipe"])
    result = net.train(20, weights=weights, data=data, training=recipe.pop("optimizer"), **recipe)
    assert result.losses == pytest.approx(run["losses"], rel=1e-8)
    assert result.gradient_norms == pytest.approx(run["gradient_norms"], rel=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "adamw", "adafactor", "muon"])
def test_a_resumed_run_equals_one_that_was_not_interrupted(tmp_path: Path, optimizer: str, dtype: Any) -> None:
    net = netcalc.loads(NET, dtype=dtype)
    data = {**DATA, "x": DATA["x"].astype(dtype)}
    options: Any = {"data": data, "training": optimizer, "schedule": "cosine", "warmup": 3, "clip": 0.5, "seed": 3}
    whole = net.train(11, **options)
    file = tmp_path / "c.safetensors"
    stopped: list[int] = []

    def stop(done: int, total: int, text: str) -> None:
        stopped.append(done)
        if done == 6:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        net.train(11, **options, checkpoint_file=file, checkpoint_every=4, progress=stop)
    resumed = net.train(11, **options, resume=file, checkpoint_file=file)
    assert resumed.resumed == 4
    assert _equal(whole, resumed)
    further = net.train(13, **{**options, "schedule": "constant"}, resume=file)
    assert further.resumed == 11
    assert not _equal(whole, net.train(11, **{**options, "seed": 4}))


def test_a_run_that_stops_goes_on_as_one_that_did_not(tmp_path: Path) -> None:
    options: Any = {"data": DATA, "schedule": "linear", "seed": 3}
    whole, file = NETWORK.train(7, **options), tmp_path / "half.safetensors"
    half = NETWORK.train(7, stop_after=3, checkpoint_file=file, **options)
    assert half.learning_rates == whole.learning_rates[:3]
    assert _equal(NETWORK.train(7, resume=file, **options), whole)


def test_a_run_that_goes_on_with_other_data_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr("netcalc.notices.listeners", [heard.append])
    file = tmp_path / "half.safetensors"
    NETWORK.train(2, data=DATA, checkpoint_file=file)
    NETWORK.train(3, data=DATA, resume=file)
    assert not heard
    NETWORK.train(3, data=DATA | {"x": DATA["x"] + 1}, resume=file)
    assert [text for text in heard if "written by training on other data" in text]


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_not_finite_ends_the_run(tmp_path: Path, value: float) -> None:
    samples, file = np.array(DATA["x"]), tmp_path / "last.safetensors"
    samples[generator(0, "/epoch/0").permutation(11)[4]] = value  # in the second batch
    result = NETWORK.train(5, data=DATA | {"x": samples}, checkpoint_file=file)
    assert not result.ok
    assert len(result.steps) == 2
    before = NETWORK.train(5, data=DATA | {"x": samples}, stop_after=1)
    assert before.ok
    assert all(array.tobytes() == before.parameters[name].tobytes() for name, array in result.parameters.items())
    assert file.is_file()


def test_steps_leave_frozen_parameters_and_update_tied_ones_once() -> None:
    before = {name: array.copy() for name, array in NETWORK.train(1, lr=0.0, training="sgd").parameters.items()}
    result = NETWORK.train(3, lr=0.1, training="sgd")
    assert "tied.weight" in result.parameters
    assert "again.weight" not in result.parameters
    changed = {name for name, array in result.parameters.items() if (array != before[name]).any()}
    assert changed == set(before) - {"first.weight", "first.bias"} == result.trained


def test_a_tied_parameter_moves_along_the_sum_of_its_gradients() -> None:
    net = netcalc.loads(NET.replace("  - dropout: 0.3\n", ""))
    found = net.gradients(mode="train").parameters
    before = net.train(1, lr=0.0, training="sgd").parameters
    after = net.train(1, lr=0.5, training="sgd").parameters
    for name, gradient in found.items():
        np.testing.assert_allclose(after[name], before[name] - 0.5 * gradient, rtol=1e-6, atol=1e-7)


def test_running_statistics_have_the_unbiased_variance() -> None:
    net = netcalc.loads("{netcalc: 1, inputs: {x: [5, 2]}, layers: [{name: norm, batch_norm: {}}], outputs: {y: norm}}")
    x = np.random.default_rng(1).normal(size=(5, 2)).astype("float32")
    result = net.train(2, data={"x": x}, loss="y", lr=0.0)
    expected = np.ones(2)
    for _ in range(2):
        expected = 0.9 * expected + 0.1 * x.astype("float64").var(axis=0, ddof=1)
    assert result.buffers["norm.running_var"] == pytest.approx(expected, rel=1e-6)
    assert result.buffers["norm.num_batches_tracked"] == 2


def test_batches_go_through_all_samples_in_each_epoch() -> None:
    """The sum of an output that is the input itself times a weight of 1 tells which samples a step had."""
    net = netcalc.loads(
        "{netcalc: 1, dims: {batch: 3}, inputs: {x: [batch, 1]}, layers: [{name: fc, linear: {out: 1, bias: false}}]}"
    )
    values = 2.0 ** np.arange(7, dtype="float32")[:, None]
    result = net.train(8, data={"x": values}, loss="sum", lr=0.0, weights={"fc.weight": np.ones((1, 1), "float32")})
    chosen = [{n for n in range(7) if int(loss) >> n & 1} for loss in result.losses]
    assert [len(step) for step in chosen] == [3] * 8
    for first, second in zip(chosen[::2], chosen[1::2], strict=True):
        assert not first & second  # an epoch has two batches, and leaves one sample out
    assert len({tuple(sorted(step)) for step in chosen[::2]}) > 1
    orders = [generator(0, f"/epoch/{epoch}").permutation(7) for epoch in range(4)]
    assert chosen[2] == set(orders[1][:3])
    assert (result.samples, result.batch) == (7, 3)


def test_a_file_and_arrays_give_the_same(tmp_path: Path) -> None:
    files = []
    for suffix in (".npz", ".safetensors"):
        files.append(tmp_path / f"data{suffix}")
        write_tensors(files[-1], DATA)
    results = [NETWORK.train(4, data=data) for data in (DATA, *files)]
    assert all(_equal(results[0], result) for result in results[1:])


def test_the_loss_falls_on_synthetic_data() -> None:
    result = NETWORK.train(40, lr=0.02)
    assert result.losses[-1] < result.losses[0] / 2
    assert result.seconds_per_step > 0


def test_weights_and_the_seed_begin_the_run() -> None:
    first = NETWORK.train(2, lr=0.0, seed=5)
    again = NETWORK.train(2, lr=0.0, seed=5, weights={**first.parameters, **first.buffers})
    assert first.losses == again.losses
    assert first.losses != NETWORK.train(2, lr=0.0, seed=6).losses


def test_clipping_limits_the_step() -> None:
    start = NETWORK.train(1, lr=0.0, training="sgd").parameters
    norms = {}
    for clip in (None, 1e-3):
        result = NETWORK.train(1, lr=1.0, training="sgd", clip=clip)
        moved = sum(float(((array - start[name]) ** 2).sum()) for name, array in result.parameters.items())
        norms[clip] = moved**0.5
    assert norms[None] == pytest.approx(result.gradient_norms[0], rel=1e-5)
    assert norms[1e-3] == pytest.approx(1e-3, rel=1e-2)


def test_learning_rates() -> None:
    constant = Schedule(0.4, 6, "constant", warmup=4)
    assert [constant.at(step) for step in range(6)] == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])
    cosine = Schedule(0.4, 6, "cosine", warmup=2)
    assert [cosine.at(step) for step in range(6)] == pytest.approx([0.2, 0.4, 0.4, 0.34142, 0.2, 0.05858], abs=1e-5)
    assert Schedule(1.0, 2, "cosine", least=0.5).at(1) == pytest.approx(0.75)
    linear = Schedule(0.4, 6, "linear", warmup=2)
    assert [linear.at(step) for step in range(6)] == pytest.approx([0.2, 0.4, 0.4, 0.3, 0.2, 0.1])
    step = Schedule(0.4, 7, "step", warmup=1, step_size=2, gamma=0.5)
    assert [step.at(number) for number in range(7)] == pytest.approx([0.4, 0.4, 0.4, 0.2, 0.2, 0.1, 0.1])
    assert NETWORK.train(2, lr=0.4, warmup=2).learning_rates == (0.2, 0.4)


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        ({"x": DATA["x"][:, :5]}, "E602", "'x' is 11×5, and the input takes samples of 6 along the first axis"),
        ({"x": DATA["x"][:9]}, "E602", "different numbers of samples: 'x' has 9, 'labels' has 11"),
        ({"x": DATA["x"].astype("float64")}, "E602", "holds float64"),
        ({"labels": DATA["labels"] + 1}, "E602", "holds 1 to 3, and its range is [0, 3)"),
        ({"labels": None}, "E602", "has no array for the input 'labels'"),
        ({"label": DATA["labels"]}, "E602", "no input 'label'"),
        ({"x": DATA["x"][:3], "labels": DATA["labels"][:3]}, "E602", "has 3 samples, and a batch of the spec has 4"),
    ],
)
def test_data_that_do_not_fit(change: dict[str, Any], code: str, message: str) -> None:
    data = {name: array for name, array in {**DATA, **change}.items() if array is not None}
    found = _code(lambda: NETWORK.train(2, data=data))
    assert found[0] == code
    assert message in found[1]


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"training": "adamv"}, "E502", "no optimizer 'adamv'"),
        ({"settings": {"beta3": 0.5}}, "E502", "no setting 'beta3'"),
        ({"schedule": "lineal"}, "E502", "no schedule 'lineal'"),
        ({"warmup": 9}, "E502", "0 to 2 steps"),
        ({"least_lr": 1e-4}, "E502", "needs a schedule that falls"),
        ({"schedule": "step"}, "E502", "needs the number of steps between two decays"),
        ({"step_size": 2}, "E502", "no other takes it"),
        ({"schedule": "step", "step_size": 2, "least_lr": 1e-4}, "E502", "needs a schedule that falls"),
        ({"schedule": "cosine", "least_lr": 1.0}, "E502", "between 0 and 0.001"),
        ({"clip": 0}, "E502", "'clip' should be a number above 0"),
        ({"loss": "logit"}, "E502", "no output 'logit'"),
        ({"checkpoint_every": 2}, "E502", "need a file"),
        ({"checkpoint_file": "c.npz"}, "E502", "checkpoints are .safetensors files"),
        ({"checkpoint_file": "absent/c.safetensors"}, "E502", "no folder 'absent'"),
        ({"resume": "absent.safetensors"}, "E605", "absent.safetensors"),
        ({"resume": "c.safetensors", "weights": {}}, "E502", "takes no others"),
        ({"data": "absent.npz"}, "E605", "absent.npz"),
        ({"max_work": 1}, "E603", "a run of 'small' takes"),
    ],
    ids=str,
)
def test_arguments_that_are_refused(
    options: dict[str, Any], code: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = _code(lambda: NETWORK.train(2, **options))
    assert found[0] == code
    assert message in found[1]
    assert not list(tmp_path.iterdir())


def test_networks_that_cannot_be_trained() -> None:
    text = "{netcalc: 1, inputs: {x: [2, 3]}, layers: [%s], outputs: {y: last}}"
    plain = netcalc.loads(text % "{name: last, linear: 2}")
    assert _code(lambda: plain.train(2)) == ("E502", "the spec '<text>' has no loss")
    nothing = netcalc.loads(text % "{name: last, relu: {}}")
    assert "no parameters to train" in _code(lambda: nothing.train(2, loss="y"))[1]
    half = netcalc.loads(text % "{name: last, linear: 2}", dtype="bfloat16")
    assert "trains in float32 and float64" in _code(lambda: half.train(2, loss="y"))[1]
    given = text.replace("[2, 3]", "{shape: [2, 3], dtype: float16}") % "{name: last, linear: 2}"
    assert "last.weight is float16" in _code(lambda: netcalc.loads(given).train(2, loss="y"))[1]
    symbolic = netcalc.loads(NET, symbolic=["batch"])
    assert _code(lambda: symbolic.train(2))[0] == "E404"


def test_operations_that_are_not_possible_in_training() -> None:
    """The network is elaborated in evaluation mode, in which a batch norm takes one value a channel."""
    net = netcalc.loads("{netcalc: 1, inputs: {x: [1, 2]}, layers: [{name: norm, batch_norm: {}}], outputs: {y: norm}}")
    for call in (lambda: net.train(1, loss="y"), lambda: net.gradients(loss="y", mode="train")):
        code, message = _code(call)
        assert code == "E401"
        assert message.startswith("batch_norm with statistics of the input takes more than one value")
    assert net.gradients(loss="y").parameters


def test_too_much_work_counts_all_steps() -> None:
    message = _code(lambda: NETWORK.train(10**6))[1]
    assert "executes" in message
    assert NETWORK.train(2, max_work=1e5).losses  # three passes of each step


def test_checkpoints_that_do_not_fit(tmp_path: Path) -> None:
    file = tmp_path / "c.safetensors"
    NETWORK.train(2, checkpoint_file=file)
    assert _code(lambda: NETWORK.train(2, resume=file))[1].endswith("has 2 steps, and --steps 2 counts them")
    assert "written with the optimizer 'adamw'" in _code(lambda: NETWORK.train(4, resume=file, training="sgd"))[1]
    assert "written with the seed '0', and this is 1" in _code(lambda: NETWORK.train(4, resume=file, seed=1))[1]
    wider = netcalc.loads(NET.replace("linear: 3}", "linear: 2}").replace("[0, 3]", "[0, 2]"))
    assert _code(lambda: wider.train(4, resume=file))[0] == "E601"
    double = netcalc.loads(NET, dtype="float64")
    assert "this training has" in _code(lambda: double.train(4, resume=file))[1]
    other = netcalc.loads(NET.replace("name: head", "name: tail").replace("logits: head", "logits: tail"))
    assert _code(lambda: other.train(4, resume=file))[0] == "E601"
    plain = tmp_path / "weights.safetensors"
    write_tensors(plain, dict(NETWORK.train(1).parameters))
    assert _code(lambda: NETWORK.train(4, resume=plain))[0] == "E605"


def test_a_checkpoint_is_unchanged_if_training_fails(tmp_path: Path) -> None:
    file = tmp_path / "c.safetensors"
    NETWORK.train(2, checkpoint_file=file)
    content = file.read_bytes()

    def fail(done: int, total: int, text: str) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        NETWORK.train(6, checkpoint_file=file, checkpoint_every=3, progress=fail)
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["c.safetensors"]


def test_a_recipe_says_what_is_possible() -> None:
    assert _code(lambda: Recipe(steps=0))[1] == "training needs at least 1 step, not 0"
    assert "above 0, not 0" in _code(lambda: Recipe(clip=0.0))[1]

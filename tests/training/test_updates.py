"""Updates of parameters: their work against its declaration, one step by hand, and arguments that are refused.

``tests/oracle/test_updates.py`` compares them with torch.optim.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from netcalc.analysis.optimizers import optimizer_named, optimizer_names
from netcalc.diagnostics import NetcalcError
from netcalc.numerics.tally import tallied, tallying
from netcalc.training.updates import Updater, clip_coefficient, global_norm

SETTINGS = [
    *({}, {"weight_decay": 0.1}, {"weight_decay": 0.0}, {"momentum": 0.5, "dampening": 0.3}, {"beta1": 0.3}),
    *({"ns_steps": 2}, {"match_rms": 1}),
]
SHAPES = [(3, 4), (5, 2), (6,), (2, 3, 4), (2, 3, 2, 2)]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", optimizer_names(updates=True))
def test_the_work_of_an_update_is_that_of_its_terms(
    name: str, shape: tuple[int, ...], settings: dict[str, float]
) -> None:
    declared = optimizer_named(name)
    if not settings.keys() <= declared.settings.keys():
        pytest.skip("not a setting of this optimizer")
    updater, rng = Updater.of(name, settings), np.random.default_rng(0)
    parameter = tallied(rng.normal(size=shape))
    updater.update("w", parameter, tallied(rng.normal(size=shape)))
    with tallying() as counted:  # the first step of momentum copies the gradient
        updater.update("w", parameter, tallied(rng.normal(size=shape)))
    expected: Counter[str] = Counter()
    for term in declared.terms([shape], **settings):
        assert isinstance(term.count, int)
        expected[term.kind] += term.count
    assert counted == expected


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", optimizer_names(updates=True))
def test_states_are_those_declared(name: str, shape: tuple[int, ...]) -> None:
    updater = Updater.of(name)
    updater.update("w", np.ones(shape, np.float32), np.ones(shape, np.float32))
    declared = {state.name: (state.shape(shape), state.dtype or "float32") for state in updater.kept("w", shape)}
    assert {n: (a.shape, a.dtype.name) for n, a in updater.states["w"].items()} == declared


def test_one_step_by_hand() -> None:
    p, g = np.array([1.0, -2.0]), np.array([0.5, 0.5])
    assert Updater.of("sgd", {"lr": 0.1}).update("p", p, g) == pytest.approx([0.95, -2.05])
    assert Updater.of("sgd", {"lr": 0.1, "weight_decay": 0.5}).update("p", p, g) == pytest.approx([0.9, -1.95])
    momentum = Updater.of("momentum", {"lr": 0.1})
    assert momentum.update("p", p, g) == pytest.approx([0.95, -2.05])
    assert momentum.update("p", p, g) == pytest.approx([1 - 0.095, -2.095])  # 0.9·0.5 + 0.5 = 0.95
    nesterov = Updater.of("nesterov", {"lr": 0.1})
    assert nesterov.update("p", p, g) == pytest.approx([1 - 0.095, -2.095])
    # the first step of Adam has the length of the learning rate
    assert Updater.of("adam", {"lr": 0.1}).update("p", p, g) == pytest.approx([0.9, -2.1], abs=1e-7)
    adamw = Updater.of("adamw", {"lr": 0.1, "weight_decay": 0.5})
    assert adamw.update("p", p, g) == pytest.approx([0.95 - 0.1, -1.9 - 0.1], abs=1e-7)
    assert Updater.of("adagrad", {"lr": 0.1}).update("p", p, g) == pytest.approx([0.9, -2.1], abs=1e-7)
    # the mean square begins with (1 − 0.75)·0.5²
    assert Updater.of("rmsprop", {"lr": 0.1, "alpha": 0.75}).update("p", p, g) == pytest.approx([0.8, -2.2], abs=1e-6)
    lion = Updater.of("lion", {"lr": 0.1, "weight_decay": 0.5})
    assert lion.update("p", p, g) == pytest.approx([0.95 - 0.1, -1.9 - 0.1])


def test_a_step_of_adafactor_by_hand() -> None:
    p, g = np.array([[3.0, 4.0]]), np.array([[1.0, -2.0]])
    # rows 2.5, columns 1 and 4: v = 1, 4; the direction 1, −1; RMS(p) = √12.5, and the rate 0.1 is below 1/√1
    step = 0.1 * math.sqrt(12.5)
    assert Updater.of("adafactor", {"lr": 0.1}).update("p", p, g) == pytest.approx(p + step * np.array([[-1.0, 1.0]]))


def test_muon_leaves_vectors_kernels_and_tables_to_adamw() -> None:
    muon, adamw = Updater.of("muon", {"lr": 0.1, "adamw_weight_decay": 0.2}), Updater.of("adamw", {"lr": 0.1})
    muon.tables = frozenset({"table"})
    adamw.settings = {**adamw.settings, "weight_decay": 0.2}
    rng = np.random.default_rng(0)
    for path, shape in {"bias": (4,), "kernel": (4, 3, 2, 2), "table": (5, 4)}.items():
        p, g = rng.normal(size=shape), rng.normal(size=shape)
        assert np.array_equal(muon.update(path, p, g), adamw.update(path, p, g))
    p, g = rng.normal(size=(4, 6)), rng.normal(size=(4, 6))
    moved = muon.update("matrix", p, g) - p * (1 - 0.1 * 0.1)
    values = np.linalg.svd(moved / 0.1, compute_uv=False)
    assert ((values > 0.5) & (values < 1.5)).all()
    assert muon.states["matrix"].keys() == {"momentum_buffer"}


def test_a_learning_rate_of_the_step_replaces_that_of_the_settings() -> None:
    assert Updater.of("sgd", {"lr": 0.1}).update("p", np.ones(1), np.ones(1), lr=0.5) == pytest.approx([0.5])


def test_arrays_that_were_given_are_unchanged() -> None:
    for name in optimizer_names(updates=True):
        updater, p, g = Updater.of(name, {"weight_decay": 0.1}), np.ones(3), np.full(3, 2.0)
        for _ in range(3):
            updater.update("p", p, g)
        assert (p == 1).all()
        assert (g == 2).all()


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("adamv", {}, "no optimizer 'adamv'"),
        ("sgd", {"momentum": 0.9}, "no setting 'momentum'"),
        ("adam", {"beta1": 1.0}, "beta1 of adam should be from 0 to below 1, not 1"),
        ("adam", {"eps": -1.0}, "eps of adam should be a number that is not negative"),
        ("adamw", {"lr": math.nan}, "lr of adamw should be a number that is not negative, not nan"),
        ("adamw", {"weight_decay": math.inf}, "weight_decay of adamw"),
        ("adafactor", {"beta2_decay": 0.1}, "beta2_decay of adafactor should be a number that is not positive"),
        ("adafactor", {"d": 0.5}, "d of adafactor should be at least 1"),
        ("muon", {"ns_steps": 2.5}, "ns_steps of muon should be a whole number below 100"),
        ("muon", {"match_rms": 2.0}, "match_rms of muon should be 0 or 1"),
        ("momentum", {"momentum": 0.0}, "momentum of momentum should be above 0"),
    ],
)
def test_settings_that_are_refused(name: str, settings: dict[str, float], message: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        Updater.of(name, settings)
    assert caught.value.diagnostics[0].code == "E502"
    assert message in caught.value.diagnostics[0].message


def test_clipping() -> None:
    gradients = [np.array([3.0], np.float32), np.array([[0.0, 4.0]], np.float32)]
    assert global_norm(gradients) == 5.0
    assert global_norm([np.full(4, 1e25, np.float32)]) == pytest.approx(2e25)  # its square is beyond float32
    assert clip_coefficient(5.0, 1.0) == pytest.approx(0.2, rel=1e-6)
    assert clip_coefficient(0.5, 1.0) == 1.0
    assert clip_coefficient(0.0, 1.0) == 1.0
    assert math.isnan(clip_coefficient(math.nan, 1.0))

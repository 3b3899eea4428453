"""Initializers: distributions, seeds, and the ``--init`` option."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.inits import parse_init
from netcalc.numerics.initializers import Initializers, draw, generator
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Init
from tests.numerics.kolmogorov_smirnov import p_value
from tests.numerics.programs import TIED, program

SHAPE = (80, 30, 3, 5)


def normal(mean: float, deviation: float) -> Callable[[float], float]:
    return NormalDist(mean, deviation).cdf


def uniform(low: float, high: float) -> Callable[[float], float]:
    return lambda x: min(max((x - low) / (high - low), 0), 1)


def truncated(mean: float, deviation: float, low: float, high: float) -> Callable[[float], float]:
    cdf = NormalDist(mean, deviation).cdf
    return lambda x: (cdf(min(max(x, low), high)) - cdf(low)) / (cdf(high) - cdf(low))


def drawn(init: str, shape: tuple[int, ...] = SHAPE, dtype: str = "float32", path: str = "w") -> np.ndarray:
    parsed = parse_init(init)
    assert parsed is not None
    return draw(parsed, shape, dtype, generator(0, path))


@pytest.mark.parametrize(
    ("init", "distribution"),
    [
        # He et al. 2015: variance 2/fan for relu; Glorot & Bengio 2010: variance 2/(fan in + fan out)
        ("kaiming_normal(nonlinearity=relu)", normal(0, (2 / 450) ** 0.5)),
        ("he_normal(mode=fan_out, nonlinearity=relu)", normal(0, (2 / 1200) ** 0.5)),
        ("kaiming_uniform(nonlinearity=relu)", uniform(-((6 / 450) ** 0.5), (6 / 450) ** 0.5)),
        ("xavier_normal", normal(0, (2 / 1650) ** 0.5)),
        ("glorot_uniform(gain=2)", uniform(-2 * (6 / 1650) ** 0.5, 2 * (6 / 1650) ** 0.5)),
        ("normal(std=0.02)", normal(0, 0.02)),
        ("normal(3, 2)", normal(3, 2)),
        ("uniform(-1, 3)", uniform(-1, 3)),
        ("truncated_normal(std=0.5, a=-0.5, b=1)", truncated(0, 0.5, -0.5, 1)),
        ("truncated_normal(mean=1)", truncated(1, 1, -2, 2)),
        # a normal distribution that is cut off at two deviations has 0.8796 of the deviation
        ("lecun_normal", truncated(0, *(450**-0.5 / 0.87962566 * k for k in (1, -2, 2)))),
        # Gu & Dao 2023, §3.6: softplus of the biases is log-uniform; Dao & Gu 2024: A is uniform, and ln A stored
        ("step_size(a=0.01, b=1)", lambda x: uniform(0, 1)(math.log(math.log1p(math.exp(x)) / 0.01) / math.log(100))),
        ("log_of_uniform(a=2, b=8)", lambda x: uniform(2, 8)(math.exp(x))),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(init: str, distribution: Callable[[float], float], dtype: str) -> None:
    sample = drawn(init, dtype=dtype)
    assert (sample.shape, sample.dtype.name) == (SHAPE, dtype)
    assert p_value(sample, distribution) > 1e-3


def test_log_range() -> None:
    np.testing.assert_array_equal(drawn("log_range", (2, 3), "float64"), [[0, math.log(2), math.log(3)]] * 2)


@pytest.mark.parametrize("text", ["log_of_uniform(a=0, b=1)", "step_size(a=-1)", "step_size(a=1)", "log_range(3)"])
def test_limits_of_logarithms(text: str) -> None:
    with pytest.raises(NetcalcError, match="E502"):
        parse_init(text)


def test_fan_in_uniform() -> None:
    sample = draw(Init.of("fan_in_uniform", fan_in=64), (10_000,), "float32", generator(0, "b"))
    assert p_value(sample, uniform(-1 / 8, 1 / 8)) > 1e-3


@pytest.mark.parametrize("shape", [(20, 30), (30, 20), (8, 3, 3, 3), (16, 16)])
def test_orthogonal(shape: tuple[int, ...]) -> None:
    flat = drawn("orthogonal(gain=2)", shape, "float64").reshape(shape[0], -1)
    gram = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    np.testing.assert_allclose(gram, 4 * np.eye(len(gram)), atol=1e-12)


def test_orthogonal_signs_are_even() -> None:
    signs = [drawn("orthogonal", (4, 4), path=str(i))[0, 0] > 0 for i in range(400)]
    assert 150 < sum(signs) < 250


@pytest.mark.parametrize(("init", "value"), [("zeros", 0), ("ones", 1), ("constant(-0.5)", -0.5)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_constants(init: str, value: float, dtype: str) -> None:
    sample = drawn(init, (3,), dtype)
    assert sample.dtype.name == dtype
    assert (sample == value).all()


def test_a_padding_row_is_zero() -> None:
    table = draw(Init.of("normal", padding_idx=-1), (5, 4), "float32", generator(0, "e"))
    assert not table[-1].any()
    assert table[:-1].all()


def test_a_row_of_padding_may_be_drawn() -> None:
    text = """
inputs: {ids: {shape: [3], dtype: int64, range: [0, 5]}}
layers: [{name: embed, embedding: {num_embeddings: 5, embedding_dim: 40, padding_idx: 3}}]
"""
    assert not start(text, "*.weight=normal(std=2, padding=zero)")["embed.weight"][3].any()
    assert start(text, "*.weight=normal(std=2, padding=drawn)")["embed.weight"].all()


def test_a_formula_gives_each_element() -> None:
    halves = drawn("formula((position % 3 - max(1, 0)) * 0.5 if position < elements - 1 else -7)", (2, 3), "float64")
    np.testing.assert_array_equal(halves, [[-0.5, 0, 0.5], [-0.5, 0, -7]])
    np.testing.assert_allclose(drawn("formula(cos(position * 1.5707963267948966))", (5,)), [1, 0, -1, 0, 1], atol=1e-7)


def test_a_formula_depends_on_the_numbers_in_the_path() -> None:
    text = """
inputs: {x: [1, 3]}
layers:
  - name: stages
    repeat: 2
    sequence:
      - {name: layers, repeat: 2, linear: 3}
init: {"stages.*.layers.*.bias": "formula(100 * indices[0] + 10 * indices[1] + position)"}
"""
    values = start(text)
    assert values["stages.1.layers.0.bias"].tolist() == [100, 101, 102]
    assert values["stages.0.layers.1.bias"].tolist() == [10, 11, 12]


def test_arguments_depend_on_the_numbers_in_the_path() -> None:
    text = """
inputs: {x: [1, 100]}
layers:
  - {name: blocks, repeat: 3, linear: {out: 100, bias: false}}
init: {"blocks.*.weight": "normal(mean=-indices[0], std=0.5 ** indices[0])"}
"""
    for layer, values in enumerate(start(text).values()):
        assert p_value(values, normal(-layer, 0.5**layer)) > 1e-3


@pytest.mark.parametrize(
    ("std", "message"),
    [("1 / indices[0]", "layers.0.a.weight: 1 / indices[0]: "), ("-1 - indices[0]", "std should be positive")],
)
def test_an_argument_without_a_number_is_reported(std: str, message: str) -> None:
    text = TIED.replace("name: a,", "name: layers.0.a,").replace("a.weight", "layers.0.a.weight")
    with pytest.raises(NetcalcError, match="E502") as caught:
        start(text, f"layers.0.a.weight=normal(std={std})")
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("1 / position", "a.bias: at position 0: "),
        ("(position - 1) ** 0.5", "a.bias: at position 0"),
        ("1e300 * 1e300", "a.bias: at position 0 the formula gives inf, which is not a finite number"),
        ("indices[0]", "a.bias: at position 0: "),
        ("[position]", "which is not a finite number"),
    ],
)
def test_a_formula_without_a_number_is_reported(formula: str, message: str) -> None:
    with pytest.raises(NetcalcError, match="E502") as caught:
        start(TIED, f"a.bias=formula({formula})")
    assert message in str(caught.value)


def test_the_work_of_a_formula_has_a_limit() -> None:
    with pytest.raises(NetcalcError, match=r"E003: the expressions .* take over 5,000,000 steps"):
        drawn("formula(max([position] * 9_999))", (1000, 1000))


def test_a_formula_has_a_limit() -> None:
    with pytest.raises(ValueError, match=r"1,001,000 elements of a formula \(at most 1,000,000\)"):
        drawn("formula(position)", (1001, 1000))


@given(st.lists(st.text("ab.01", min_size=1, max_size=8), min_size=2, max_size=6, unique=True), st.integers(0, 2**64))
def test_every_path_has_its_own_random_numbers(paths: list[str], seed: int) -> None:
    samples = {path: generator(seed, path).random(4).tobytes() for path in paths}
    assert len(set(samples.values())) == len(paths)
    assert all(generator(seed, path).random(4).tobytes() == samples[path] for path in reversed(paths))
    assert all(generator(seed + 1, path).random(4).tobytes() != samples[path] for path in paths)


def test_random_numbers_are_stable_across_releases() -> None:
    """Drawn numbers do not change between releases."""
    assert generator(0, "fc.weight").integers(0, 2**32, 3).tolist() == [2487559807, 3136846211, 2233688881]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("xaver_normal", "unknown initializer 'xaver_normal'"),
        ("normal(sd=1)", "normal has no argument 'sd'"),
        ("normal(1, mean=2)", "duplicate argument 'mean'"),
        ("normal(std=x)", "std should be a number, not 'x'"),
        ("normal(std=-1)", "std should be positive"),
        ("normal(std=inf)", "std should be finite"),
        ("kaiming_uniform(mode=fan)", "mode should be one of fan_in, fan_out"),
        ("constant", "constant requires a value"),
        ("zeros(1)", "zeros takes no arguments"),
        ("uniform(1, 1)", "a should be less than b"),
        ("formula(position +)", "formula: "),
        ("formula(positon)", "formula: unknown name 'positon'"),
        ("formula", "formula: "),
        ("normal(padding=none)", "padding should be one of zero, drawn"),
        ("zeros(padding=drawn)", "zeros has no argument 'padding'"),
        ("normal(std=1", "an initializer should be a name"),
        ("normal()x", "an initializer should be a name"),
        ("*.weight=", "an initializer should be a name"),
    ],
)
def test_malformed_options(option: str, message: str) -> None:
    with pytest.raises(NetcalcError, match="E502") as caught:
        Initializers.of(program(TIED), option)
    assert message in str(caught.value)
    assert f"--init {option}" in str(caught.value)


def test_an_initializer_that_does_not_fit_is_reported_at_its_place() -> None:
    spec = "netcalc: 1\ninputs: {x: [1, 8]}\ninit: {'*.weight': orthogonal}\nlayers: [{linear: 4}, {layer_norm: {}}]\n"
    network = netcalc.loads(spec)
    for work in (network.run, network.compile, network.verify):
        with pytest.raises(NetcalcError) as caught:
            work()
        (found,) = caught.value.diagnostics
        assert found.code == "E104"
        assert "layer_norm.weight" in found.message
        assert str(found.span) == "<text>:3:20"


def test_all_malformed_options_are_reported() -> None:
    with pytest.raises(NetcalcError) as caught:
        Initializers.of(program(TIED), ["nrmal", "zeros", "*.bias=constnt"])
    assert [d.hint for d in caught.value.diagnostics] == ["did you mean 'constant'?", "did you mean 'normal'?"]


def start(text: str, init: str | list[str] = "default") -> dict[str, np.ndarray]:
    """Return the initial value of every parameter."""
    from netcalc.analysis.walk import instances

    net = program(text)
    parameters = Parameters(net, init=init)
    return {f"{i.path}.{p.name}": parameters.fetch(i, p) for i in instances(net) for p in i.node.params}


def test_an_option_without_pattern_applies_to_matrices_only() -> None:
    before, after = start(TIED), start(TIED, "constant(0.5)")
    assert all((after[name] == 0.5).all() for name in after if name.endswith("weight"))
    np.testing.assert_array_equal(before["a.bias"], after["a.bias"])


def test_the_last_option_that_applies_decides() -> None:
    after = start(TIED, ["a.*=ones", "zeros", "*.bias=constant(2)", "stack.1.*=default"])
    assert not after["a.weight"].any()
    assert (after["a.bias"] == 2).all()
    assert not after["stack.0.weight"].any()
    np.testing.assert_array_equal(after["stack.1.weight"], start(TIED)["stack.1.weight"])


def test_options_take_precedence_over_rules_of_the_spec() -> None:
    text = TIED + 'init: {"a.*": ones, "*.bias": zeros}\n'
    plain, option = start(text), start(text, "a.bias=constant(3)")
    assert (plain["a.bias"] == 1).all()  # the first of the spec's rules that matches
    assert not plain["b.bias"].any()
    assert (option["a.bias"] == 3).all()
    assert (option["a.weight"] == 1).all()


def test_a_tied_tensor_equals_its_owner() -> None:
    values = start(TIED)
    np.testing.assert_array_equal(values["a.weight"], values["b.weight"])
    assert (values["a.bias"] != values["b.bias"]).any()


def test_a_tied_tensor_is_initialized_by_the_rule_of_its_owner() -> None:
    text = """
inputs: {ids: {shape: [3], dtype: int64, range: [0, 50]}}
layers:
  - {name: embed, embedding: {num_embeddings: 50, embedding_dim: 40}}
  - {name: head, linear: {out: 50, bias: false}, tie: embed}
"""
    values = start(text)
    np.testing.assert_array_equal(values["head.weight"], values["embed.weight"])
    assert p_value(values["head.weight"], normal(0, 1)) > 1e-3


def test_patterns_must_match_and_fans_need_two_axes() -> None:
    with pytest.raises(NetcalcError, match=r"--init c\.\*=zeros: no parameter matches 'c\.\*'"):
        start(TIED, "c.*=zeros")
    with pytest.raises(NetcalcError, match=r"a\.bias: fan in and fan out need at least 2 dimensions"):
        start(TIED, "*.bias=xavier_uniform")

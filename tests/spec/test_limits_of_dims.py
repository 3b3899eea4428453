"""Dims with limits: min, max, multiple_of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from netcalc.analysis.cost import analyze
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly
from netcalc.engine.run import forward
from netcalc.ir.specialize import specialize
from netcalc.verification.verify import verify
from tests.spec.harness import problems, program

LIMITED = """\
dims:
  past: {default: 0, min: 0, max: 64, about: positions in the cache}
  length: 5
  height: {default: 64, multiple_of: 32}
inputs:
  old: [1, 2, "past", 4]
  new: [1, 2, "length", 4]
  image: [1, 3, "height", "height"]
layers:
  - {name: keys, from: [old, new], concat: {axis: 2}}
  - {name: attended, from: {query: new, key: keys, value: keys}, scaled_dot_product_attention: {}}
  - {name: pooled, from: image, avg_pool2d: {kernel: 32}}
  - {name: total, from: old, sum: {axis: 2}}
outputs: {keys: keys, attended: attended, pooled: pooled, total: total}
"""


def shapes(**kwargs: Any) -> list[str]:
    return [str(type_) for type_ in program(LIMITED, **kwargs).main.output_types]


def test_a_size_may_be_zero() -> None:
    assert shapes() == ["1×2×5×4", "1×2×5×4", "1×3×2×2", "1×2×4"]
    assert shapes(past=3) == ["1×2×8×4", "1×2×5×4", "1×3×2×2", "1×2×4"]


def test_a_symbolic_size_keeps_within_its_limits() -> None:
    found = program(LIMITED, symbolic=("past", "length", "height"))
    assert [str(type_) for type_ in found.main.output_types] == [
        "1×2×length + past×4",
        "1×2×length×4",
        "1×3×height//32×height//32",
        "1×2×4",
    ]
    assert found.assumptions == ()  # length + past ≥ 1 and height ≥ 32 follow from the limits
    for sizes in ({"past": 0}, {"past": 7, "length": 2}, {"past": 1, "length": 1, "height": 96}):
        given = {"past": 0, "length": 5, "height": 64} | sizes
        assert analyze(specialize(found, given)).total == analyze(program(LIMITED, **given)).total


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"past": -1}, "--set past: should be a whole number of at least 0, not -1"),
        ({"past": 65}, "--set past: should be at most 64, not 65"),
        ({"height": 80}, "--set height: should be a multiple of 32, not 80"),
        ({"height": 0}, "--set height: should be a whole number of at least 1, not 0"),
        ({"length": 0}, "--set length: should be a whole number of at least 1, not 0"),
        ({"past": True}, "--set past: should be a whole number of at least 0, not true"),
    ],
)
@pytest.mark.parametrize("symbolic", [(), ("past", "height", "length")])
def test_a_setting_outside_the_limits(settings: dict[str, int], message: str, symbolic: tuple[str, ...]) -> None:
    (problem,) = problems(LIMITED, symbolic=symbolic, **settings)
    assert (problem.code, problem.message) == ("E501", message)
    assert problem.span is not None


@pytest.mark.parametrize(
    ("dim", "message"),
    [
        ("{default: 3, min: 4}", "'n' should be a whole number of at least 4, not 3"),
        ("{default: 3, max: 2}", "'n' should be at most 2, not 3"),
        ("{default: 3, multiple_of: 2}", "'n' should be a multiple of 2, not 3"),
        ("{min: 33, max: 63, multiple_of: 32}", "'n' has limits that no size is within"),
        ("{default: many}", "'n' should be a whole number of at least 1, not 'many'"),
        ('{default: "${k}", min: 3}', "'n' should be a whole number of at least 3, not 2"),
    ],
)
def test_a_default_outside_the_limits(dim: str, message: str) -> None:
    (problem,) = problems(f"dims: {{k: 2, n: {dim}}}\ninputs: {{x: [n]}}\nlayers: [relu]\n")
    assert (problem.code, problem.message) == ("E104", message)
    assert problem.span is not None and problem.span.line == 2


@pytest.mark.parametrize("dim", ["{least: 1}", "{min: -1}", "{min: 0.5}", "{multiple_of: 0}", "{max: 0}"])
def test_a_malformed_declaration(dim: str) -> None:
    assert {p.code for p in problems(f"dims: {{n: {dim}}}\ninputs: {{x: [n]}}\nlayers: [relu]\n")} <= {"E101", "E104"}


def test_a_child_keeps_the_limits_of_its_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text("netcalc: 1\n" + LIMITED)
    child = "extends: parent\ndims: {past: %s}\n"
    assert program(child % 8, folder=tmp_path).dims["past"] == 8
    (problem,) = problems(child % 65, folder=tmp_path)
    assert (problem.code, problem.message) == ("E104", "'past' should be at most 64, not 65")
    assert str(problem.span).startswith("spec.yaml:3")
    assert program(child % "{default: 65, min: 0}", folder=tmp_path).dims["past"] == 65


def test_a_dim_that_depends_on_another() -> None:
    text = 'dims: {n: 3, m: {default: "${2*n}", multiple_of: 4%s}}\ninputs: {x: [m]}\nlayers: [relu]\n'
    assert program(text % "", n=2).dims["m"] == 4
    found = program(text % "", n=2, symbolic=("n",))
    assert [str(claim) for claim in found.assumptions] == ["n - 2*(n//2) == 0"]  # 2·n is a multiple of 4
    with pytest.raises(NetcalcError, match="multiple of 4"):
        program(text % "", n=3, symbolic=("n",))
    assert str(program(text % "", n=2, symbolic=("m",)).dims["m"]) == "m"


def test_a_size_that_is_a_multiple_divides_exactly() -> None:
    text = "dims: {h: {default: 64, multiple_of: 32}}\ninputs: {x: [1, 3, h, h]}\nlayers: [%s]\n"
    convolution = "{conv2d: {out: 4, kernel: 2, stride: 2}}"
    found = program(text % ", ".join([convolution] * 6), symbolic=("h",))
    assert [str(node.output_types[0].shape[2]) for node in found.main.nodes] == [
        *("h//2", "h//4", "h//8", "h//16", "h//32", "h//64")
    ]
    assert found.assumptions != ()  # h ≥ 64 for the last one
    total = analyze(found).total.macs
    assert isinstance(total, Poly)
    for size in (64, 96, 128):
        assert total.at({"h": size}) == analyze(program(text % ", ".join([convolution] * 6), h=size)).total.macs


def test_specialization_checks_the_limits() -> None:
    found = program(LIMITED, symbolic=("past", "height"))
    for name, value, message in [
        ("past", 65, "past should be at most 64, not 65"),
        ("past", -1, "past should be a whole number of at least 0, not -1"),
        ("height", 48, "height should be a multiple of 32, not 48"),
    ]:
        with pytest.raises(NetcalcError, match=message) as caught:
            specialize(found, {name: value})
        assert [d.code for d in caught.value.diagnostics] == ["E502"]


def test_operations_that_need_elements_refuse_none() -> None:
    text = "dims: {n: {default: 0, min: 0}}\ninputs: {x: [2, n]}\nlayers: [%s]\n"
    (problem,) = problems(text % "{max: {axis: 1}}")
    assert problem.code == "E401"


def test_an_input_without_a_dim_that_may_be_zero_is_not_empty() -> None:
    (problem,) = problems("inputs: {x: [0, 3]}\nlayers: [relu]\n")
    assert problem.message == "a size should be a whole number of at least 1, not 0"


CACHED = """\
dims: {past: {default: 0, min: 0}, length: 3}
inputs:
  cache: [1, 2, "past", 4]
  x: [1, 2, "length", 4]
layers:
  - {name: all, from: [cache, x], concat: {axis: 2}}
  - {name: old, from: all, slice: {axis: 2, start: 0, stop: "${past}"}}
  - {name: keys, from: [old, x], concat: {axis: 2}}
  - name: attended
    from: {query: x, key: keys, value: keys}
    scaled_dot_product_attention: {causal: true, alignment: lower_right}
  - {name: newest, from: keys, slice: {axis: 2, start: "${past}"}}
outputs: {old: old, attended: attended, newest: newest}
"""


def attended_directly(cache: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return attention of each new position over the cache and the new positions up to itself."""
    keys = np.concatenate([cache, x], axis=1)
    rows = []
    for position in range(x.shape[1]):
        seen = keys[:, : cache.shape[1] + position + 1]
        scores = np.exp(np.einsum("he,hke->hk", x[:, position], seen) / 2)  # √4
        rows.append(np.einsum("hk,hke->he", scores / scores.sum(1, keepdims=True), seen))
    return np.stack(rows, axis=1)


@pytest.mark.parametrize("past", [0, 5])
@pytest.mark.parametrize("symbolic", [(), ("past",), ("past", "length")])
def test_a_cache_without_positions(past: int, symbolic: tuple[str, ...]) -> None:
    found = program(CACHED, symbolic=symbolic, **({} if symbolic else {"past": past}))
    if symbolic:
        assert found.assumptions == ()
        found = specialize(found, {"past": past} | ({"length": 3} if "length" in symbolic else {}))
    rng = np.random.default_rng(past)
    arrays = {"cache": rng.normal(size=(1, 2, past, 4)), "x": rng.normal(size=(1, 2, 3, 4))}
    arrays = {name: array.astype("float32") for name, array in arrays.items()}
    expected = attended_directly(arrays["cache"][0], arrays["x"][0])
    for plan in ("fast", "reference"):
        outputs = forward(found, arrays, plan=plan).outputs
        assert outputs["old"].shape == (1, 2, past, 4)
        np.testing.assert_allclose(outputs["attended"][0], expected, rtol=1e-5)
        np.testing.assert_array_equal(outputs["newest"], arrays["x"])
    report = verify(found, arrays)
    assert report.failures == ()


def test_an_empty_slice_of_an_operation_that_needs_elements() -> None:
    text = CACHED.replace("outputs:", "  - {name: largest, from: old, max: {axis: 2}}\noutputs:")
    (problem,) = problems(text)
    assert problem.code == "E401" and "takes at least 1 element, and there are none" in problem.message


def test_the_number_of_iterations_is_not_symbolic() -> None:
    text = 'dims: {n: 3}\ninputs: {x: [1, 4]}\nlayers:\n  - {repeat: {times: "${n}", index: i}, relu: {}}\n'
    (problem,) = problems(text, symbolic=("n",))
    assert problem.code == "E404" and problem.span is not None and problem.span.line == 5
    assert problem.message == "repeat: must be a number, as iterations are counted, and n is symbolic"
    assert problem.hint == "leave out --symbolic n; a dim without a default needs a size"
    program(text)

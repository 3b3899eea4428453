"""Specialized symbolic programs against the spec elaborated at the same sizes."""

from __future__ import annotations

import os
import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.cost import Cost, analyze
from netcalc.analysis.walk import instances, parameters
from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly, claimed, value_at
from netcalc.ir import Program
from netcalc.ir.check import check
from netcalc.ir.specialize import specialize
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import Loaded, load_text
from netcalc.spec.loss import elaborated_loss
from netcalc.spec.shipped import shipped

#: Specs with padding that depends on the size, a choice by size, windows, attention, matrix products and a repeat.
SMALL = {
    "windows": """
dims: {batch: 2, height: 16, width: 12}
inputs: {x: ["batch", 3, "height", "width"]}
layers:
  - conv2d: {out: 4, kernel: 3, stride: 2, padding: same_upper}
  - max_pool2d: {kernel: 2, stride: 2, ceil_mode: true}
  - {repeat: 2, conv2d: {out: 4, kernel: 3, padding: 1, groups: 2}}
  - flatten
""",
    "reflection": """
dims: {height: 16}
inputs: {x: [1, 3, "height", 8]}
layers:
  - pad: {padding: [[3, 3], [1, 1]], mode: reflect}
  - conv2d: {out: 2, kernel: 5}
""",
    "choice": """
dims: {length: 8, batch: 1}
inputs: {x: ["batch", "length", 6]}
layers:
  - {name: long, when: "${x.length > 7}", linear: 5}
  - {name: exact, when: "${x.length == 8}", linear: 9}
  - {name: listed, when: "${x.length in [2, 8]}", linear: 4}
  - {name: odd, when: "${x.length % 2}", linear: 3}
  - {name: wide, linear: "${x.length - 2}"}
""",
    "attention": """
dims: {batch: 2, length: 6}
vars: {wide: "${batch > 1}"}
inputs: {x: ["batch", 2, "length", 4]}
layers:
  - {name: y, scaled_dot_product_attention: {causal: true}, from: [x, x, x]}
  - {name: z, matmul: {}, from: [y, "y"], when: "${length == 4}"}
  - {name: s, squeeze: 0, from: y}
""",
    "heads": """
dims: {n: 4, d: 12}
inputs: {x: [n, d]}
layers: [{multi_head_attention: {heads: 4}}, {linear: "${2 * d}"}]
loss: {layers: [{sub: {}, from: [output, target]}, mean], inputs: {target: [n, "2 * d"]}}
""",
}
#: Dims that are a number of iterations, which must not be symbolic.
COUNTS = {"rnnsearch-50": {"target"}}
#: Dims on which lines depend without an assumption: with a symbolic past there is a mask of chunks, which a short one
#: does not need, and with a symbolic padding the lines that add it.
CHOICES = {
    "siglip2-base-patch16-naflex": {"padding"},
    "llama-4-maverick": {"past"},
    "llama-4-maverick-vision": {"past"},
    "llama-4-scout": {"past"},
    "llama-4-scout-vision": {"past"},
}
#: Specs of different kinds at which sizes are drawn by default.
SAMPLED = (
    "alexnet",
    "bert-base",
    "gpt2",
    "longformer-base-4096",
    "mamba-130m",
    "resnet18",
    "swin_t",
    "t5-small",
    "unet",
    "whisper-tiny",
)
#: Sizes drawn for each choice of symbolic dims. More than the default are drawn for all shipped specs.
DRAWS = int(os.environ.get("NETCALC_DRAWS", "1"))
Figures = tuple[Cost, dict[str, Any], dict[str, Any]]


def figures(program: Program) -> Figures:
    """Return the costs, the output types by path, and the parameters by path with their owners."""
    check(program)
    shapes = {instance.path: instance.node.output_types for instance in instances(program)}
    return analyze(program).total, shapes, {p.path: (p.param, p.owner, p.dtype) for p in parameters(program)}


def symbolic_dims(program: Program) -> dict[str, int]:
    """Return the default of each symbolic dim."""
    return {name: value_at(dim, {}) for name, dim in program.dims.items() if isinstance(dim, Poly)}


def with_a_past(program: Program, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes with a past of 1 instead of 0: caches without elements are inputs of symbolic programs only."""
    if sizes.get("past") != 0:
        return dict(sizes)
    new = program.caches.new
    return {**sizes, "past": 1, **({new: max(sizes[new] - 1, 1)} if new in sizes else {})}


def compare(loaded: Loaded, program: Program, sizes: Mapping[str, int]) -> bool:
    """Compare a specialized program with the elaborated one; return False if the sizes violate an assumption."""
    try:
        found = specialize(program, sizes)
    except NetcalcError as error:
        assert {d.code for d in error.diagnostics} == {"E405"}
        return False
    assert found.assumptions == ()
    assert figures(found) == figures(elaborate(loaded, sizes))
    return True


@settings(deadline=None, max_examples=60)
@pytest.mark.parametrize("name", SMALL)
@given(data=st.data())
def test_small_specs_at_all_sizes(name: str, data: st.DataObject) -> None:
    loaded = load_text("netcalc: 1" + SMALL[name])
    program = elaborate(loaded, symbolic=loaded.document.dims)
    sizes = {dim: data.draw(st.integers(1, 30), dim) for dim in symbolic_dims(program)}
    if not compare(loaded, program, sizes):
        # if the sizes violate an assumption, the spec is refused at them too, or is decided differently
        try:
            other = elaborate(loaded, sizes)
        except NetcalcError:
            return
        assert any(not assumption.holds(sizes) for assumption in program.assumptions)
        check(other)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", shipped())
def test_shipped_specs(name: str) -> None:
    loaded = load_document(name)
    program = elaborate(
        loaded, symbolic=loaded.document.dims.keys() - COUNTS.get(name, set()) - CHOICES.get(name, set())
    )
    default = with_a_past(program, symbolic_dims(program))
    assert compare(loaded, program, default)
    compare(loaded, program, {dim: size + 32 for dim, size in default.items()})


def drawn_size(size: Poly, rng: random.Random) -> int:
    """Return a size within the limits: a small one, or one near the default."""
    (one,) = size.symbols()
    default = value_at(size, {})
    low = one.least if rng.random() < 0.3 else max(one.least, default - 40)
    high = max(low, min(low + 9 if low == one.least else default + 40, one.most or default + 40))
    return max(rng.randint(low, high) // one.multiple * one.multiple, -(-one.least // one.multiple) * one.multiple)


@pytest.mark.parametrize("name", SAMPLED if DRAWS == 1 else shipped())
def test_shipped_specs_at_drawn_sizes(name: str) -> None:
    loaded = load_document(name)
    rng = random.Random(name)
    dims = sorted(loaded.document.dims.keys() - COUNTS.get(name, set()) - CHOICES.get(name, set()))
    for symbolic in ([dims] if len(dims) > 1 else []) + [[dim] for dim in dims]:
        program = elaborate(loaded, symbolic=symbolic)
        tries = ({dim: drawn_size(program.dims[dim], rng) for dim in symbolic} for _ in range(3 * DRAWS))
        left = DRAWS  # sizes that are not refused
        while left and (sizes := next(tries, None)):
            left -= equals_or_is_refused(loaded, program, with_a_past(program, sizes))


def equals_or_is_refused(loaded: Loaded, program: Program, sizes: Mapping[str, int]) -> bool:
    """Compare as :func:`compare`; sizes are refused if and only if they violate an assumption."""
    violated = [claim for claim in program.assumptions if not claim.holds(sizes)]
    if compare(loaded, program, sizes):
        assert not violated
        return True
    assert violated
    return False


def test_dims_without_a_size_stay_symbolic() -> None:
    loaded = load_text("netcalc: 1" + SMALL["windows"])
    program = elaborate(loaded, symbolic=["batch", "height", "width"])
    part = specialize(program, {"height": 20, "batch": 3})
    assert symbolic_dims(part) == {"width": 12}
    assert figures(part) == figures(elaborate(loaded, {"height": 20, "batch": 3}, symbolic=["width"]))
    assert figures(specialize(part, {"width": 31})) == figures(
        elaborate(loaded, {"batch": 3, "height": 20, "width": 31})
    )
    assert symbolic_dims(program) == {"batch": 2, "height": 16, "width": 12}


def test_a_violated_assumption_is_named() -> None:
    loaded = load_text("netcalc: 1" + SMALL["choice"])
    program = elaborate(loaded, symbolic=["length"])
    assert [str(assumption) for assumption in program.assumptions] == [
        "length - 2*(length//2) == 0",
        "length > 7",
        "length == 8",
        "length != 2",
        "length - 2 >= 1",
    ]
    with pytest.raises(NetcalcError) as caught:
        specialize(program, {"length": 9})
    assert [d.message for d in caught.value.diagnostics] == [
        "the symbolic program assumes that length is a multiple of 2, which does not hold at length = 9",
    ]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"depth": 3}, "no symbolic dim 'depth'"),
        ({"batch": 0}, "batch should be"),
        ({"batch": True}, "batch should be"),
    ],
)
def test_invalid_sizes(sizes: dict[str, int], message: str) -> None:
    program = elaborate(load_text("netcalc: 1" + SMALL["windows"]), symbolic=["batch"])
    with pytest.raises(NetcalcError, match=message):
        specialize(program, sizes)


def test_a_condition_on_a_size_without_default_is_recorded() -> None:
    loaded = load_text('netcalc: 1\ndims: {n: null}\ninputs: {x: ["n - 3"]}\nlayers: [relu]\n')
    program = elaborate(loaded)
    assert [str(assumption) for assumption in program.assumptions] == ["n - 3 >= 1"]
    with pytest.raises(NetcalcError, match="n - 3 >= 1"):
        specialize(program, {"n": 3})


def test_a_size_that_heads_divide_has_a_short_form() -> None:
    loaded = load_text("netcalc: 1" + SMALL["heads"])
    program = elaborate(loaded, symbolic=["n", "d"])
    # Q·K and weights·V of n×d are 2·d·n², four projections 4·d²·n, and the last line 2·d²·n
    assert str(analyze(program).total.macs) == "2*d*n**2 + 6*d**2*n"
    assert [claimed(assumption) for assumption in program.assumptions] == ["d is a multiple of 4"]
    assert compare(loaded, program, {"n": 5, "d": 20}) and not compare(loaded, program, {"n": 5, "d": 21})
    loss = elaborated_loss(loaded, {}, ["n", "d"], program)
    assert loss is not None and loss.assumptions == ()

"""Properties of generated specs and of mutants: errors are NetcalcErrors, and figures agree with each other."""

from __future__ import annotations

import os
from random import Random
from typing import Any

from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from netcalc.diagnostics import NetcalcError
from netcalc.dims import value_at
from netcalc.ir.check import check
from netcalc.network import Network
from netcalc.records import as_dict
from netcalc.request import Request
from netcalc.spec.library import load_data, load_text
from tests.fuzz.exercise import exercise, refused
from tests.fuzz.grammar import RandomSource, document
from tests.fuzz.mutation import as_text
from tests.generators.record_schema import record_schema

DRAWS = int(os.environ.get("NETCALC_DRAWS", "60"))
drawn = settings(max_examples=DRAWS, deadline=None, suppress_health_check=list(HealthCheck))
VALIDATOR = Draft202012Validator(record_schema("summary"))


class _Drawn:
    """Choices that Hypothesis makes, and shrinks."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    return document(_Drawn(draw))


@drawn
@given(documents())
def test_generated_specs_are_loaded_or_refused_with_diagnostics(spec: dict[str, Any]) -> None:
    outcome = exercise(lambda: load_data(spec), Random(0))
    assert outcome == exercise(lambda: load_text(as_text(spec)), Random(0))
    event(outcome.split()[0])


@drawn
@given(documents())
def test_figures_of_generated_specs_agree(spec: dict[str, Any]) -> None:
    try:
        loaded = load_data(spec)
        network = Network(Request(loaded))
    except NetcalcError as error:
        refused(error)
        return
    check(network.program)
    folded, unrolled = network.summary(), network.summary(unroll=True)
    assert folded.totals == unrolled.totals
    assert sum(layer.repeat for layer in folded.layers) == len(unrolled.layers)
    assert list(dict.fromkeys(layer.path for layer in unrolled.layers)) == list(network.shapes)  # shared: one path
    VALIDATOR.validate(as_dict(folded))
    sizes = {"batch": 4, "length": 6}
    try:
        symbolic = Network(Request(load_data(spec), symbolic=[name for name in sizes if name in spec.get("dims", {})]))
        fixed = symbolic.specialize(**{name: size for name, size in sizes.items() if name in spec.get("dims", {})})
        direct = Network(Request(load_data(spec), {name: size for name, size in sizes.items() if name in spec["dims"]}))
    except (NetcalcError, KeyError):
        return
    assert (fixed.params, fixed.macs, fixed.flops) == (direct.params, direct.macs, direct.flops)
    assert value_at(symbolic.flops, sizes) == direct.flops


def test_most_generated_specs_are_valid() -> None:
    outcomes = [exercise(lambda i=i: load_data(document(RandomSource(Random(i)))), Random(0)) for i in range(60)]
    assert sum(outcome.startswith("ok") for outcome in outcomes) > 20

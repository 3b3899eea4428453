"""Recurrent networks."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tests.zoo.harness import built, torch_total


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_a_gru_has_three_quarters_of_an_lstm(layers: int, bidirectional: bool) -> None:
    """Two gates and a candidate against three and one, in parameters and in work."""
    gru, lstm = (torch_total(built(kind, layers=layers, bidirectional=bidirectional)) for kind in ("gru", "lstm"))
    assert [Fraction(a, b) for a, b in zip(gru, lstm, strict=True)] == [Fraction(3, 4)] * 2


def test_a_projection_reduces_parameters_and_outputs() -> None:
    whole, projected = built("lstm", layers=2), built("lstm", layers=2, projection=64)
    assert torch_total(projected)[0] < torch_total(whole)[0]
    assert {v.type.shape for v in projected.main.outputs if v.type} == {(1, 50, 64), (2, 1, 64), (2, 1, 256)}


def test_a_tied_output_layer_adds_no_parameters() -> None:
    apart, tied = (torch_total(built("lstm-lm-ptb-medium", tied=t)) for t in (False, True))
    assert (apart[0] - tied[0], apart[1]) == (10_000 * 650, tied[1])

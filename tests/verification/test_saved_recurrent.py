"""Tensors that recurrent layers keep without reading them: of one step, and of a dropout of everything."""

from __future__ import annotations

import pytest

import netcalc

_TEXT = "netcalc: 1\ninputs: {{x: [{steps}, 2, 3]}}\nlayers: [{{{line}}}]\n"


@pytest.mark.parametrize("op", ["rnn", "lstm", "gru"])
@pytest.mark.parametrize(
    ("steps", "attributes"), [(1, "hidden: 4"), (1, "hidden: 4, layers: 2, bidirectional: true"), (3, "hidden: 4")]
)
def test_weights_of_states(op: str, steps: int, attributes: str) -> None:
    net = netcalc.loads(_TEXT.format(steps=steps, line=f"{op}: {{{attributes}}}"))
    assert net.verify(values=True, backward=True).ok


def test_mask_of_a_dropout_of_everything() -> None:
    text = _TEXT.format(steps=3, line="rnn: {hidden: 4, layers: 3, bidirectional: true, dropout: 1.0}")
    assert netcalc.loads(text, mode="train").verify(values=True, backward=True).ok

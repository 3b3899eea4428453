"""Small programs for tests of runs."""

from __future__ import annotations

from typing import Any

from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.library import load_text


def program(text: str, *, training: bool = False, **settings: Any) -> Program:
    """Return the program of a spec in a string, to which the line ``netcalc: 1`` is added."""
    return elaborate(load_text("netcalc: 1\n" + text), settings, training=training)


#: Two linear layers, the second with the weights of the first, and a repeated one.
TIED = """
inputs: {x: [2, 6]}
layers:
  - {name: a, linear: {out: 6}}
  - {name: b, linear: {out: 6}, tie: {weight: a.weight}}
  - {name: stack, repeat: 3, linear: {out: 6, bias: false}}
"""

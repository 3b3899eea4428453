"""Helpers that elaborate a spec written in a test."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from netcalc.analysis.walk import instances, parameters
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Program
from netcalc.ir.check import check
from netcalc.request import Request
from netcalc.spec import elaborate
from netcalc.spec.library import load_text


def program(text: str, *, folder: Path | None = None, symbolic: tuple[str, ...] = (), **settings: Any) -> Program:
    """Return the checked program of ``text``, to which the line ``netcalc: 1`` is added."""
    elaborated = elaborate(load_text("netcalc: 1\n" + dedent(text), "spec.yaml", folder), settings, symbolic=symbolic)
    check(elaborated)
    return elaborated


def request(text: str, *, symbolic: tuple[str, ...] = (), **settings: Any) -> Request:
    """Return the request for the program of ``text``."""
    return Request(load_text("netcalc: 1\n" + dedent(text), "spec.yaml"), settings, symbolic)


def layers(text: str, shape: str = "[2, 8]", **settings: Any) -> Program:
    """Return the program of a list of layers with one input ``x``."""
    body = dedent(text).strip("\n").replace("\n", "\n  ")
    return program(f"inputs: {{x: {shape}}}\nlayers:\n  {body}\n", **settings)


def shapes(found: Program) -> dict[str, str]:
    """Return the first output type of every operation by path, repeats unrolled."""
    return {i.path: str(i.node.outputs[0].type) for i in instances(found)}


def params(found: Program) -> dict[str, str]:
    """Return the owner of every parameter by path."""
    return {p.path: p.owner for p in parameters(found)}


def problems(text: str, **kwargs: Any) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an invalid spec."""
    with pytest.raises(NetcalcError) as caught:
        program(text, **kwargs)
    return caught.value.diagnostics


def layer_problems(text: str, **kwargs: Any) -> tuple[Diagnostic, ...]:
    """Return the diagnostics of an invalid list of layers."""
    with pytest.raises(NetcalcError) as caught:
        layers(text, **kwargs)
    return caught.value.diagnostics

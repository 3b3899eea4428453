"""Exercise of a spec: everything that reports compute from it; nothing but NetcalcError may come out."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable, Collection
from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.dims import value_at
from netcalc.network import Network
from netcalc.records import as_dict
from netcalc.render.diagnostics import render_diagnostics
from netcalc.request import Request
from netcalc.spec.library import Loaded
from tests.hostile.case import CONTROL

__all__ = ["exercise", "refused"]

#: Largest number of instances whose shapes are listed one by one.
MOST_INSTANCES = 2000


def exercise(load: Callable[[], Loaded], rng: random.Random) -> str:
    """Load a spec and return its outcome: the codes of its errors, or a digest of its figures.

    Raises:
        AssertionError: figures do not add up, or a text holds control characters.
        Exception: any other is a bug.
    """
    try:
        loaded = load()
        network = Network(Request(loaded))
        figures = _figures(network)
    except NetcalcError as error:
        return refused(error)
    _explain(network, rng)
    if rng.random() < 0.25:
        _symbolic(loaded, network, rng)
    return "ok " + hashlib.blake2b(repr(figures).encode("utf-8", "replace"), digest_size=4).hexdigest()


def refused(error: NetcalcError) -> str:
    """Return the codes of an error, after checking that it can be printed."""
    assert error.diagnostics
    assert all(diagnostic.message for diagnostic in error.diagnostics)
    texts = [(str(diagnostic), diagnostic.related) for diagnostic in error.diagnostics]  # one value at several places
    assert len(set(texts)) == len(texts), "an error is reported twice"
    _check_text(render_diagnostics(error.diagnostics))
    json.dumps(as_dict(error), allow_nan=False)
    return " ".join(dict.fromkeys(diagnostic.code for diagnostic in error.diagnostics))


def _figures(network: Network) -> tuple[Any, ...]:
    summary = network.summary()
    totals = summary.totals
    for figure in ("params", "macs", "flops"):
        total: Any = sum(getattr(layer, figure) * layer.repeat for layer in summary.layers)
        assert total == getattr(totals, figure), f"{figure}: the layers do not add up"
    _check_text(str(network))
    json.dumps(as_dict(summary), allow_nan=False)
    if sum(layer.repeat for layer in summary.layers) < MOST_INSTANCES:
        assert len(network.shapes) <= MOST_INSTANCES
    return network.params, network.macs, network.flops, [(layer.path, layer.outputs) for layer in summary.layers]


def _explain(network: Network, rng: random.Random) -> None:
    layers = network.summary().layers
    path = rng.choice(layers).path if layers and rng.random() < 0.8 else None
    try:
        explanation = network.explain(path)
    except NetcalcError as error:
        refused(error)
    else:
        json.dumps(as_dict(explanation), allow_nan=False)


def _symbolic(loaded: Loaded, network: Network, rng: random.Random) -> None:
    """Compare the figures with those of the symbolic network at the default sizes, if all dims have one."""
    sizes = _defaults(loaded)
    expected = network.params, network.macs, network.flops
    chosen: Collection[str] = rng.sample(sorted(sizes), min(len(sizes), rng.randint(1, 2)))
    if not chosen:
        return
    try:
        symbolic = Network(Request(loaded, symbolic=chosen))
        formulas = symbolic.params, symbolic.macs, symbolic.flops
        _check_text(str(symbolic))
    except NetcalcError as error:
        refused(error)
        return
    if not all(isinstance(figure, int) for figure in expected):  # a dim has no default
        return
    found = tuple(value_at(formula, sizes) for formula in formulas)
    assert found == expected, f"symbolic in {chosen}: {found}"


def _defaults(loaded: Loaded) -> dict[str, int]:
    """Return the dims whose default is a positive number: with a symbolic ``past`` there are positions in caches."""
    found = {name: getattr(dim, "default", dim) for name, dim in loaded.document.dims.items()}
    return {name: value for name, value in found.items() if isinstance(value, int) and value > 0}


def _check_text(text: str) -> None:
    match = CONTROL.search(text)
    assert match is None, f"control character {match[0]!r} in output" if match else ""

"""Results kept between elaborations: the same figures in every order, a bound on memory, threads."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

import netcalc
from netcalc.bounded_cache import BoundedCache
from netcalc.ir.build import _APPLIED
from netcalc.ir.sketch import SketchedBody
from netcalc.spec import sketches
from netcalc.spec.body_cache import BODIES
from netcalc.spec.library import Loaded, load_document
from netcalc.spec.main_sketches import sketched_main
from netcalc.spec.sketches import SKETCHES

#: Specs with the dims and vars that are varied, and their values.
SPECS: dict[str, dict[str, list[Any]]] = {
    "resnet34": {"stem": [16, 24, 33], "channels": [[16, 32, 64, 128], [33, 48, 48, 95]], "height": [64, 97, 224]},
    "resnet50": {"width": [64, 96, 161], "depths": [[1, 2, 2, 1], [3, 4, 6, 3]]},
    "resnext50_32x4d": {"height": [64, 96, 130]},
    "densenet121": {"growth_rate": [12, 17, 32], "init_features": [32, 50, 64], "depths": [[2, 3, 4, 2], [3, 3, 3, 3]]},
    "mobilenet_v2": {"multiplier": [0.5, 0.73, 1.4], "width": [64, 96, 160]},
    "mobilenet_v3_large": {"height": [64, 96, 130]},
    "efficientnet_b0": {"height": [64, 97, 160]},
    "shufflenet_v2_x1_0": {"height": [64, 96, 160]},
    "googlenet": {"width": [96, 128, 161]},
    "convnext_tiny": {"height": [64, 96, 160]},
    "swin_t": {"height": [56, 96, 224], "width": [56, 64, 224]},
    "vit_b_16": {"layers": [2, 3], "d_model": [48, 96, 120], "heads": [3, 6]},
    "unet": {"height": [64, 96, 128]},
    "bert-base": {"layers": [1, 3], "d_model": [48, 96, 120], "heads": [3, 6], "length": [7, 48, 96]},
    "gpt2": {"layers": [1, 3], "d_model": [48, 96, 120], "heads": [3, 6], "length": [7, 48, 96]},
    "transformer": {"d_model": [48, 96, 120], "heads": [3, 6], "source": [8, 48, 96], "target": [8, 48, 96]},
    "t5-small": {"d_model": [48, 96], "source": [8, 48]},
    "llama-3-8b": {"layers": [1, 2], "d_ff": [96, 1000], "length": [8, 64]},
    "mamba-130m": {"d_model": [48, 96], "length": [8, 64]},
    "mlp": {"hidden": [[8], [12, 7, 12]], "features": [7, 8]},
}
FIGURES = """
import json, sys
import netcalc
from tests.spec.test_body_cache import figures
for name, chosen in json.load(sys.stdin):
    print(json.dumps(figures(name, chosen)))
"""


def drawn(name: str, seed: int) -> dict[str, Any]:
    """Return settings of a spec; names that it lacks are left out."""
    draw = Random(f"{name} {seed}")
    known = netcalc.load(name).program
    values = {key: draw.choice(choices) for key, choices in SPECS[name].items()}
    return {key: value for key, value in values.items() if key in known.dims or key in known.vars}


def figures(name: str, chosen: dict[str, Any]) -> str:
    """Return everything that a summary shows, as text; the diagnostics of settings that do not fit."""
    try:
        network = netcalc.load(name, set=chosen)
    except netcalc.NetcalcError as error:
        return repr(error.diagnostics)
    found = network.summary()
    layers = [tuple(layer) for layer in found.layers]
    others = found.inputs, found.outputs, found.uncounted, found.counted_as, found.assumptions, network.warnings
    return repr((found.totals.values, layers, others, network.summary("torch", depth=2).totals.values))


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sketch blocks when they are elaborated for the second time."""
    monkeypatch.setattr(sketches, "_TRIES", 1)
    forget()


def forget(*specs: Loaded) -> None:
    """Drop the sketches and bodies of shipped blocks, and the sketches of the main bodies of specs."""
    SKETCHES.clear()
    BODIES.clear()
    for loaded in (*map(load_document, SPECS), *specs):
        loaded.derived.pop(sketched_main, None)


@pytest.mark.usefixtures("early")
def test_figures_after_many_loads_are_those_of_fresh_processes() -> None:
    cases = [(name, drawn(name, seed)) for name in SPECS for seed in range(6)]
    Random(0).shuffle(cases)
    found = [figures(*case) for case in cases]
    assert any(kept.found for kept in SKETCHES._values.values())
    last = {name: index for index, (name, _) in enumerate(cases)}
    for index in last.values():
        process = subprocess.run(
            [sys.executable, "-c", FIGURES],
            input=json.dumps([cases[index]]),
            capture_output=True,
            text=True,
            check=True,
        )
        assert json.loads(process.stdout) == found[index], cases[index]


@pytest.mark.usefixtures("early")
def test_a_sketched_body_is_made_as_it_is_elaborated(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = [{"channels": [width, 2 * width, 4 * width, 8 * width]} for width in (16, 24, 40, 56, 72)]
    networks = [netcalc.load("resnet34", set=chosen) for chosen in settings]
    assert type(networks[-1].program.main) is SketchedBody
    bodies = [node.body for node in networks[-1].program.main.nodes if hasattr(node, "body")]
    assert all(isinstance(body, SketchedBody) for body in bodies)
    found = [[(path, shapes) for path, shapes in network.shapes.items()] for network in networks]
    monkeypatch.setattr(sketches, "_TRIES", 1 << 60)
    forget()
    assert found == [list(netcalc.load("resnet34", set=chosen).shapes.items()) for chosen in settings]


@pytest.mark.usefixtures("early")
def test_an_error_in_a_block_is_the_same_after_sketches() -> None:
    def error(heads: int) -> str:
        with pytest.raises(netcalc.NetcalcError) as caught:
            netcalc.loads(
                "netcalc: 1\ninputs: {x: [1, 16, 48]}\nlayers: [{transformer_encoder_layer: "
                f"{{heads: {heads}, hidden: 64}}}}]\n"
            )
        return repr(caught.value.diagnostics)

    before = error(7)
    for heads in (4, 6, 8, 12):
        netcalc.loads(
            "netcalc: 1\ninputs: {x: [1, 16, 48]}\nlayers: [{transformer_encoder_layer: "
            f"{{heads: {heads}, hidden: 64}}}}]\n"
        )
    assert error(7) == before


@pytest.mark.usefixtures("early")
def test_threads_share_what_is_kept() -> None:
    cases = [(name, drawn(name, seed)) for seed in range(4) for name in ("resnet34", "transformer", "densenet121")]
    expected = [figures(*case) for case in cases]
    forget()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda case: figures(*case), cases * 2)) == expected * 2


def test_a_bound_holds_on_what_is_kept() -> None:
    kept: BoundedCache[int] = BoundedCache(10)
    for number in range(1_000):
        assert kept.put(number, number, 1 + number % 3) == number
        assert kept.weight <= 10
    assert len(kept) <= 10
    assert kept.get(999) == 999
    assert kept.get(0) is None
    assert kept.put(999, -1) == 999


def test_bodies_and_operations_stay_within_their_bounds() -> None:
    for width in range(16, 64):
        netcalc.load("resnet34", set={"stem": width, "height": 32 + width})
    assert BODIES.weight <= 16_000
    assert len(_APPLIED) <= 6_000
    assert len(SKETCHES) <= 300

"""Declaration of figures: one declaration adds a figure to all tables, records and costs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import netcalc
from netcalc.analysis.figures import FIGURES, Cost

SMALL = str(Path(__file__).parent.parent / "fixtures" / "small.yaml")

#: Declares two figures that netcalc does not have, and runs the command line with them.
PROGRAM = '''
import sys
from importlib.util import find_spec, module_from_spec

spec = find_spec("netcalc.analysis.figures")
source = spec.loader.get_source(spec.name)
made_up = """
    tensors = Figure(
        "tensors", "parameters and their uses", "elements", weight=lambda it: 1, total="number of tensors",
        fields=("params", "compare"), columns={"params": 0, "operations": 0, "compare": 0},
    )
    doubled = Figure(
        "doubled", "twice the MACs", "macs", work=lambda it: 2 * it.executed.macs, total="doubled MACs",
        fields=("flops", "summary"), columns={"flops": 0, "summary": 0},
    )
"""
place = "    params_active = Figure("
assert place in source
module = module_from_spec(spec)
sys.modules[spec.name] = module
exec(compile(source.replace(place, made_up + place), spec.origin, "exec"), module.__dict__)

from netcalc.cli import main

sys.exit(main(sys.argv[1:]))
'''


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_one_declaration_is_enough_for_a_figure_of_weights() -> None:

    record = json.loads(run("params", SMALL, "--format", "json"))
    by_path = {layer["path"]: layer["tensors"] for layer in record["layers"]}
    assert by_path["head"] == 2
    assert by_path["again"] == 0
    assert record["totals"]["tensors"] == sum(layer["tensors"] * layer["repeat"] for layer in record["layers"])
    assert run("params", SMALL, "--format", "csv").partition("\n")[0].count("tensors") == 1
    assert run("params", SMALL).count("tensors") >= 2  # by layer and by operation
    assert "tensors" not in run("flops", SMALL)
    compared = json.loads(run("compare", SMALL, "resnet18", "--format", "json"))
    assert compared["totals"]["tensors"]["values"][0] == record["totals"]["tensors"]
    assert "number of tensors" in run("compare", SMALL, "resnet18")


def test_one_declaration_is_enough_for_a_figure_of_work() -> None:
    record = json.loads(run("summary", SMALL, "--format", "json"))
    assert record["totals"]["doubled"] == 2 * record["totals"]["macs"]
    assert all(layer["doubled"] == 2 * layer["macs"] for layer in record["layers"])
    assert "doubled" in run("flops", SMALL, "--format", "markdown")


def test_shared_weights_keep_the_work_and_drop_the_parameters() -> None:
    cost = Cost(tuple(range(1, 1 + sum(figure.derived is None for figure in FIGURES.values()))))
    shared = cost.with_tied_weights()
    for figure in FIGURES.values():
        if figure.work is not None:
            assert figure.of(shared) == figure.of(cost), figure.name
        elif figure.derived is None and figure.use != "tied":
            assert figure.of(shared) == 0, figure.name
    assert shared.params_tied == cost.params_tied + cost.params


def test_attributes_are_the_declared_figures() -> None:
    total = netcalc.loads("netcalc: 1\ninputs: {x: [2, 8]}\nlayers: [{linear: 4}]").summary().totals
    assert (total.params, total.params_frozen, total.weight_bytes, total.macs) == (36, 0, 144, 64)
    assert {name: figure.of(total) for name, figure in FIGURES.items()} == {
        name: getattr(total, name) for name in FIGURES
    }

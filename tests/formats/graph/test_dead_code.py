"""Dead code of graphs and of programs."""

from __future__ import annotations

from typing import Any

import netcalc
from netcalc.formats.graph.agreement import differing_outputs
from netcalc.formats.graph.dead_code import Called, dead_paths, dead_results
from netcalc.formats.graph.document import spec_document, with_note
from netcalc.formats.graph.model import Graph, Value
from netcalc.formats.graph.simplify import simplify
from tests.formats.graph.harness import Made, operations


def calls_of(graph: Graph) -> list[Called]:
    """Return calls of which each is a line."""
    return [Called([line], line.outputs) for line in graph.lines]


def made() -> tuple[Made, dict[str, Value]]:
    """Return a graph with an output and lines beside it, and the values of these."""
    make = Made()
    x = make.input("x", 2, 3)
    values: dict[str, Value] = {"relu": make.line("relu", x)}
    values["tanh"] = make.line("tanh", values["relu"])
    values["view"] = make.line("flatten", values["tanh"], start_axis=0)
    values["constant"] = make.line("add", make.line("arange", stop=3), value=1)
    values["sum"] = make.line("add", x, values["constant"])
    make.done(y=make.line("exp", x))
    return make, values


def test_dead_code_is_what_does_work_on_inputs() -> None:
    make, values = made()
    assert dead_results(make.graph, calls_of(make.graph)) == [values["tanh"], values["sum"]]


def test_a_call_of_several_lines_is_dead_if_all_its_results_are() -> None:
    make = Made()
    x = make.input("x", 2, 3)
    mean, variance = make.line("mean", x), make.line("var", x)
    calls = [Called(list(make.graph.lines), [mean, variance])]
    make.done(y=x)
    assert dead_results(make.graph, calls) == [mean, variance]
    make.done(y=variance)
    assert dead_results(make.graph, calls) == []


def test_dead_code_stays_in_documents() -> None:
    make, _ = made()
    graph = make.graph
    graph.dead = dead_results(graph, calls_of(graph))
    simplify(graph)
    assert operations(graph) == ["relu", "tanh", "arange", "add", "exp"]
    network = netcalc.load_data(spec_document(graph))
    assert network.flops == 6 * 4
    assert [*dead_paths(network.program)] == ["relu", "tanh", "add"]
    assert differing_outputs(graph, network.program) == []


def test_dead_code_that_a_program_lacks() -> None:
    make, values = made()
    graph = make.graph
    graph.dead = [values["tanh"]]
    simplify(graph)
    document: dict[str, Any] = spec_document(graph)
    lines = [line for line in document["layers"] if line != "tanh"]
    assert len(lines) == len(document["layers"]) - 1
    program = netcalc.load_data({**document, "layers": lines}).program
    assert differing_outputs(graph, program) == ["its dead code"]


def test_dead_code_in_repeats() -> None:
    text = """
    netcalc: 1
    name: repeated
    inputs: {x: [2, 3]}
    blocks:
      both:
        outputs: [a]
        layers: [{name: a, relu: {}}, {name: b, from: in, tanh: {}}, {from: a, flatten: {start_axis: 0}}]
    layers: [{name: l, repeat: 3, both: {}}]
    outputs: {y: l}
    """
    network = netcalc.loads(text)
    assert [*dead_paths(network.program)] == ["l.0.b", "l.1.b", "l.2.b"]


def test_remarks_stand_before_the_inputs() -> None:
    document = {"netcalc": 1, "name": "n", "dims": {}, "inputs": {}, "layers": []}
    once = with_note(document, "first")
    twice = with_note(once, "second")
    assert [*twice] == ["netcalc", "name", "dims", "notes", "inputs", "layers"]
    assert twice["notes"] == [{"text": "first"}, {"text": "second"}]
    assert "notes" not in document

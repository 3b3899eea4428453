"""Names in documents of graphs: each is the only one of its kind, whatever the names of modules are."""

from __future__ import annotations

from math import prod

from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.formats.graph.agreement import differing_outputs
from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph
from netcalc.formats.spec_text import spec_text
from netcalc.network import Network
from tests.formats.graph.drawn_modules import NAMES, Part, graph_of_part, parts


def document_of(graph: Graph) -> Network:
    """Return the network of a graph's document, which has the parameters of the graph and computes the same."""
    network = netcalc.loads(spec_text(spec_document(graph)))
    assert differing_outputs(graph, network.program) == []
    assert network.params == sum(prod(map(int, tensor.type.shape)) for tensor in graph.tensors.values())
    return network


@given(parts(3))
def test_drawn_names_of_modules(part: Part) -> None:
    document_of(graph_of_part(part, ["input"]))


@given(parts(3, reach=3, weights=True))
def test_parts_that_are_called_and_weights_that_are_used_from_outside(part: Part) -> None:
    document_of(graph_of_part(part, ["input"]))


INPUTS = [name for name in NAMES if name.isidentifier() and name.isascii() and name not in ("_", "in")]


@given(parts(3), st.lists(st.sampled_from(INPUTS), min_size=1, max_size=2, unique=True))
def test_drawn_names_of_inputs(part: Part, inputs: list[str]) -> None:
    document_of(graph_of_part(part, inputs))


LINEAR, RELU = Part("linear"), Part("relu")


def test_a_line_without_a_name_does_not_take_the_name_of_a_later_module() -> None:
    steps = (("relu", 0, 0), ("relu", 0, 0), (("relu_1",), 0, 0), (("relu",), 0, 0), ("add", 0, 2))
    part = Part("", (("relu_1", LINEAR), ("relu", LINEAR)), steps)
    assert document_of(graph_of_part(part, ["input"])).params == 32


def test_numbers_of_lines_in_a_sequence_stay_where_others_refer_to_one() -> None:
    inner = Part("", (("0", LINEAR), ("1", RELU), ("2", LINEAR)), ((("0",), 0, 0), (("1",), 0, 0), (("2",), 0, 0)))
    part = Part("", (("seq", inner),), ((("seq",), 0, 0),))
    graph = graph_of_part(part, ["input"])
    graph.outputs["hidden"] = graph.lines[1].outputs[0]
    document_of(graph)
    assert set(graph.places.values()) == {"seq.0.weight", "seq.2.weight"}


def test_a_tied_line_stays_behind_the_one_with_the_parameter() -> None:
    steps = ((("fc",), 0, 0), (("fc",), 1, 0), (("fc",), 0, 0), ("add", 0, 2))
    document_of(graph_of_part(Part("", (("fc", LINEAR),), steps), ["input"]))


def test_the_first_of_shared_calls_in_a_row_can_be_used() -> None:
    inner = Part("", (("a", LINEAR), ("b", LINEAR)), ((("a",), 0, 0), (("b",), 0, 0)))
    steps = ((("m",), 0, 0), (("m",), 0, 0), (("m",), 1, 0), ("add", 0, 1))
    document_of(graph_of_part(Part("", (("m", inner),), steps), ["input"]))


def test_an_input_with_the_name_of_a_layer_can_be_used_after_it() -> None:
    steps = ((("query",), 0, 0), ("relu", 1, 0), ("add", 0, 1))
    graph = graph_of_part(Part("", (("query", LINEAR),), steps), ["query"])
    assert list(document_of(graph).shapes["query"].outputs) == [(2, 4)]

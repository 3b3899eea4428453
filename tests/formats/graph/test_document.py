"""Documents of graphs: the figures and values of the graph, in few lines."""

from __future__ import annotations

from cProfile import Profile
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import netcalc
from netcalc.analysis.walk import parameters
from netcalc.formats.graph.agreement import differing_outputs
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.document import spec_document
from netcalc.formats.graph.model import Graph, ModuleCall, Stored, StoredTensor, Value
from netcalc.formats.spec_text import spec_text
from netcalc.loading import load_data
from netcalc.network import Network
from netcalc.tensor_type import TensorType
from tests.formats.graph.harness import Made
from tests.formats.graph.programs import graph_of

#: Specs of every kind of structure: chains, stages, branches, sharing, alternating layers, several outputs.
SPECS = (
    *(
        "resnet34",
        "mobilenet_v2",
        "densenet121",
        "inception_v3",
        "efficientnet_b0",
        "swin_t",
        "vit_b_16",
        "segformer-b0",
    ),
    *("bert-base", "gpt2", "llama-2-7b", "command-r7b", "gemma-3-4b", "t5-small", "switch-base-8"),
    *(
        "detr-resnet-50",
        "whisper-tiny",
        "clip-vit-base-patch32",
        "mamba-130m",
        "transformer",
        "unet",
        "gcn",
        "jamba-v0.1",
    ),
)


def figures(network: Network) -> tuple[Any, ...]:
    return (network.params, network.macs, network.flops, network.cost("torch").flops, network.cost().buffers)


@pytest.mark.parametrize("spec", SPECS)
def test_a_spec_without_its_structure_gets_one_with_the_same_figures(spec: str) -> None:
    network = netcalc.load(spec, dtype="float32")
    graph = graph_of(network.program)
    flat = len(graph.lines)
    text = spec_text(spec_document(graph))
    assert max(map(len, text.splitlines())) <= 120
    again = netcalc.loads(text)
    assert figures(again) == figures(network)
    assert differing_outputs(graph, again.program) == []
    assert text.count("\n") < max(flat, 60)


#: Specs with small settings, whose values are compared, and the same with twice as many layers.
SMALL = {
    "mlp": {},
    "resnet18": {"height": 32, "width": 32},
    "llama-2-7b": {"d_model": 32, "heads": 4, "d_ff": 48, "vocab": 50, "layers": 3, "length": 6},
    "bert-base": {"d_model": 32, "heads": 4, "d_ff": 48, "vocab": 50, "layers": 3, "length": 6},
    "t5-small": {"d_model": 32, "heads": 4, "head_dim": 8, "d_ff": 48, "vocab": 50, "encoder_layers": 3, "source": 6},
    "vit_b_16": {"d_model": 32, "heads": 4, "layers": 3, "height": 32, "width": 32},
}


@pytest.mark.parametrize("spec", SMALL)
def test_documents_compute_the_same_values(spec: str) -> None:
    network = netcalc.load(spec, set=SMALL[spec], dtype="float32")
    again = netcalc.load_data(spec_document(graph_of(network.program)))
    drawn = np.random.default_rng(0)
    weights = {
        found.path: drawn.uniform(0.1, 1, found.param.shape).astype(found.dtype)
        for found in parameters(network.program)
        if not found.tied
    }
    inputs = {
        value.name: (
            drawn.integers(0, 2, value.type.shape) if not value.type.is_float else drawn.normal(size=value.type.shape)
        ).astype(value.type.dtype)
        for value in network.program.main.inputs
    }
    expected = network.run(inputs, weights=weights, plan="reference").outputs
    found = again.run(inputs, weights=weights, plan="reference").outputs
    assert {name: value.shape for name, value in found.items()} == {
        name: value.shape for name, value in expected.items()
    }
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("spec", "layers"),
    [
        ("llama-2-7b", 4),
        ("bert-base", 4),
        ("gpt2", 4),
        ("vit_b_16", 4),
        ("command-r7b", 8),
        ("gemma-3-4b", 12),
    ],
)
def test_twice_as_many_layers_take_no_more_lines(spec: str, layers: int) -> None:
    written = [
        spec_text(spec_document(graph_of(netcalc.load(spec, set={"layers": count}).program)))
        for count in (layers, 2 * layers)
    ]
    assert written[0].count("\n") == written[1].count("\n")


def test_a_matrix_and_its_transpose_are_one_parameter() -> None:
    graph = Graph("autoencoder", tensors={"fc.weight": StoredTensor(TensorType((3, 5)))})
    x = graph.inputs["x"] = Value(TensorType((2, 5)))
    build = Builder(graph)
    weight = Value(TensorType((3, 5)), stored=Stored("fc.weight"))
    build.scope = (ModuleCall("fc", 0, "Linear"),)
    hidden = build.line("linear", [x], {"out": 3, "bias": False}, {"weight": weight})
    build.scope = ()
    back = Value(TensorType((5, 3)), stored=Stored("fc.weight", transpose=True))
    graph.outputs["y"] = build.line("linear", [hidden], {"out": 5, "bias": False}, {"weight": back})
    network = netcalc.load_data(spec_document(graph))
    assert (network.params, network.macs) == (15, 60)
    matrix = np.arange(15, dtype=np.float32).reshape(3, 5)
    given = np.ones((2, 5), np.float32)
    result = network.run({"x": given}, weights={"fc.weight": matrix}).outputs["y"]
    np.testing.assert_allclose(result, given @ matrix.T @ matrix)


def test_parts_of_a_tensor_have_their_places_in_the_checkpoint() -> None:
    graph = Graph(
        "packed", tensors={"attn.in_proj": StoredTensor(TensorType((6, 4))), "idle": StoredTensor(TensorType((2,)))}
    )
    x = graph.inputs["x"] = Value(TensorType((1, 4)))
    build = Builder(graph)
    build.scope = (ModuleCall("attn", 0, "Attention"),)
    parts = [
        build.line(
            "linear",
            [x],
            {"out": 3, "bias": False},
            {"weight": Value(TensorType((3, 4)), stored=Stored("attn.in_proj", part))},
        )
        for part in ((0, 3), (3, 6))
    ]
    graph.outputs["y"] = build.line("mul", parts)
    network = netcalc.load_data(spec_document(graph))
    assert network.params == 24 + 2  # a tensor that no line uses counts as well
    matrix = np.arange(24, dtype=np.float32).reshape(6, 4)
    weights = {"attn.in_proj": matrix, "idle": np.zeros(2, np.float32)}
    result = network.run({"x": np.ones((1, 4), np.float32)}, weights=weights).outputs["y"]
    np.testing.assert_allclose(result, [matrix[:3].sum(1) * matrix[3:].sum(1)])


def test_a_loop_over_modules_is_one_repeat() -> None:
    def text(count: int) -> str:
        tensors = {f"blocks.{i}.fc.weight": StoredTensor(TensorType((4, 4))) for i in range(count)}
        tensors |= {
            f"norms.{i}.{name}": StoredTensor(TensorType((4,))) for i in range(count) for name in ("weight", "bias")
        }
        graph = Graph("loop", tensors=tensors)
        build = Builder(graph)
        x = graph.inputs["x"] = Value(TensorType((2, 4)))
        for index in range(count):
            build.scope = (ModuleCall(f"blocks.{index}", 0, "Block"),)
            weight = Value(TensorType((4, 4)), stored=Stored(f"blocks.{index}.fc.weight"))
            build.scope += (ModuleCall(f"blocks.{index}.fc", 0, "Linear"),)
            inner = build.line("linear", [x], {"out": 4, "bias": False}, {"weight": weight})
            build.scope = build.scope[:1]
            inner = build.line("relu", [inner])
            build.scope = (ModuleCall(f"norms.{index}", 0, "LayerNorm"),)
            stored = {n: Value(TensorType((4,)), stored=Stored(f"norms.{index}.{n}")) for n in ("weight", "bias")}
            build.scope = ()
            x = build.line("layer_norm", [build.line("add", [x, inner])], None, stored)
        graph.outputs["y"] = build.line("tanh", [x])
        return spec_text(spec_document(graph))

    assert text(3).count("\n") == text(6).count("\n") < 20
    network = netcalc.loads(text(6))
    assert (network.params, network.macs) == (6 * 24, 6 * 32)
    paths = {found.path for found in parameters(network.program)}
    assert {"blocks.5.fc.weight", "norms.5.bias"} <= paths


def test_another_computation_differs() -> None:
    network = netcalc.load("mlp")
    graph = graph_of(network.program)
    document = spec_document(graph)
    assert differing_outputs(graph, netcalc.load_data(document).program) == []
    graph.lines[1] = replace(graph.lines[1], operation="tanh")
    assert differing_outputs(graph, netcalc.load_data(document).program) == list(graph.outputs)


def test_a_name_that_means_another_value_inside() -> None:
    tensors = {path: StoredTensor(TensorType((4, 4))) for path in ("outer.fc.weight", "outer.inner.fc.weight")}
    graph = Graph("shadow", tensors=tensors)
    build = Builder(graph)
    x = graph.inputs["x"] = Value(TensorType((2, 4)))
    outer, inner = ModuleCall("outer", 0, "Outer"), ModuleCall("outer.inner", 0, "Inner")

    def linear(value: Value, *scope: ModuleCall) -> Value:
        build.scope = (*scope, ModuleCall(f"{scope[-1].path}.fc", 0, "Linear"))
        weight = Value(TensorType((4, 4)), stored=Stored(f"{scope[-1].path}.fc.weight"))
        made = build.line("linear", [value], {"out": 4, "bias": False}, {"weight": weight})
        build.scope = scope
        return made

    first = linear(x, outer)
    second = build.line("tanh", [linear(build.line("relu", [first]), outer, inner)])
    graph.outputs["y"] = build.line("sigmoid", [build.line("mul", [second, first])])
    network = netcalc.load_data(spec_document(graph))
    assert differing_outputs(graph, network.program) == []


def _sum(rows: int) -> Graph:
    """Return the graph of a sum of rows, in a loop."""
    made = Made()
    x = made.input("x", rows, 2)
    total = made.line("select", x, axis=0, index=0)
    for row in range(1, rows):
        total = made.line("add", total, made.line("select", x, axis=0, index=row))
    return made.done(y=total)


def test_a_long_sum_is_no_deep_document() -> None:
    assert load_data(spec_document(_sum(100))).flops == 99 * 2


def test_the_work_of_a_document_does_not_explode() -> None:
    calls = []
    for rows in (80, 160):
        profile = Profile()
        profile.runcall(spec_document, _sum(rows))
        calls.append(sum(entry.callcount for entry in profile.getstats()))
    assert calls[1] < 5 * calls[0]

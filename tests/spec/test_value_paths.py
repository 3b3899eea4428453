"""Values named by their path in from, outputs and expressions."""

from __future__ import annotations

import numpy as np
import pytest

from netcalc.analysis.cost import analyze
from netcalc.engine.run import forward
from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from tests.spec.harness import layer_problems, layers, params, problems, program, shapes

BLOCKS = """
inputs: {x: [2, 8]}
blocks:
  unit:
    layers: [{name: fc, linear: 8}, relu]
  stage:
    args: {depth: int}
    layers:
      - {name: unit, repeat: "${depth}", unit: {}}
      - {name: tail, sequence: [{linear: 8}, tanh]}
"""
LAYERS = """
layers:
  - {name: first, stage: {depth: 4}}
  - {name: second, repeat: 3, stage: {depth: 4}}
"""


def traced(net: Program, *paths: str) -> list[np.ndarray]:
    result = forward(net, seed=3, trace=list(paths), keep=True)
    found = {row.path: row.array for row in result.trace}
    return [found[path] for path in paths]


def totals(net: Program) -> tuple[object, ...]:
    return analyze(net).total.values


PATHS = [
    "first.unit.2.relu",
    "first.unit.0.fc",
    "first.unit.3",
    "first.unit.1",
    "first.tail.0",
    "second.0.unit.3.fc",
    "second.1",
    "second.2.tail.1",
    "second.2.unit.0.relu",
]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("plan", ["fast", "reference"])
def test_an_output_at_a_path_is_the_value_that_a_trace_records(path: str, plan: str) -> None:
    plain = program(BLOCKS + LAYERS)
    net = program(BLOCKS + LAYERS + f"outputs: {{inside: {path}, last: second}}\n")
    assert totals(net) == totals(plain)
    assert params(net) == params(plain)
    assert shapes(net) == shapes(plain)
    result = forward(net, seed=3, plan=plan)
    (expected,) = traced(plain, path)
    np.testing.assert_allclose(result.outputs["inside"], expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result.outputs["last"], forward(plain, seed=3).outputs["output"], rtol=1e-5, atol=1e-6)


def test_all_values_at_once() -> None:
    plain = program(BLOCKS + LAYERS)
    net = program(BLOCKS + LAYERS + f"outputs: [{', '.join(PATHS)}, second]\n")
    outputs = forward(net, seed=3).outputs
    for path, expected in zip(PATHS, traced(plain, *PATHS), strict=True):
        np.testing.assert_allclose(outputs[path], expected, rtol=1e-5, atol=1e-6)
    assert params(net) == params(plain)


def test_equal_calls_share_the_body_that_exposes_a_value() -> None:
    net = program(BLOCKS + LAYERS + "outputs: [second.0.tail.0, second.1.tail.0, first.tail.0]\n")
    bodies = [node.body for node in net.main.nodes]
    assert len(bodies) == 4
    assert bodies[0] is bodies[1] is bodies[2]
    assert bodies[3] is not bodies[0]
    assert len(bodies[3].outputs) == 1


def test_groups_are_named_by_their_last_value() -> None:
    net = program(BLOCKS + LAYERS + "outputs: [first.tail, first.unit, second]\n")
    same = program(BLOCKS + LAYERS + "outputs: [first.tail.1, first.unit.3.relu, second.2.tail.1]\n")
    for one, other in zip(forward(net).outputs.values(), forward(same).outputs.values(), strict=True):
        np.testing.assert_array_equal(one, other)


def test_unnamed_lines_and_ports() -> None:
    net = layers(
        """
        - relu
        - relu
        - {chunk: {chunks: 2, axis: -1}}
        - {lstm: {hidden: 3}, from: chunk.1}
        - {name: both, add: {}, from: [relu, relu_1]}
        - {name: cell, relu: {}, from: lstm.c_n}
        - {name: numbered, relu: {}, from: lstm.1}
        - {name: half, relu: {}, from: chunk.0}
        """,
        shape="[2, 3, 8]",
    )
    nodes = {node.name: node for node in net.main.nodes}
    assert nodes["both"].inputs == (nodes["relu"].outputs[0], nodes["relu_1"].outputs[0])
    assert nodes["cell"].inputs == (nodes["lstm"].outputs[2],)
    assert nodes["numbered"].inputs == (nodes["lstm"].outputs[1],)
    assert nodes["half"].inputs == (nodes["chunk"].outputs[0],)


def test_lines_of_a_sequence_see_its_own_paths_first() -> None:
    net = layers("""
        - relu
        - name: head
          sequence: [{linear: 4}, relu, {from: "0", tanh: {}}, {from: relu, sigmoid: {}}]
        """)
    nodes = {node.name: node for node in net.main.nodes}
    assert nodes["head.2"].inputs == nodes["head.0"].outputs
    assert nodes["head.3"].inputs == nodes["relu"].outputs


def test_a_repeat_uses_values_inside_earlier_calls() -> None:
    net = program(
        BLOCKS
        + """
layers:
  - {name: first, stage: {depth: 4}}
  - {name: steps, repeat: 3, sequence: [{add: {}, from: [_, first.unit.1.fc]}, tanh]}
"""
    )
    assert [node.times for node in net.main.nodes[1:]] == [3]
    inside, first, last = traced(net, "first.unit.1.fc", "first", "steps.2.1")
    expected = first
    for _ in range(3):
        expected = np.tanh(expected + inside)
    np.testing.assert_allclose(last, expected, rtol=1e-5)


def test_named_outputs_of_a_block_inside_a_call() -> None:
    net = program("""
        inputs: {x: [2, 8]}
        blocks:
          two:
            outputs: [low, high]
            layers: [{name: halves, chunk: {chunks: 2, axis: -1}, as: [low, high]}]
          around:
            layers: [{two: {}}, relu]
        layers:
          - {name: a, around: {}}
          - {two: {}, from: x}
          - {name: z, concat: {axis: 1}, from: [a.two.high, a.two.halves.0, two.high, a.two.0, two.low]}
        """)
    assert shapes(net)["z"] == "2×20"
    outputs = forward(net, {"x": np.arange(16, dtype=np.float32).reshape(2, 8)}).outputs["output"]
    np.testing.assert_array_equal(outputs[0], [4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 0, 1, 2, 3])


def test_shared_iterations_have_one_path_that_names_the_last() -> None:
    text = BLOCKS + "layers:\n  - {name: s, repeat: 3, share: true, unit: {}}\n"
    net = program(text + "outputs: [s.fc, s.relu, s]\n")
    by_path = forward(net, seed=1).outputs
    np.testing.assert_array_equal(by_path["s.relu"], by_path["s"])
    np.testing.assert_array_equal(np.maximum(by_path["s.fc"], 0), by_path["s"])
    assert params(net) == params(program(text))


def test_weights_are_tied_to_a_call_that_exposes_a_value() -> None:
    text = BLOCKS + "layers:\n  - {name: a, stage: {depth: 4}}\n  - {name: b, tie: a, stage: {depth: 4}}\n"
    net = program(text + "outputs: [b, a.unit.1.fc, b.unit.2.relu]\n")
    assert params(net) == params(program(text))


def test_symbolic_programs() -> None:
    text = (BLOCKS + LAYERS).replace("[2, 8]", "[n, 8]").replace("inputs", "dims: {n: 2}\ninputs")
    net = program(text + "outputs: [second.1.unit.2.fc]\n", symbolic=("n",))
    assert str(net.main.outputs[0].type) == "n×8"


# -- expressions ------------------------------------------------------------------------------------


def test_values_in_expressions() -> None:
    net = program("""
        inputs: {x: [2, 8]}
        blocks:
          unit: {layers: [{name: fc, linear: 16}, {linear: 4}]}
        layers:
          - {name: stage, repeat: {each: [3, 5], as: width}, sequence: [{name: fc, linear: "${width}"}, relu]}
          - {unit: {}}
          - {name: a, linear: "${value('stage.0.fc').features}"}
          - {name: b, linear: "${value('unit.fc').features + value('x').features + value('_').features}"}
          - {name: c, when: value('stage.1.0').features == 5, relu: {}}
        """)
    assert shapes(net)["a"] == "2×3"
    assert shapes(net)["b"] == "2×27"
    assert "c" in shapes(net)
    assert [len(node.outputs) for node in net.main.nodes] == [1] * len(net.main.nodes)


def test_the_current_value_in_expressions() -> None:
    net = program("""
        inputs: {x: [2, 8]}
        blocks:
          unit:
            args: {times: int}
            layers: [{name: up, linear: "${_.features * times}"}, {name: up2, linear: "${_.features + 1}"}]
        layers:
          - {name: a, linear: "${_.features // 2}"}
          - {when: _.features == 4, name: b, linear: 6}
          - {when: _.features == 4, name: never, linear: 6}
          - {name: c, unit: {times: "${_.features}"}}
          - name: sum
            add:
              left: [{name: l, linear: "${_.features - 2}"}, {name: l2, linear: "${_.features}"}]
              right: [{name: r, linear: 35}]
          - {name: taper, repeat: 3, linear: "${_.features - 5}"}
          - {name: steps, repeat: 2, sequence: [{linear: "${_.features - 5}"}]}
          - {name: calls, repeat: 2, unit: {times: "${_.features}"}}
          - {name: other, from: x, linear: "${_.features}"}
        """)
    found = shapes(net)
    assert [found[p] for p in ("a", "b", "c.up", "c.up2", "l", "l2")] == ["2×4", "2×6", "2×36", "2×37", "2×35", "2×35"]
    assert "never" not in found
    assert [found[p] for p in ("taper.0", "taper.1", "taper.2", "steps.1.0")] == ["2×30", "2×25", "2×20", "2×10"]
    assert [found[p] for p in ("calls.0.up", "calls.1.up", "other")] == ["2×100", "2×10201", "2×10202"]


def test_the_current_value_of_a_first_line_without_input_is_unknown() -> None:
    (problem,) = problems("inputs: {}\nlayers: [{linear: '${_.features}'}]\n")
    assert problem.code in ("E202", "E303")


# -- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "code", "hint"),
    [
        ("first.unit.2.rleu", "E301", "did you mean 'first.unit.2.relu'?"),
        ("first.unit.7.relu", "E301", "use `first.unit.3.relu` or one before it: they are numbered from 0"),
        ("frist.unit.2.relu", "E301", "known here: x, in, first, second"),
        ("later.unit.0.relu", "E302", "networks are acyclic"),
        ("first.unit.0–3.relu", "E301", ""),
        ("first.unit.²", "E301", ""),
        ("first.", "E301", ""),
        (".", "E301", ""),
    ],
)
def test_unknown_paths(path: str, code: str, hint: str) -> None:
    text = BLOCKS + LAYERS + f"  - {{from: {path}, relu: {{}}}}\n  - {{name: later, from: x, stage: {{depth: 1}}}}\n"
    (problem,) = problems(text)
    assert (problem.code, path in problem.message) == (code, True)
    assert hint in (problem.hint or "")
    (same,) = problems(
        BLOCKS + LAYERS + f"  - linear: \"${{value('{path}').features}}\"\n  - {{name: later, relu: {{}}}}\n"
    )
    assert same.code == code
    assert same.span is not None


def test_a_port_that_an_operation_lacks() -> None:
    (problem,) = layer_problems("- {name: a, linear: 4}\n- {from: a.h_n, relu: {}}")
    assert problem.code == "E303"
    (problem,) = layer_problems("- {linear: 4}\n- {from: linear.h_n, relu: {}}")
    assert problem.code == "E301"


def test_a_repeat_has_no_path_before_it_ends() -> None:
    (problem,) = layer_problems("- {name: a, repeat: 3, sequence: [{linear: 8}, {from: a.0.0, relu: {}}]}")
    assert problem.code == "E302"


def test_paths_of_lines_with_an_error_are_not_reported() -> None:
    text = "- {name: a, linear: 0}\n- {from: a.b, relu: {}}\n- {linear: 0}\n- {from: linear, relu: {}}\n"
    assert [problem.code for problem in layer_problems(text)] == ["E104", "E104"]


def test_value_is_known_only_where_lines_are() -> None:
    (problem,) = problems("vars: {a: \"${value('x')}\"}\ninputs: {x: [1]}\nlayers: [relu]")
    assert problem.code == "E203"
    (problem,) = layer_problems("- linear: '${value(1)}'")
    assert (problem.code, "quotes" in problem.message) == ("E203", True)


def test_shipped_networks_by_path() -> None:
    def net(outputs: str) -> Program:
        text = f"netcalc: 1\nextends: resnet18\ndims: {{height: 32, width: 32}}\noutputs: [{outputs}]\n"
        return elaborate(load_text(text, "spec.yaml"), {})

    plain = net("fc")
    assert totals(net("fc, layer1.0.relu, layer3.1.conv1, layer2, relu")) == totals(plain)

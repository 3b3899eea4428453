"""Checker of programs: every kind of corruption is an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from netcalc.ir import Body, CallNode, InputSpec, Node, OpNode, Program, Tie, Value
from netcalc.ir.check import ProgramError, check
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import load_text
from netcalc.spec.shipped import shipped
from netcalc.tensor_type import TensorType

SPEC = """
netcalc: 1
inputs: {x: [2, 8]}
blocks:
  pair:
    inputs: [x]
    args: {out: any}
    layers:
      - {name: up, linear: "${out}"}
      - {name: down, linear: 8}
layers:
  - {name: first, linear: 8}
  - {name: stack, repeat: 3, pair: 16}
  - {name: again, pair: 16, tie: stack.1}
  - {name: last, linear: 8, tie: first}
  - {name: sum, add: {}, from: [last, first]}
"""


def example() -> Program:
    """Return a program with operations, a repeat, a shared call, a tied operation and a join."""
    return elaborate(load_text(SPEC, "spec.yaml"))


def operation(program: Program, name: str) -> OpNode:
    return next(node for node in program.main.nodes if isinstance(node, OpNode) and node.name == name)


def call(program: Program, name: str) -> CallNode:
    return next(node for node in program.main.nodes if isinstance(node, CallNode) and node.name == name)


def set_nodes(body: Body, nodes: list[Node]) -> None:
    body.nodes = tuple(nodes)


def use_before_definition(program: Program) -> None:
    first, *others = program.main.nodes
    set_nodes(program.main, [*others, first])


def value_of_another_body(program: Program) -> None:
    operation(program, "last").inputs = call(program, "stack").body.nodes[0].outputs


def value_defined_twice(program: Program) -> None:
    operation(program, "sum").outputs = operation(program, "last").outputs


def output_that_no_node_defines(program: Program) -> None:
    program.main.outputs = (Value(TensorType((2, 8)), "stranger"),)


def value_without_type(program: Program) -> None:
    program.main.inputs[0].type = None  # type: ignore[union-attr]


def output_of_another_shape(program: Program) -> None:
    operation(program, "sum").outputs[0].type = TensorType((2, 9))


def output_of_another_dtype(program: Program) -> None:
    operation(program, "sum").outputs[0].type = TensorType((2, 8), "float64")


def input_that_the_rule_refuses(program: Program) -> None:
    node = operation(program, "first")
    node.op = type(node.op)(out=8, bias=True)
    program.main.inputs[0].type = TensorType(())  # type: ignore[union-attr]
    program.inputs = (InputSpec("x", TensorType(())),)


def missing_parameter(program: Program) -> None:
    node = operation(program, "first")
    node.params = node.params[:1]


def parameter_of_another_shape(program: Program) -> None:
    node = operation(program, "first")
    node.params = (replace(node.params[0], shape=(8, 9)), *node.params[1:])


def tie_of_no_parameter(program: Program) -> None:
    operation(program, "last").ties = {"scale": Tie("first.weight")}


def tie_to_nothing(program: Program) -> None:
    operation(program, "last").ties = {"weight": Tie("second.weight")}


def tie_to_a_later_layer(program: Program) -> None:
    operation(program, "first").ties = {"weight": Tie("last.weight")}


def absolute_tie_to_a_later_layer(program: Program) -> None:
    (node, *_) = call(program, "stack").body.nodes
    assert isinstance(node, OpNode)
    node.ties = {"weight": Tie("again.up.weight", absolute=True)}


def tie_to_another_shape(program: Program) -> None:
    operation(program, "last").ties = {"weight": Tie("first.bias")}


def sharing_with_nothing(program: Program) -> None:
    call(program, "again").shares = Tie("stack.3")


def sharing_with_another_block(program: Program) -> None:
    other = elaborate(load_text(SPEC.replace("- {name: again, pair: 16, tie: stack.1}", "- {name: again, pair: 4}")))
    call(program, "again").body = call(other, "again").body


def missing_argument(program: Program) -> None:
    call(program, "stack").inputs = ()


def argument_of_another_type(program: Program) -> None:
    body = call(program, "stack").body
    body.inputs = (Value(TensorType((2, 8), "float64"), "x"),)


def missing_result(program: Program) -> None:
    call(program, "again").outputs = ()


def result_of_another_type(program: Program) -> None:
    call(program, "stack").outputs[0].type = TensorType((2, 16))


def repeat_that_cannot_feed_itself(program: Program) -> None:
    node = call(program, "stack")
    node.body.outputs = node.body.nodes[0].outputs
    node.outputs[0].type = node.body.outputs[0].type


def no_iterations(program: Program) -> None:
    call(program, "stack").times = 0


def one_path_twice(program: Program) -> None:
    operation(program, "sum").name = "last"


def one_number_twice(program: Program) -> None:
    node = call(program, "again")
    node.name, node.start, node.shares = "stack", 2, None


def undeclared_input(program: Program) -> None:
    program.inputs = ()


def input_of_another_type(program: Program) -> None:
    program.inputs = (InputSpec("x", TensorType((2, 8), "float64")),)


def unnamed_output(program: Program) -> None:
    program.output_names = ()


def outputs_of_one_name(program: Program) -> None:
    program.main.outputs *= 2
    program.output_names = ("output", "output")


CORRUPTIONS: dict[Callable[[Program], None], str] = {
    use_before_definition: "not defined before",
    value_of_another_body: "not defined before",
    value_defined_twice: "defined twice",
    output_that_no_node_defines: "not defined in the body",
    value_without_type: "differ from those declared",
    output_of_another_shape: "types that the operation infers",
    output_of_another_dtype: "types that the operation infers",
    input_that_the_rule_refuses: "refuses its inputs",
    missing_parameter: "parameters are not the operation",
    parameter_of_another_shape: "parameters are not the operation",
    tie_of_no_parameter: "which is no parameter",
    tie_to_nothing: "no earlier parameter",
    tie_to_a_later_layer: "no earlier parameter",
    absolute_tie_to_a_later_layer: "no earlier parameter",
    tie_to_another_shape: "another shape",
    sharing_with_nothing: "no earlier call",
    sharing_with_another_block: "other parameters",
    missing_argument: "types of the body's inputs",
    argument_of_another_type: "types of the body's inputs",
    missing_result: "number of outputs",
    result_of_another_type: "types of the body's outputs",
    repeat_that_cannot_feed_itself: "next one's first inputs",
    no_iterations: "repeated 0 times",
    one_path_twice: "two nodes have this path",
    one_number_twice: "two nodes have this path",
    undeclared_input: "differ from those declared",
    input_of_another_type: "differ from those declared",
    unnamed_output: "differ in number",
    outputs_of_one_name: "two outputs have one name",
}


def test_the_example_is_well_formed() -> None:
    check(example())


@pytest.mark.parametrize("corrupt", CORRUPTIONS, ids=lambda corrupt: corrupt.__name__)
def test_a_corrupted_program_is_an_error(corrupt: Callable[[Program], None]) -> None:
    program = example()
    corrupt(program)
    with pytest.raises(ProgramError, match=CORRUPTIONS[corrupt]):
        check(program)


@pytest.mark.parametrize("name", shipped())
def test_shipped_specs_elaborate_to_well_formed_programs(name: str) -> None:
    check(elaborate(load_document(name)))

"""Validation of a whole program, as a compiler validates its intermediate representation after each pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from netcalc.diagnostics import RuleError
from netcalc.dims import UndecidedError
from netcalc.ir.build import infer
from netcalc.ir.paths import path_collisions
from netcalc.ir.program import (
    Body,
    CallNode,
    Node,
    OpNode,
    Program,
    Tie,
    Value,
    call_at,
    join,
    operation_with_parameters,
    parameter_at,
    parameter_signature,
)
from netcalc.opdef import Context, Param


class ProgramError(Exception):
    """A program is malformed: an error of the code that made it, never of a spec."""


def check(program: Program) -> None:
    """Validate a program; each body is visited once, whatever its depth and repeats.

    Every value is defined once and before use. Output types and parameters of every operation are those that its rules
    give for the input types. The inputs and outputs of a call are of the types of its body, and the outputs that a
    repeated body feeds to its next iteration are of the types of its first inputs. Every tie leads to an earlier
    parameter of the same shape, and every call that shares weights to an earlier call with the same parameters. No two
    nodes and no two parameters have the same path. The body that computes a buffer has no inputs and no parameters.

    Raises:
        ProgramError: at the first violation, with the path of the node.
    """
    main = program.main
    specs = [spec.type for spec in program.inputs]
    _require(list(main.input_types) == specs, program.name, "the inputs of the main body differ from those declared")
    names = [spec.name for spec in program.inputs]
    _require(len(set(names)) == len(names), program.name, f"two inputs have one name: {', '.join(names)}")
    outputs = program.output_names
    _require(len(outputs) == len(main.outputs), program.name, "outputs and their names differ in number")
    _require(len(set(outputs)) == len(outputs), program.name, f"two outputs have one name: {', '.join(outputs)}")
    _Checker(program).body(main, "", ())
    for path, first, _ in path_collisions(main):
        _require(False, path, f"two {'parameters' if first.is_parameter else 'nodes'} have this path")


class _Checker:
    def __init__(self, program: Program) -> None:
        self._ctx = Context(training=program.training, dtype=program.dtype)
        self._main = program.main
        self._checked: set[Body] = set()

    def body(self, body: Body, path: str, before: Sequence[Node]) -> None:
        """Check a body at its first call; ``before`` are the nodes of the main body that precede that call."""
        if body in self._checked:
            return
        self._checked.add(body)
        defined: set[Value] = set()
        for value in body.inputs:
            _define(value, defined, path or body.block)
        for position, node in enumerate(body.nodes):
            here = join(path, node.name if isinstance(node, OpNode) else node.instance(0))
            for value in node.inputs:
                _require(value is None or value in defined, here, "an input is not defined before the node")
            _require(defined.issuperset(node.holds), here, "a value that is held is not defined before the node")
            earlier = body.nodes[:position]
            preceding = earlier if body is self._main else before
            if isinstance(node, OpNode):
                self._operation(node, here, earlier, preceding)
            else:
                self._call(node, here, earlier, preceding)
            for value in node.outputs:
                _define(value, defined, here)
        for value in body.outputs:
            _require(value in defined, path or body.block, f"the output {value.name!r} is not defined in the body")

    def _operation(self, node: OpNode, path: str, earlier: Sequence[Node], preceding: Sequence[Node]) -> None:
        try:
            results = infer(node.op, node.input_types, self._ctx)
            params = tuple(node.op.params(self._ctx, *node.input_types))
        except (RuleError, UndecidedError) as error:
            raise ProgramError(f"{path}: {node.op.name} refuses its inputs: {error.message}") from error
        _require(results == node.output_types, path, "the outputs are not of the types that the operation infers")
        declared = tuple(replace(param, storage=None) if param.storage else param for param in node.params)
        _require(params == declared, path, "the parameters are not the operation's")
        own = {param.name: param for param in node.params}
        for name, tie in node.ties.items():
            _require(name in own, path, f"a tie of {name!r}, which is no parameter")
            target = _target(tie, earlier, preceding)
            _require(target is not None, path, f"{name!r} is tied to {tie.target!r}, which is no earlier parameter")
            same = target is not None and target.shape == own[name].shape
            _require(same, path, f"{name!r} is tied to {tie.target!r}, which has another shape")

        if node.computed is not None:
            _require(not node.computed.inputs, path, "the body that computes a buffer has inputs")
            learned = operation_with_parameters(node.computed.nodes)
            _require(learned is None, path, "the body that computes a buffer has parameters")
            self.body(node.computed, path, ())

    def _call(self, node: CallNode, path: str, earlier: Sequence[Node], preceding: Sequence[Node]) -> None:
        body = node.body
        _require(node.times >= 1, path, f"a call is repeated {node.times} times")
        _require(node.input_types == body.input_types, path, "the inputs are not of the types of the body's inputs")
        _require(len(node.outputs) == len(body.outputs), path, "call and body differ in the number of outputs")
        _require(node.output_types == body.output_types, path, "the outputs are not of the types of the body's outputs")
        repeatable = node.times == 1 or body.repeatable
        _require(repeatable, path, "the outputs of one iteration are not of the types of the next one's first inputs")
        if node.shares is not None:
            other = call_at(preceding if node.shares.absolute else earlier, node.shares.target)
            shared = f"weights are shared with {node.shares.target!r}"
            _require(other is not None, path, f"{shared}, which is no earlier call")
            same = other is not None and parameter_signature(other.body) == parameter_signature(body)
            _require(same, path, f"{shared}, which has other parameters")
        self.body(body, path, preceding)


def _target(tie: Tie, earlier: Sequence[Node], preceding: Sequence[Node]) -> Param | None:
    place = parameter_at(preceding if tie.absolute else earlier, tie.target)
    return None if place is None else place[1]


def _define(value: Value | None, defined: set[Value], path: str) -> None:
    if value is None:
        return
    _require(value.type is not None, path, f"{value.name!r} has no type")
    _require(value not in defined, path, f"{value.name!r} is defined twice")
    defined.add(value)


def _require(condition: bool, path: str, message: str) -> None:
    if not condition:
        raise ProgramError(f"{path}: {message}" if path else message)

"""Elaboration of a line that is a block: its body, made once for equal arguments and input types, and a call of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, Value, types_of
from netcalc.limits import MAX_BLOCK_DEPTH
from netcalc.opdef import ports
from netcalc.spec.arguments import bind_arguments, passed_arguments, renamed_arguments
from netcalc.spec.body_cache import BodyKey, hashable
from netcalc.spec.checkpoint import checkpoint_entries
from netcalc.spec.eager import mark
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.library import Block
from netcalc.spec.line_inputs import DEFAULT, output_values, with_defaults, with_taken
from netcalc.spec.line_syntax import Line
from netcalc.spec.modifiers import claim_path, define_outputs, line_name, lists_among, module_of
from netcalc.spec.patches import Pending, below
from netcalc.spec.requirements import require_met
from netcalc.spec.scope import Outputs, PartialBody, Poisoned, Scope
from netcalc.spec.sketches import sketched_body, with_equal_chances
from netcalc.spec.stand_ins import misfit
from netcalc.spec.ties import is_absolute, tie_call


def elaborate_call(
    elaboration: Elaboration, line: Line, block: Block, scope: Scope, current: Value | None
) -> Value | None:
    """Elaborate a block call and return its first output."""
    path = scope.path_of_line(line_name(line, scope), block.name)
    body, inputs = bind_call(elaboration, line, block, scope, current, path)
    claim_path(path, line, scope)
    node = add_call(elaboration, line, scope, path, body, inputs)
    by_port = with_absent(block, dict(zip(body.ports, node.outputs, strict=False)))
    define_outputs(line, scope, Outputs(by_port, node.span), lists_among(by_port))
    return node.outputs[0]


def with_absent(block: Block, outputs: Mapping[str, Value]) -> dict[str, Value | None]:
    """Return the outputs of a call by port in the order of their declaration, None for one that is absent."""
    by_port: dict[str, Value | None] = {}
    for name in block.decl.outputs or ["output"]:
        port = name.rpartition(".")[2].removesuffix("?")
        present = [key for key in outputs if key == port or key.startswith(port + ".")]
        by_port |= {key: outputs[key] for key in present}
        if name.endswith("?") and not present:
            by_port[port] = None
    return by_port


def bind_call(
    elaboration: Elaboration,
    line: Line,
    block: Block,
    scope: Scope,
    current: Value | None,
    path: str,
    carried: Sequence[Value | None] = (),
    taken: Mapping[str, Value | None] | None = None,
) -> tuple[Body, list[Value | None]]:
    """Return the body and the inputs of a call at a path.

    ``carried`` are the outputs of the iteration before, and ``taken`` the inputs that this iteration takes.
    """
    inputs, defaults, arguments = bind_values(elaboration, line, block, scope, current, carried, taken)
    return _body(elaboration, block, arguments, inputs, defaults, line, below(scope.patches, path)), inputs


def bind_values(
    elaboration: Elaboration,
    line: Line,
    block: Block,
    scope: Scope,
    current: Value | None,
    carried: Sequence[Value | None],
    taken: Mapping[str, Value | None] | None,
) -> tuple[list[Value | None], frozenset[str], dict[str, Any]]:
    """Return the inputs of a call in order, the names of those that are defaults, and its arguments by name.

    An input that is its default is None in the call: it is an input of the block already, also in each iteration of a
    repeat, whose first input is the output of the iteration before.

    Raises:
        Poisoned: if the type of an input is unknown.
        NetcalcError: if inputs or arguments are wrong, in one error if the block stands in for another.
    """
    try:
        return _bound_values(elaboration, line, block, scope, current, carried, taken or {})
    except NetcalcError as error:
        raise misfit(block, line, scope, current, carried, taken or {}) or error from None


def _bound_values(
    elaboration: Elaboration,
    line: Line,
    block: Block,
    scope: Scope,
    current: Value | None,
    carried: Sequence[Value | None],
    taken: Mapping[str, Value | None],
) -> tuple[list[Value | None], frozenset[str], dict[str, Any]]:
    for warning in renamed_arguments(block, line):
        elaboration.warn(warning)
    declared = ports(*block.decl.inputs)
    bound = with_taken(declared, taken, line, block.name, scope, current, carried=carried)
    inputs = with_defaults(declared, bound)
    if any(value is not None and value.type is None for value in inputs):
        raise Poisoned
    types = dict(zip((port.name for port in declared), types_of(inputs), strict=True))
    arguments = bind_arguments(block, line, scope, types, elaboration.settings_of(block.home))
    defaults = frozenset(port.name for port, value in zip(declared, bound, strict=True) if value is DEFAULT)
    return [None if value is DEFAULT else value for value in bound], defaults, arguments


def define_inputs(scope: Scope, block: Block, inputs: Sequence[Value | None], defaults: Set[str]) -> None:
    """Define the inputs of a block in the scope of its lines; those in ``defaults`` are the inputs before them."""
    for port, value in zip(ports(*block.decl.inputs), inputs, strict=True):
        default = port.default if port.name in defaults else None
        scope.defined[port.name] = Outputs.single(value) if default is None else scope.defined[default]
    if inputs:
        scope.defined["in"] = Outputs.single(inputs[0])


def add_call(
    elaboration: Elaboration,
    line: Line,
    scope: Scope,
    path: str,
    body: Body,
    inputs: list[Value | None],
    start: int | None = None,
) -> CallNode:
    """Append a call to the scope's body and return it; with ``start`` its instances are numbered from there."""
    span = line.target_span
    outputs = tuple([Value(type_, path, span) for type_ in body.result_types])
    if not outputs:
        raise NetcalcError(Diagnostic("E303", f"{body.block} has no input and no lines", span))
    if outputs[0].type is None:
        raise Poisoned
    node = CallNode(path, body, tuple(inputs), outputs, 1, start, None, span)
    if is_absolute(line):
        elaboration.bind_to_spec()
    node.shares = tie_call(node, line, scope, elaboration.main)
    node.module = module_of(line, path, scope)
    mark(node, line, scope)
    elaboration.expansion.add(node, scope.body)
    return node


def _body(
    elaboration: Elaboration,
    block: Block,
    arguments: dict[str, Any],
    inputs: list[Value | None],
    defaults: frozenset[str],
    line: Line,
    patches: tuple[Pending, ...],
) -> Body:
    """Return the body of a block for these arguments, input types and patches, elaborated at its first use."""
    arguments = with_equal_chances(block, arguments)
    key = BodyKey(block.cursor, hashable(arguments), types_of(inputs), elaboration.frozen, patches, defaults)
    body = elaboration.body(key) or sketched_body(elaboration, block, arguments, inputs, key, _elaborated_alone)
    if body is not None:
        return body
    check_depth(elaboration, block, line)
    partial, scope = _empty_body(elaboration, block, arguments, inputs, key)

    def elaborate() -> Body:
        require_met(block.cursor, scope, passed_arguments(block, line), line.target_span)
        with elaboration.reporter.inside(f"in block {block.name!r}, called here", (line.args or line.cursor).key_span):
            return _elaborate_body(elaboration, block, partial, scope)

    return elaboration.elaborated(key, elaborate)  # with the requirements, which symbolic sizes are assumed to meet


def _empty_body(
    elaboration: Elaboration,
    block: Block,
    arguments: Mapping[str, Any],
    inputs: list[Value | None],
    key: BodyKey,
) -> tuple[PartialBody, Scope]:
    """Return a body for a block that has inputs but no lines yet, and the scope of its lines."""
    partial = PartialBody(block.name, block.home)
    scope = elaboration.root_scope(partial, dict(arguments), key.patches)
    partial.inputs += (
        None if outer is None else Value(outer.type, port.name, outer.span)
        for port, outer in zip(ports(*block.decl.inputs), inputs, strict=True)
    )
    define_inputs(scope, block, partial.inputs, key.defaults)
    return partial, scope


def _elaborated_alone(
    elaboration: Elaboration, block: Block, arguments: Mapping[str, Any], inputs: list[Value | None], key: BodyKey
) -> Body:
    """Return the body of a block in an elaboration of its own, without the place of a call."""
    partial, scope = _empty_body(elaboration, block, arguments, inputs, key)

    def elaborate() -> Body:
        require_met(block.cursor, scope, {})
        return _elaborate_body(elaboration, block, partial, scope)

    return elaboration.elaborated(key, elaborate)


def check_depth(elaboration: Elaboration, block: Block, line: Line) -> None:
    """Raise NetcalcError (E204) if a call of the block would be nested too deep."""
    if len(elaboration.reporter.chain) >= MAX_BLOCK_DEPTH:
        hint = f"{block.name!r} may call itself without end"
        raise line.cursor.error("E204", f"blocks are nested more than {MAX_BLOCK_DEPTH} deep", hint)


def _elaborate_body(elaboration: Elaboration, block: Block, partial: PartialBody, scope: Scope) -> Body:
    first = partial.inputs[0] if partial.inputs else None
    outputs, names = block_results(elaboration, block, scope, first)
    checkpoint = checkpoint_entries(elaboration.reporter, block.decl.checkpoint, block.cursor, scope)
    return partial.finish(outputs, checkpoint, names)


def block_results(
    elaboration: Elaboration, block: Block, scope: Scope, current: Value | None
) -> tuple[list[Value], list[str]]:
    """Elaborate the lines of a block and return its outputs and their ports."""
    current = elaboration.lines(block.cursor["layers"], scope, current)
    outputs: list[Value] = []
    names: list[str] = []
    if block.decl.outputs is None:
        return ([] if current is None else [current]), ["output"]
    for item in block.cursor["outputs"].elements():
        name = str(item.data)
        resolved = elaboration.reporter.guard(output_values, name, item, scope, current)
        values, is_list = resolved or ([Value(None, name)], False)
        port = name.rpartition(".")[2].removesuffix("?")
        present = [(i, value) for i, value in enumerate(values) if value is not None]
        if present and any(key == port or key.startswith(f"{port}.") for key in names):
            hint = "outputs are called by the last parts of their names: `as` of a line gives another name"
            elaboration.reporter.report(item.error("E106", f"two outputs are called {port!r}", hint))
        outputs += (value for _, value in present)
        names += (f"{port}.{i}" if is_list else port for i, _ in present)
    return outputs, names

"""One line that is a block: a body, elaborated once for equal arguments and input types, and a call of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, Value, types_of
from netcalc.opdef import ports
from netcalc.spec.arguments import bind_arguments, frozen
from netcalc.spec.inputs import resolve_inputs, resolve_value
from netcalc.spec.library import Block
from netcalc.spec.lines import Line
from netcalc.spec.program_io import checkpoint_sources
from netcalc.spec.scope import BodyBuilder, Frame, Named, Poisoned, type_of
from netcalc.spec.ties import tie_call

if TYPE_CHECKING:
    from netcalc.spec.elaborate import Elaborator

__all__ = ["elaborate_call", "emit_call", "prepare_call"]

MAX_BLOCK_DEPTH = 64


def elaborate_call(walk: Elaborator, line: Line, block: Block, frame: Frame, current: Value | None) -> Value | None:
    """Elaborates a block call; returns its first output."""
    body, inputs = prepare_call(walk, line, block, frame, current)
    path = walk.claim(frame.take_name(walk.given_name(line, frame), block.name), line, frame)
    node = emit_call(walk, line, frame, path, body, inputs)
    walk.define(line, frame, _call_outputs(block, node))
    return node.outputs[0]


def prepare_call(
    walk: Elaborator, line: Line, block: Block, frame: Frame, current: Value | None, carried: Sequence[Value] = ()
) -> tuple[Body, list[Value | None]]:
    """The body of a call and its inputs; ``carried`` values take the first inputs' places."""
    inputs = resolve_inputs(line, ports(*block.decl.inputs), frame, current, {}, block.name)
    inputs[: len(carried)] = carried
    if any(value is not None and value.type is None for value in inputs):
        raise Poisoned
    scope, known = walk.scope(frame)
    types = {name.rstrip("?"): type_of(value) for name, value in zip(block.decl.inputs, inputs, strict=True)}
    args = bind_arguments(block, line, scope, known, types)
    return _body(walk, block, args, inputs, line), inputs


def emit_call(
    walk: Elaborator,
    line: Line,
    frame: Frame,
    path: str,
    body: Body,
    inputs: list[Value | None],
    start: int | None = None,
) -> CallNode:
    """Adds the call to the body under construction; with ``start`` its instances are numbered from there."""
    span = (line.args or line.cursor).key_span
    outputs = tuple(Value(value.type, path, span) for value in body.outputs)
    if not outputs:
        raise NetcalcError(Diagnostic("E303", f"{body.block} has no input and no lines", span))
    if outputs[0].type is None:
        raise Poisoned
    node = CallNode(path, body, tuple(inputs), outputs, 1, start, None, span)
    node.shares = tie_call(node, line, frame, walk.main)
    frame.builder.nodes.append(node)
    return node


def _call_outputs(block: Block, node: CallNode) -> Named:
    names = block.decl.outputs or ["output"]
    return Named(dict(zip([n.split(".")[-1] for n in names], node.outputs, strict=False)), node.span)


def _body(walk: Elaborator, block: Block, args: Mapping[str, Any], inputs: list[Value | None], line: Line) -> Body:
    types = types_of(inputs)
    key = (id(block), frozen(args), types, walk.freeze)
    if key in walk.memo:
        return walk.memo[key]
    if len(walk.chain) >= MAX_BLOCK_DEPTH:
        names = " → ".join(r.text for r in walk.chain[-3:])
        raise NetcalcError(
            Diagnostic(
                "E204",
                f"blocks are nested over {MAX_BLOCK_DEPTH} deep: … {names}",
                line.cursor.span,
                hint=f"{block.name!r} calls itself without end",
            )
        )
    builder = BodyBuilder(block.name)
    frame = Frame(builder, variables=dict(args))
    for name, outer in zip(block.decl.inputs, inputs, strict=True):
        label = name.rstrip("?")
        inner = None if outer is None else Value(outer.type, label, outer.span)
        builder.inputs.append(inner)
        frame.names[label] = Named.single(inner)
    frame.names["in"] = Named.single(builder.inputs[0])
    with walk.inside(f"in block {block.name!r}, called here", line.args or line.cursor, block.home):
        walk.memo[key] = _finish(walk, block, builder, frame)
    return walk.memo[key]


def _finish(walk: Elaborator, block: Block, builder: BodyBuilder, frame: Frame) -> Body:
    current = walk.lines(block.cursor["layers"], frame, builder.inputs[0])
    outputs: list[Value] = []
    if block.decl.outputs is None:
        outputs = [] if current is None else [current]
    else:
        for here in block.cursor["outputs"].elements():
            value = walk.guarded(resolve_value, str(here.data), here, frame, current)
            outputs.append(value or Value(None, str(here.data)))
    checkpoint = dict(checkpoint_sources(walk, block.decl.checkpoint, block.cursor, frame))
    return Body(block.name, tuple(builder.inputs), tuple(builder.nodes), tuple(outputs), checkpoint)

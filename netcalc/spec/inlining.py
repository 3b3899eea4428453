"""Elaboration of a block call with ``inline: true``: its lines are elaborated in place of the line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from netcalc import ops
from netcalc.ir import CheckpointEntry, Value, join
from netcalc.spec.arguments import passed_arguments
from netcalc.spec.block_calls import bind_values, block_results, check_depth, define_inputs
from netcalc.spec.checkpoint import checkpoint_entries
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.library import Block
from netcalc.spec.line_syntax import SEQUENCE, Line
from netcalc.spec.requirements import require_met
from netcalc.spec.scope import Poisoned, Scope


def is_inline(line: Line, scope: Scope) -> bool:
    """Return True if the line is a block call whose lines stand in its place.

    Raises:
        NetcalcError: E107 if the line is no block call, or has a name or weights of another line.
    """
    cursor = line.modifier("inline")
    if cursor is None or not evaluate_expression(cursor, scope):
        return False
    if line.target == SEQUENCE or ops.find(line.target) is not None:
        hint = "leave it out: the lines of an unnamed sequence, and an operation, have no path part of their own"
        raise cursor.key_error("E107", f"inline: applies to blocks, and {line.target} is not one", hint)
    reasons = {
        "name": "an inlined block has no path part of its own, so that it has no name",
        "tie": "an inlined block has no path of its own, so that its weights are tied line by line",
        "module": "an inlined block has no path of its own, so that its lines are calls of modules one by one",
        "share": "an inlined block has no path of its own, so that its iterations cannot share weights",
    }
    for modifier, reason in reasons.items():
        if modifier in line.modifiers:
            hint = "leave out inline:, or name its outputs with as:" if modifier == "name" else "leave out inline:"
            raise line.modifiers[modifier].key_error("E107", f"{modifier}: {reason}", hint)
    return True


def elaborate_inline(
    elaboration: Elaboration,
    line: Line,
    block: Block,
    scope: Scope,
    current: Value | None,
    carried: Sequence[Value | None] = (),
    taken: Mapping[str, Value | None] | None = None,
) -> dict[str, Value]:
    """Elaborate the lines of a block in the caller's body and return the block's outputs by port.

    The lines have the paths that they would have in the caller.  Names are as in a call: the lines see the inputs
    and arguments of the block only, and the caller does not see their names.  ``carried`` are the outputs of the
    iteration before, and ``taken`` the inputs that this iteration takes.
    """
    inputs, defaults, arguments = bind_values(elaboration, line, block, scope, current, carried, taken)
    check_depth(elaboration, block, line)
    inner = elaboration.root_scope(scope.body, dict(arguments), scope.patches, block.home)
    inner.inlined, inner.prefix, inner.parent = block.home, scope.prefix, scope
    inner.hidden = len(scope.body.nodes)
    inner.numbered, inner.counter = scope.numbered, scope.counter
    define_inputs(inner, block, inputs, defaults)
    require_met(block.cursor, inner, passed_arguments(block, line), line.target_span)
    reporter = elaboration.reporter
    errors_before = len(reporter.diagnostics)
    with reporter.inside(f"in block {block.name!r}, called here", (line.args or line.cursor).key_span):
        results, ports_of = block_results(elaboration, block, inner, inputs[0] if inputs else None)
        entries = checkpoint_entries(reporter, block.decl.checkpoint, block.cursor, inner).entries
    scope.body.inlined += (_relocated_entry(entry, scope.prefix) for entry in entries)
    if len(reporter.diagnostics) > errors_before or any(value.type is None for value in results):
        raise Poisoned
    return dict(zip(ports_of, results, strict=True))


def _relocated_entry(entry: CheckpointEntry, prefix: str) -> CheckpointEntry:
    """Return an entry of a block whose lines are at ``prefix``."""

    def renamed(name: str) -> str:
        return name if name.startswith("/") else join(prefix, name)

    alternatives = tuple(location.renamed(renamed) for location in entry.alternatives)
    return entry._replace(path=join(prefix, entry.path), alternatives=alternatives)

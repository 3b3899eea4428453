"""Elaboration of lines that compute the value of a buffer: a body of its own, without inputs or parameters."""

from __future__ import annotations

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, operation_with_parameters
from netcalc.spec.cursor import Cursor
from netcalc.spec.elaboration import Elaboration
from netcalc.spec.scope import PartialBody, Poisoned, Scope


def computed_body(elaboration: Elaboration, cursor: Cursor, scope: Scope) -> Body:
    """Return the body of the lines at ``cursor``, whose output is their last value.

    Expressions in them see what the line around them sees; the lines themselves may use only values of each other.

    Raises:
        NetcalcError: E107 for what is no list of lines or has no value, and for lines with parameters; E303 for lines
            that use a value from outside.
    """
    key = str(cursor.path[-1])
    if not isinstance(cursor.data, list) or not cursor.data:
        raise cursor.error("E107", f"{key}: should be a list of lines", "for example `computed: [{arange: 16}, sin]`")
    partial = PartialBody(key, scope.home, outer=scope)
    value = elaboration.lines(cursor, Scope(partial, scope.settings, default_dtype=scope.default_dtype), None)
    if value is None:
        raise cursor.error("E107", f"{key}: the lines have no value")
    if value.type is None:
        raise Poisoned
    for outer, inner in partial.captured.values():
        user = next((node for node in partial.nodes if inner in node.inputs), None)
        message = (
            f"{key}: a buffer is computed before the inputs are known, and this line uses the value {outer.name!r}"
        )
        hint = "expressions may use the sizes of values, as in ${in.shape[0]}"
        raise NetcalcError(Diagnostic("E303", message, cursor.span if user is None else user.span, hint=hint))
    owner = operation_with_parameters(partial.nodes)
    if owner is not None:
        message = f"{key}: the lines have parameters or buffers of their own: {owner.op.name}"
        hint = "apply operations with parameters after the buffer"
        raise NetcalcError(Diagnostic("E107", message, owner.span, hint=hint))
    return elaboration.distinct(partial.finish([value]))

"""The intermediate representation: programs, and building and checking them.

:mod:`~netcalc.ir.program` holds the data types, which this package re-exports; :mod:`~netcalc.ir.build` makes nodes;
:mod:`~netcalc.ir.check` validates a whole program.
"""

from netcalc.ir.program import (
    Body,
    CallNode,
    CheckpointLocation,
    InputSpec,
    Node,
    OpNode,
    Program,
    Tie,
    Value,
    call_at,
    dtype_of,
    join,
    parameter_at,
    parameter_signature,
    types_of,
)

__all__ = [
    "Body",
    "CallNode",
    "CheckpointLocation",
    "InputSpec",
    "Node",
    "OpNode",
    "Program",
    "Tie",
    "Value",
    "call_at",
    "dtype_of",
    "join",
    "parameter_at",
    "parameter_signature",
    "types_of",
]

"""The intermediate representation: programs, and building and checking them.

:mod:`~netcalc.ir.program` and :mod:`~netcalc.ir.checkpoint` hold the data types, which this package re-exports;
:mod:`~netcalc.ir.build` makes nodes; :mod:`~netcalc.ir.check` validates a whole program.
"""

from netcalc.ir.checkpoint import CheckpointEntry, CheckpointLocation, CheckpointMap, PatternWork, captures_of, size_of
from netcalc.ir.program import (
    Body,
    CallNode,
    InitRule,
    InputSpec,
    Loss,
    Node,
    OpNode,
    Program,
    Tie,
    Value,
    call_at,
    dtype_of,
    join,
    operation_with_parameters,
    parameter_at,
    parameter_signature,
    stored_bytes,
    types_of,
)

__all__ = [
    "Body",
    "CallNode",
    "CheckpointEntry",
    "CheckpointLocation",
    "CheckpointMap",
    "InitRule",
    "InputSpec",
    "Loss",
    "Node",
    "OpNode",
    "PatternWork",
    "Program",
    "Tie",
    "Value",
    "call_at",
    "captures_of",
    "dtype_of",
    "join",
    "operation_with_parameters",
    "parameter_at",
    "parameter_signature",
    "size_of",
    "stored_bytes",
    "types_of",
]

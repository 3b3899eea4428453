"""The page of an operation has its attributes, shape rule, parameter rule, cost rule, source and an example.

Blocks that ship with netcalc are listed after the operations; the page of one has its arguments, inputs and outputs.
"""

from __future__ import annotations

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import FormatOptions, OutputOptions
from netcalc.cli.verb import Call, verb
from netcalc.options import OperationListOptions, SelectOptions

_NAME = Declared("name", str | None, None, Argument(help="An operation or block, such as conv2d."))


@verb(OperationListOptions, SelectOptions, FormatOptions, OutputOptions, arguments=(_NAME,))
def command(call: Call) -> None:
    """List the operations and blocks, or show the page of one."""
    from netcalc.loading import describe_operation, list_operations

    call.write(describe_operation(call["name"]) if call["name"] else list_operations(**call.of(OperationListOptions)))

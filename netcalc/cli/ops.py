"""The page of an operation has its attributes, shape rule, parameter rule, cost rule, source and an example.

Blocks that ship with netcalc are listed after the operations; the page of one has its arguments, inputs and outputs.
"""

from __future__ import annotations

from netcalc.cli.command_options import SearchOptions
from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import FormatOptions, OutputOptions
from netcalc.cli.verb import Call, verb
from netcalc.options import SelectOptions

_NAME = Declared("name", str | None, None, Argument(help="An operation or block, such as conv2d."))


@verb(SearchOptions, SelectOptions, FormatOptions, OutputOptions, arguments=(_NAME,))
def command(call: Call) -> None:
    """List the operations and blocks, or show the page of one."""
    from netcalc.reference.operation_list import listed_operations, operation_page

    call.write(operation_page(call["name"]) if call["name"] else listed_operations(call["search"]))

"""The server over standard input and output, by the Python SDK of the Model Context Protocol."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from netcalc.cli.assistants.pool import Pool, Service
from netcalc.cli.assistants.tools import RECORDS, Tool, tools
from netcalc.diagnostics import NetcalcError
from netcalc.records.errors import errors_record
from netcalc.version import __version__

_INSTRUCTIONS = """\
netcalc counts shapes, parameters, operations and memory of neural networks exactly, from a shipped spec, a file, or
the text of a YAML spec. Take its figures in place of estimates. `specs` lists networks by a word, and with a name the
sizes that `set` changes, as in {"batch": 8}; `ops` describes the operations that a spec is written with. `summary` has
shapes, parameters and work, `memory` and `fit` say what a device holds, `compare` sets networks side by side, `explain`
gives the formula behind a figure. A MAC is a multiply-add, and two FLOPs. Descriptions of tools are help pages of the
command line: --cache-dtype is the argument cache_dtype. depth, top and filter make long records short.
"""


def serve(service: Service) -> None:
    """Serve until the input ends."""
    anyio.run(_serve, service)


async def _serve(service: Service) -> None:
    pool = Pool(service)

    async def list_tools(context: Any, request: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool, service.network) for tool in tools()])

    async def call_tool(context: Any, request: types.CallToolRequestParams) -> types.CallToolResult:
        if request.name not in RECORDS:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {request.name!r}: {', '.join(RECORDS)}")
        try:
            return _result(await pool.answer(request.name, request.arguments or {}))
        except NetcalcError as error:
            return _failure(str(error), errors_record(error.diagnostics))

    server: Server[Any] = Server(
        "netcalc",
        version=__version__,
        title="netcalc",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    try:
        async with stdio_server() as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())
    finally:
        await pool.close()


def _described(tool: Tool, network: bool) -> types.Tool:
    hints = types.ToolAnnotations(
        title=tool.title, read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=network
    )
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=dict(tool.inputs),
        output_schema=dict(tool.outputs),
        annotations=hints,
    )


def _result(answer: Any) -> types.CallToolResult:
    """Return the result of a call: the record as text too, for clients that know no structured content."""
    import json

    if "record" in answer:
        texts = [answer["record"], *filter(None, [answer["warnings"]])]
        return types.CallToolResult(content=_content(*texts), structured_content=json.loads(answer["record"]))
    if "errors" in answer:
        return types.CallToolResult(content=_content(answer["text"], answer["errors"]), is_error=True)
    message = f"this is a bug in netcalc, please report it with the call: {answer.get('bug')}"
    return types.CallToolResult(content=_content(message), is_error=True)


def _failure(text: str, record: Any) -> types.CallToolResult:
    import json

    return types.CallToolResult(content=_content(text, json.dumps(record)), is_error=True)


def _content(*texts: str) -> list[Any]:
    return [types.TextContent(type="text", text=text) for text in texts]

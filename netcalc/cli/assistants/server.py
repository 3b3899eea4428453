"""The server over standard input and output, by the Python SDK of the Model Context Protocol."""

from __future__ import annotations

import json
import sys
from typing import Any, cast

import anyio
import anyio.to_thread
import mcp_types as types
from mcp import MCPError
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from netcalc.cli.assistants.pool import Pool, Service
from netcalc.cli.assistants.tools import RECORDS, Tool, tools
from netcalc.diagnostics import NetcalcError
from netcalc.limits import MAX_CALL
from netcalc.records.errors import errors_record
from netcalc.version import __version__

#: Bytes of a message that is too long which are looked at: none that could be one.
_BEGINNING = 1_000
_INSTRUCTIONS = """\
netcalc counts shapes, parameters, operations and memory of neural networks exactly, from a shipped spec, a file, or
the text of a YAML spec. Take its figures in place of estimates. `specs` lists networks by a word, and with a name the
sizes that `set` changes, as in {"batch": 8}; `ops` describes the operations that a spec is written with. `summary` has
shapes, parameters and work, `memory` and `fit` say what a device holds, `compare` sets networks side by side, `explain`
gives the formula behind a figure. A MAC is a multiply-add, and two FLOPs. depth, top and filter make long records
short. Errors name options as on the command line: --cache-dtype is the argument cache_dtype.
"""


def serve(service: Service) -> None:
    """Serve until the input ends."""
    anyio.run(_serve, service)


async def _serve(service: Service) -> None:
    pool = Pool(service)
    server = server_of(pool, network=service.network)
    try:
        async with stdio_server(cast("Any", _Lines())) as (requests, answers):
            await server.run(requests, answers, server.create_initialization_options())
    finally:
        await pool.close()


def server_of(pool: Pool, *, network: bool) -> Server[Any]:
    """Return the server whose calls a pool answers; ``network`` is True if models may come from the Hub."""

    async def list_tools(context: Any, request: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool, network) for tool in tools()])

    async def call_tool(context: Any, request: types.CallToolRequestParams) -> types.CallToolResult:
        if request.name not in RECORDS:
            raise MCPError(types.INVALID_PARAMS, f"there is no tool {request.name!r}: {', '.join(RECORDS)}")
        try:
            return _result(await pool.answer(request.name, request.arguments or {}))
        except NetcalcError as error:
            return _failure(str(error), errors_record(error.diagnostics))

    return Server(
        "netcalc",
        version=__version__,
        title="netcalc",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


class _Lines:
    """Lines of standard input; of one that is too long the beginning stands for it, which is no message."""

    def __init__(self) -> None:
        self._stream = sys.stdin.buffer

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self._line, abandon_on_cancel=True)
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _line(self) -> bytes:
        line = rest = self._stream.readline(MAX_CALL)
        while len(line) == MAX_CALL and rest and not rest.endswith(b"\n"):
            rest = self._stream.readline(MAX_CALL)
        return line if rest is line else line[:_BEGINNING]


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
    if "record" in answer:
        texts = [answer["record"], *filter(None, [answer["warnings"]])]
        return types.CallToolResult(content=_content(*texts), structured_content=json.loads(answer["record"]))
    if "errors" in answer:
        return types.CallToolResult(content=_content(answer["text"], answer["errors"]), is_error=True)
    message = f"this is a bug in netcalc, please report it with the call: {answer.get('bug')}"
    return types.CallToolResult(content=_content(message), is_error=True)


def _failure(text: str, record: Any) -> types.CallToolResult:
    return types.CallToolResult(content=_content(text, json.dumps(record)), is_error=True)


def _content(*texts: str) -> list[Any]:
    return [types.TextContent(type="text", text=text) for text in texts]

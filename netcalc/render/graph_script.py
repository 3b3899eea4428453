"""Pictures of graphs, drawn by the script of ``netcalc/report/built`` in an embedded JavaScript engine.

The same script draws in the pages of reports.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.limits import DRAW_SECONDS, MAX_DRAW_MEMORY, MAX_DRAWN

#: The built script, which defines ``netcalcGraph``.
SCRIPT = Path(__file__).parent.parent / "report" / "built" / "graph.js"
_HINT = 'pip install "netcalc-nn[graph]", or write a .mmd or .dot'


def require_engine() -> None:
    """Raise NetcalcError (E502) if the JavaScript engine is not installed."""
    try:
        import quickjs  # noqa: F401
    except ImportError:
        message = "a picture of a graph needs quickjs-ng, which is not installed"
        raise NetcalcError(Diagnostic("E502", message, hint=_HINT)) from None


def graph_svg(record: Mapping[str, Any], direction: str, show: Sequence[str]) -> str:
    """Return the picture of a record of `graph` as SVG.

    Raises:
        NetcalcError: E502 without the extra ``graph``, and for a graph that is too large to be laid out.
    """
    svg: str = called("draw", record, {"direction": direction, "show": [*show]})
    return svg


def graph_layout(record: Mapping[str, Any], direction: str, show: Sequence[str]) -> Any:
    """Return places and sizes of boxes, groups, lines and labels, in pixels; raises as :func:`graph_svg` does."""
    return called("layout", record, {"direction": direction, "show": [*show]})


def called(function: str, record: Mapping[str, Any], options: Any) -> Any:
    """Return the result of a function of the script for a record; raises as :func:`graph_svg` does."""
    require_engine()
    import quickjs

    drawn = len(record["nodes"]) + len(record["edges"])
    if drawn > MAX_DRAWN:
        raise _too_large(f"the graph has {drawn:,} boxes and edges (at most {MAX_DRAWN:,} in a picture)")
    context = quickjs.Context()
    context.set_memory_limit(MAX_DRAW_MEMORY)
    context.set_time_limit(DRAW_SECONDS)
    context.set_max_stack_size(1 << 22)
    arguments = ", ".join(f"JSON.parse({json.dumps(json.dumps(value))})" for value in (record, options))
    context.eval(SCRIPT.read_text(encoding="utf-8"))
    try:
        return json.loads(context.eval(f"JSON.stringify(netcalcGraph.{function}({arguments}))"))
    except (quickjs.StackOverflow, quickjs.JSException) as error:
        if any(word in str(error) for word in ("interrupted", "out of memory", "stack")):
            raise _too_large("the graph is too large to be laid out") from None
        raise


def _too_large(message: str) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", message, hint="choose a smaller --depth, or write a .mmd or .dot"))

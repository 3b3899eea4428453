"""Programs of documents, which must compute what the graphs do that the documents were made of."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.graph.agreement import differing_outputs
from netcalc.formats.graph.model import Graph
from netcalc.ir import Program
from netcalc.spec import elaborate
from netcalc.spec.library import load_data


def checked_program(graph: Graph, document: dict[str, Any], original: str, code: str) -> Program:
    """Return the program of a document.

    Args:
        graph: the graph of which the document was made.
        document: a spec.
        original: what the graph was read from: ``model`` or ``module``.
        code: code of an error.

    Raises:
        NetcalcError: with this code, if the document would compute an output in another way than the graph.
    """
    program = elaborate(load_data(document, f"<{graph.name}>"), {}, symbolic=list(graph.dims), training=graph.training)
    differing = differing_outputs(graph, program)
    if differing:
        message = f"the spec of {graph.name} would not compute {', '.join(differing)} as the {original} does"
        hint = f"this is a fault of netcalc; please report the {original}"
        raise NetcalcError(Diagnostic(code, message, hint=hint))
    return program

"""The graph of a network: a box for each operation or block, edges with the shapes of tensors between them, opened
blocks as groups, equal instances of a repeat as one box with their number, such as ×12.

Without -o it is printed as a Mermaid flowchart, which GitHub and GitLab draw where it stands in Markdown. -o FILE.svg,
.png or .html is a picture, which needs the extra 'graph'; .dot is the language of Graphviz, .mmd Mermaid, and .md has
Mermaid in a block.

--depth 1 shows the layers of the network itself, --depth 2 what is in them, and so on; by default blocks are opened as
deep as 40 boxes allow. --direction LR draws from left to right. --show params,macs puts the figures of one instance
into boxes, --show none leaves them out.

--format json is the record of all boxes, groups and edges; --format csv lists the boxes.
"""

from __future__ import annotations

from netcalc.cli.options import GraphFormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import GRAPHS, REPORTS, suffix_of
from netcalc.cli.verb import Call, verb
from netcalc.graph_options import GraphOptions
from netcalc.options import ModelOptions


def _writes(call: Call) -> tuple[str, ...]:
    """Return the suffixes of files; a picture without the library that draws it is refused before anything else."""
    if suffix_of(call["output"]) in (".svg", ".png", ".html"):
        from netcalc.render.graph_script import require_engine

        require_engine()
    return (*REPORTS, *GRAPHS)


@verb(
    GraphOptions,
    GraphFormatOptions,
    OutputOptions,
    ModelOptions,
    ModeOptions,
    without=("quantize", "prune"),
    writes=_writes,
)
def command(call: Call) -> None:
    """Draw the graph of a model."""
    graph = call.network().graph(**call.of(GraphOptions))
    if suffix_of(call["output"]) in GRAPHS:
        graph.plot(call["output"])
    else:
        call.write(graph)

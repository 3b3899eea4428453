"""Page for a browser in one file, report.html unless -o names another: totals, inputs and outputs, the architecture as
a graph that opens and closes, the table of layers, memory with what is live at the peak, and caches. A click on a
number opens its working. The page needs no network and no other file.

--device h100 adds the bound of `netcalc time` with a roofline, and --signal what `netcalc signal` measures. The options
of `netcalc memory` and `netcalc time` apply: --quantize, --training adamw, --phase decode, --cache vllm, --tp 8.

Two models are side by side, with their differences. --set changes each that has the dim or var; --set 2:NAME=VALUE
changes the second one only, as --quantize 2:int8 and --prune 2:0.5 do; a single model is then compared with itself.

-o FILE.json, or --format json, writes the records that the page is made of.
"""

from __future__ import annotations

from netcalc.cli.command_options import SeveralOptions
from netcalc.cli.options import MODELS, FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import suffix_of
from netcalc.cli.verb import Call, verb
from netcalc.page_options import ReportsOptions

#: The file without ``--output``.
_FILE = "report.html"


@verb(
    ReportsOptions,
    SeveralOptions,
    FormatOptions,
    OutputOptions,
    ModeOptions,
    arguments=(MODELS,),
    writes=(".html", ".json"),
)
def command(call: Call) -> None:
    """Write a page with everything about a network, or about two side by side."""
    from netcalc.pages import report

    result = report(*call["models"], **{**call.of(ReportsOptions), **call.mode()})
    call.warn([warning for network in result.networks for warning in network.warnings])
    if suffix_of(call["output"]) == ".html":
        result.save(call["output"])
    elif call["output"] is not None or call["format"] is not None:
        call.write(result)
    else:
        result.save(_FILE)
        print(f"{_FILE} is written; open it in a browser")

"""Time of a cold ``netcalc summary resnet34``, compared with the tools that count a module of torchvision.

    python benchmarks/tools.py [REPEATS]

Whole processes run in turn: each imports what it needs, makes the network (torch on the meta device where the tool
takes it) and prints its summary.
"""

from __future__ import annotations

import sys
from functools import partial

from measure import environment, paired, report, summarized
from startup import process, script

_MODULE = """
import sys
sys.path.insert(0, "benchmarks/peers")
import torch, torchvision_import
import torchvision
module = torchvision.models.resnet34().eval()
"""
TOOLS = {
    "torchinfo": "import torchinfo\nprint(torchinfo.summary(module, (1, 3, 224, 224), device='meta'))",
    "fvcore": "from fvcore.nn import FlopCountAnalysis, flop_count_table\n"
    "print(flop_count_table(FlopCountAnalysis(module, torch.empty(1, 3, 224, 224))))",
    "ptflops": "from ptflops import get_model_complexity_info\nprint(get_model_complexity_info(module, (3, 224, 224)))",
}
COMMAND = "netcalc summary resnet34"


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    processes = {COMMAND: partial(process, ["-c", script(), *COMMAND.split()[1:]], environment(None))}
    processes |= {tool: partial(process, ["-c", _MODULE + code], environment(None)) for tool, code in TOOLS.items()}
    report("tools", repeats, summarized(paired(processes, repeats=repeats), against=COMMAND))

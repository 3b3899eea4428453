"""Time of a cold ``netcalc run resnet34``, compared with a process that imports torch and runs the same network.

    python benchmarks/cold.py [REPEATS]

The processes run in turn; both draw the weights and an image.
"""

from __future__ import annotations

import sys
from functools import partial

from measure import environment, paired, report, summarized
from startup import process, script

TORCH = """
import sys
sys.path.insert(0, "benchmarks")
import torch
import peers.torchvision_import
from torchvision.models import resnet34
with torch.inference_mode():
    print(resnet34().eval()(torch.randn(1, 3, 224, 224)))
"""
COMMAND = "netcalc run resnet34"
TARGET = 0.4


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    tasks = {}
    for threads, name in ((None, "all threads"), (1, "1 thread")):
        peer, own = f"torch, {name}", f"{COMMAND}, {name}"
        processes = {
            peer: partial(process, ["-c", TORCH], environment(threads)),
            own: partial(process, ["-c", script(), *COMMAND.split()[1:]], environment(threads)),
        }
        tasks |= summarized(paired(processes, repeats=repeats), against=peer)
    report("cold", repeats, tasks, target_ratio=TARGET)

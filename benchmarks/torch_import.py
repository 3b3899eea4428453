"""Time of the import of a PyTorch module, compared with that of its export by ``torch.export`` alone.

    python benchmarks/torch_import.py [REPEATS]

Runs in one process, in turns, with torchvision's resnet50 on the meta device.
"""

from __future__ import annotations

import sys
import warnings

import torch
import torchvision
from measure import paired, report, summarized

from netcalc import from_torch

if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    warnings.simplefilter("ignore")
    with torch.device("meta"):
        module, image = torchvision.models.resnet50().eval(), torch.empty(1, 3, 224, 224)
    export, whole = "torch.export of resnet50", "netcalc.from_torch of resnet50"
    tasks = {
        export: lambda: torch.export.export(module, (image,), strict=False),
        whole: lambda: from_torch(module, image),
    }
    report("torch_import", repeats, summarized(paired(tasks, repeats=repeats), against=export))

"""Time of ``netcalc.summary`` of a PyTorch module, compared with that of its export by ``torch.export`` alone.

    python benchmarks/torch_import.py [REPEATS]

Runs in one process, in turns, with torchvision's resnet34 and vit_b_16 and the BERT of transformers on the meta device.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from measure import paired, report, summarized

import netcalc
from netcalc.formats.libraries.torchvision_import import import_torchvision

torchvision = import_torchvision()
from transformers import BertConfig, BertModel  # noqa: E402 - it imports torchvision

IMAGE, TOKENS = torch.empty(1, 3, 224, 224, device="meta"), torch.empty(1, 128, dtype=torch.int64, device="meta")
MODULES: dict[str, tuple[Callable[[], torch.nn.Module], torch.Tensor]] = {
    "resnet34": (torchvision.models.resnet34, IMAGE),
    "vit_b_16": (torchvision.models.vit_b_16, IMAGE),
    "bert-base": (lambda: BertModel(BertConfig()), TOKENS),
}


def measured(name: str, repeats: int) -> dict[str, Any]:
    """Return the times of both for a module."""
    make, tensor = MODULES[name]
    with torch.device("meta"):
        module = make().eval()
    export, summary = f"torch.export of {name}", f"netcalc.summary of {name}"
    tasks = {
        export: partial(torch.export.export, module, (tensor,), strict=False),
        summary: partial(netcalc.summary, module, tensor),
    }
    return summarized(paired(tasks, repeats=repeats), against=export)


if __name__ == "__main__":
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    warnings.simplefilter("ignore")
    report(
        "torch_import", repeats, {task: found for name in MODULES for task, found in measured(name, repeats).items()}
    )

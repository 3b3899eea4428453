"""Measurements of a network in torch, and the diagnosis that follows from it by one rule.

``python -m tests.oracle.signal.measure`` writes the diagnoses to ``diagnoses.json``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import torch

from tests.oracle.signal.networks import Case, cases

FILE = Path(__file__).parent / "diagnoses.json"


def measured(case: Case) -> tuple[Any, dict[str, list[float]]]:
    """Return the network, and root mean square and rms·gradient of the output of each of its lines."""
    torch.manual_seed(0)
    network = case.build().double().train()
    x = torch.randn(case.shape, dtype=torch.float64)
    outputs: list[Any] = []

    def keep(module: Any, given: Any, output: Any) -> None:
        output.retain_grad()
        outputs.append(output)

    hooks = [m.register_forward_hook(keep) for name, m in network.named_modules() if re.fullmatch(case.lines, name)]
    y = network(x)
    (y * torch.randn_like(y) / y.numel() ** 0.5).sum().backward()
    for hook in hooks:
        hook.remove()
    rms = [float(output.detach().pow(2).mean().sqrt()) for output in outputs]
    both = [size * float(output.grad.norm()) for size, output in zip(rms, outputs, strict=True)]
    return network, {"activations": rms, "gradients": both}


def diagnosis(values: list[float], *, back: bool) -> str:
    """Return the diagnosis: a change within the stage by 10³ is far, one by less than 10 is none."""
    if back:
        values = values[::-1]
    rise = max(b / a if a else float("inf") for n, a in enumerate(values) for b in values[n:])
    fall = max(a / b if b else float("inf") for n, a in enumerate(values) for b in values[n:])
    if max(rise, fall) < 10:
        return "steady"
    if max(rise, fall) <= 1000:
        return "either"
    return "explode" if rise > fall else "vanish"


def record() -> dict[str, dict[str, str]]:
    """Return the diagnoses of all networks."""
    found = {}
    for name, case in cases().items():
        _, values = measured(case)
        found[name] = {figure: diagnosis(each, back=figure == "gradients") for figure, each in values.items()}
        found[name]["range"] = ", ".join(f"{max(each) / min(each):.3g}" for each in values.values())
    return found


if __name__ == "__main__":
    FILE.write_text(json.dumps(record(), indent=1) + "\n", encoding="utf-8")

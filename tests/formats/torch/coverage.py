"""The page of models of PyTorch that are imported, from the record of the exhaustive check."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from tests.formats.torch.models import records

__all__ = ["coverage_page"]

LIBRARIES = {"torchvision": "torchvision", "timm": "timm", "hf": "transformers", "torchnn": "`torch.nn`"}

INTRODUCTION = """# Models imported from PyTorch

[`netcalc.from_torch`](from-pytorch.md) imports recorded models at their recorded sizes, and parameters and FLOPs are
compared with what PyTorch itself counts (`FlopCounterMode`). `python -m tests.exhaustive imports --record` measures it,
and `pytest --update` writes this page from its record."""


def coverage_page(result: dict[str, Any]) -> str:
    """Return the page for the result of the check ``imports``."""
    cases: dict[str, str] = result["cases"]
    recorded = Counter(record.library for record in records().values())
    counts = Counter(name.partition("/")[0] for name in cases)
    equal = Counter(name.partition("/")[0] for name, found in cases.items() if found == "ok")
    rows = [f"| {title} | {recorded[name]} | {counts[name]} | {equal[name]} |" for name, title in LIBRARIES.items()]
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for name, found in cases.items():
        if found != "ok":
            reasons[found].append(name)
    failed = [f"| {', '.join(f'`{name}`' for name in names)} | {_cell(found)} |" for found, names in reasons.items()]
    parts = [
        INTRODUCTION,
        "\n".join(["| models of | recorded | tried | equal |", "| --- | ---: | ---: | ---: |", *rows]),
    ]
    if failed:
        parts += ["## Failures", "\n".join(["| models | reason |", "| --- | --- |", *failed])]
    return "\n\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")

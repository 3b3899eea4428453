"""Exports of the recorded models, and the table of the operators in them, before decomposition.

``python -m tests.formats.torch.record_operators [PREFIX …]`` writes ``operators.json`` from all models, or prints the
operators of those whose id begins so.  Each model is exported once, at its first recorded size; those of transformers
with two layers, which have every kind of layer.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from tests.formats.torch.models import Record, build, export, records

__all__ = ["OPERATORS", "nodes_of", "representatives"]

OPERATORS = Path(__file__).parent / "operators.json"


def representatives() -> list[Record]:
    """Return the first record of each model that has inputs."""
    first: dict[str, Record] = {}
    for record in records().values():
        first.setdefault(record.model, record)
    return [record for record in first.values() if record.inputs]


def exported(record: Record) -> Any:
    """Return the exported program of a record; on the CPU device if the other does not do.

    Raises:
        Exception: that of torch or of the library.
    """
    for device in dict.fromkeys([record.device, "cpu"]):
        try:
            return export(build(record, layers=2, device=device), record, device)
        except Exception:
            if device == "cpu":
                raise
    raise AssertionError


def nodes_of(module: Any) -> Iterator[Any]:
    """Yield the calls of a graph module and of the graphs in it, which higher-order operators call."""
    for part in module.modules():
        if hasattr(part, "graph"):
            yield from (node for node in part.graph.nodes if node.op == "call_function")


def measure(chosen: Iterable[Record]) -> dict[str, Any]:
    """Export models and count their operators."""
    calls: Counter[str] = Counter()
    models: Counter[str] = Counter()
    examples: dict[str, str] = {}
    failures: dict[str, str] = {}
    count = 0
    for record in chosen:
        try:
            program = exported(record)
        except Exception as error:
            failures[record.model] = reason(error)
            print("FAILED", record.model, failures[record.model], flush=True)
            continue
        found = Counter(str(node.target) for node in nodes_of(program.graph_module))
        calls.update(found)
        models.update(found.keys())
        examples = dict.fromkeys(found, record.model) | examples
        count += 1
        print(record.model, len(found), flush=True)
    operators = {
        name: {"calls": calls[name], "models": models[name], "example": examples[name]} for name in sorted(calls)
    }
    return {"models": count, "failures": failures, "operators": operators}


def reason(error: Exception) -> str:
    """Return the first line of an error of torch, and the one that says what caused it."""
    lines = str(error).strip().splitlines() or [""]
    causes = [line.strip() for line in lines[1:] if line.startswith("Caused by")]
    return " ".join([f"{type(error).__name__}: {lines[0]}", *causes[:1]])


def main(prefixes: list[str]) -> None:
    """Measure the models whose ids begin with a prefix; write the table if none is given."""
    warnings.filterwarnings("ignore")
    result = measure(r for r in representatives() if not prefixes or r.id.startswith(tuple(prefixes)))
    if prefixes:
        print(json.dumps(result, indent=1))
        return
    listed = ",\n".join(f"  {json.dumps(name)}: {json.dumps(counts)}" for name, counts in result["operators"].items())
    text = json.dumps({**result, "operators": 0}, indent=1).replace('"operators": 0', f'"operators": {{\n{listed}\n }}')
    OPERATORS.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

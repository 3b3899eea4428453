"""Time from an edit of a spec to the results of its lines and its diagnostics.

    python benchmarks/edits.py [ROUNDS]

Runs in one process, as `netcalc lsp` does.  In every round a line is typed into each spec, letter by letter, at a drawn
place, and numbers in other lines are changed.  An edit is measured from the new text to the analysis of it, once by the
clock and once by the processor time of the process, which other processes on the machine disturb less.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, process_time
from typing import Any

from measure import RESULTS, machine

from netcalc.language import Document
from netcalc.spec.shipped import shipped

#: Shipped specs of about 300 lines; that many lines has the spec that is made here.
SPECS = ("layoutlmv3-base", "blip-image-captioning-base", "deberta-v3-base", "qwen3-vl-8b", "gemma-3n-e4b")
LINES = 300
TYPED = "- {name: typed_line, gelu: {approximate: tanh}}"
#: Changes of numbers in a round.
CHANGES = 20
#: Milliseconds that the median and the 95th percentile of the edits of a spec should have at most.
TARGETS = {"median": 50.0, "p95": 150.0}


def made_spec() -> str:
    """Return a spec of 300 lines without blocks."""
    lines = []
    for number in range((LINES - 3) // 5):
        lines += [
            f"  - {{name: conv{number}, conv2d: {{out: {16 + number}, kernel: 3, padding: 1}}}}",
            f"  - {{name: norm{number}, batch_norm: {{}}}}",
            "  - relu",
            f"  - {{name: skip{number}, from: conv{number}, conv2d: {{out: {16 + number}, kernel: 1}}}}",
            f"  - {{from: [_, norm{number}], add: {{}}}}",
        ]
    return "netcalc: 1\ninputs: {image: [1, 3, 32, 32]}\nlayers:\n" + "\n".join(lines) + "\n"


def edited(text: str, draw: Random) -> Iterator[str]:
    """Yield the texts of a round."""
    lines = text.split("\n")
    items = [number for number, line in enumerate(lines) if line.lstrip().startswith("- ")]
    place = draw.choice(items)
    indent = " " * (len(lines[place]) - len(lines[place].lstrip()))
    for length in range(1, len(TYPED) + 1):
        yield "\n".join([*lines[:place], indent + TYPED[:length], *lines[place:]])
    numbered = [number for number in items if re.search(r"\d", lines[number])]
    for _ in range(CHANGES):
        place = draw.choice(numbered)
        line = re.sub(r"\d+", lambda found: str(int(found[0]) + 1), lines[place], count=1)
        yield "\n".join([*lines[:place], line, *lines[place + 1 :]])


def measured(text: str, path: Path | None, rounds: int) -> dict[str, Any]:
    """Return median and 95th percentile of the edits of a spec in milliseconds."""
    document = Document(text, path)
    document.analyze()
    clock: list[float] = []
    processor: list[float] = []
    for number in range(rounds):
        for new in edited(text, Random(number)):
            start, start_of_process = perf_counter(), process_time()
            document.update(new)
            document.analyze()
            clock.append(1e3 * (perf_counter() - start))
            processor.append(1e3 * (process_time() - start_of_process))
    return {
        "lines": len(text.split("\n")) - 1,
        "edits": len(clock),
        **{f"{name}_ms": _percentiles(times) for name, times in (("clock", clock), ("processor", processor))},
    }


def _percentiles(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {"median": round(median(ordered), 1), "p95": round(ordered[int(0.95 * len(ordered))], 1)}


def main(rounds: int) -> None:
    """Measure all specs, print a table and write the record."""
    specs: dict[str, tuple[str, Path | None]] = {"300 lines without blocks": (made_spec(), None)}
    specs |= {name: (shipped()[name].read_text(encoding="utf-8"), shipped()[name]) for name in SPECS}
    load = os.getloadavg()
    results = {}
    for name, (text, path) in specs.items():
        results[name] = found = measured(text, path, rounds)
        times = "  ".join(
            f"{title} {found[key]['median']:6.1f} {found[key]['p95']:6.1f}"
            for title, key in (("processor", "processor_ms"), ("clock", "clock_ms"))
        )
        print(f"{name:28} {found['lines']:4} lines {found['edits']:4} edits  {times} ms")
    record = {
        "machine": machine(),
        "load": [round(value, 1) for value in (*load[:1], *os.getloadavg()[:1])],
        "rounds": rounds,
        "targets_ms": TARGETS,
        "specs": results,
    }
    (RESULTS / "edits.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)

"""The page of conventions against the tools that they are named after, written from the record of their figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import netcalc
from netcalc.analysis.cost import Analysis
from tests.oracle.tool_networks import NETWORKS

ROOT = Path(__file__).parent.parent.parent
RECORD = ROOT / "tests" / "truth" / "counting_tools.json"
PAGE = ROOT / "docs" / "conventions-against-tools.md"
_GROUPED = "transformers runs the experts as `grouped_mm`, which has no formula; a loop over experts is counted"
#: Operations that make the difference: netcalc counts their work, and the tool does not, with the reason.
DIFFERENCES: Mapping[tuple[str, str], tuple[tuple[str, ...], str]] = {
    ("fvcore", "mixture of experts"): (("experts",), _GROUPED),
    ("torch", "mixture of experts"): (("experts",), _GROUPED),
}
_INTRODUCTION = """# Conventions against tools

<!-- Written by `pytest --update tests/test_tools_page.py` from tests/truth/counting_tools.json. -->

Each counting convention that is named after a tool is compared here with the tool itself, on ten networks as their
reference implementations build them. `python -m tests.oracle.counting_tools --record` makes the figures of the tools,
in their own units: one or two FLOPs for a multiply-add. [Counting conventions](counting.md) describes each of them.

| network | spec and settings | reference |
| --- | --- | --- |
"""
_REFERENCES = {
    "resnet18": "torchvision",
    "mobilenet_v3_large": "torchvision",
    "vit_b_16": "torchvision",
    "swin_t": "torchvision",
    "unet-padded": "milesial/Pytorch-UNet",
    "bert-base": "transformers, BertModel",
    "gpt2": "transformers, GPT2LMHeadModel",
    "t5-small": "transformers, T5ForConditionalGeneration",
    "lstm": "torch.nn.LSTM",
    "mixture of experts": "transformers, MixtralForCausalLM",
}


class Cell:
    """The figure of a tool for a network, and that of its convention."""

    def __init__(self, tool: str, network: str, theirs: Any) -> None:
        self.key = tool, network
        self.theirs = theirs
        reference = NETWORKS[network]
        self.analysis: Analysis = netcalc.load(reference.spec, set=dict(reference.settings)).analysis(tool)
        self.ours = self.analysis.total.flops

    @property
    def remark(self) -> str:
        """The difference in words, or that there is none."""
        if self.theirs == self.ours:
            return "equal"
        if not isinstance(self.theirs, int):
            return f"the tool fails: {self.theirs.removeprefix('error: ')}"
        assert self.key in DIFFERENCES, f"{self.key}: {self.ours - self.theirs:,}"
        operations, reason = DIFFERENCES[self.key]
        by_operation = self.analysis.by_operation
        assert self.ours - self.theirs == sum(by_operation[name][1].flops for name in operations), self.key
        parts = " + ".join(f"`{name}` {by_operation[name][1].flops:,}" for name in operations)
        return f"{parts}: {reason}"


def cells() -> Iterator[tuple[str, Mapping[str, Any], list[Cell]]]:
    """Yield each tool with its entry in the record and its cells."""
    for tool, entry in json.loads(RECORD.read_text(encoding="utf-8")).items():
        yield tool, entry, [Cell(tool, network, figure) for network, figure in entry["figures"].items()]


def page_text() -> str:
    """Return the page."""
    lines = [_INTRODUCTION.rstrip("\n")]
    for name, reference in NETWORKS.items():
        settings = "".join(f" --set {key}={value}" for key, value in reference.settings.items())
        lines.append(f"| {name} | `{reference.spec}{settings}` | {_REFERENCES[name]} |")
    for tool, entry, row in cells():
        lines += ["", f"## {tool}", "", f"{entry['version']}, `{entry['call']}`", "", "```sh"]
        lines += [f"netcalc flops swin_t --convention {tool} --depth 1", "```", ""]
        lines += ["| network | the tool | netcalc | |", "| --- | --: | --: | --- |"]
        for cell in row:
            theirs = f"{cell.theirs:,}" if isinstance(cell.theirs, int) else "–"
            lines.append(f"| {cell.key[1]} | {theirs} | {cell.ours:,} | {cell.remark} |")
    return "\n".join(lines) + "\n"

"""The page of conventions against the tools that they are named after, written from the record of their figures."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import netcalc
from netcalc.analysis.cost import Analysis
from tests.oracle.tool_networks import NETWORKS

ROOT = Path(__file__).parent.parent.parent
RECORD = ROOT / "tests" / "truth" / "counting_tools.json"
PAGE = ROOT / "docs" / "conventions-against-tools.md"
_GROUPED = "transformers runs the experts as `grouped_mm`, which has no formula; a loop over experts is counted"


class Term(NamedTuple):
    """A part of a difference, with its reason.

    ``name`` is an operation or a pattern of paths, whose work netcalc counts and the tool does not.  With ``theirs`` it
    is an operator of the tool, which counts so much more of it than netcalc.
    """

    name: str
    reason: str
    theirs: int = 0


_MASK = "the reference builds its causal mask as the network runs"
_WINDOWS = "netcalc's spec builds the masks of windows in other operations"
_JOINED = "the exporter computes them once for all layers of a stage"
_ZEROS = "the reference scales scores of attention across by 1, and adds zeros to them"
_INDICES = "the positions are looked up in a table by indices"
_APPROXIMATED = "KerasHub approximates GELU by tanh, in 7 operations for an element"
_KERAS_MASK = "KerasHub builds masks in every layer"
_BIASES = "KerasHub makes and adds biases and masks of scores by operators of their own"
_EXPERTS = "KerasHub's mixture computes all experts on all tokens"
_PRODUCTS = "KerasHub's mixture multiplies matrices in attention, though it has no dropout"
_TABLES = "KerasHub builds masks and angles in every layer"


def _theirs(reason: str, **operators: int) -> tuple[Term, ...]:
    return tuple(Term(name, reason, amount) for name, amount in operators.items())


#: Terms of the differences by tool and network.
DIFFERENCES: Mapping[tuple[str, str], tuple[Term, ...]] = {
    ("fvcore", "mixture of experts"): (Term("experts", _GROUPED),),
    ("torch", "mixture of experts"): (Term("experts", _GROUPED),),
    ("onnx-tool", "swin_t"): (
        Term("*.shifted_window_mask.*", _WINDOWS),
        *_theirs(_JOINED, Sub=201_684, Equal=201_684, Not=201_684),
    ),
    ("onnx-tool", "gpt2"): _theirs(_MASK, And=32_768),
    ("onnx-tool", "mixture of experts"): _theirs(_MASK, And=32_768),
    ("onnx-tool", "t5-small"): (
        Term("equal", "netcalc's spec masks padding"),
        *_theirs(_ZEROS, Mul=786_432, Add=786_432),
    ),
    ("keras", "vit_b_16"): _theirs(_INDICES, Less=197, AddV2=197),
    ("keras", "bert-base"): (
        Term("gelu", _APPROXIMATED),
        *_theirs(_APPROXIMATED, Mul=18_874_368, Pow=4_718_592, AddV2=9_437_184),
    ),
    ("keras", "gpt2"): _theirs(_KERAS_MASK, GreaterEqual=196_608, Minimum=196_608, Greater=196_608, AddV2=1_536),
    ("keras", "t5-small"): (
        Term("lm_head", "KerasHub's T5 has no head"),
        Term("mul", "KerasHub's T5 has no head"),
        Term("equal", "netcalc's spec masks padding"),
        *_theirs(_BIASES, AddV2=3_522_944, Mul=66_432, Less=65_536, RealDiv=65_536, Sub=50_048, Minimum=49_152),
        *_theirs(_BIASES, Log=32_770, GreaterEqual=16_384, Greater=16_384, Neg=16_384),
    ),
    ("keras", "mixture of experts"): (
        *_theirs(_PRODUCTS, BatchMatMulV2=33_554_432),
        *_theirs(_EXPERTS, Mul=3_674_112, Sum=460_800),
        *_theirs(_TABLES, Minimum=65_536, GreaterEqual=32_768, Less=32_768, Greater=32_768),
        *_theirs(_TABLES, AddV2=1_280, RealDiv=128, Neg=64, Pow=64, Mul=4),
    ),
}
_INTRODUCTION = """# Conventions against tools

<!-- Written by `pytest --update tests/test_tools_page.py` from tests/truth/counting_tools.json. -->

Each counting convention that is named after a tool is compared here with the tool itself, on ten networks as their
reference implementations build them. `python -m tests.oracle.counting_tools --record` makes the figures of the tools
(that of `keras` is `tests.oracle.keras_flops`, with the networks of Keras Applications, KerasHub and stock layers), in
their own units: one or two FLOPs for a multiply-add. [Counting conventions](counting.md) describes each of them.
Where two figures differ, the terms that make the difference are given: what netcalc counts more, by operation or path
(+), and what the tool counts more, by its own operator (-).

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

    def __init__(self, tool: str, network: str, theirs: Any, operators: Mapping[str, int]) -> None:
        self.key = tool, network
        self.theirs = theirs
        self._operators = operators
        reference = NETWORKS[network]
        self.analysis: Analysis = netcalc.load(reference.spec, set=dict(reference.settings)).analysis(tool)
        self.ours = self.analysis.total.flops

    @property
    def remark(self) -> str:
        """The difference in words, or that there is none."""
        if self.theirs == self.ours:
            return "equal"
        if not isinstance(self.theirs, int):
            failed, missing = self.theirs.removeprefix("error: "), self.theirs.removeprefix("none: ")
            return f"the tool fails: {failed}" if failed != self.theirs else missing
        assert self.key in DIFFERENCES, f"{self.key}: {self.ours - self.theirs:,}"
        left, parts = self.ours - self.theirs, []
        for reason, terms in groupby(DIFFERENCES[self.key], lambda term: term.reason):
            amounts = {term.name: self._amount(term) for term in terms}
            left -= sum(amounts.values())
            parts.append(", ".join(f"`{name}` {amount:+,}" for name, amount in amounts.items()) + f": {reason}")
        assert left == 0, f"{self.key}: {left:,} are not explained"
        return "; ".join(parts)

    def _amount(self, term: Term) -> int:
        """Return what netcalc counts more than the tool by a term."""
        if term.theirs:
            assert term.theirs <= self._operators[term.name], term
            return -term.theirs
        rows = [row for row in self.analysis.leaves() if term.name == row.op or fnmatch(row.path, term.name)]
        return sum(int(row.total.flops) for row in rows)


def cells() -> Iterator[tuple[str, Mapping[str, Any], list[Cell]]]:
    """Yield each tool with its entry in the record and its cells."""
    for tool, entry in json.loads(RECORD.read_text(encoding="utf-8")).items():
        operators = entry.get("operators", {})
        figures = entry["figures"].items()
        yield tool, entry, [Cell(tool, name, figure, operators.get(name, {})) for name, figure in figures]


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

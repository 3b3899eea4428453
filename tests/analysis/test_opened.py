"""Figures of the records of counting and planning commands, opened by `explain`: each working ends in its figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from typing import Any

import pytest

import netcalc
from netcalc import Explanation, NetcalcError, Network
from netcalc.analysis.opened import OPENED, Opened, opened
from netcalc.arguments import options_of
from netcalc.records.writing import REFERENCE, VERSIONS
from netcalc.run_options import ExplainOptions

SPECS: dict[str, dict[str, Any]] = {
    "resnet34": {},
    "gpt2": {"layers": 3, "length": 1, "past": 15},
    "mixtral-8x7b": {"layers": 2, "length": 1, "past": 15},
    "unet": {},
    "lstm": {},
}
MOST = "1000T"
LIMITS = {f"max_{name}": MOST for name in ("params", "macs", "flops", "weights", "activations", "memory")}
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "summary": ("summary", {}),
    "params": ("summary", {"view": "params"}),
    "torch": ("summary", {"convention": "torch"}),
    "backward": ("summary", {"backward": True}),
    "training": ("summary", {"training": "adamw"}),
    "memory": ("memory", {}),
    "decode": ("memory", {"phase": "decode"}),
    "memory-training": ("memory", {"training": "adamw", "precision": "bf16-true"}),
    "memory-depth": ("memory", {"depth": 1}),
    "memory-engine": ("memory", {"engine": "reference"}),
    "tokens": ("memory", {"tokens_in": "8GiB", "cache": ["ideal", "vllm"]}),
    "places": ("memory", {"gpu_layers": 1, "cache_dtype": "fp8"}),
    "beside": ("memory", {"companion": ["lenet5"], "draft": "gpt2", "cache": ["ideal", "vllm"]}),
    "fit": ("fit", {"device": "80GiB"}),
    "time": ("time", {"device": "h100"}),
    "run": ("time", {"device": "h100", "training": "adamw", "efficiency": 0.4, "tokens": "1B"}),
    "budget": ("budget", LIMITS),
    "reconcile": ("reconcile", {"before": "torch", "after": "fvcore"}),
    "reconcile-backward": ("reconcile", {"before": "torch", "after": "netcalc", "training": "adamw"}),
}
#: Calls that networks refuse which do not decode, or are not trained as they stand.
REFUSED = ("decode", "tokens", "places", "beside", "run", "memory-training", "training", "reconcile-backward")


@cache
def load(name: str) -> Network:
    return netcalc.load(name, set=SPECS[name])


class Numbers:
    """Numbers of a record by field, each with the fields of the record and of the items around it."""

    def __init__(self, record: Mapping[str, Any]) -> None:
        self.all = list(self._walk(record, "", dict(record)))

    def _walk(self, value: Any, field: str, item: dict[str, Any]) -> Iterator[tuple[str, float, dict[str, Any]]]:
        if isinstance(value, bool):
            return
        if isinstance(value, int | float):
            yield field, value, item
        elif isinstance(value, Mapping):
            for name, part in value.items():
                yield from self._walk(part, f"{field}.{name}" if field else name, {**item, **value, "field": name})
        elif isinstance(value, list):
            for part in value:
                yield from self._walk(part, f"{field}.*", {**item, **part} if isinstance(part, Mapping) else item)


def filled(text: str, item: Mapping[str, Any]) -> str:
    for name, value in item.items():
        if isinstance(value, str):
            text = text.replace(f"{{{name}}}", value)
        elif isinstance(value, Mapping):
            for inner, part in value.items():
                text = text.replace(f"{{{name}.{inner}}}", str(part))
    assert "{" not in text, text
    return text


def number(value: Any) -> float:
    return value if isinstance(value, int) else float(str(value).removesuffix(" s"))


def ends(explanation: Explanation, place: Opened, item: Mapping[str, Any]) -> float | None:
    """Return the value at a place of a working; None if the working has no such step."""
    titles = [filled(title, item) for title in place.sections]
    sections = [one for one in explanation.sections if any(one.title == t or fnmatchcase(one.title, t) for t in titles)]
    found = []
    for section in sections:
        for label in filled(place.steps, item).split("|"):
            steps = [
                step
                for step in section.steps
                if step.label == label or fnmatchcase(step.label, label or "")
                if not any(fnmatchcase(step.label, no) for no in place.without.split("|"))
            ]
            steps = steps if place.steps else [section.steps[-1]]
            if steps:
                found += [number(step.value) for step in steps]
                break
    return sum(found) if found else None


def explained(network: Network, place: Opened, item: Mapping[str, Any], options: Mapping[str, Any]) -> Explanation:
    names = options_of(ExplainOptions)
    own: dict[str, Any] = {}
    for name, value in place.options.items():
        own[name] = filled(value, item) if isinstance(value, str) else value
    return network.explain(filled(place.path, item) or None, **{n: v for n, v in options.items() if n in names}, **own)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", SPECS)
def test_every_figure_is_opened(name: str, call: str) -> None:
    network, (verb, options) = load(name), CALLS[call]
    try:
        record = netcalc.as_dict(getattr(network, verb)(**options))
    except NetcalcError as error:
        assert error.diagnostics[0].code == "E502" and call in REFUSED
        return
    kind, workings = record["schema"].split("/")[1], dict[str, Explanation]()
    together: dict[tuple[str, str], float] = {}
    checked = 0
    for field, value, item in Numbers(record).all:
        place = opened(kind, field, item)
        assert place is not None, f"{kind}: no place is declared for {field}"
        if place.reason:
            continue
        if place.together:
            key = field, filled(place.sections[0], item)
            together[key] = together.get(key, 0) + value
        checked += 1
        at = (
            f"{place.path and filled(place.path, item)} {[(n, filled(str(o), item)) for n, o in place.options.items()]}"
        )
        if at not in workings:
            workings[at] = explained(network, place, item, options)
        end = ends(workings[at], place, item)
        if not place.together:  # nothing is said of what is nothing
            assert (0 if end is None else end) == pytest.approx(value, rel=1e-6), (field, place, item.get("path"))
    for (field, title), value in together.items():
        memory = next(working for at, working in workings.items() if "memory" in at)
        assert (ends(memory, Opened(field, (title,)), {}) or 0) == value, (field, title)
    assert checked >= 2


@pytest.mark.parametrize("verb", ["signal", "run", "train", "verify", "gradients", "rounding"])
def test_what_is_measured_is_said_to_be(verb: str) -> None:
    place = opened(verb, "stages.*.mean", {})
    assert place is not None and place.reason == "measured"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"engine": "fast"}, "--engine explains memory"),
        ({"depth": 1, "device": "h100"}, "--depth explains memory"),
        ({"fit": True, "device": "h100", "engine": "fast"}, "--engine explains memory"),
        ({"fit": True, "device": "h100", "tokens": "1B"}, "--tokens explains a time"),
        ({"fit": True, "device": "h100", "cache": ["ideal", "vllm"]}, "--fit explains one --cache"),
        ({"efficiency": 0.4}, "--efficiency explains a time"),
        ({"memory": True, "tp": 2, "tokens_in": "8GiB"}, "--tokens-in explains one device"),
    ],
)
def test_options_that_explain_something_else_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(NetcalcError, match=told):
        load("gpt2").explain(**options)


def test_every_record_has_its_places() -> None:
    """All but pages of reference, lists of findings, and what other records are made of."""
    without = {"errors", "weights", "check", "checkpoint", "verify-module", "signal-comparison", "train-comparison"}
    assert VERSIONS.keys() - OPENED.keys() <= {*REFERENCE, *without, "compute-optimal"}
    assert not any(place.reason == "gap" for places in OPENED.values() for place in places)


def _ending(network: Network, record: str, field: str, item: Mapping[str, Any]) -> float:
    """Return what the working of a figure ends in, 0 for one that has no working as there is nothing."""
    place = opened(record, field, item)
    assert place is not None and not place.reason, field
    return ends(explained(network, place, item, {}), place, item) or 0


@pytest.mark.parametrize("options", [{}, {"training": "adamw", "precision": "bf16-mixed"}], ids=str)
def test_points_of_a_table_are_opened_at_their_sizes(options: dict[str, Any]) -> None:
    network, kind = load("gpt2"), "memory-table"
    record = netcalc.as_dict(network.memory_over(["length=1,8", "layers=1,2"], **options))
    checked = 0
    for point in record["points"]:
        for field, value, item in Numbers({"points": [point]}).all:
            place = opened(kind, field, item)
            assert place is not None, field
            if not place.reason:
                at = netcalc.load("gpt2", set={**SPECS["gpt2"], **item[place.settings]})
                found = ends(explained(at, place, item, options), place, item) or 0
                assert found == value, (field, item["sizes"])
                checked += 1
    assert checked >= 20


def test_totals_of_several_models_are_opened_in_each() -> None:
    names = ["resnet34", "lstm"]
    networks = [load(name) for name in names]
    record = netcalc.as_dict(netcalc.compare(*networks))
    for name, row in record["totals"].items():
        for network, value in zip(networks, row["values"], strict=True):
            assert _ending(network, "compare", f"totals.{name}.values.*", {}) == value, (name, network)
    record = netcalc.as_dict(netcalc.reconcile_networks(*networks, convention="torch"))
    for group in ("params", "work"):
        for network, side in zip(networks, ("before", "after"), strict=True):
            place = opened("reconcile-models", f"{group}.{side}", record)
            assert place is not None and networks[int(place.model)] is network
            assert _ending(network, "reconcile-models", f"{group}.{side}", record) == record[group][side]

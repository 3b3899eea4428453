"""Closed forms in at least two structural vars for a spec of every family, against counts at drawn settings.

The Python text of each formula is executed at the settings, and its value compared with what the spec counts there.
Settings that a spec refuses, and those at which an assumption of the formula does not hold, are drawn anew.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import Any

import netcalc
from netcalc import Network
from netcalc.diagnostics import NetcalcError
from netcalc.spec.settings import is_sizes

#: Settings of a spec at which formulas and counts are compared, and draws for them.
SETTINGS, _DRAWS = 20, 1500
#: One family of this many is in the sample.
SAMPLED = 12
#: Terms of a formula, with those inside its quotients: others take long to make.
_MOST_TERMS = 200
_FIGURES = ("params", "macs", "flops")
_FACTORS = (1, 2, 3, 4, 6, 8)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="name of a family, or of a spec with --each")
    parser.add_argument("--each", action="store_true", help="every spec, not one of each family")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare formulas with counts; return the vars of each spec, and what differs."""
    listed = netcalc.list_specs().specs
    first = {spec.family: spec.name for spec in reversed(listed)}
    names = [spec.name for spec in listed] if options.each else sorted(first.values())
    family = {spec.name: spec.family for spec in listed}
    chosen = (name for name in names if options.only in ("", name, family[name]))
    return _compared(chosen)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Compare some of the specs of a record."""
    return _compared(list(result)[::SAMPLED])[0]


def _compared(names: Iterable[str]) -> tuple[dict[str, Any], list[str]]:
    results, failures = {}, []
    for name in names:
        results[name] = outcome = compared(name)
        print(f"{name}: {outcome}", flush=True)
        failures += [f"{name}: {outcome}"] if outcome.startswith("FAILED") else []
    return results, failures


def compared(name: str) -> str:
    """Return the vars of the formulas of a spec and the number of settings at which they are right."""
    random = Random(name)
    numbers = netcalc.load(name)
    able = [var for var in numbers.vars if is_structural(numbers.vars[var]) and _symbolic(name, [var])]
    if len(able) < 2:
        return f"formulas in {', '.join(able) or 'nothing'} alone"
    chosen, network = _chosen(name, able, random)
    functions = executed(network)
    right = 0
    for settings in drawn(numbers, chosen, random):
        counted = _counted(name, settings)
        if counted is None or not all(claim.holds(sizes_of(settings)) for claim in network.program.assumptions):
            continue
        for figure in _FIGURES:
            found, expected = value_of(functions, network, figure, settings), getattr(counted, figure)
            if found != expected:
                return f"FAILED: {figure} = {found:,} at {settings}, counted {expected:,}"
        right += 1
        if right == SETTINGS:
            break
    text = f"{', '.join(chosen)}: {right} of {SETTINGS} settings"
    return text if right == SETTINGS else f"FAILED {text}"


def is_structural(value: Any) -> bool:
    """Return True for the value of a var that is a positive size, or a flat list of them."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return is_sizes(value) and all(isinstance(item, int) and item > 0 for item in items)


def sizes_of(settings: Mapping[str, Any]) -> dict[str, int]:
    """Return the sizes in settings by the names of their symbols."""
    sizes = {}
    for name, value in settings.items():
        items = {f"{name}_{i}": item for i, item in enumerate(value)} if isinstance(value, list) else {name: value}
        sizes |= items
    return sizes


def executed(network: Network) -> dict[str, Any]:
    """Return the functions that the Python text of a network's formulas defines, by figure."""
    functions: dict[str, Any] = {}
    for view in ("params", "flops"):
        try:
            text = network.formulas(view=view, formula="python").to_text()
        except NetcalcError:  # of totals without symbols
            continue
        exec(text, functions)
    return functions


def value_of(functions: Mapping[str, Any], network: Network, figure: str, settings: Mapping[str, Any]) -> int:
    """Return the value of a figure at settings by its formula, or the number that it is."""
    total = getattr(network, figure)
    if isinstance(total, int):
        return total
    given = {name: size for name, size in sizes_of(settings).items() if name in functions[figure].__annotations__}
    return int(functions[figure](**given))


def drawn(numbers: Network, names: Iterable[str], random: Random) -> Iterator[dict[str, Any]]:
    """Yield settings near the defaults, and multiples and fractions of them."""
    for _ in range(_DRAWS):
        settings: dict[str, Any] = {}
        for name in names:
            value = numbers.vars[name]
            is_list = isinstance(value, (list, tuple))
            settings[name] = [_size(item, random) for item in value] if is_list else _size(value, random)
        yield settings


def _size(default: int, random: Random) -> int:
    factor, near = random.choice(_FACTORS), max(1, default + random.randint(-3, 3))
    several = default * factor if default < 1000 else default
    return random.choice([default, several, max(1, default // factor), near])


def _chosen(name: str, able: list[str], random: Random) -> tuple[list[str], Network]:
    """Return some vars of a spec that can be symbols together, and the network."""
    while True:
        chosen = random.sample(able, min(len(able), random.choice((2, 3, 4))))
        network = _symbolic(name, chosen)
        if network is not None:
            return chosen, network


def _symbolic(name: str, names: list[str]) -> Network | None:
    try:
        network = netcalc.load(name, symbolic=names)
        weights = [0 if isinstance(size, int) else size.weight for size in (network.params, network.flops)]
        return network if 0 < max(weights) <= _MOST_TERMS else None
    except NetcalcError:
        return None


def _counted(name: str, settings: Mapping[str, Any]) -> Any:
    try:
        return netcalc.load(name, set=dict(settings)).cost()
    except NetcalcError:
        return None

"""Mutants of shipped specs: loaded, counted and explained in process; only NetcalcError may come out."""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random
from typing import Any

from netcalc.spec.library import Loaded, load_data, load_text
from tests.exhaustive.numbered import Cases
from tests.fuzz.exercise import exercise
from tests.fuzz.mutation import as_text, draw_name, folder_of, mutated_text, mutated_tree

SAMPLE = 300


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    MUTANTS.add_options(parser, 100_000)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the mutants."""
    return MUTANTS.run(options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Rerun the first mutants of the recorded seed."""
    return MUTANTS.sample(result["seed"], SAMPLE)


def _exercised(seed: int, number: int) -> str:
    rng = Random(f"{seed}/{number}")
    label, mutant = _mutant(rng)
    folder = Path(folder_of(label))

    def load() -> Loaded:
        return load_text(mutant, "spec.yaml", folder) if isinstance(mutant, str) else load_data(mutant, folder=folder)

    return exercise(load, rng)


def _mutant(rng: Random) -> tuple[str, Any]:
    """Return the name of a shipped spec, and its mutant: text, or data for the Python API."""
    name = draw_name(rng)
    kind = rng.randrange(6)
    if kind == 0:
        return name, mutated_text(name, rng)
    tree = mutated_tree(name, rng)
    return name, as_text(tree) if kind == 1 else tree


def _shown(seed: int, number: int) -> str:
    name, mutant = _mutant(Random(f"{seed}/{number}"))
    return f"# mutant {number} of seed {seed}, of {name}\n{mutant}"


MUTANTS = Cases("mutants", "mutants", _exercised, _shown)

"""State of training: all that a step changes, so that training can go on from a copy of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from netcalc.analysis.optimizers import is_table
from netcalc.analysis.walk import Instance, instances
from netcalc.arrays import Array
from netcalc.ir import Program
from netcalc.numerics.initializers import generator
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Param
from netcalc.training.result import TrainingStep
from netcalc.training.updates import Updater

_WORD = (1 << 64) - 1


@dataclass(slots=True)
class State:
    """Parameters and buffers by the path of their owner, states of the optimizer, random generator and past steps.

    ``seed`` is the seed of everything drawn; ``rng`` gives the masks of dropout; ``data`` is a digest of the samples.
    """

    arrays: dict[str, Array]
    updater: Updater
    seed: int
    rng: np.random.Generator
    history: list[TrainingStep] = field(default_factory=list)
    data: str = ""

    @classmethod
    def initial(cls, program: Program, parameters: Parameters, updater: Updater, seed: int) -> State:
        """Return the state before the first step."""
        arrays = {owner: np.array(parameters.fetch(instance, param)) for owner, instance, param in tensors(program)}
        return cls(arrays, updater, seed, generator(seed, "/train"))


def tensors(program: Program) -> Iterator[tuple[str, Instance, Param]]:
    """Yield each parameter and buffer once, where it is first used, with the path of its owner."""
    visited: set[str] = set()
    for instance in instances(program):
        for param in instance.node.params:
            owner = instance.owners[param.name]
            if owner not in visited:
                visited.add(owner)
                yield owner, instance, param


def tables(program: Program) -> frozenset[str]:
    """Return the paths of the parameters that are first used as tables of embeddings."""
    return frozenset(owner for owner, instance, _ in tensors(program) if is_table(instance.node))


def generator_words(rng: np.random.Generator) -> Array:
    """Return the state of a PCG64 generator as six words of 64 bits."""
    state = rng.bit_generator.state
    numbers = [state["state"]["state"], state["state"]["inc"]]
    words = [part for number in numbers for part in (number & _WORD, number >> 64)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], np.uint64)


def restored_generator(words: Array) -> np.random.Generator:
    """Return the generator whose state :func:`generator_words` gave; ValueError if it is none."""
    low, high, increment, increment_high, has, last = map(int, words)
    if has > 1 or last >> 32 or not increment & 1:
        raise ValueError("the words are no state of PCG64")
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": increment_high << 64 | increment},
        "has_uint32": has,
        "uinteger": last,
    }
    return np.random.Generator(bits)

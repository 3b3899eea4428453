"""Random generators: for a tensor, and for an operation of a run."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

_SEEDS = 1 << 63  # of which a plan holds one in 8 bytes


def generator(seed: int, path: str) -> np.random.Generator:
    """Return the random generator of the tensor at ``path``."""
    digest = hashlib.blake2b(path.encode(), digest_size=16).digest()
    key = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def run_seed(rng: np.random.Generator) -> int:
    """Return the seed of the run whose generator this is."""
    sequence: Any = rng.bit_generator.seed_seq
    return int(sequence.entropy)


def held_seed(seed: int) -> int:
    """Return the seed of a run in the 63 bits that a plan holds of it."""
    return seed % _SEEDS


def draws_at(seed: int, path: str) -> np.random.Generator:
    """Return the generator of an operation that draws in inference: the same in every execution with this seed."""
    return generator(held_seed(seed), f"/run/{path}")

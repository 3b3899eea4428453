"""Quantization of a checkpoint by the configuration beside it."""

from __future__ import annotations

import os
from pathlib import Path

from netcalc.limits import MAX_SPEC_SIZE
from netcalc.schemes.configuration import Quantization, quantization_of
from netcalc.weights.stored import DamagedError, exactly, opened, parsed_json, reading

_CONFIG = "config.json"


def quantization_beside(path: Path) -> Quantization | None:
    """Return the quantization by the configuration in the folder of a checkpoint; None if it says of none.

    Raises:
        NetcalcError: E605 if the configuration cannot be read, E007 if its method is not known.
    """
    folder = path if os.path.isdir(path) else path.parent  # noqa: PTH112 - raises nothing
    config = folder / _CONFIG
    if not os.path.isfile(config):  # noqa: PTH113 - raises nothing
        return None
    with reading(str(config)), opened(config, MAX_SPEC_SIZE) as (file, length):
        content = parsed_json(exactly(file, length, "a configuration"))
        if not isinstance(content, dict):
            raise DamagedError("it is no object")
    return quantization_of(content, str(config))

"""Lines on the origin of the numbers of a run, and on the mode of its operations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from netcalc.analysis.notes import TRAINING_MODE

if TYPE_CHECKING:
    from netcalc.engine.gradients import GradientResult
    from netcalc.engine.rounding import RoundingResult
    from netcalc.engine.run import RunResult


def origin_lines(result: RunResult | GradientResult | RoundingResult) -> Iterator[str]:
    """Yield which inputs and weights were drawn and which were read, and the mode unless it is the default."""
    origin = result.origin
    parts = [f"{', '.join(origin.inputs)} drawn with seed {result.seed}"] if origin.inputs else []
    if origin.weights:
        parts.append(f"weights from {', '.join(origin.weights)}")
    elif origin.parameters:
        parts.append(f"weights drawn with seed {result.seed}")
    yield f"{result.spec}: {'; '.join(parts) or 'nothing drawn'}"
    if origin.training:
        yield TRAINING_MODE

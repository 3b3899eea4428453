"""The error of values that do not fit a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class ValidationError(ValueError):
    """Values do not fit a model; ``errors()`` returns the same as in pydantic."""

    def __init__(self, cause: Any) -> None:
        super().__init__(str(cause))
        self.errors: Callable[..., list[Any]] = cause.errors
        self.error_count: Callable[[], int] = cause.error_count

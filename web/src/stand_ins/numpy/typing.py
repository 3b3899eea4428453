"""The type of arrays."""

from numpy import ndarray as NDArray  # noqa: N812 - the name in NumPy

__all__ = ["NDArray"]

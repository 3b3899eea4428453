"""Imported modules against PyTorch: outputs by both plans, FLOPs, parameters by name, and the checks of ``verify``."""

from __future__ import annotations

import logging
import warnings
from dataclasses import dataclass, field
from typing import Any

import pytest

import netcalc

torch = pytest.importorskip("torch")


@dataclass(frozen=True, slots=True)
class Case:
    """A module and the arguments of a call.

    ``make`` builds the module; ``tolerance`` bounds the difference relative to the largest element of an output.
    """

    name: str
    make: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    tolerance: float = 1e-5


def image(size: int = 32, channels: int = 3) -> tuple[Any, ...]:
    """Return the arguments of a model of images."""
    return (torch.zeros(2, channels, size, size),)


def tokens(length: int = 9, vocabulary: int = 50) -> Any:
    """Return two sequences of random tokens."""
    return torch.randint(1, vocabulary, (2, length), generator=torch.Generator().manual_seed(length))


def by_name(cases: list[Case]) -> Any:
    """Return the parametrisation of a test over cases."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.name)


def assert_agrees(case: Case) -> None:
    """Assert that a module, imported, does as it does in PyTorch, with random weights under their own names."""
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logging.disable(logging.WARNING)
        try:
            module = case.make().eval()
            network = netcalc.from_torch(module, *case.args, **case.kwargs)
            found = network.verify_against(module, *case.args, **case.kwargs)
        finally:
            logging.disable(logging.NOTSET)
    assert found.weights.ok, found.weights
    assert {output.plan for output in found.outputs} == {"reference", "fast"}
    far = [output for output in found.outputs if not output.difference <= case.tolerance]
    assert not far, far
    assert all(flops.ok for flops in found.flops), found.flops
    assert network.params == sum(parameter.numel() for parameter in module.parameters())
    report = network.verify()
    assert report.ok, [check for check in report.checks if not check.ok]

"""The modules of this suite by name, with the arguments of a call.

::

    @case(floats(2, 8))
    class Residual(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x: Any) -> Any:
            return x + self.fc(x)

    layer("linear without bias", lambda: nn.Linear(8, 3, bias=False), floats(2, 8))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

Made = TypeVar("Made", bound=Callable[[], Any])


@dataclass(frozen=True, slots=True)
class Case:
    """A module and the arguments of a call; ``make`` builds the module with random weights."""

    name: str
    make: Callable[[], Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


#: All modules, in the order in which the files of this folder declare them.
CASES: dict[str, Case] = {}


def layer(name: str, make: Callable[[], Any], *args: Any, **kwargs: Any) -> None:
    """Add a module that an expression makes."""
    assert name not in CASES, f"two modules are called {name!r}"
    CASES[name] = Case(name, make, args, kwargs)


def case(*args: Any, **kwargs: Any) -> Callable[[Made], Made]:
    """Return a decorator that adds a class, or a function that makes a module, under its own name."""

    def added(make: Made) -> Made:
        layer(make.__name__, make, *args, **kwargs)
        return make

    return added


def floats(*shape: int) -> torch.Tensor:
    """Return random numbers from 0 to 1 of a shape."""
    return torch.rand(shape, generator=torch.Generator().manual_seed(len(shape)))


def integers(high: int, *shape: int, low: int = 0) -> torch.Tensor:
    """Return random integers below ``high`` of a shape."""
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(high))

"""Memory that training adds to the weights: gradients, and the states of an optimizer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.analysis.gradient_flow import gradient_flow
from netcalc.analysis.optimizers import State, optimizer_named
from netcalc.analysis.walk import ParameterInstance, instances, parameters
from netcalc.dims import integer, product
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Program
from netcalc.ir.loss import LOSS


class OptimizerState(NamedTuple):
    """A state that an optimizer keeps of the parameters that it updates."""

    name: str
    bytes: int


class TrainingMemory(NamedTuple):
    """Bytes that a step of training holds when the optimizer updates, each parameter that is trained once."""

    optimizer: str | None
    """Name of the optimizer; null for a forward and a backward pass without an update."""
    trained: int
    """Elements of the parameters that are trained, tied ones counted once."""
    gradients: int
    """Bytes of their gradients, in the type of each parameter."""
    states: tuple[OptimizerState, ...]

    @property
    def state_bytes(self) -> int:
        """Bytes of all states."""
        return sum(state.bytes for state in self.states)


def training_memory(program: Program, optimizer: str | None, loss: bool) -> TrainingMemory:
    """Return gradients of the parameters that are trained, and the states that an optimizer keeps of them.

    Frozen parameters, and those on which the loss does not depend, have neither.

    Args:
        program: the program, with its loss behind its layers if ``loss`` is True.
        optimizer: name of the optimizer; None for a forward and a backward pass without an update.
        loss: True for a program that ends in the loss of its spec.

    Raises:
        NetcalcError: E502 if there is no such optimizer; E603 for a program with too many operations.
        UndecidedError: E404 if a size is symbolic.
    """
    chosen = None if optimizer is None else optimizer_named(optimizer)
    elements = gradients = 0
    states: dict[str, int] = {}
    for instance in _trained(program, LOSS if loss else None):
        shape = instance.param.shape
        number = integer(product(shape))
        elements += number
        gradients += number * ITEMSIZE[instance.dtype]
        for state in chosen.kept(shape, instance.op == "embedding") if chosen else ():
            states[state.name] = states.get(state.name, 0) + _bytes(state, instance)
    kept = tuple(OptimizerState(name, size) for name, size in states.items())
    return TrainingMemory(optimizer, elements, gradients, kept)


def _trained(program: Program, start: str | None) -> Iterator[ParameterInstance]:
    """Yield the parameters that have a gradient, each once."""
    flow = gradient_flow(program, output=start)
    wanted = {
        owner
        for instance in instances(flow.program)
        for name, owner in instance.owners.items()
        if name in flow.of(instance.node).wanted
    }
    for instance in parameters(flow.program):
        if not instance.tied and not instance.frozen and instance.param.trainable and instance.path in wanted:
            yield instance


def _bytes(state: State, instance: ParameterInstance) -> int:
    return integer(product(state.shape(instance.param.shape))) * ITEMSIZE[state.dtype or instance.dtype]

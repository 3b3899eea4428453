"""Bounds on a run that are known before anything is planned or drawn: sizes of arrays, their memory, and work."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.analysis.counting import operation_count, require_visits
from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.dims import Dim, integer
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, CallNode, OpNode, Program, dtype_of, join
from netcalc.limits import MAX_OPERATIONS, MAX_RUN_AXES, MAX_RUN_WORK, Limit
from netcalc.process_memory import format_bytes

#: Work that takes about as long as one operation; ``max_work`` allows an operation for each such amount.
_OPERATION_WORK = 1_000_000
#: Bytes that NumPy can index.
_INDEXABLE = (1 << 63) - 1


def require_work(program: Program, max_work: float | None = None, limit: Limit = MAX_RUN_WORK, passes: int = 1) -> None:
    """Check that a pass, or several, take no more work than a limit.

    Args:
        program: the program; its sizes must be numbers.
        max_work: the most work, in place of ``limit`` and, if that is more, of :data:`MAX_OPERATIONS`.  Work is the
            number of FLOPs and of elements of parameters and results.
        limit: the limit unless ``max_work`` is given.
        passes: the number of forward passes whose work is done.

    Raises:
        NetcalcError: E603 too much work or too many operations; E502 a ``max_work`` below 1.
    """
    if max_work is not None and not max_work >= 1:
        raise NetcalcError(Diagnostic("E502", f"the most work of a run should be at least 1, not {max_work}"))
    require_visits(program)  # no option raises this limit
    most, operations = limit if max_work is None else max_work, operation_count(program) * passes
    most_operations = max(MAX_OPERATIONS, 0 if max_work is None else max_work / _OPERATION_WORK)
    work = _Work(program).of(program.main) * passes
    needed = max(work, operations * _OPERATION_WORK if operations > most_operations else 0)
    if operations <= most_operations and work <= most:
        return
    what = (
        f"executes {operations:,} operations (at most {most_operations:,.0f})"
        if operations > most_operations
        else f"takes {work:.3g} FLOPs and elements written (at most {most:.3g})"
    )
    hint = f"{limit.option} {_rounded_up(needed)} allows it"
    raise NetcalcError(Diagnostic("E603", f"a run of {program.name!r} {what}", hint=hint))


def require_arrays(program: Program, free: int) -> None:
    """Check that NumPy can hold every tensor, and that each one alone fits into ``free`` bytes.

    Raises:
        NetcalcError: E603, with the tensor, at the line that produces or holds it.
    """
    for tensor in _tensors(program):
        problem = _why_infeasible(tensor, free)
        if problem is not None:
            message = f"a run of {program.name!r} is not possible: {tensor.place} {problem}"
            hint = "smaller sizes (--set) need less memory; shapes, params and flops allocate no tensors"
            raise NetcalcError(Diagnostic("E603", message, tensor.span, hint=hint))


class _Tensor(NamedTuple):
    """A tensor of a run: its name, its line, and the fewest bytes that an element takes in memory, 0 for a view."""

    place: str
    span: Span | None
    shape: tuple[Dim, ...]
    itemsize: int
    least_itemsize: int


def _why_infeasible(tensor: _Tensor, free: int) -> str | None:
    sizes = [integer(size) for size in tensor.shape]
    if len(sizes) > MAX_RUN_AXES:
        return f"has {len(sizes)} axes (at most {MAX_RUN_AXES})"
    # NumPy computes the bytes of an empty array without its axes of size 0
    if math.prod(size for size in sizes if size) * tensor.itemsize > _INDEXABLE:
        return "is larger than an array can be"
    least = math.prod(sizes) * tensor.least_itemsize
    return f"alone takes {format_bytes(least)}, and {format_bytes(free)} is free" if least > free else None


def _tensors(program: Program) -> Iterator[_Tensor]:
    """Yield every tensor; equal calls yield theirs once."""
    for spec, value in zip(program.inputs, program.main.inputs, strict=True):
        itemsize = ITEMSIZE[spec.type.dtype]
        span = None if value is None else value.span
        yield _Tensor(f"the input {spec.name!r}", span, spec.type.shape, itemsize, itemsize)
    for path, node in _operations(program.main, "", set()):
        for type_ in node.output_types:
            # an operation fused into this one may store the result in a type of one byte
            least = 0 if node.op.view else 1
            yield _Tensor(f"the output of {path!r}", node.span, type_.shape, ITEMSIZE[type_.dtype], least)
        for param in node.params:
            itemsize = ITEMSIZE[dtype_of(param, node, program.dtype)]
            yield _Tensor(f"the parameter {join(path, param.name)!r}", node.span, param.shape, itemsize, 1)


def _operations(body: Body, prefix: str, visited: set[Body]) -> Iterator[tuple[str, OpNode]]:
    """Yield every operation of every body once, with the path of its first instance."""
    if body in visited:
        return
    visited.add(body)
    for node in body.nodes:
        if isinstance(node, OpNode):
            yield join(prefix, node.name), node
        else:
            yield from _operations(node.body, join(prefix, node.instance(0)), visited)


class _Work:
    """FLOPs, and elements of parameters and results, of bodies."""

    def __init__(self, program: Program) -> None:
        self._analysis = Analysis(program, CONVENTIONS["netcalc"])
        self._known: dict[Body, int] = {}

    def of(self, body: Body) -> int:
        """Return the work of one execution."""
        if body not in self._known:
            self._known[body] = sum(
                node.times * self.of(node.body) if isinstance(node, CallNode) else self._operation(node)
                for node in body.nodes
            )
        return self._known[body]

    def _operation(self, node: OpNode) -> int:
        elements = [type_.elements for type_ in node.output_types] + [param.elements for param in node.params]
        return integer(self._analysis.node(node).flops) + sum(integer(size) for size in elements)


def _rounded_up(number: int) -> str:
    """Return a number that is not below ``number``, with two digits."""
    power = 10 ** max(len(str(number)) - 2, 0)
    return f"{-(-number // power) * power:.1e}"

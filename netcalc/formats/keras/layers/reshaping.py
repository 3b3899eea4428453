"""Layers that change shapes: views, borders, and repeated elements."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import product
from netcalc.formats.graph.lines.axes import permuted
from netcalc.formats.graph.lines.expand import expanded
from netcalc.formats.graph.lines.shape import merged, reshaped
from netcalc.formats.graph.lines.windows import plain
from netcalc.formats.keras.call import Call
from netcalc.formats.keras.layers import layer
from netcalc.formats.keras.layers._windows import axes_of
from netcalc.formats.keras.operand import Operand
from netcalc.formats.keras.problems import clipped


@layer("Reshape")
def reshape(call: Call) -> Operand:
    """Other axes behind the batch; those of one position have their channels as axis 1, as layers over windows do."""
    sizes = call.get("target_shape")
    sizes = [sizes] if type(sizes) is int else sizes
    if not isinstance(sizes, list) or not all(type(size) is int and (size > 0 or size == -1) for size in sizes):
        raise RuleError(f"target_shape {clipped(sizes)}")
    operand = call.operand()
    if sizes.count(-1) == 1:
        whole, fixed = product(operand.shape[1:]), product(size for size in sizes if size != -1)
        if isinstance(whole, int):
            if whole % fixed:
                raise RuleError(f"target_shape {clipped(sizes)} of {whole} elements")
            sizes = [whole // fixed if size == -1 else size for size in sizes]
    if sizes.count(-1) > 1:
        raise RuleError(f"target_shape {clipped(sizes)}")
    x, batch = call.last(), operand.shape[0]
    if len(sizes) > 1 and all(size == 1 for size in sizes[:-1]):
        return Operand(reshaped(call.build, x, [batch, sizes[-1], *sizes[:-1]]), True)
    return Operand(reshaped(call.build, x, [batch, *sizes]))


@layer("Flatten")
def flatten(call: Call) -> Operand:
    call.channels_last()
    x = call.last()
    if x.type.rank == 1:
        return Operand(call.line("unsqueeze", [x], {"axis": 1}))
    return Operand(merged(call.build, x, 1, x.type.rank - 1))


@layer("Permute")
def permute(call: Call) -> Operand:
    dims, rank = call.get("dims"), call.operand().rank
    if not isinstance(dims, list) or not all(type(axis) is int for axis in dims) or sorted(dims) != [*range(1, rank)]:
        raise RuleError(f"dims {clipped(dims)} of a tensor of {rank} axes")
    return Operand(permuted(call.build, call.last(), [0, *dims]))


@layer("RepeatVector")
def repeat_vector(call: Call) -> Operand:
    x, times = call.last(), call.integer("n")
    if x.type.rank != 2:
        raise RuleError("its input should have two axes")
    batch, features = x.type.shape
    return Operand(expanded(call.build, call.line("unsqueeze", [x], {"axis": 1}), [batch, times, features]))


def _sides(call: Call, name: str, axes: int) -> list[list[int]]:
    """Return a setting of two numbers for each axis: one for all, one for each axis, or two for each."""
    value = call.get(name)
    listed = [value] * axes if type(value) is int else value
    if axes == 1 and isinstance(listed, list) and len(listed) == 2 and all(type(size) is int for size in listed):
        listed = [listed]
    if not isinstance(listed, list) or len(listed) != axes:
        raise RuleError(f"{name} {clipped(value)}")
    pairs = [[side, side] if type(side) is int else side for side in listed]
    for pair in pairs:
        right = isinstance(pair, list) and len(pair) == 2
        if not right or not all(type(side) is int and side >= 0 for side in pair):
            raise RuleError(f"{name} {clipped(value)}")
    return pairs


def _written(pairs: list[list[int]]) -> list[Any]:
    return [before if before == after else [before, after] for before, after in pairs]


@layer("ZeroPadding1D", "ZeroPadding2D", "ZeroPadding3D")
def zero_padding(call: Call) -> Operand:
    pairs = _sides(call, "padding", axes_of(call))
    return Operand(call.line("pad", [call.first()], {"padding": _written(pairs)}), True)


@layer("Cropping1D", "Cropping2D", "Cropping3D")
def cropping(call: Call) -> Operand:
    pairs = [[-before, -after] for before, after in _sides(call, "cropping", axes_of(call))]
    return Operand(call.line("pad", [call.first()], {"padding": _written(pairs)}), True)


@layer("UpSampling1D", "UpSampling2D", "UpSampling3D")
def up_sampling(call: Call) -> Operand:
    axes = axes_of(call)
    size = call.sizes("size", axes)
    mode = call.choice("interpolation", ("nearest", "bilinear"), "nearest")
    attributes: dict[str, Any] = {"scale_factor": plain([float(one) for one in size])}
    if mode != "nearest":
        attributes["mode"] = mode
    return Operand(call.line("interpolate", [call.first()], attributes), True)

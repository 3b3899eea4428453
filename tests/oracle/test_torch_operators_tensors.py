"""Operators of PyTorch that move, join, select or create data, translated and compared with PyTorch."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from netcalc.diagnostics import NetcalcError, RuleError
from netcalc.dims import Poly, value_at
from netcalc.formats.graph.model import Graph, Line, Value
from netcalc.formats.torch.capture import capture
from netcalc.formats.torch.translation import translate
from netcalc.tensor_type import TensorType
from tests.oracle.torch_modules import Call, array_of, assert_imports, evaluate, operations

torch = pytest.importorskip("torch")


def numbered(*shape: int, dtype: str = "float32") -> Any:
    """Return a tensor of different numbers."""
    return torch.from_numpy(np.arange(int(np.prod(shape))).reshape(shape).astype(dtype))


def assert_equal(functions: Sequence[Callable[..., Any]], *tensors: Any) -> Graph:
    """Assert that all functions of the tensors, as one module, give exactly what they give in torch."""
    return assert_imports(Call(lambda *args: [f(*args) for f in functions]), *tensors, tolerance=0.0)


def one(function: Callable[..., Any], *tensors: Any) -> list[tuple[str, dict[str, Any]]]:
    """Assert that a function gives what it gives in torch, and return its operations with their attributes."""
    return [(line.operation, line.attributes) for line in assert_equal([function], *tensors).lines]


def factors(rng: random.Random, size: int, count: int) -> list[int]:
    """Return numbers with a product."""
    sizes = []
    for _ in range(count - 1):
        sizes.append(rng.choice([n for n in range(1, size + 1) if size % n == 0]))
        size //= sizes[-1]
    return [*sizes, size]


@pytest.mark.parametrize("seed", range(4))
def test_views_of_drawn_shapes(seed: int) -> None:
    rng = random.Random(seed)
    functions: list[Any] = []
    for _ in range(60):
        old, new = (factors(rng, 2**3 * 3**2, rng.randint(1, 5)) for _ in range(2))
        sizes = list(new)
        if rng.random() < 0.5:
            sizes[rng.randrange(len(sizes))] = -1
        functions.append(lambda x, old=old, sizes=sizes: x.view(old).reshape(sizes))
    assert_equal(functions, numbered(72))


@pytest.mark.parametrize(
    ("shape", "sizes", "expected"),
    [
        ((2, 3, 4, 5), (2, -1), ("flatten", {})),
        ((2, 3, 4, 5), (2, 12, 5), ("flatten", {"end_axis": 2})),
        ((2, 3, 4, 5), (6, 4, 5), ("flatten", {"start_axis": 0, "end_axis": 1})),
        ((2, 16, 1, 1), (2, 16), ("flatten", {})),
        ((2, 5, 32), (2, 5, 4, 8), ("unflatten", {"axis": 2, "sizes": [4, -1]})),
        ((2, 5, 32), (2, 5, -1, 8), ("unflatten", {"axis": 2, "sizes": [-1, 8]})),
        ((2, 5, 24), (2, 5, 3, 2, 4), ("unflatten", {"axis": 2, "sizes": [3, 2, -1]})),
        ((10, 6), (2, 5, 6), ("unflatten", {"axis": 0, "sizes": [2, -1]})),
        ((2, 6), (2, 1, 6), ("unsqueeze", {"axis": 1})),
        ((2, 6), (2, 6, 1, 1), ("unflatten", {"axis": 1, "sizes": [-1, 1, 1]})),
        ((2, 8, 7, 8, 7, 3), (-1, 49, 3), ("reshape", {"shape": [-1, 49, 3]})),
        ((3, 4), (4, 3), ("reshape", {"shape": [-1, 3]})),
        ((1, 1), (), ("reshape", {"shape": []})),
    ],
)
def test_views_name_few_sizes(shape: tuple[int, ...], sizes: tuple[int, ...], expected: tuple[str, Any]) -> None:
    assert one(lambda x: x.reshape(sizes), numbered(*shape)) == [expected]


def test_flatten_and_unflatten() -> None:
    assert_equal(
        [
            *(lambda x, a=a, b=b: torch.flatten(x, a, b) for a in range(-4, 4) for b in range(a % 4 - 4, 0)),
            lambda x: x.unflatten(-1, (2, -1)),
            lambda x: x.unflatten(1, (3, 1)),
            lambda x: x.ravel(),
            lambda x: x[0, 0, 0, 0].flatten(),
            lambda x: x.view_as(torch.zeros(6, 20)),
        ],
        numbered(2, 3, 5, 4),
    )


@pytest.mark.parametrize("seed", range(2))
def test_axes(seed: int) -> None:
    rng = random.Random(seed)
    functions: list[Any] = []
    for _ in range(20):
        order = rng.sample(range(4), 4)
        signed = [axis - rng.choice((0, 4)) for axis in order]
        functions += [
            lambda x, order=order: x.permute(order),
            lambda x, a=signed[0], b=signed[1]: x.transpose(a, b),
            lambda x, a=signed[0], b=signed[1]: x.swapaxes(a, b),
            lambda x, a=signed[:2], b=signed[2:]: x.movedim(a, b),
            lambda x, a=signed[0], b=signed[1]: torch.moveaxis(x, a, b),
            lambda x, axis=signed[0]: x.unsqueeze(axis),
            lambda x, axis=signed[0]: x.squeeze(axis),
            lambda x, axes=signed[:2]: x.squeeze(axes),
        ]
    functions += [lambda x: x.squeeze(), lambda x: x.mT, lambda x: x[0, 0].T, lambda x: x[0, 0].t()]
    functions += [lambda x: torch.atleast_3d(x[0, 0]), lambda x: torch.atleast_2d(x[0, 0, 0, 0]), lambda x: x.adjoint()]
    assert_equal(functions, numbered(1, 3, 1, 4))


def test_two_swapped_axes_are_a_transpose() -> None:
    assert one(lambda x: x.permute(0, 2, 1), numbered(2, 3, 4)) == [("transpose", {"axes": [1, 2]})]
    assert one(lambda x: x.permute(2, 0, 1), numbered(2, 3, 4)) == [("permute", {"axes": [2, 0, 1]})]
    assert one(lambda x: x.squeeze(0), numbered(2, 3)) == []


def test_expansion_and_repetition() -> None:
    assert_equal(
        [
            lambda x: x.expand(2, 3, 4),
            lambda x: x.expand(5, 1, -1, 4),
            lambda x: x.expand(1, 1, 3, 4),
            lambda x: x.expand_as(torch.zeros(2, 3, 4)),
            lambda x: torch.broadcast_to(x, (2, 3, 4)),
            lambda x: list(torch.broadcast_tensors(x, torch.zeros(2, 1, 4))),
            lambda x: x.repeat(2, 1, 1),
            lambda x: x.repeat(2, 1, 3, 2),
            lambda x: x.tile((2,)),
            lambda x: x.tile((2, 1, 1, 1)),
            lambda x: x.repeat_interleave(2, dim=1),
            lambda x: x.repeat_interleave(3),
            lambda x: x.repeat_interleave(1, dim=0),
            lambda x: list(torch.meshgrid(torch.arange(3), torch.arange(2), torch.arange(4), indexing="ij")),
            lambda x: list(torch.meshgrid(torch.arange(3), torch.arange(2), indexing="xy")),
        ],
        numbered(1, 3, 4),
    )
    assert one(lambda x: x.expand(2, 3, 4), numbered(1, 3, 4)) == [("expand", {"shape": [2, -1, -1]})]


@pytest.mark.parametrize("seed", range(3))
def test_slices(seed: int) -> None:
    rng = random.Random(seed)
    functions: list[Any] = []
    for _ in range(40):
        axis = rng.randrange(-3, 3)
        start, stop = (rng.choice([None, *range(-9, 10)]) for _ in range(2))
        step = rng.randint(1, 3)
        functions.append(
            lambda x, axis=axis, start=start, stop=stop, step=step: torch.ops.aten.slice(x, axis, start, stop, step)
        )
    for axis in (-2, 0, 2):
        functions += [lambda x, axis=axis, i=i: x.select(axis, i) for i in (-1, 0, 2)]
        functions += [lambda x, axis=axis, i=i: x.narrow(axis, i, 2) for i in (0, 1)]
        functions += [lambda x, axis=axis: list(x.unbind(axis)), lambda x, axis=axis: x.split(2, axis)]
        functions += [lambda x, axis=axis, n=n: list(x.chunk(n, axis)) for n in (1, 2, 3)]
        functions += [lambda x, axis=axis, n=n: list(x.tensor_split(n, axis)) for n in (1, 2, 3)]
        functions += [lambda x, axis=axis: list(x.tensor_split((1, -1), axis))]
        functions += [lambda x, axis=axis: list(x.split([1, x.shape[axis] - 1], axis))]
    functions += [lambda x: list(x.hsplit(2)), lambda x: list(x.vsplit(3)), lambda x: list(x.dsplit(5))]
    functions += [lambda x: x.split([0, 3], 0)]
    assert_equal([lambda x, f=f: f(x) if x is not None else x for f in functions], numbered(3, 4, 5))


def test_slices_keep_indices_from_the_end() -> None:
    x = numbered(3, 8)
    assert one(lambda x: x[:, -1:], x) == [("slice", {"axis": 1, "start": -1})]
    assert one(lambda x: x[:, :-1], x) == [("slice", {"axis": 1, "stop": -1})]
    assert one(lambda x: x[:, 2:100], x) == [("slice", {"axis": 1, "start": 2})]
    assert one(lambda x: x[:, ::2], x) == [("slice", {"axis": 1, "step": 2})]
    assert one(lambda x: x[:, :8], x) == []


def test_diagonals_windows_and_order() -> None:
    functions: list[Any] = []
    for offset in range(-4, 5):
        functions += [lambda x, o=offset: x.diagonal(o, -2, -1), lambda x, o=offset: x.diagonal(o, 2, 0)]
    for axis, size, step in ((0, 2, 1), (1, 3, 3), (2, 2, 2), (-1, 3, 2), (1, 4, 1), (2, 1, 1)):
        functions.append(lambda x, axis=axis, size=size, step=step: x.unfold(axis, size, step))
    functions += [lambda x, k=k, d=d: x.rot90(k, d) for k in range(-1, 5) for d in ((0, 1), (2, 0), (-1, 1))]
    functions += [
        lambda x: x.roll(2),
        lambda x: x.roll(-1, 1),
        lambda x: x.roll((1, 2), (0, -1)),
        lambda x: x.roll(7, 0),
    ]
    functions += [lambda x: x.flip(0), lambda x: x.flip((0, -1)), lambda x: x.fliplr(), lambda x: x.flipud()]
    assert_equal(functions, numbered(3, 4, 5))


def test_joins() -> None:
    x, y = numbered(2, 3), numbered(2, 3) + 10
    assert_equal(
        [
            lambda x, y: torch.cat([x, y]),
            lambda x, y: torch.cat([x, y, x], 1),
            lambda x, y: torch.cat([x, y], -1),
            lambda x, y: torch.cat([x, torch.zeros(0)]),
            lambda x, y: torch.cat([x, y[:0]]),
            lambda x, y: torch.cat([x[:0], y[:0].double()]),
            lambda x, y: torch.cat([x, y.long()]),
            lambda x, y: torch.cat([x, y.double()[:0]]),
            lambda x, y: torch.stack([x, y]),
            lambda x, y: torch.stack([x, y], 1),
            lambda x, y: torch.stack([x, y], -1),
            lambda x, y: torch.stack([x]),
            lambda x, y: torch.hstack([x, y]),
            lambda x, y: torch.hstack([x[0], y[0]]),
            lambda x, y: torch.vstack([x[0], y]),
            lambda x, y: torch.dstack([x[0], y[0]]),
            lambda x, y: torch.block_diag(x, y[0], x[:, :1]),
            lambda x, y: torch.cartesian_prod(x[0], y[0], x[1]),
            lambda x, y: torch.column_stack([x[0], y[0]]),
            lambda x, y: torch.column_stack([x[:, 0], y]),
        ],
        x,
        y,
    )


def test_creation() -> None:
    inf = float("inf")
    assert_equal(
        [
            *(
                lambda x, a=a: torch.arange(*a)
                for a in ((5,), (2, 7), (1, 8, 3), (5, -2, -2), (0.0, 1.0, 0.25), (2.5,))
            ),
            lambda x: torch.arange(0, 6, 2.0, dtype=torch.int64),
            lambda x: torch.arange(4, dtype=torch.float32),
            lambda x: torch.arange(3, dtype=torch.int32),
            lambda x: torch.linspace(-1, 1, 7),
            lambda x: torch.linspace(0, 3, 5, dtype=torch.float64),
            lambda x: torch.full((2, 3), 7),
            lambda x: torch.full((2,), -inf),
            lambda x: torch.full((2, 2), True),
            lambda x: torch.full((), 2.5, dtype=torch.float16),
            lambda x: torch.zeros(2, 3),
            lambda x: torch.zeros(2, dtype=torch.bool),
            lambda x: torch.ones(3, dtype=torch.int64),
            lambda x: torch.empty(2, 3).zero_(),
            *(lambda x, f=f: f(x) for f in (torch.zeros_like, torch.ones_like)),
            lambda x: torch.full_like(x, 3),
            lambda x: torch.full_like(x, -1.5, dtype=torch.float64),
            lambda x: torch.ones_like(x, dtype=torch.bool),
            lambda x: x.new_zeros(2),
            lambda x: x.new_ones((2, 1), dtype=torch.int32),
            lambda x: x.new_full((1, 2), 4.0),
            lambda x: torch.scalar_tensor(3),
            lambda x: torch.tril_indices(3, 4, 1),
            lambda x: torch.triu_indices(3, 3, 1),
            lambda x: torch.eye(3),
            lambda x: torch.eye(2, 4, dtype=torch.int64),
            lambda x: torch.tensor([[1, 2], [3, 4]]),
        ],
        numbered(2, 3),
    )


def test_masks_and_triangles() -> None:
    assert_equal(
        [
            lambda x, m: torch.where(m, x, x.flip(0)),
            lambda x, m: torch.where(m, x, 0.0),
            lambda x, m: torch.where(m, 1.0, x),
            lambda x, m: torch.where(m, 1.5, x.long()),
            lambda x, m: torch.where(m, 1.5, 2),
            lambda x, m: torch.where(m, 1, 2),
            lambda x, m: torch.where(m[0], x, x.double()),
            lambda x, m: x.masked_fill(m, 2.0),
            lambda x, m: x[0].masked_fill(m, -float("inf")),
            lambda x, m: x.long().masked_fill(m, 3),
            lambda x, m: x.masked_fill(m, torch.tensor(2)),
            *(lambda x, m, d=d: x.tril(d) for d in (-1, 0, 2)),
            *(lambda x, m, d=d: x.triu(d) for d in (-1, 0, 2)),
            lambda x, m: torch.nn.functional.one_hot(x.long(), 12),
        ],
        numbered(3, 4),
        numbered(3, 4) % 3 == 0,
    )


def test_conversions_and_copies() -> None:
    graph = assert_equal(
        [
            lambda x: x.clone(),
            lambda x: x.contiguous(),
            lambda x: x.detach(),
            lambda x: x.to(torch.float64),
            lambda x: x.half(),
            lambda x: x.long(),
            lambda x: x.bool(),
            lambda x: x.float(),
            lambda x: x.to("cpu"),
            lambda x: x.to("cpu", torch.int32),
            lambda x: x.to(torch.zeros(1, dtype=torch.int8)),
            lambda x: x.type_as(torch.zeros(1, dtype=torch.float64)),
        ],
        numbered(2, 3) - 2,
    )
    assert operations(graph).count("cast") == 7


def test_views_of_weights_stay_weights() -> None:
    weight, bias = torch.randn(6, 4), torch.randn(6)

    def projections(x: Any, weight: Any, bias: Any) -> Any:
        query, key, value = weight.chunk(3)
        linear = torch.nn.functional.linear
        return linear(x, query, bias[:2]), linear(x, key, bias[2:4]), linear(x, value, bias[4:]), linear(x, bias.T[:4])

    graph = assert_imports(Call(projections, weight=weight, bias=bias), torch.randn(3, 4))
    assert operations(graph)[:3] == ["linear", "linear", "linear"]
    assert [line.parameters["weight"].part for line in graph.lines[:3]] == [(0, 2), (2, 4), (4, 6)]
    graph = assert_imports(Call(lambda x, w: torch.nn.functional.linear(x, w.t()), w=weight), torch.randn(3, 6))
    assert graph.lines[0].parameters["weight"].transpose
    graph = assert_imports(Call(lambda x, w: x + w[2:4], w=weight), torch.randn(2, 4))
    assert operations(graph)[1:] == ["slice", "add"]


@pytest.mark.parametrize("index", [torch.tensor(1), torch.tensor(2, dtype=torch.int32)])
def test_indices_that_tensors_without_axes_hold(index: Any) -> None:
    def changed(x: Any, i: Any) -> Any:
        x = x.clone()
        x[:, i].mul_(2)
        x[i].add_(1)
        return x

    functions = [lambda x, i: x[:, i], lambda x, i: x[i, i, None, 1:], lambda x, i: x[i.item()], changed]
    assert operations(assert_equal(functions, numbered(3, 4, 4), index)).count("index") == 6
    assert_equal([lambda x, i: x[:, i]], numbered(3, 4, 4), -index)


def test_numbers_of_tensors_that_are_no_indices() -> None:
    for function in (lambda x, i: x[:i], lambda x, i: (x[i], x * i.item())):
        with pytest.raises(NetcalcError, match=r"aten\.item"):
            assert_equal([function], numbered(3, 4), torch.tensor(1))


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x: x.view(torch.int16), "bytes of a tensor"),
        (lambda x: x[x > 2], "depends on (the )?values"),
        (lambda x: x.nonzero(), "depends on (the )?values"),
        (lambda x: x.as_strided((2, 2), (1, 1)), "order of elements in memory"),
    ],
)
def test_refusals(function: Callable[..., Any], reason: str) -> None:
    with pytest.raises((RuleError, NetcalcError), match=reason):
        assert_equal([function], numbered(2, 3))


# -- symbolic sizes ------------------------------------------------------------------------------------


def at(value: Any, sizes: dict[str, int]) -> Any:
    """Return sizes and types with numbers in place of named sizes."""
    if isinstance(value, Poly):
        return value_at(value, sizes)
    if isinstance(value, list | tuple):
        return type(value)(at(item, sizes) for item in value)
    if isinstance(value, TensorType):
        return TensorType(at(value.shape, sizes), value.dtype)
    return value


def assert_equal_at_other_sizes(functions: Sequence[Callable[..., Any]]) -> Graph:
    """Assert that functions of a tensor (batch, length, 8), translated once, equal torch's at several sizes."""
    module = Call(lambda x: [function(x) for function in functions])
    captured = capture(module, (numbered(2, 6, 8),), {}, ["batch", "length"])
    graph = translate(captured.exported, "network", captured.symbols)
    state = {name: array_of(tensor) for name, tensor in captured.exported.constants.items()}
    for batch, length in ((2, 6), (3, 5), (1, 9), (4, 16)):
        sizes = {"batch": batch, "length": length}
        values: dict[int, Any] = {}
        for old in {*graph.inputs.values(), *(output for line in graph.lines for output in line.outputs)}:
            values[id(old)] = Value(at(old.type, sizes))
        known = Graph("network", tensors=graph.tensors)
        known.inputs = {name: values[id(value)] for name, value in graph.inputs.items()}
        known.outputs = {name: values[id(value)] for name, value in graph.outputs.items()}
        for line in graph.lines:
            attributes = {name: at(value, sizes) for name, value in line.attributes.items()}
            ends = [tuple(None if v is None else values[id(v)] for v in part) for part in (line.inputs, line.outputs)]
            known.lines.append(Line(line.operation, attributes, *ends, (), line.parameters))
        x = numbered(batch, length, 8)
        results = evaluate(known, {name: array_of(x) for name in known.inputs}, state)
        leaves = torch.utils._pytree.tree_leaves(module(x))
        for result, leaf in zip(results.values(), leaves, strict=True):
            np.testing.assert_array_equal(result, array_of(leaf))
    return graph


def test_symbolic_sizes() -> None:
    assert_equal_at_other_sizes(
        [
            lambda x: x.view(x.shape[0], x.shape[1], 2, 4),
            lambda x: x.view(-1, 8),
            lambda x: x.view(x.shape[0] * x.shape[1], 2, 4),
            lambda x: x.reshape(x.shape[0], -1),
            lambda x: x.flatten(0, 1).unflatten(0, (x.shape[0], x.shape[1])),
            lambda x: x.view(-1, 8).view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2),
            lambda x: x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2).reshape(x.shape[0] * 2, x.shape[1], 4),
            lambda x: x.view(x.shape[0], 1, x.shape[1], 8),
            lambda x: x.unsqueeze(1).expand(-1, 3, -1, -1).reshape(x.shape[0] * 3, x.shape[1], 8),
            lambda x: x[:, :1].expand(-1, x.shape[1], -1),
            lambda x: torch.ones(1, 1, 8).expand(x.shape[0], x.shape[1], 8),
            lambda x: x[:, -1],
            lambda x: x[:, -1:],
            lambda x: x[:, :-1],
            lambda x: x[:, 1:],
            lambda x: x[:, ::2],
            lambda x: x[:, : x.shape[1] // 2],
            lambda x: x[:, x.shape[1] // 2 :],
            lambda x: x.narrow(1, 1, x.shape[1] - 1),
            lambda x: x.split([1, x.shape[1] - 1], 1)[1],
            lambda x: torch.cat([x[:, :1], x], 1),
            lambda x: torch.stack([x, x], 2).flatten(1, 2),
            lambda x: x.roll(1, 1),
            lambda x: x.flip(1),
            lambda x: x.repeat(1, 2, 1),
            lambda x: x.repeat_interleave(2, 1),
            lambda x: x.unfold(1, 2, 1),
            lambda x: x.unfold(1, 3, 2),
            lambda x: x[..., 0].unsqueeze(-1).expand(-1, -1, x.shape[1]).diagonal(0, 1, 2),
            lambda x: torch.arange(x.shape[1]),
            lambda x: torch.full((x.shape[0], x.shape[1]), 2.0),
            lambda x: torch.zeros_like(x),
            lambda x: torch.ones(x.shape[1], x.shape[1]).tril(),
            lambda x: torch.where(torch.ones(x.shape[1], 1, dtype=torch.bool), x, 0.0),
            lambda x: x[torch.arange(x.shape[0]), -1],
            lambda x: x.clone().index_put_([torch.arange(x.shape[0])[:, None], torch.tensor([0])], torch.tensor(1.0)),
            lambda x: x.gather(1, torch.zeros(x.shape[0], 1, 8, dtype=torch.int64)),
        ]
    )


def test_symbolic_sizes_are_not_named_where_they_pass_through() -> None:
    heads = assert_equal_at_other_sizes([lambda x: x.view(x.shape[0], x.shape[1], 2, 4).transpose(1, 2)])
    assert [line.attributes for line in heads.lines] == [{"axis": 2, "sizes": [2, -1]}, {"axes": [1, 2]}]
    joined = assert_equal_at_other_sizes([lambda x: x.transpose(1, 2).reshape(x.shape[0], -1)])
    assert [line.attributes for line in joined.lines] == [{"axes": [1, 2]}, {}]


def test_assignments_at_symbolic_sizes() -> None:
    def assigned(x: Any) -> Any:
        x = x.clone()
        x[:, 0] = 0
        x[:, -1:, 2:].add_(1)
        x[..., ::2] = x[..., 1::2]
        shifted = x.new_zeros(x.shape)
        shifted[:, 1:] = x[:, :-1]
        shifted[:, 0] = 5
        return x, shifted

    assert_equal_at_other_sizes([assigned])


# -- look-up and replacement ---------------------------------------------------------------------------


def test_look_up() -> None:
    i, j = torch.tensor([[0, 2], [1, -1]]), torch.tensor([3, 0])
    assert_equal(
        [
            lambda x, i, j: x[j - 3],
            lambda x, i, j: x[:, j],
            lambda x, i, j: x[..., j],
            lambda x, i, j: x[i, j],
            lambda x, i, j: x[i, :, j],
            lambda x, i, j: x[:, i, j],
            lambda x, i, j: x[:, j, None, :2],
            lambda x, i, j: x[[0, 2]],
            lambda x, i, j: x[:, [[1], [2]], [0, -1]],
            lambda x, i, j: x[torch.arange(3), -1],
            lambda x, i, j: x.index_select(1, j),
            lambda x, i, j: x.gather(2, x[:1, :1].long()),
            lambda x, i, j: x.take_along_dim(x[:1, :1].long(), 2),
            lambda x, i, j: x.take_along_dim(torch.tensor([[[1], [2], [0], [3]]]), -1),
            lambda x, i, j: x.take_along_dim(j),
            lambda x, i, j: x.take(i + 1),
        ],
        numbered(3, 4, 5),
        i,
        j,
    )


def test_a_table_that_is_looked_up_by_a_buffer() -> None:
    table, index = torch.randn(9, 2), torch.arange(16).reshape(4, 4) % 9
    graph = assert_imports(
        Call(lambda x, t, i: x + t[i.view(-1)].view(4, 4, 2), t=table, i=index), torch.randn(4, 4, 2)
    )
    assert operations(graph)[-3:] == ["index", "unflatten", "add"]


def test_places_in_sorted_sequences() -> None:
    bounds, order = torch.tensor([1.0, 3.0, 3.0, 8.0]), torch.tensor([2, 0, 1, 3])
    assert_equal(
        [
            lambda x, b, o: torch.bucketize(x, b),
            lambda x, b, o: torch.bucketize(x, b, right=True, out_int32=True),
            lambda x, b, o: torch.searchsorted(b, x, side="right"),
            lambda x, b, o: torch.searchsorted(x, x * 1.2),
            lambda x, b, o: torch.searchsorted(b[[1, 2, 0, 3]], x, sorter=o),
            lambda x, b, o: torch.bucketize(torch.where(x > 3, float("nan"), x), b),
        ],
        numbered(3, 4),
        bounds,
        order,
    )


def test_elements_of_a_set() -> None:
    assert_equal(
        [
            lambda x, b: torch.isin(x, b),
            lambda x, b: torch.isin(x, b.reshape(2, 2), invert=True, assume_unique=True),
            lambda x, b: torch.isin(x, b.double()),
            lambda x, b: torch.isin(x, 3),
            lambda x, b: torch.isin(x[0, 0], b),
            lambda x, b: torch.isin(x, b[:0]),
            lambda x, b: torch.isin(3, b, invert=True),
        ],
        numbered(3, 4),
        torch.tensor([1.0, 3.0, 3.0, 8.0]),
    )


INDICES = torch.tensor(0), torch.tensor([0])
TENSORS = torch.tensor(2.0), torch.arange(3.0), torch.tensor([1.0])


@pytest.mark.parametrize("index", INDICES, ids=["scalar", "vector"])
@pytest.mark.parametrize("x", TENSORS[:2], ids=["scalar", "vector"])
def test_scalars_among_vectors(x: Any, index: Any) -> None:
    assert_equal(
        [
            lambda x, i: x.gather(0, i),
            lambda x, i: x.index_select(0, i),
            lambda x, i: x.index_fill(0, i, 0.5),
            lambda x, i: x.scatter(0, i, 0.5),
            lambda x, i: x.index_copy(0, i, TENSORS[2]),
            *(lambda x, i, s=s: x.scatter(0, i, s) for s in TENSORS),
            *(lambda x, i, s=s: x.scatter_add(0, i, s) for s in TENSORS),
            *(lambda x, i, s=s: x.scatter_reduce(0, i, s, "mean", include_self=False) for s in TENSORS),
        ],
        x,
        index,
    )


def test_replacement() -> None:
    j = torch.tensor([3, 0])
    assert_equal(
        [
            lambda x, j: x.index_put([j - 3], torch.tensor(5.0)),
            lambda x, j: x.index_put([j - 1, j], x[0, :2] + 50),
            lambda x, j: x.index_put([torch.tensor([1, 1])], torch.ones(5), accumulate=True),
            lambda x, j: x.index_put([x > 7], torch.tensor(0.5)),
            lambda x, j: x.index_put([x[:, 0] > 7], torch.tensor([0.0, 1, 2, 3, 4])),
            lambda x, j: x.index_copy(1, j, x[:, :2]),
            lambda x, j: x.index_add(1, torch.tensor([2, 2]), x[:, :2]),
            lambda x, j: x.index_add(0, torch.tensor([1]), x[:1], alpha=2),
            lambda x, j: x.index_fill(1, j, -3),
            lambda x, j: x.scatter(1, j[None], x[:, 1:3]),
            lambda x, j: x.scatter(1, j[None], 7),
            lambda x, j: x.scatter(1, j[None], x, reduce="add"),
            lambda x, j: x.scatter_add(0, torch.zeros(2, 5, dtype=torch.int64), x),
            *(
                lambda x, j, r=r: x.scatter_reduce(1, torch.zeros(4, 5, dtype=torch.int64), x, r)
                for r in ("sum", "prod", "amax", "amin", "mean")
            ),
            *(
                lambda x, j, r=r: (x - 9).scatter_reduce(1, torch.tensor([[0, 3], [4, 4]]), x, r, include_self=False)
                for r in ("sum", "prod", "amax", "amin", "mean")
            ),
            lambda x, j: x.masked_scatter(x > 4, -x),
            lambda x, j: torch.slice_scatter(x, x[:2] + 9, 0, 1, 3),
            lambda x, j: torch.slice_scatter(x, x[:, :2] + 9, 1, 0, 4, 2),
            lambda x, j: torch.select_scatter(x, x[0] + 9, 0, -1),
            *(lambda x, j, o=o: x.diagonal_scatter(x.diagonal(o) + 9, o) for o in (-1, 0, 2)),
            *(lambda x, j, o=o: torch.diag_embed(x, o) for o in (-1, 0, 2)),
            lambda x, j: torch.diag_embed(x, 0, 0, 2),
            lambda x, j: torch.diag_embed(x, 1, -1, 0),
            lambda x, j: torch.diag(x[0], 1),
            lambda x, j: torch.diag(x, -1),
            lambda x, j: x.clone().fill_diagonal_(2),
            lambda x, j: x.put(j, x[0, :2] + 9),
            lambda x, j: x.clone().put_(j, x[0, :2] + 9, accumulate=True),
        ],
        numbered(4, 5),
        j,
    )

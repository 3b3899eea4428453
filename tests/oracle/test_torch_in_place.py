"""In-place operators, and views of the tensors that they change, translated and compared with PyTorch."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from netcalc.formats.graph.model import Graph
from tests.oracle.torch_modules import Call, assert_imports, operations

torch = pytest.importorskip("torch")


def numbered(*shape: int) -> Any:
    return torch.from_numpy(np.arange(int(np.prod(shape))).reshape(shape).astype("float32")) - 5


def assert_equal(function: Callable[..., Any], *tensors: Any) -> Graph:
    """Assert that a function, which may change a copy of its arguments, gives exactly what it gives in torch."""
    return assert_imports(Call(lambda *args: function(*(x.clone() for x in args))), *tensors, tolerance=0.0)


def all_of(*results: Any) -> Any:
    return results


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.relu_(),
        lambda x: x.add_(2),
        lambda x: x.copy_(torch.ones(4)),
        lambda x: x.fill_(3),
        lambda x: x.fill_(torch.tensor(2)),
        lambda x: x.zero_(),
        lambda x: x.masked_fill_(torch.ones(3, 4, dtype=torch.bool).triu(), 0.5),
        lambda x: x.index_put_([torch.tensor([0, 2])], torch.tensor(7.0)),
        lambda x: x.scatter_(1, torch.tensor([[0], [3]]), 9.0),
        lambda x: x.index_add_(0, torch.tensor([2, 2]), torch.ones(2, 4)),
    ],
)
def test_a_change_is_seen_by_all_names_and_views(change: Callable[[Any], Any]) -> None:
    def function(x: Any) -> Any:
        view = x.view(2, 6)
        row, part, turned = x[1], x[:, 1:3], x.t()
        copy = x.clone()
        flat = turned.reshape(-1)  # not a view
        changed = change(x)
        return all_of(x, view, row, part, turned, copy, flat, x if changed is None else changed, x.flatten())

    assert_equal(function, numbered(3, 4))


VIEWS: dict[str, Callable[[Any], Any]] = {
    "select": lambda x: x[:, 1],
    "negative select": lambda x: x[..., -1],
    "slice": lambda x: x[:, 1:3],
    "open slice": lambda x: x[1:],
    "step": lambda x: x[..., ::2],
    "step from one": lambda x: x[:, 1::2],
    "narrow": lambda x: x.narrow(0, 1, 1),
    "empty": lambda x: x[:, 2:2],
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(2, 6, 2),
    "flatten": lambda x: x.flatten(1),
    "unflatten": lambda x: x.unflatten(2, (1, 2)),
    "transpose": lambda x: x.transpose(0, 2),
    "permute": lambda x: x.permute(2, 0, 1),
    "movedim": lambda x: x.movedim(0, 1),
    "mT": lambda x: x.mT,
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[:, :1].squeeze(1),
    "chunk": lambda x: x.chunk(2, 1)[1],
    "split": lambda x: x.split([1, 3], 1)[0],
    "unbind": lambda x: x.unbind(1)[2],
    "diagonal": lambda x: x.diagonal(0, 0, 1),
    "lower diagonal": lambda x: x.diagonal(-1, 1, 2),
    "detach": lambda x: x.detach(),
    "same type": lambda x: x.to(torch.float32),
    "other type": lambda x: x.to(torch.float64),
    "contiguous": lambda x: x.contiguous(),
    "copied": lambda x: x.mT.contiguous(),
    "no dropout": lambda x: torch.nn.functional.dropout(x, 0.0, False),
    "expanded": lambda x: x.expand(3, 4, 2),
    "broadcast": lambda x: torch.broadcast_tensors(x[:1, :1], x)[1],
}
READ_ONLY: dict[str, Callable[[Any], Any]] = {
    "meshgrid": lambda x: torch.meshgrid(x[0, 0], x[0, 1])[0].mT,
    "broadcast": lambda x: torch.broadcast_tensors(x, x[:1])[1],
    "einsum": lambda x: torch.einsum("abc->cab", x),
    "product": lambda x: torch.einsum("abc,abc->ab", x, x),
}


@pytest.mark.parametrize("name", READ_ONLY)
def test_a_view_sees_a_change(name: str) -> None:
    def function(x: Any) -> Any:
        view = READ_ONLY[name](x)
        x.mul_(2)
        return view

    assert_equal(function, numbered(3, 4, 2))


@pytest.mark.parametrize("name", VIEWS)
def test_a_change_of_a_view(name: str) -> None:
    view = VIEWS[name]

    def function(x: Any) -> Any:
        first, before = view(x), x[0]
        first.add_(100)
        after = view(x)
        first.relu_()
        return all_of(x, first, before, after)

    assert_equal(function, numbered(3, 4, 2))


def chain(seed: int) -> list[tuple[int, str, int | None]]:
    """Return drawn views of views: what is viewed, the view, and what is changed after that."""
    rng = random.Random(seed)
    names = [name for name in VIEWS if "diagonal" not in name and "type" not in name]
    known, steps = [numbered(3, 4, 2)], []
    while len(known) < 10:
        source, name = rng.randrange(len(known)), rng.choice(names)
        try:
            known.append(VIEWS[name](known[source]))
        except (RuntimeError, IndexError, ValueError):
            continue
        steps.append((source, name, rng.randrange(len(known)) if rng.random() < 0.6 else None))
    return steps


@pytest.mark.parametrize("seed", range(20))
def test_drawn_chains_of_views(seed: int) -> None:
    steps = chain(seed)

    def function(x: Any) -> Any:
        known = [x]
        for source, name, changed in steps:
            known.append(VIEWS[name](known[source]))
            if changed is not None and changed % 2:
                known[changed].add_(len(known))
            elif changed is not None:
                known[changed].copy_(known[changed].flip(0) if known[changed].dim() else known[changed])
        return known

    assert_equal(function, numbered(3, 4, 2))


def test_assignments() -> None:
    def function(x: Any, mask: Any) -> Any:
        x[:, 0] = 0
        x[..., -1] = torch.tensor([1.0, 2.0, 3.0])
        x[1, 1:3] += 10
        x[mask] = 4
        x[:, [0, 2]] = 5
        x[[0, 1], [2, 3]] = torch.tensor([6.0, 7.0])
        x[:, 1:][mask[:, 1:]] = 8
        return x

    assert_equal(function, numbered(3, 4), numbered(3, 4) > 2)


def test_changes_of_the_shape_in_place() -> None:
    def function(x: Any) -> Any:
        y = x.unsqueeze_(0)
        z = y.transpose_(1, 2)
        z.add_(1)
        return all_of(x, y, z, y.squeeze_(0))

    assert_equal(function, numbered(3, 4))


def test_changes_inside_a_subgraph() -> None:
    def function(x: Any) -> Any:
        part = x[:, :2]
        with torch.no_grad():
            part.add_(1)
            y = x.t()
        y.relu_()
        return all_of(x, part, y)

    assert_equal(function, numbered(3, 4))


def test_the_result_keeps_the_element_type() -> None:
    assert_equal(lambda x: x.copy_(torch.tensor([1, 2])), numbered(3, 2))
    assert_equal(lambda x: x.add_(torch.ones(2, dtype=torch.float64)), numbered(3, 2))


def test_parts_that_are_written_one_after_the_other_are_joined() -> None:
    def function(a: Any, b: Any) -> Any:
        x = a.new_empty(3, 6)
        x[:, :2] = a
        x[:, 2:] = b
        return x

    graph = assert_equal(function, numbered(3, 2), numbered(3, 4))
    last = graph.lines[-1]
    assert (last.operation, last.inputs) == ("concat", tuple(graph.inputs.values()))


def test_a_residual_network_pays_nothing() -> None:
    def function(x: Any) -> Any:
        y = torch.nn.functional.relu(x + 1, inplace=True)
        y += x
        return y.relu_().flatten(1)

    graph = assert_equal(function, numbered(2, 3, 4))
    assert operations(graph) == ["add", "relu", "add", "relu", "flatten"]

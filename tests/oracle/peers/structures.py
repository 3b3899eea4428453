"""Modules that are put together in unusual ways: shared, nested and repeated children, arguments and results."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn import functional as F  # noqa: N812

from tests.oracle.peers.registry import case, floats, integers, layer

# -- children ---------------------------------------------------------------------------------------
layer(
    "nested sequences", lambda: nn.Sequential(nn.Sequential(nn.Linear(8, 8), nn.ReLU()), nn.Linear(8, 4)), floats(2, 8)
)
layer(
    "sequence with names",
    lambda: nn.Sequential(OrderedDict(up=nn.Linear(8, 16), act=nn.GELU(), down=nn.Linear(16, 8))),
    floats(2, 8),
)
layer("equal layers in a row", lambda: nn.Sequential(*(nn.Linear(8, 8) for _ in range(5))), floats(2, 8))


@case(floats(2, 8))
class CalledThreeTimes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.fc(torch.tanh(self.fc(torch.relu(self.fc(x)))))


@case(floats(2, 8), floats(2, 3, 8))
class CalledOnTwoShapes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, x: Any, y: Any) -> Any:
        return self.fc(x)[:, None] + self.fc(y)


@case(floats(2, 8))
def one_layer_at_several_places() -> Any:
    shared = nn.Linear(8, 8)
    return nn.Sequential(shared, nn.ReLU(), shared, nn.ReLU(), shared)


@case(floats(2, 8))
def one_activation_for_all() -> Any:
    relu = nn.ReLU()
    return nn.Sequential(nn.Linear(8, 6), relu, nn.Linear(6, 4), relu)


@case(floats(2, 8))
class SharedByTwoParents(nn.Module):
    """Two branches that end in the same head."""

    def __init__(self) -> None:
        super().__init__()
        head = nn.Linear(4, 3)
        self.left = nn.Sequential(nn.Linear(8, 4), head)
        self.right = nn.Sequential(nn.Linear(8, 4), nn.Tanh(), head)

    def forward(self, x: Any) -> Any:
        return self.left(x) * self.right(x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Linear(8, 8)
        self.out = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.out(self.emb(x).relu())


@case(floats(2, 8))
class ChildCalledFromOutside(nn.Module):
    """A layer called inside its parent and directly."""

    def __init__(self) -> None:
        super().__init__()
        self.enc = Encoder()

    def forward(self, x: Any) -> Any:
        return self.enc(x) + self.enc.emb(x)


@case(floats(2, 8))
class SequenceByPart(nn.Module):
    """Slices of a sequence, its layers one by one, and the whole of it."""

    def __init__(self) -> None:
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 8))

    def forward(self, x: Any) -> Any:
        y = self.seq(self.seq[:2](x))
        for part in self.seq:
            y = part(y)
        return y


@case(floats(2, 8))
class IndexedChildren(nn.Module):
    """Layers of a ``ModuleList`` in another order than that of the list."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8, bias=False), nn.Linear(8, 8)])

    def forward(self, x: Any) -> Any:
        for index in (2, 0, 1, 0):
            x = self.layers[index](x).sin()
        return x


@case(floats(2, 8), "wide")
class ModuleDict(nn.Module):
    """A layer chosen by a string; the others are not used."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({"wide": nn.Linear(8, 16), "narrow": nn.Linear(8, 2)})

    def forward(self, x: Any, head: str) -> Any:
        return self.heads[head](x)


@case(floats(2, 8))
class UnusedChildren(nn.Module):
    """Layers and parameters that ``forward`` does not use count as parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(8, 8)
        self.unused = nn.Linear(8, 100)
        self.scale = nn.Parameter(torch.ones(3))

    def forward(self, x: Any) -> Any:
        return self.used(x)


@case(floats(2, 8))
class ListOfLayers(nn.Module):
    """Layers in a plain list, which PyTorch does not register: no parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(8, 8), nn.Linear(8, 4)]

    def forward(self, x: Any) -> Any:
        for part in self.layers:
            x = part(x)
        return x


@case(floats(2, 8))
class LayerMadeInForward(nn.Module):
    """A weight made in ``forward``, as a constant."""

    def forward(self, x: Any) -> Any:
        return F.linear(x, torch.ones(3, x.shape[-1]), torch.zeros(3))


@case(floats(2, 8))
class NamesThatCollide(nn.Module):
    """Children called as operations of netcalc and as values that they would give."""

    def __init__(self) -> None:
        super().__init__()
        self.add = nn.Linear(8, 8)
        self.sum = nn.Linear(8, 8)
        self.relu = nn.ReLU()

    def forward(self, x: Any) -> Any:
        y = self.relu(self.sum(x) + self.add(x))
        return torch.relu(y + y.sum(-1, keepdim=True)) + self.relu(x)


@case(floats(2, 8), floats(2, 8))
class InputsNamedAsChildren(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(8, 8)
        self.key = nn.Linear(8, 8)

    def forward(self, query: Any, key: Any) -> Any:
        return self.query(query) * self.key(key) + query + key


@case(floats(2, 8))
class Inherited(Encoder):
    """A parent whose ``forward`` is called by the class that extends it."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(8, 2)

    def forward(self, x: Any) -> Any:
        return self.head(super().forward(x))


@case(floats(2, 8))
class OtherMethods(nn.Module):
    """Work in methods other than ``forward``, and a child called by another method."""

    def __init__(self) -> None:
        super().__init__()
        self.enc = Encoder()

    def encode(self, x: Any) -> Any:
        return self.enc.out(self.enc.emb(x))

    def forward(self, x: Any) -> Any:
        return self.encode(x) + self.encode(x + 1)


@case(floats(2, 8))
class Recursion(nn.Module):
    """A binary tree of modules."""

    def __init__(self, depth: int = 2) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.left = Recursion(depth - 1) if depth else None
        self.right = Recursion(depth - 1) if depth else None

    def forward(self, x: Any) -> Any:
        x = self.fc(x)
        return x if self.left is None or self.right is None else self.left(x) + self.right(x)


@case(floats(2, 8))
class CallsItself(nn.Module):
    """A module that is applied to its own result."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any, depth: int = 2) -> Any:
        x = torch.tanh(self.fc(x))
        return self(x, depth - 1) if depth else x


class Wrapped(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.inner(*args, **kwargs)


layer("wrapped in wrappers", lambda: Wrapped(Wrapped(Wrapped(nn.Linear(8, 8)))), floats(2, 8))
layer("wrapper that passes keywords on", lambda: Wrapped(nn.Bilinear(4, 4, 2)), floats(2, 4), input2=floats(2, 4))


class Residual(nn.Module):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Any) -> Any:
        return x + self.inner(x)


layer("residuals in residuals", lambda: Residual(nn.Sequential(Residual(nn.Linear(8, 8)), nn.ReLU())), floats(2, 8))
layer(
    "lambdas as layers",
    lambda: nn.Sequential(nn.Linear(8, 8), Function(torch.sin), Function(torch.square)),
    floats(2, 8),
)


class Function(nn.Module):
    """A function as a module."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


@case(floats(2, 8))
class ActivationByName(nn.Module):
    """A function taken from ``torch.nn.functional`` by its name."""

    def __init__(self, name: str = "gelu") -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)
        self.act = getattr(F, name)

    def forward(self, x: Any) -> Any:
        return self.act(self.fc(x))


@case(floats(2, 8))
def forward_hooks() -> Any:
    """Hooks that change arguments and results of a layer."""
    module = nn.Linear(8, 8)
    module.register_forward_pre_hook(lambda _, args: (args[0] * 2,))
    module.register_forward_hook(lambda _, args, result: result + args[0])
    return module


@case(floats(2, 8))
class HookThatCollects(nn.Module):
    """Results of inner layers, collected by hooks and returned."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4))
        self.features: list[Any] = []
        self.body[1].register_forward_hook(lambda _, args, result: self.features.append(result))

    def forward(self, x: Any) -> Any:
        self.features.clear()
        y = self.body(x)
        return y, self.features[0]


# -- control flow on values of Python ---------------------------------------------------------------


@case(floats(2, 8), True, scale=3)
class Conditions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 4)

    def forward(self, x: Any, first: bool, scale: int = 1, mask: Any = None) -> Any:
        x = (self.a if first else self.b)(x) * scale
        return x if mask is None else x * mask


@case(floats(2, 8))
class ConditionOnShapeAndMode(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        if self.training:
            x = x + torch.randn_like(x)
        return self.fc(x) if x.shape[0] < 3 else x


@case(floats(2, 8), 4)
class Loop(nn.Module):
    """As many iterations of one layer as the call says."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any, times: int) -> Any:
        for step in range(times):
            x = torch.tanh(self.fc(x)) + step
        return x


@case(floats(5, 2, 8))
class LoopOverAnAxis(nn.Module):
    """An iteration over the first axis of a tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return torch.stack([self.fc(row) * number for number, row in enumerate(x)])


@case(floats(2, 8), floats(2, 8))
class LoopWithState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inp, self.rec = nn.Linear(8, 8), nn.Linear(8, 8, bias=False)

    def forward(self, x: Any, state: Any) -> Any:
        states = []
        while len(states) < 3:
            state = torch.tanh(self.inp(x) + self.rec(state))
            states.append(state)
        return torch.stack(states, 1), state


@case(floats(2, 8))
class EarlyExits(nn.Module):
    """A result after each stage, which the next one goes on from."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
        self.exits = nn.ModuleList(nn.Linear(8, 2) for _ in range(3))

    def forward(self, x: Any) -> Any:
        results = []
        for stage, head in zip(self.stages, self.exits, strict=True):
            x = F.relu(stage(x))
            results.append(head(x))
        return results


# -- arguments and results --------------------------------------------------------------------------


class Pair(NamedTuple):
    mean: Any
    spread: Any


@dataclass
class Result:
    logits: Any
    hidden: Any = None


class Batch:
    """A class that PyTorch does not know."""

    def __init__(self, features: Any, weight: float) -> None:
        self.features, self.weight = features, weight


@case({"a": floats(2, 8), "b": floats(2, 4)})
class DictInDictOut(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 3), nn.Linear(4, 3)

    def forward(self, inputs: Mapping[str, Any]) -> Any:
        a, b = self.a(inputs["a"]), self.b(inputs["b"])
        return {"sum": a + b, "parts": {"a": a, "b": b}}


@case([floats(2, 8), (floats(2, 8), floats(2, 8))])
class NestedLists(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, inputs: Any) -> Any:
        first, (second, third) = inputs
        return [self.fc(first), (self.fc(second), [self.fc(third)])]


@case(Pair(floats(2, 8), floats(2, 8)))
class NamedTuples(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, pair: Pair) -> Any:
        return Pair(self.fc(pair.mean), self.fc(pair.spread).exp())


@case(floats(2, 8))
class DataclassResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.head = nn.Linear(8, 6), nn.Linear(6, 3)

    def forward(self, x: Any) -> Any:
        hidden = self.fc(x).relu()
        return Result(self.head(hidden), [hidden])


@case(Batch(floats(2, 8), 0.5))
class ObjectArgument(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, batch: Batch) -> Any:
        return self.fc(batch.features) * batch.weight


@case(floats(2, 8), floats(2, 8), floats(2, 8))
class AnyNumberOfInputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, *inputs: Any) -> Any:
        return sum(self.fc(x) for x in inputs)


@case(query=floats(2, 8), value=floats(2, 8))
class KeywordsOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, *, value: Any, query: Any, bias: Any = None) -> Any:
        return self.fc(query * value) if bias is None else bias


@case(floats(2, 8))
class OptionalResults(nn.Module):
    """Results that are None, numbers and strings beside tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        return {"logits": self.fc(x), "loss": None, "layers": 1}


@case(floats(2, 8), floats(2, 8))
class ReturnsInputs(nn.Module):
    """An input that is returned as it is, beside a result."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x: Any, y: Any) -> Any:
        return y, self.fc(x), x


@case(floats(2, 8))
class SameResultTwice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        return y, y, (y,)


@case(floats(2, 8))
class ReturnsParameter(nn.Module):
    """A parameter as a result, as an embedding of classes is."""

    def __init__(self) -> None:
        super().__init__()
        self.classes = nn.Parameter(torch.zeros(5, 8))

    def forward(self, x: Any) -> Any:
        return x @ self.classes.T, self.classes


layer("module that does nothing", nn.Identity, floats(2, 8))
layer("empty sequence", nn.Sequential, floats(2, 8))


@case(floats(2, 8))
class Generator(nn.Module):
    """Layers given by a generator, results by a comprehension."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(8, size) for size in (1, 2, 3))

    def outputs(self, x: Any) -> Any:
        yield from (head(x) for head in self.heads)

    def forward(self, x: Any) -> Any:
        return torch.cat([*self.outputs(x)], 1), dict(enumerate(self.outputs(x * 2)))


@case(integers(10, 2, 5), floats(2, 5, 4), integers(2, 2, 5).bool())
class InputsOfThreeTypes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(10, 4)

    def forward(self, ids: Any, features: Any, mask: Any) -> Any:
        x = self.emb(ids) + features
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)


@case(torch.tensor(3.0), floats(2, 8))
class ScalarInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, temperature: Any, x: Any) -> Any:
        return torch.softmax(self.fc(x) / temperature, -1)


# -- branches that are not returned -----------------------------------------------------------------


@case(floats(2, 8))
class DeadBranch(nn.Module):
    """A head that is computed and not returned."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.auxiliary = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        x = self.fc(x)
        self.auxiliary(x)
        return x


@case(floats(2, 8))
class ResultThatIsOverwritten(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        y = self.fc(x)
        y = y.fill_(2.0)
        return x + y


@case(floats(2, 8))
class Frozen(nn.Module):
    """A backbone without gradients, by ``requires_grad`` and by ``no_grad``."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(8, 8).requires_grad_(False)
        self.body, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: Any) -> Any:
        x = self.stem(x)
        with torch.no_grad():
            x = self.body(x).relu()
        return self.head(x)


@case(floats(2, 8))
class StopGradient(nn.Module):
    """A branch that is detached."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.b(x) - self.a(x).detach()


@case(floats(2, 8))
class AutocastRegion(nn.Module):
    """A layer in bfloat16, and one outside of the region."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            x = self.a(x)
        return self.b(x.float())


@case(floats(2, 8))
class Checkpointed(nn.Module):
    """A part that ``torch.utils.checkpoint`` computes again."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return torch.utils.checkpoint.checkpoint(lambda y: self.fc(y).tanh(), x, use_reentrant=False)


@case(floats(2, 8).bfloat16())
def half_precision() -> Any:
    return nn.Sequential(nn.Linear(8, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2)).bfloat16()


@case(floats(2, 8))
class MixedTypes(nn.Module):
    """A layer in float64 between ones in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8).double()

    def forward(self, x: Any) -> Any:
        return self.b(self.a(x).double()).to(torch.float32)

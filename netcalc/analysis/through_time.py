"""Memory and work of ways to learn through time, for a recurrent layer, as formulas in its length and width.

*Full* backpropagation through time keeps what all steps need for the backward pass.  *Truncated* backpropagation goes
back over a window of steps, and updates after each.  *Real-time recurrent learning* keeps no steps: it carries the
derivatives of the state by all parameters forward, and has a gradient after each step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.analysis.working import Section, number_text
from netcalc.dims import Dim, integer, product, substitute, symbol
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import OpNode, Value
from netcalc.ir.build import build_node
from netcalc.opdef import Context, Term, WorkingLine
from netcalc.ops.backward import BackwardCall, declaration
from netcalc.tensor_type import TensorType

#: The layers that are explained.
RECURRENT = frozenset({"rnn", "lstm", "gru"})
_SOURCES = {
    "full": "Werbos 1990, doi:10.1109/5.58337; as netcalc's tape keeps and computes it",
    "truncated": "Williams and Peng 1990, doi:10.1162/neco.1990.2.4.490, with as many steps forward as back",
    "real-time": "Williams and Zipser 1989, doi:10.1162/neco.1989.1.2.270, with dense derivatives of all parameters",
}


class Learning(NamedTuple):
    """A way to learn: elements that it keeps and multiply-adds of its gradients, as formulas and numbers."""

    name: str
    kept: Dim
    """Elements that are kept at a time, parameters and their gradients not counted, in symbols."""
    macs: Dim
    """Multiply-adds of all gradients of a sequence, the forward pass not counted, in symbols."""
    sizes: Mapping[str, int]
    """Values of the symbols."""
    itemsize: int

    @property
    def elements(self) -> int:
        """Elements that are kept at a time."""
        return integer(substitute(self.kept, self.sizes))

    @property
    def bytes(self) -> int:
        """Bytes of what is kept."""
        return self.elements * self.itemsize

    @property
    def work(self) -> int:
        """Multiply-adds of all gradients of a sequence."""
        return integer(substitute(self.macs, self.sizes))


def ways_to_learn(node: OpNode, window: int) -> tuple[Learning, ...]:
    """Return full and truncated backpropagation through time, and real-time recurrent learning of a recurrent layer.

    Symbols are T for the length, B for the batch, m and n for the features of input and state, and k for the window.
    A window that is longer than the sequence is as long as it.  A layer that reads its input in both directions has no
    real-time recurrent learning, as its states depend on later steps.

    Raises:
        UndecidedError: E404 if a size is symbolic.
    """
    op: Any = node.op
    x = node.input_types[0]
    assert x is not None
    rank, first = len(x.shape), op.batch_first
    steps, batch = (x.shape[0], 1) if rank == 2 else (x.shape[1], x.shape[0]) if first else x.shape[:2]
    length = integer(steps)
    sizes = {"T": length, "B": integer(batch), "m": integer(x.shape[-1]), "n": integer(op.hidden)}
    sizes["k"] = min(window, length)
    symbolic, call = _in_symbols(op, x, rank)
    declared = declaration(op)
    assert declared is not None
    saved = declared.saves(symbolic.op, call)
    kept: Dim = sum((tensor.type.elements for tensor in saved if tensor.kind != "parameter"), start=0)
    macs = _macs(declared.cost(symbolic.op, call))
    itemsize = ITEMSIZE[x.dtype]
    ways = [Learning("full", kept, macs, sizes, itemsize), _truncated(kept, macs, sizes, itemsize)]
    if op.directions == 1:
        ways.append(_real_time(symbolic, sizes, itemsize))
    return tuple(ways)


def learning_sections(node: OpNode, window: int) -> Iterator[Section]:
    """Yield a section for each way to learn through time, and none for what is no recurrent layer."""
    if node.op.name not in RECURRENT:
        return
    for way in ways_to_learn(node, window):
        name = "real-time recurrent learning" if way.name == "real-time" else f"{way.name} backpropagation through time"
        used = sorted({*_names(way.kept), *_names(way.macs)})
        sizes = ", ".join(f"{symbol} = {number_text(way.sizes[symbol])}" for symbol in used)
        yield Section(
            name,
            (
                WorkingLine("sizes", sizes, "", ""),
                WorkingLine("kept: elements", number_text(way.kept), "", way.elements),
                WorkingLine("kept: bytes", "", f"{number_text(way.elements)}·{way.itemsize}", way.bytes),
                WorkingLine("gradients: multiply-adds", number_text(way.macs), "", way.work),
            ),
            _SOURCES[way.name],
        )


def _truncated(kept: Dim, macs: Dim, sizes: Mapping[str, int], itemsize: int) -> Learning:
    """Return backpropagation over windows of k steps, of which the last may be shorter."""
    windows, rest = divmod(sizes["T"], sizes["k"])
    each = {"T": symbol("k")}
    work = substitute(macs, each) * windows + (substitute(macs, {"T": rest}) if rest else 0)
    return Learning("truncated", substitute(kept, each), work, sizes, itemsize)


def _in_symbols(op: Any, x: TensorType, rank: int) -> tuple[OpNode, BackwardCall]:
    """Return the layer at symbolic sizes, and its backward pass for all parameters and from all steps."""
    length, batch, features = symbol("T"), symbol("B"), symbol("m")
    shape = (
        (length, features) if rank == 2 else (batch, length, features) if op.batch_first else (length, batch, features)
    )
    copied = op.model_copy(update={"hidden": symbol("n")})
    built = build_node(copied, [Value(TensorType(shape, x.dtype), "x")], Context(training=True, dtype=x.dtype), "layer")
    wanted = frozenset(param.name for param in built.params)
    given = (True, *(False,) * (len(built.outputs) - 1))
    return built, BackwardCall(built.input_types, built.output_types, built.params, wanted, given, True)


def _real_time(layer: OpNode, sizes: Mapping[str, int], itemsize: int) -> Learning:
    """Return the derivatives of all states by all parameters, and the products that carry them to the next step.

    A step takes J ← D·J + ∂s/∂θ and the gradient of the loss by the state times J, where D are the derivatives of the
    state by the one before it.
    """
    op: Any = layer.op
    x = layer.input_types[0]
    assert x is not None
    states = op.layers * (op.handed_on + (op.hidden if "c" in op.states else 0))
    parameters: Dim = sum((param.elements for param in layer.params), start=0)
    batch: Dim = symbol("B") if x.rank == 3 else 1
    kept = batch * states * parameters
    macs = symbol("T") * batch * (states * states * parameters + op.layers * op.handed_on * parameters)
    return Learning("real-time", kept, macs, sizes, itemsize)


def _macs(terms: Sequence[Term]) -> Dim:
    work: Dim = 0
    for term in terms:
        if term.kind == "mac":
            work = work + product([size for _, size in term.factors])
    return work


def _names(size: Dim) -> tuple[str, ...]:
    return () if isinstance(size, int) else tuple(name for name in ("T", "B", "m", "n", "k") if name in str(size))

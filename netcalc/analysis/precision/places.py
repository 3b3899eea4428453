"""Kinds of parameters, by which schemes choose what they quantize: linear layers, the head, embeddings, norms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from netcalc.ir import Body, CallNode, OpNode, Program
from netcalc.opdef import Param
from netcalc.schemes.scheme import kinds

_LINEAR = "linear"
_ROUTER = "top_k_router"
_RANK = 2  # of the least that has rows and columns


class Kinds(NamedTuple):
    """The kinds of the parameters of a program; ``head`` is its last linear layer, unless that is repeated."""

    head: OpNode | None
    routers: frozenset[OpNode]  # linear layers whose outputs select experts

    @classmethod
    def of(cls, program: Program) -> Kinds:
        """Return the kinds of a program's parameters."""
        return cls(_last_linear(program.main), frozenset(_routers(program.main, set())))

    def kind(self, node: OpNode, param: Param) -> str:
        """Return the kind of a parameter: ``linear``, ``head``, ``vector`` …"""
        if len(param.shape) < _RANK or _is_bias(param):
            return "vector"
        if node is self.head:
            return "head"
        if node in self.routers:
            return "router"
        if node.op.windowed:
            return "convolution"
        return kinds().get(node.op.name, "other")

    @staticmethod
    def described(kind: str, node: OpNode, param: Param) -> str:
        """Return a kind in words."""
        if kind == "vector":
            return "a bias" if _is_bias(param) else f"one axis ({node.op.name})"
        names = {
            "linear": "a linear layer",
            "head": "the last linear layer",
            "router": "the router of experts",
            "expert": "experts",
            "adapter": "an adapter",
            "convolution": "a convolution",
            "embedding": "an embedding",
            "recurrent": "a recurrent layer",
        }
        return names.get(kind, node.op.name)


def _is_bias(param: Param) -> bool:
    """Return True for a bias, which has two axes if it belongs to several experts."""
    return param.name == "bias" or param.name.startswith("bias_") or param.name.endswith("_bias")


def _last_linear(body: Body) -> OpNode | None:
    """Return the last operation with matrices as parameters if it is a linear layer that is not repeated."""
    for node in reversed(body.nodes):
        if isinstance(node, CallNode):
            last = _last_linear(node.body)
            if last is not None:
                return last if node.times == 1 else None
        elif any(len(param.shape) >= _RANK and not param.is_buffer for param in node.params):
            return node if node.op.name == _LINEAR else None
    return None


def _routers(body: Body, visited: set[Body]) -> Iterator[OpNode]:
    if body in visited:
        return
    visited.add(body)
    made = {value: node for node in body.nodes if isinstance(node, OpNode) for value in node.outputs}
    for node in body.nodes:
        if isinstance(node, CallNode):
            yield from _routers(node.body, visited)
        elif node.op.name == _ROUTER and node.inputs[0] is not None and node.inputs[0] in made:
            yield made[node.inputs[0]]

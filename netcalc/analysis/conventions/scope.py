"""Names in the rules of conventions: work, tensors and attributes of an operation, and its place in a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, cast

from netcalc.analysis.conventions.modules import called_module
from netcalc.analysis.conventions.quantities import Quantities
from netcalc.dims import Dim
from netcalc.dtypes import ITEMSIZE
from netcalc.ir import Body, OpNode, stored_bytes
from netcalc.opdef import Kind, Term
from netcalc.tensor_type import TensorType


class Place(NamedTuple):
    """The place of an operation: the body that it belongs to, and the quantities of its network."""

    body: Body | None = None
    network: Quantities | None = None

    @property
    def block(self) -> str:
        """The name of the block, or of the spec."""
        return "" if self.body is None else self.body.block

    @property
    def block_inputs(self) -> int:
        """The number of inputs that the block is given."""
        return 0 if self.body is None else sum(value is not None for value in self.body.inputs)


class Forward(NamedTuple):
    """The forward pass of an operation as a convention counts it, for rules of its backward pass."""

    macs: Dim
    others: Dim
    flops: Dim

    def members(self) -> Mapping[str, Any]:
        """Return the attributes in expressions."""
        return self._asdict()


class _Attributes:
    """The attributes of an operation, as expressions read them."""

    def __init__(self, op: Any) -> None:
        self._op = op

    def members(self) -> Mapping[str, Any]:
        """Return the attributes by name."""
        return {name: getattr(self._op, name) for name in type(self._op).model_fields}


class _Roles(dict[str, Dim]):
    """Work by role of the term, 0 for a role that there is not."""

    def __missing__(self, role: str) -> Dim:
        return 0


class RuleScope(Mapping[str, Any]):
    """The names that the rules of a convention may refer to, each computed when it is read.

    ``backward`` are the terms of a backward pass that a forward pass prepares, ``forward`` the count of the forward
    pass for a rule of a backward pass.
    """

    __slots__ = ("backward", "by_element", "forward", "node", "place", "terms", "training")

    def __init__(
        self,
        node: OpNode,
        terms: Sequence[Term],
        training: bool,
        by_element: bool,
        backward: Sequence[Term] = (),
        place: Place | None = None,
        forward: Forward | None = None,
    ) -> None:
        self.node = node
        self.terms = terms
        self.training = training
        self.by_element = by_element
        self.backward = backward
        self.place = place or Place()
        self.forward = forward

    def __getitem__(self, name: str) -> Any:
        return NAMES[name](self)

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)

    def count(self, *kinds: Kind) -> Dim:
        """Return the work of these kinds."""
        total: Dim = 0
        for term in self.terms:
            if term.kind in kinds:
                total = total + self.of_term(term)
        return total

    def of_term(self, term: Term) -> Dim:
        """Return the count of a term."""
        return term.count_of_elements if self.by_element else term.count

    def routes(self) -> bool:
        """Return True for an operation whose output chooses among experts."""
        own, body = self.node.outputs, self.place.body
        routers = (
            node
            for node in (() if body is None else body.nodes)
            if isinstance(node, OpNode) and node.op.name == "top_k_router"
        )
        return any(value in own for node in routers for value in node.inputs)

    def after(self) -> str:
        """Return the name of the operation of the same body that makes the first input, or an empty text."""
        body = self.place.body
        for node in () if body is None else body.nodes:
            if isinstance(node, OpNode) and self.node.inputs[0] in node.outputs:
                return node.op.name
        return ""

    def module(self) -> str:
        """Return the class of the module by which the reference calls the operation."""
        return called_module(self.place.block, self.node.op.name)

    def work(self) -> Mapping[str, Dim]:
        """Return the work by role."""
        roles = _Roles()
        for term in self.terms:
            roles[term.role] = roles[term.role] + self.of_term(term)
        return roles

    def mac(self) -> Mapping[str, Dim]:
        """Return the multiply-adds by role."""
        roles = _Roles()
        for term in self.terms:
            if term.kind == "mac":
                roles[term.role] = roles[term.role] + self.of_term(term)
        return roles

    def params(self) -> Mapping[str, TensorType]:
        """Return the types of the parameters by name, tied ones too."""
        return {param.name: TensorType(param.shape) for param in self.node.params if not param.is_buffer}

    def weights(self) -> Dim:
        """Return the elements of all parameters, tied ones too."""
        total: Dim = 0
        for param in self.node.params:
            total = total + (0 if param.is_buffer else param.elements)
        return total

    def own(self) -> Dim:
        """Return the elements of its own parameters, without those that are tied to others."""
        node = self.node
        total: Dim = 0
        for param in node.params:
            total = total + (0 if param.is_buffer or param.name in node.ties else param.elements)
        return total

    def matrices(self) -> Dim:
        """Return the elements of all weights of products, tied ones too: parameters of two axes or more, no biases."""
        total: Dim = 0
        for param in self.node.params:
            is_matrix = not param.is_buffer and len(param.shape) > 1 and "bias" not in param.name
            total = total + (param.elements if is_matrix else 0)
        return total

    def buffers(self) -> Dim:
        """Return the elements of its own buffers."""
        total: Dim = 0
        for param in self.node.params:
            total = total + (param.elements if param.is_buffer and param.name not in self.node.ties else 0)
        return total

    def weight_bytes(self) -> Dim:
        """Return the bytes of all parameters as they are stored, tied ones too."""
        total: Dim = 0
        for param in self.node.params:
            total = total + (0 if param.is_buffer else stored_bytes(param, self.node, self.network().dtype))
        return total

    def float32_bytes(self) -> Dim:
        """Return the bytes of its own parameters and buffers with all floating-point numbers in float32."""
        node, total = self.node, cast("Dim", 0)
        for param in node.params:
            if param.name not in node.ties:
                dtype = param.dtype if param.dtype is not None else "float32"
                total = total + param.elements * (4 if dtype.startswith(("float", "bfloat")) else ITEMSIZE[dtype])
        return total

    def output_bytes(self) -> Dim:
        """Return the bytes of the first output."""
        output = self.node.output_types[0]
        return output.elements * ITEMSIZE[output.dtype]

    def active(self) -> Dim:
        """Return the elements of its own parameters that a token uses, without those that are tied to others."""
        node = self.node
        total: Dim = 0
        for param in node.params:
            if not param.is_buffer and param.name not in node.ties:
                total = total + node.op.active(param, node.input_types)
        return total

    def weight(self) -> TensorType | None:
        """Return the type of the weight, a parameter or an input."""
        own = self.params().get("weight")
        return own if own is not None else self.given().get("weight")

    def given(self) -> Mapping[str, TensorType]:
        """Return the types of the inputs that are present by name."""
        return self.node.op.named(self.node.input_types)

    def network(self) -> Quantities:
        """Return the quantities of the network."""
        assert self.place.network is not None, "rules that read the network are applied to networks"
        return self.place.network


#: Every name of a rule, with the function that computes it.
NAMES: Mapping[str, Callable[[RuleScope], Any]] = {
    "macs": lambda scope: scope.count("mac"),
    "adds": lambda scope: scope.count("add"),
    "muls": lambda scope: scope.count("mul"),
    "divs": lambda scope: scope.count("div"),
    "compares": lambda scope: scope.count("compare"),
    "transcendentals": lambda scope: scope.count("transcendental"),
    "others": lambda scope: scope.count("add", "mul", "div", "compare", "transcendental"),
    "work": RuleScope.work,
    "mac": RuleScope.mac,
    "roles": lambda scope: [term.role for term in scope.terms],
    "inputs": lambda scope: list(scope.node.input_types),
    "outputs": lambda scope: list(scope.node.output_types),
    "input": lambda scope: next(type_ for type_ in scope.node.input_types if type_ is not None),
    "output": lambda scope: scope.node.output_types[0],
    "given": RuleScope.given,
    "params": RuleScope.params,
    "weights": RuleScope.weights,
    "weight": RuleScope.weight,
    "own": RuleScope.own,
    "matrices": RuleScope.matrices,
    "buffers": RuleScope.buffers,
    "active": RuleScope.active,
    "weight_bytes": RuleScope.weight_bytes,
    "float32_bytes": RuleScope.float32_bytes,
    "output_bytes": RuleScope.output_bytes,
    "tied": lambda scope: bool(scope.node.ties),
    "op": lambda scope: _Attributes(scope.node.op),
    "operation": lambda scope: scope.node.op.name,
    "training": lambda scope: scope.training,
    "gradients": lambda scope: [term.role for term in scope.backward],
    "forward": lambda scope: scope.forward,
    "module": RuleScope.module,
    "routes": RuleScope.routes,
    "block": lambda scope: scope.place.block,
    "block_inputs": lambda scope: scope.place.block_inputs,
    "line": lambda scope: scope.node.name,
    "after": RuleScope.after,
    "network": RuleScope.network,
}
#: Names by which a rule reads the place of an operation.
OF_PLACE = frozenset(("module", "routes", "block", "block_inputs", "line", "after"))

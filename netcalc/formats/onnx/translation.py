"""Graphs of ONNX models as graphs of operations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, default_of
from netcalc.dtypes import INTEGERS, ITEMSIZE
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Line, Scope, Stored, StoredTensor, Value, operation_named
from netcalc.formats.onnx.call import Call, Operand, Surroundings
from netcalc.formats.onnx.control_flow import DependsOnDataError, Flow, results_of
from netcalc.formats.onnx.declared import Declared, declared
from netcalc.formats.onnx.elements import MOST_READ, dtype_named
from netcalc.formats.onnx.file import OnnxFile
from netcalc.formats.onnx.folding import folded, folds, sizes_of
from netcalc.formats.onnx.held import Held, Rows, meant, require_fitting
from netcalc.formats.onnx.inputs import Dims, input_type
from netcalc.formats.onnx.known import Known
from netcalc.formats.onnx.messages import Function, GraphProto, Model, Node, TensorProto, subgraphs
from netcalc.formats.onnx.naming import identifier, scopes_of, value_name
from netcalc.formats.onnx.operators import rule_of
from netcalc.formats.onnx.problems import Problems
from netcalc.formats.onnx.quantized_nodes import dequantized_first
from netcalc.opdef import Context
from netcalc.tensor_type import TensorType
from netcalc.weights.stored import reading

#: Deepest nesting of calls of functions, and most nodes after they are inlined.
_DEEPEST, _MOST_NODES = 64, 500_000


class Translation:
    """The translation of one model.

    Attributes:
        build: adds lines to the graph.
        tensors: the stored tensors by their paths in the graph.
        declared: the comparison of declared types with those of the graph, once it is translated.
    """

    def __init__(self, file: OnnxFile, graph: Graph, given: Mapping[str, Known]) -> None:
        self.file = file
        self.model: Model = file.model
        self.build = Builder(graph)
        self.problems = Problems(str(file.path))
        self.tensors: dict[str, Held] = {}
        self.given = given
        self._replaced: set[str] = set()
        self._held: dict[int, Operand] = {}
        self._meant: dict[object, Operand] = {}
        self.declared = Declared()
        self._functions = {(f.domain, f.name, f.overload): f for f in self.model.functions}
        self._nodes = 0

    # -- the graph ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Translate the graph of the model; NetcalcError (E007) with everything that cannot be translated."""
        proto = self.model.graph
        assert proto is not None
        graph = self.build.graph
        env: dict[str, Operand | None] = {}
        if proto.sparse:
            self.problems.add("tensors", "in a sparse form", [name or "?" for name in proto.sparse])
        self._initializers(proto, env)
        dims = Dims(graph)
        for info in proto.inputs:
            if info.name in env:  # an initializer that may be replaced
                continue
            if info.name in self.given:
                env[info.name] = Operand(known=self.given[info.name])
                continue
            try:
                type_ = input_type(info, dims)
            except RuleError as error:
                self.problems.input(info.name, str(error))
                env[info.name] = None
                continue
            if 0 in type_.shape:  # a spec has no such inputs; its elements are known
                env[info.name] = Operand(known=Known(type_.dtype, _plain(type_.shape), ()))
                continue
            name = _free(identifier(info.name, "input"), graph.inputs)
            value = graph.inputs[name] = Value(type_, name)
            env[info.name] = Operand(value)
        if (remark := dims.remark()) is not None:
            graph.notes.append(remark)
        self._walk(proto.nodes, env, self.model.opsets, (), [info.name for info in proto.outputs])
        self.problems.check()
        self._outputs(proto, env)
        self.problems.check()
        self.declared = declared(proto, env)
        used = {stored.path for line in graph.lines for stored in line.parameters.values()}
        for path in self._replaced - used:
            del self.tensors[path], graph.tensors[path]

    def _outputs(self, proto: GraphProto, env: Mapping[str, Operand | None]) -> None:
        graph = self.build.graph
        for info in proto.outputs:
            operand = env.get(info.name)
            if operand is None:
                self.problems.output(info.name)
                continue
            value = operand.materialized(self.build)
            graph.outputs[_free(identifier(info.name, "output"), graph.outputs)] = self.build.read(value)

    def _initializers(self, proto: GraphProto, env: dict[str, Operand | None]) -> None:
        for tensor in proto.initializers:
            if tensor.name in env:
                self.problems.add("tensors", "that are in the file twice", [tensor.name])
            try:
                env[tensor.name] = self._stored(tensor, tensor.name)
            except RuleError as error:
                self.problems.add("tensors", str(error), [tensor.name])
                env[tensor.name] = None

    def _stored(self, tensor: TensorProto, name: str) -> Operand:
        """Return a tensor that the file holds: known elements of a few integers and single numbers, or a parameter.

        A tensor of a function, or of the body of a loop, is the same one each time.
        """
        if (held := self._held.get(id(tensor))) is not None:
            return held
        operand = self._hold(tensor, name)
        if operand.value is not None:
            self._held[id(tensor)] = operand
        return operand

    def _hold(self, tensor: TensorProto, name: str) -> Operand:
        dtype = dtype_named(tensor.kind)
        type_ = TensorType(tensor.shape, dtype)
        count = prod(tensor.shape)
        if not tensor.absent:
            if count <= 1 or (not type_.is_inexact and count <= MOST_READ and not _is_quantized(type_)):
                return Operand(known=self.read(tensor), tensor=tensor)
            with reading(str(self.file.path)):
                self.file.place(tensor)
        path = _free(name or "tensor", self.build.graph.tensors)
        self.tensors[path] = Held(tensor)
        self.build.graph.tensors[path] = StoredTensor(type_, buffer=not type_.is_inexact)
        if not type_.is_inexact:
            self.make_buffer(path)
        return Operand(Value(type_, "", Stored(path)), tensor=tensor)

    def _scaled(self, held: Held) -> Operand:
        """Return what a quantized tensor means: a parameter in place of it and its scales, or the only number."""
        assert held.scaling is not None
        ids = tuple(id(tensor) for tensor in (held.tensor, *held.scaling.tensors))
        key = ids, held.scaling[2:]
        if key in self._meant:
            return self._meant[key]
        require_fitting(held.tensor, held.scaling)
        if prod(held.tensor.shape) == 1 and not held.tensor.absent:
            operand = Operand(known=meant(held, self.read))
        else:
            type_ = TensorType(held.tensor.shape, held.dtype)
            path = _free(held.name or "tensor", self.build.graph.tensors)
            self.tensors[path] = held
            self.build.graph.tensors[path] = StoredTensor(type_)
            operand = Operand(Value(type_, "", Stored(path)))
        for tensor in (held.tensor, *held.scaling.tensors):
            whole = self._held.get(id(tensor))
            if whole is not None and whole.value is not None and whole.value.stored is not None:
                self._replaced.add(whole.value.stored.path)
        self._meant[key] = operand
        return operand

    def make_buffer(self, path: str) -> None:
        """Make a stored tensor a buffer, whose values are not read."""
        tensor = self.build.graph.tensors[path]
        self.build.graph.tensors[path] = replace(tensor, buffer=True)

    def _cut(self, path: str, name: str, rows: Rows) -> Value:
        """Return rows of a stored tensor as a tensor of a layer, in place of the whole tensor."""
        held, scope = self.tensors[path], self.build.scope
        whole = self.build.graph.tensors[path].type
        self._replaced.add(path)
        owner = scope[-1].path if scope else self.build.hint or "layer"
        own = _free(f"{owner}.{name}", self.build.graph.tensors)
        type_ = whole.with_shape(len(rows.starts) * rows.length, *whole.shape[2:])
        self.tensors[own] = held._replace(rows=rows)
        self.build.graph.tensors[own] = StoredTensor(type_)
        return Value(type_, "", Stored(own))

    def read(self, tensor: TensorProto) -> Known:
        """Return the elements of a small tensor."""
        return Known(dtype_named(tensor.kind), tensor.shape, tuple(self.file.elements(tensor)))

    # -- nodes -------------------------------------------------------------------------------------

    def _walk(
        self,
        nodes: Sequence[Node],
        env: dict[str, Operand | None],
        opsets: Mapping[str, int],
        scope: Scope,
        outputs: Sequence[str],
        depth: int = 0,
    ) -> None:
        """Translate nodes in their order; ``env`` has the values by name, None for those of what cannot be."""
        held = {name: operand.tensor for name, operand in env.items() if operand is not None and operand.tensor}
        nodes = dequantized_first(nodes, held, outputs)
        uses = Counter(outputs)
        for name in _used(nodes):
            uses[name] += 1
        later = {name for node in nodes for name in node.outputs if name}
        around = [scope] * len(nodes) if depth else [(*scope, *own) for own in scopes_of(nodes)]
        for node, own in zip(nodes, around, strict=True):
            self._nodes += 1
            if self._nodes > _MOST_NODES:
                raise self.problems.error(f"more than {_MOST_NODES:,} nodes once its functions are inlined")
            missing = [name for name in node.inputs if name and name not in env]
            if missing:
                self.problems.missing(node, missing, later)
                results: Any = None
            elif any(name and env[name] is None for name in node.inputs):
                self._require_rule(node)
                results = None
            else:
                results = self._node(node, env, opsets, own, uses, depth)
            self._bind(node, results, env)

    def _bind(self, node: Node, results: Any, env: dict[str, Operand | None]) -> None:
        listed = [None] * len(node.outputs) if results is None else results
        for place, name in enumerate(node.outputs):
            if not name:
                continue
            result = listed[place] if place < len(listed) else None
            if results is not None and result is None:
                self.problems.node(node, f"its result {name[:80]!r} is not computed")
            env[name] = result

    def _node(
        self,
        node: Node,
        env: Mapping[str, Operand | None],
        opsets: Mapping[str, int],
        scope: Scope,
        uses: Mapping[str, int],
        depth: int,
    ) -> list[Operand | None] | None:
        """Return the results of a node; None, with a problem, if it cannot be translated."""
        operands = [env[name] if name else None for name in node.inputs]
        function = self._functions.get((node.domain, node.op, node.overload))
        try:
            if node.references:
                raise RuleError("an attribute of a function outside of one")
            if function is not None:
                return self._function(function, node, operands, scope, depth)
            if node.domain == "" and node.op == "Constant":
                return [self._constant(node)]
            if any(True for _ in subgraphs(node)):
                return self._flow(node, env, opsets, scope, depth)
            rule = rule_of(node.domain, node.op)
            around = Surroundings(self.read, self.make_buffer, self._cut, self._scaled, opsets.get("", 1), uses)
            call = Call(node, self.build, opsets.get(node.domain, 1), operands, around)
            if node.domain == "" and (result := self._folded(call)) is not None:
                return result
            if rule is None:
                self.problems.operator(node, "no rule")
                return None
            self.build.scope = scope
            self.build.hint = value_name(node.outputs[0]) if node.outputs else ""
            start = len(self.build.graph.lines)
            results = _listed(rule(call))
            added = self.build.graph.lines[start:]
            if added:  # attributes of a node that changes nothing do not matter
                call.require_read()
            for line in added:
                self._require_shapes(line)
            return [_operand(result) for result in results]
        except RuleError as error:
            self.problems.node(node, str(error))
        except (
            KeyError,
            TypeError,
            ValueError,
            IndexError,
            AttributeError,
            ZeroDivisionError,
            AssertionError,
        ) as error:
            # attributes of another kind than the operator has, such as a text in place of numbers
            self.problems.node(node, f"its attributes or inputs are not those of the operator ({type(error).__name__})")
        return None

    def _require_shapes(self, line: Line) -> None:
        """Check that the stored tensors of a layer have the shapes that its inputs ask for; RuleError if not."""
        if not line.parameters or "" in line.parameters:
            return
        types = [None if value is None else value.type for value in line.inputs]
        declared = operation_named(line.operation)(**line.attributes).params(Context(), *types)
        for param in declared:
            if (stored := line.parameters.get(param.name)) is None:
                continue
            shape = self.build.graph.tensors[stored.path].type.shape
            if stored.part is not None:
                shape = (stored.part[1] - stored.part[0], *shape[1:])
            if stored.transpose:
                shape = (*shape[:-2], shape[-1], shape[-2])
            if shape != tuple(param.shape):
                found, wanted = ("×".join(map(str, sizes)) for sizes in (shape, param.shape))
                raise RuleError(f"{param.name} {stored.path[:80]!r} is {found}, and its input takes {wanted}")

    def _require_rule(self, node: Node) -> None:
        """Add the problem of a node whose operator has no rule, though its operands cannot be computed either."""
        is_function = (node.domain, node.op, node.overload) in self._functions
        is_special = node.domain == "" and (node.op == "Constant" or folds(node.op))
        is_flow = any(True for _ in subgraphs(node))
        if not (is_function or is_special or is_flow) and rule_of(node.domain, node.op) is None:
            self.problems.operator(node, "no rule")

    def _folded(self, call: Call) -> list[Operand | None] | None:
        if call.has(0) and (sizes := sizes_of(call)) is not None:
            return [Operand(known=sizes)]
        result = folded(call)
        return None if result is None else [Operand(known=known) for known in result]

    def _constant(self, node: Node) -> Operand:
        """Return the value of a node ``Constant``."""
        values = node.attributes
        if isinstance(tensor := values.get("value"), TensorProto):
            if prod(tensor.shape) <= MOST_READ:
                return Operand(known=self.read(tensor), tensor=tensor)
            return self._stored(tensor, node.outputs[0])
        for name, dtype in (("value_float", "float32"), ("value_int", "int64")):
            if name in values:
                return Operand(known=Known(dtype, (), (values[name],)))  # type: ignore[arg-type]
        for name, dtype in (("value_floats", "float32"), ("value_ints", "int64")):
            if name in values:
                return Operand(known=Known(dtype, (len(values[name]),), tuple(values[name])))  # type: ignore[arg-type]
        kinds = [name for name in values if name.startswith(("value", "sparse"))]
        raise RuleError(f"a constant of the kind {', '.join(kinds) or 'none'}")

    def _flow(
        self, node: Node, env: Mapping[str, Operand | None], opsets: Mapping[str, int], scope: Scope, depth: int
    ) -> list[Operand | None] | None:
        """Return the results of a node whose attributes are graphs, which see the values around them."""

        def run(body: GraphProto, operands: Sequence[Operand | None]) -> list[Operand | None] | None:
            inner = dict(env)
            for tensor in body.initializers:  # which hide the values of their names
                inner.pop(tensor.name, None)
            self._initializers(body, inner)
            inner |= {info.name: operand for info, operand in zip(body.inputs, operands, strict=False)}
            names = [info.name for info in body.outputs]
            self._walk(body.nodes, inner, opsets, scope, names, depth)
            missing = [name[:80] for name in names if name not in inner]
            if missing:
                raise RuleError(f"its graph does not make {', '.join(map(repr, missing))}")
            results = [inner[name] for name in names]
            return None if None in results else results

        operands = [env[name] if name else None for name in node.inputs]
        self.build.scope = scope
        try:
            return results_of(Flow(node, operands, opsets.get("", 1), self.build, run))
        except DependsOnDataError as error:
            self.problems.operator(node, str(error))
        return None

    def _function(
        self, function: Function, node: Node, operands: Sequence[Operand | None], scope: Scope, depth: int
    ) -> list[Operand | None]:
        """Return the results of the nodes of a function, with its attributes in their places."""
        if depth > _DEEPEST:
            raise RuleError(f"functions that call each other more than {_DEEPEST} deep")
        given = {**function.attributes, **node.attributes}
        env: dict[str, Operand | None] = dict(zip(function.inputs, operands, strict=False))
        env |= dict.fromkeys(function.inputs[len(operands) :])
        absent = {name for name, operand in env.items() if operand is None}
        nodes = [_filled_in(inner, given, absent) for inner in function.nodes]
        env = {name: operand for name, operand in env.items() if name not in absent}
        opsets = {**self.model.opsets, **function.opsets}
        self._walk(nodes, env, opsets, scope, function.outputs, depth + 1)
        return [env.get(name) for name in function.outputs]


def _is_quantized(type_: TensorType) -> bool:
    """Return True for matrices of integers of a few bits: weights, in which no shapes or indices are."""
    return type_.rank > 1 and type_.dtype in INTEGERS and ITEMSIZE[type_.dtype] <= 2


def _filled_in(node: Node, given: Mapping[str, Any], absent: set[str]) -> Node:
    """Return a node of a function with the attributes of the call, and without inputs that the call leaves out."""
    attributes = {name: given[source] for name, source in node.references.items() if given.get(source) is not None}
    inputs = ["" if name in absent else name for name in node.inputs]
    return replace(node, attributes={**node.attributes, **attributes}, inputs=inputs, references={})


def _plain(shape: Sequence[Dim]) -> tuple[int, ...]:
    """Return a shape without symbols, with their defaults."""
    return tuple(size if isinstance(size, int) else default_of(size) or 1 for size in shape)


def _listed(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _operand(result: Any) -> Operand | None:
    return Operand(result) if isinstance(result, Value) else result


def _used(nodes: Sequence[Node]) -> Iterator[str]:
    """Yield the names that nodes use, also within their graphs."""
    for node in nodes:
        yield from node.inputs
        for graph in subgraphs(node):
            yield from _used(graph.nodes)
            yield from (info.name for info in graph.outputs)


def _free(name: str, taken: Any) -> str:
    free, number = name, 0
    while free in taken:
        number += 1
        free = f"{name}_{number}"
    return free

"""Exported programs of PyTorch as graphs of operations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError, RuleError
from netcalc.dims import Dim
from netcalc.dtypes import DTYPES
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.dead_code import Called, dead_results
from netcalc.formats.graph.lines.operands import cast
from netcalc.formats.graph.model import Graph, ModuleCall, Scope, Stored, StoredTensor, Value
from netcalc.formats.torch.aliasing import Tensors, unreturned, written, written_to
from netcalc.formats.torch.autocast import RECURRENT, RECURRENT_NOTE, casts_inputs, in_type_of
from netcalc.formats.torch.buffers import stored_buffer
from netcalc.formats.torch.missing import OPEN, Missing
from netcalc.formats.torch.names import input_names, output_names
from netcalc.formats.torch.operators import Rule, rule_of
from netcalc.formats.torch.operators._no_effect import detach
from netcalc.formats.torch.operators._updates import updated
from netcalc.formats.torch.operators._without_axes import taking_scalars
from netcalc.formats.torch.registered import figures_of, sizes
from netcalc.formats.torch.sizes import size_of
from netcalc.formats.torch.unknown import Changed, unknown_line
from netcalc.tensor_type import TensorType

#: The selection of one of several results.
_ITEM = "<built-in function getitem>"
#: Operators that read a number from a tensor.
_READ = ("aten.item.default", "aten._local_scalar_dense.default")
#: Higher-order operators that call a subgraph once, with the number of arguments before it.
_GRADIENTS = "wrap_with_set_grad_enabled"
_WRAPPERS = {_GRADIENTS: 1, "wrap_with_autocast": 4}


#: Arguments that tell the place and the layout of a new tensor.
_MAKING = {"dtype", "layout", "device", "pin_memory"}


class Translation:
    """The translation of one exported program."""

    def __init__(self, graph: Graph, symbols: Mapping[str, Dim], allow_unknown: bool) -> None:
        self.symbols = symbols
        self.build = Builder(graph)
        self.missing = Missing()
        self.allow_unknown = allow_unknown
        self.casts = casts_inputs()
        self.tensors = Tensors(self._translated, self._updated)
        self.calls: list[Called] = []

    def run(self, module: Any, values: Mapping[Any, Any]) -> Any:
        """Translate the nodes of a graph module, given the values of its placeholders; return its output."""
        for node, value in values.items():
            self.tensors[node] = value
        return self._argument(self._walk(module))

    def _walk(self, module: Any) -> Any:
        """Translate the nodes of a graph module whose placeholders have values; return what its output names."""
        for node in module.graph.nodes:
            if node.op == "output":
                return node.args[0]
            if node.op == "get_attr":
                self.tensors[node] = getattr(module, node.target)
            elif node.op != "placeholder":
                self._call(node)
        return None

    def _call(self, node: Any) -> None:
        """Translate a node, and give a new value to the tensor that it changes in place."""
        if str(node.target) == _ITEM and hasattr(item := self.tensors[node.args[0]][node.args[1]], "graph"):
            self.tensors.same(node, item)  # a result of a subgraph
            return
        self.build.scope = scope_of(node)
        start = len(self.build.graph.lines)
        result = self._translated(node)
        if str(node.target) not in _WRAPPERS:  # the calls in a subgraph are noted there
            self.calls.append(Called(self.build.graph.lines[start:], [*_values(result)]))
        if isinstance(result, Changed):
            for target, value in zip(unreturned(node), result.values, strict=True):
                self.tensors.write(target, value)
            self.tensors[node] = result.results
            return
        changed = written(node)
        several = isinstance(result, (list, tuple)) and len(result) == len(changed)
        for place, target in enumerate(changed):
            value = result[place] if several else result
            if isinstance(value, Value):
                value = cast(self.build, value, self.tensors[target].type.dtype)
            self.tensors.write(target, value)
        if changed and several:
            self.tensors[node] = [self.tensors[target] for target in changed]
        elif changed:
            self.tensors.same(node, changed[0])
        else:
            self.tensors[node] = result

    def _updated(self, node: Any, input: Any, value: Any) -> Any:
        """Return the input of a view, given its present value and the view's new one."""
        if not hasattr(node.target, "_schema"):  # an item of several views
            return [value if place == node.args[1] else item for place, item in enumerate(input)]
        try:
            return updated(self.build, node.target, self._bound(node), input, value)
        except RuleError as error:
            self.missing.add(str(node.target), self._path(), str(error))
            return input

    def _translated(self, node: Any) -> Any:
        """Return the value of a node from the values of its arguments; the lines are added in the current scope."""
        name = str(node.target)
        example = node.meta.get("val")
        if name.startswith("aten.sym_") or type(example).__name__ in ("SymInt", "SymBool", "SymFloat"):
            return self._size(node, example)
        if name in _WRAPPERS:
            with self._region(name == "wrap_with_autocast" and bool(node.args[2])):
                results = self._wrapped(*node.args[_WRAPPERS[name] :])
            if name == _GRADIENTS and node.args[0] is False:
                self._detach(results)
            return results
        if name == _ITEM:
            return self._argument(node.args[0])[node.args[1]]
        if not hasattr(node.target, "_schema"):  # a function of Python or an operator on functions
            return self._unknown(node, {}, "")
        rule = rule_of(name)
        arguments = self._bound(node)
        if rule is None and (targets := written_to(node.target._schema)):
            rule = _without_targets(node.target, targets)
            arguments = {key: value for key, value in arguments.items() if key not in targets}
        self.build.hint = node.name
        if rule is None:
            return self._unknown(node, arguments)
        if self.casts and name in RECURRENT and RECURRENT_NOTE not in self.build.graph.notes:
            self.build.graph.notes.append(RECURRENT_NOTE)
        try:
            rule = taking_scalars(rule, arguments)
            return in_type_of(example, self.build, rule, arguments)
        except RuleError as error:
            if not _is_read(node) and OPEN in str(error):
                return _unknown(example, self.symbols)
            return self._unknown(node, arguments, str(error))

    def _size(self, node: Any, example: Any) -> Any:
        """Return a size; 1, and an error, for a number that is none, unless only conditions and sizes use it.

        An index that is read from a tensor stays this tensor.
        """
        try:
            return size_of(example, self.symbols)
        except RuleError as error:
            if str(node.target) in _READ and all(_selects(user, node) for user in _users(node)):
                return self._argument(node.args[0])
            if _users(node):
                self.missing.add(str(node.target), self._path(), str(error))
            return 1

    def _unknown(self, node: Any, arguments: dict[str, Any], reason: str = "") -> Any:
        """Return values of the types that an operator gives: of a line of declared or unknown work, or of none.

        With a ``reason`` its rule refuses the call; otherwise it has no rule.
        """
        name, example = str(node.target), node.meta.get("val")
        changed = () if reason else tuple(self.tensors[target] for target in unreturned(node))
        figures = None if reason else self._figures(node, example)
        if self.allow_unknown or figures is not None:
            types = partial(type_of, symbols=self.symbols)
            try:
                return unknown_line(self.build, name, arguments, example, types, changed, figures)
            except RuleError as error:
                reason = reason or str(error)
        self.missing.add(name, self._path(), reason)
        try:
            results = _unknown(example, self.symbols)
        except RuleError:  # a size that depends on values, without which nothing after it can be translated
            raise NetcalcError(self.missing.errors(hint=None)) from None
        return Changed(results, changed) if changed else results

    def _figures(self, node: Any, example: Any) -> dict[str, Any] | None:
        """Return the figures of a call that users registered; None for none, and for results of unknown shapes."""
        try:
            results = self._shapes(example)
        except RuleError:
            return None
        keywords = {name: self._argument(value) for name, value in node.kwargs.items()}
        return figures_of(node.target, self._argument(node.args), keywords, results)

    def _shapes(self, example: Any) -> Any:
        if isinstance(example, (list, tuple)):
            return [self._shapes(item) for item in example]
        return sizes(type_of(example, self.symbols).shape) if hasattr(example, "shape") else example

    def _path(self) -> str:
        """Return the path of the module whose call is translated."""
        return ".".join(call.path for call in self.build.scope[-1:])

    @contextmanager
    def _region(self, casts: bool) -> Iterator[None]:
        """Translate a region in which PyTorch casts inputs of operators, if ``casts``."""
        around, self.casts = self.casts, casts or self.casts
        try:
            yield
        finally:
            self.casts = around

    def _wrapped(self, inner: Any, *arguments: Any) -> Any:
        """Translate a subgraph; return the nodes of its results, which stand for the items of the call's."""
        module = self.tensors[inner]
        placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
        for placeholder, argument in zip(placeholders, arguments, strict=True):
            if argument in self.tensors:
                self.tensors.same(placeholder, argument)
            else:
                self.tensors[placeholder] = argument
        return self._walk(module)

    def _detach(self, results: Any) -> None:
        """Stop gradients at the results of a subgraph that is computed without them, but for tensors of its caller."""
        for node in results if isinstance(results, (list, tuple)) else [results]:
            if self.tensors.owner(node).op != "placeholder" and isinstance(value := self._argument(node), Value):
                self.build.scope, self.build.hint = scope_of(node), node.name
                self.tensors[node] = detach(self.build, value)

    def _bound(self, node: Any) -> dict[str, Any]:
        """Return the arguments of a call by the names of the schema, with the present values of tensors."""
        keywords = {name: self._argument(value) for name, value in node.kwargs.items()}
        return _bound(node.target._schema, self._argument(node.args), keywords)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return [self._argument(item) for item in argument]
        if hasattr(argument, "graph") and argument in self.tensors:
            return self.tensors[argument]
        return argument


def _without_targets(target: Any, names: tuple[str, ...]) -> Rule | None:
    """Return the rule of the variant of an operator that makes its results instead of writing them to arguments."""
    wanted = [argument.name for argument in target._schema.arguments if argument.name not in (*names, *_MAKING)]
    packet = target.overloadpacket
    for overload in packet.overloads():
        variant = getattr(packet, overload)
        rule = rule_of(str(variant))
        # a variant that makes a tensor may be told its type and its place too
        if rule is not None and [a.name for a in variant._schema.arguments if a.name not in _MAKING] == wanted:
            return rule
    return None


def _values(result: Any) -> Iterator[Value]:
    """Yield the values of the results of a rule."""
    if isinstance(result, Value):
        yield result
    elif isinstance(result, (list, tuple)):
        for item in result:
            yield from _values(item)


def _users(node: Any) -> list[Any]:
    """Return the operators on tensors that use a number directly; sizes that are made of it say what they are."""
    return [user for user in node.users if hasattr(user.meta.get("val"), "shape") or user.op == "output"]


def _is_read(node: Any) -> bool:
    """Return True for an operator whose results, and not only their sizes, are used."""
    return any(str(user.target) != _ITEM or _users(user) for user in _users(node))


def _selects(user: Any, index: Any) -> bool:
    """Return True for an operator that selects by an index."""
    return str(user.target) == "aten.select.int" and user.args[2] is index


def _bound(schema: Any, arguments: list[Any], keywords: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call in the order of the schema, with its defaults; ``self`` is ``input``."""
    names = [argument.name for argument in schema.arguments]
    bound = {argument.name: argument.default_value for argument in schema.arguments if argument.has_default_value()}
    bound |= dict(zip(names, arguments, strict=False)) | keywords
    return {"input" if name == "self" else name: bound[name] for name in names if name in bound}


def _unknown(example: Any, symbols: Mapping[str, Dim]) -> Any:
    """Return values of the types that an operator without a rule gives; sizes that depend on values are taken as 1."""
    if isinstance(example, (list, tuple)):
        return [_unknown(item, symbols) for item in example]
    if not hasattr(example, "shape"):
        return None
    sizes = []
    for size in example.shape:
        try:
            sizes.append(size_of(size, symbols))
        except RuleError:  # of which the error of the operator tells
            sizes.append(1)
    name: Any = str(example.dtype).removeprefix("torch.")
    return Value(TensorType(tuple(sizes), name))


def type_of(tensor: Any, symbols: Mapping[str, Dim]) -> TensorType:
    """Return the type of a tensor of PyTorch."""
    return TensorType(
        tuple(size_of(size, symbols) for size in tensor.shape),
        str(tensor.dtype).removeprefix("torch."),  # type: ignore[arg-type]
    )


def scope_of(node: Any) -> Scope:
    """Return the calls of modules around a node."""
    stack = node.meta.get("nn_module_stack") or {}
    calls = []
    for key, (path, kind) in list(stack.items())[1:]:
        name = kind if isinstance(kind, str) else kind.__name__
        calls.append(ModuleCall(*_numbered(str(path), str(key)), name.rpartition(".")[2]))
    return tuple(calls)


def _numbered(path: str, key: str) -> tuple[str, int]:
    """Return the path of a module, and the number of the call, which follows an ``@`` in the key or in the path.

    The key ends with the path, in which there may be an ``@`` as well.
    """
    before, _, number = key.rpartition("@")
    if number.isdigit() and before.endswith(path):
        return path, int(number)
    before, _, number = path.rpartition("@")
    return (before, int(number)) if number.isdigit() and not key.endswith(path) else (path, 0)


def _first_paths(state: Mapping[str, Any]) -> dict[str, str]:
    """Return for the path of each tensor of a state dict the first path of the same tensor, which ties may repeat."""
    first: dict[int, str] = {}
    return {path: first.setdefault(id(tensor), path) for path, tensor in state.items()}


class Sources(NamedTuple):
    """Facts of a module that an exported program of it lacks.

    Attributes:
        buffers: values of buffers by path, of which the program does not know them.
        constants: paths of constants that the program numbers.
    """

    buffers: Mapping[str, Any] = {}
    constants: Mapping[str, str] = {}


def translate(
    exported: Any,
    name: str,
    symbols: Mapping[str, Dim],
    sources: Sources = Sources(),  # noqa: B008 - never changed
    *,
    training: bool = False,
    allow_unknown: bool = False,
) -> Graph:
    """Return the graph of an exported program.

    Args:
        exported: a ``torch.export.ExportedProgram``.
        name: name of the network.
        symbols: named sizes by the symbols of the program.
        sources: facts that the program lacks.
        training: True for a graph of a network in training mode, False for one in inference.
        allow_unknown: True for lines of unknown work in place of operators that have no rule.

    Raises:
        NetcalcError: E009 with every operator that has no rule.
    """
    graph = Graph(name, training=training)
    values: dict[Any, Any] = {}
    paths = _first_paths({**exported.state_dict, **exported.constants})
    graph.aliases = {path: first for path, first in paths.items() if path != first and path in exported.state_dict}
    names = iter(input_names(exported))
    placeholders = [node for node in exported.graph.nodes if node.op == "placeholder"]
    for node, spec in zip(placeholders, exported.graph_signature.input_specs, strict=True):
        if spec.kind.name != "USER_INPUT":
            path = paths.get(spec.target, spec.target)
            path = sources.constants.get(path, path)
            tensor = sources.buffers.get(spec.target, {**exported.constants, **exported.state_dict}.get(spec.target))
            values[node] = _stored(graph, path, tensor, spec, type_of(node.meta["val"], symbols), node.name)
            continue
        name = next(names)
        if not hasattr(node.meta.get("val"), "shape"):
            values[node] = spec.arg.value if hasattr(spec.arg, "value") else None
            continue
        tensor_type = _expressible(type_of(node.meta["val"], symbols), f"the input {name!r}")
        values[node] = graph.inputs[name] = Value(tensor_type, name)
    work = Translation(graph, symbols, allow_unknown)
    results = work.run(exported.graph_module, values)
    if work.missing:
        raise NetcalcError(work.missing.errors())
    kinds = [spec.kind.name for spec in exported.graph_signature.output_specs]  # the others are changes in place
    results = [result for result, kind in zip(results, kinds, strict=True) if kind == "USER_OUTPUT"]
    _give_outputs(work.build, output_names(exported), results)
    graph.dead = dead_results(graph, work.calls)
    return graph


def _stored(graph: Graph, path: str, tensor: Any, spec: Any, tensor_type: TensorType, hint: str) -> Any:
    """Return the value of a parameter, buffer or constant of a program, and add it to the tensors of the graph."""
    kind = spec.kind.name
    constant = kind == "CONSTANT_TENSOR"
    persistent = spec.persistent is not False and not constant
    _expressible(tensor_type, f"the {'parameter' if kind == 'PARAMETER' else 'buffer'} {path!r}")
    if path not in graph.tensors and kind == "PARAMETER":
        trainable = bool(getattr(tensor, "requires_grad", True))
        graph.tensors[path] = StoredTensor(tensor_type, trainable=trainable)
    elif path not in graph.tensors:
        graph.tensors[path] = stored_buffer(tensor_type, tensor, persistent=persistent, constant=constant)
    return Value(tensor_type, hint, Stored(path))


def _give_outputs(build: Builder, names: Sequence[str], results: Sequence[Any]) -> None:
    """Make the tensors among the results of a program the outputs of its graph."""
    for name, result in zip(names, results, strict=True):
        if isinstance(result, Value):
            build.graph.outputs[name] = build.read(result)
    if not build.graph.outputs:
        hint = "return the tensors whose computation is to be counted"
        raise NetcalcError(Diagnostic("E009", "the module returns no tensors", hint=hint))


def _expressible(tensor_type: TensorType, what: str) -> TensorType:
    """Return the type of an input or a stored tensor; NetcalcError (E009) if netcalc has no such element type."""
    if tensor_type.dtype not in DTYPES:
        raise _inexpressible(what, tensor_type.dtype)
    return tensor_type


def _inexpressible(what: str, dtype: str) -> NetcalcError:
    hint = "netcalc has complex64 and complex128" if "complex" in dtype else None
    return NetcalcError(Diagnostic("E009", f"{what} is {dtype}, which is no element type of netcalc", hint=hint))

"""Models of Keras as graphs of operations."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Poly
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, ModuleCall, Scope, Value, operation_named
from netcalc.formats.keras.call import Call, Surroundings
from netcalc.formats.keras.configuration import Layer, LayerCall, Model, Reference, flat
from netcalc.formats.keras.held import Weights
from netcalc.formats.keras.inputs import Dims, identifier, input_type
from netcalc.formats.keras.layers import Rule, rule_of
from netcalc.formats.keras.naming import is_automatic, module_paths, snake_case
from netcalc.formats.keras.operand import Layouts, Operand
from netcalc.formats.keras.precision import Mixed, dtype_problem
from netcalc.formats.keras.problems import Problems, clipped
from netcalc.formats.keras.spatial import prefers_channels_first
from netcalc.opdef import Context

_CUSTOM = "a custom object, whose code the file does not have"
_REASONS = {"Lambda": "a layer of Python code, which is not executed"}
#: What a rule raises for settings of other kinds than the layer has.
_WRONG = (KeyError, TypeError, ValueError, IndexError, AttributeError, ZeroDivisionError, OverflowError)


class _Place(NamedTuple):
    """Place of a model: the calls around it, its path, the group of its weights, and whether it is trained."""

    scope: Scope = ()
    path: str = ""
    group: str = ""
    trainable: bool = True


class Translation:
    """The translation of one model.

    Attributes:
        weights: its weights.
    """

    def __init__(self, model: Model, graph: Graph, problems: Problems) -> None:
        self.model = model
        self.build = Builder(graph)
        self.problems = problems
        self.weights = Weights()
        self._layouts = Layouts(self.build)
        self._groups: dict[int, str] = {}
        self._paths: dict[int, dict[str, str]] = {}
        self._numbers: dict[str, int] = defaultdict(int)
        self._turned: list[str] = []
        self._mixed = Mixed()

    def run(self) -> None:
        """Translate the model; NetcalcError (E007) with everything that cannot be translated."""
        graph, dims = self.build.graph, Dims(self.build.graph)
        inputs: list[Operand | None] = []
        for reference in flat(self.model.inputs):
            layer = self._input_layer(self.model, reference)
            try:
                inputs.append(self._input(layer, dims))
            except RuleError as error:
                self.problems.layer(layer.name, str(error))
                inputs.append(None)
        if (remark := dims.remark()) is not None:
            graph.notes.append(remark)
        self._check_classes(self.model, set())
        outputs = self._model(self.model, inputs, _Place(trainable=self.model.is_trainable))
        self.problems.check()
        self._outputs(outputs)
        graph.notes.extend(self._mixed.remarks())
        self.weights.number()

    def _check_classes(self, model: Model, seen: set[int]) -> None:
        """Note the classes that cannot be translated, also where nothing is known of what their layers take."""
        seen.add(id(model))
        for layer in model.layers.values():
            if layer.model is not None:
                if id(layer.model) not in seen:
                    self._check_classes(layer.model, seen)
            elif layer.calls and _rule(layer) is None:
                reason = _REASONS.get(layer.kind, "a class that netcalc does not know") if layer.is_own else _CUSTOM
                self.problems.class_of(layer.kind, reason, layer.name)

    def _input_layer(self, model: Model, reference: Reference) -> Layer:
        layer = model.layers.get(reference.layer)
        if layer is None or layer.kind != "InputLayer":
            raise self.problems.error(f"input {clipped(reference.layer)} of {clipped(model.name)} is no InputLayer")
        return layer

    def _input(self, layer: Layer, dims: Dims) -> Operand:
        config = layer.config
        if config.get("sparse") or config.get("ragged") or config.get("optional"):
            raise RuleError("a sparse, ragged or optional input")
        inputs = self.build.graph.inputs
        name = free = identifier(layer.name, "input")
        number = 0
        while free in inputs:
            number += 1
            free = f"{name}_{number}"
        shape = config.get("batch_shape", config.get("batch_input_shape"))
        type_ = input_type(shape, config.get("dtype"), dims, free)
        first = type_.rank > 2 and prefers_channels_first(self.model, layer.name)
        if first:
            type_ = type_.with_shape(type_.shape[0], type_.shape[-1], *type_.shape[1:-1])
            self._turned.append(free)
        if type_.is_float and self._is_looked_up(layer):
            type_ = type_.with_dtype("int64")
        value = inputs[free] = Value(type_, free)
        return Operand(value, first)

    def _is_looked_up(self, layer: Layer) -> bool:
        """Return True for an input that embeddings alone take, and masks, which is a number of a row."""
        takers = [
            other
            for other in self.model.layers.values()
            if any(one.layer == layer.name for call in other.calls for one in _references(call))
        ]
        kinds = {taker.kind for taker in takers}
        return "Embedding" in kinds and kinds <= {"Embedding", "NotEqual"}  # the latter makes the mask of padding

    def _outputs(self, outputs: Sequence[Operand]) -> None:
        graph = self.build.graph
        names = [identifier(reference.layer, "output") for reference in flat(self.model.outputs)]
        turned = list(self._turned)
        for name, operand in zip(names, outputs, strict=True):
            free, number = name, 0
            while free in graph.outputs or free in graph.inputs:
                number += 1
                free = f"{name}_{number}"
            graph.outputs[free] = self.build.read(operand.value)
            turned += [free] if operand.first else []
        if turned:
            graph.notes.append(f"channels are axis 1 of {', '.join(turned)}, and the last axis in Keras")

    # -- models ------------------------------------------------------------------------------------

    def _model(self, model: Model, inputs: Sequence[Operand | None], place: _Place) -> list[Any]:
        """Return the results of a model; those of layers that cannot be translated are None."""
        order = list(self._ordered(model))
        groups = self._group_names(model, place)
        paths = self._module_paths(model, order)
        results: dict[tuple[str, int], list[Any]] = {}
        for reference, operand in zip(flat(model.inputs), inputs, strict=True):
            results[reference.layer, 0] = [operand]
        for layer, number in order:
            path = f"{place.path}.{paths[layer.name]}" if place.path else paths[layer.name]
            own = _Place(place.scope, path, groups.get(layer.name, ""), place.trainable and layer.is_trainable)
            results[layer.name, number] = self._called(layer, layer.calls[number], results, own)
        found = []
        for reference in flat(model.outputs):
            made = results.get(_reference_key(model, reference, of_model=True), [])
            if reference.result >= len(made):
                self.problems.add(f"nothing makes the output {clipped(reference.layer)} of {clipped(model.name)}")
            found.append(made[reference.result] if reference.result < len(made) else None)
        return found

    def _ordered(self, model: Model) -> Iterator[tuple[Layer, int]]:
        """Yield the calls of the layers of a model, each after those whose results it takes.

        Raises:
            NetcalcError: E007 for calls of layers that the model lacks, and for those that wait for each other.
        """
        waiting: dict[tuple[str, int], int] = {}
        after: dict[tuple[str, int], list[tuple[str, int]]] = defaultdict(list)
        for layer in model.layers.values():
            for number, call in enumerate(layer.calls):
                needed = {_reference_key(model, one) for one in _references(call)}
                if number:  # calls of a layer are numbered as they are made
                    needed.add((layer.name, number - 1))
                needed = {one for one in needed if not self._is_input(model, layer, one)}
                for one in needed:
                    after[one].append((layer.name, number))
                waiting[layer.name, number] = len(needed)
        ready = deque(made for made, count in waiting.items() if not count)
        done = 0
        while ready:
            name, number = ready.popleft()
            done += 1
            yield model.layers[name], number
            for follower in after[name, number]:
                waiting[follower] -= 1
                if not waiting[follower]:
                    ready.append(follower)
        if done < len(waiting):
            stuck = [name for (name, _), count in waiting.items() if count]
            listed = ", ".join(map(clipped, dict.fromkeys(stuck[:4])))
            raise self.problems.error(f"the layers {listed} wait for results of each other: the graph has a cycle")

    def _is_input(self, model: Model, taker: Layer, needed: tuple[str, int]) -> bool:
        """Return True for the result of an input layer; NetcalcError (E007) for a call that the model lacks."""
        name, number = needed
        layer = model.layers.get(name)
        if layer is None:
            raise self.problems.error(
                f"layer {clipped(taker.name)} takes a result of {clipped(name)}, which is missing"
            )
        if layer.kind == "InputLayer":
            if number or all(one.layer != name for one in flat(model.inputs)):
                raise self.problems.error(f"{clipped(name)} is no input of {clipped(model.name)}")
            return True
        if number >= len(layer.calls):
            what = f"a result of call {number} of {clipped(name)}, which is missing"
            raise self.problems.error(f"layer {clipped(taker.name)} takes {what}")
        return False

    def _group_names(self, model: Model, place: _Place) -> dict[str, str]:
        """Return the groups of the weights of layers in the file: numbered names of their classes."""
        numbers: dict[str, int] = {}
        groups = {}
        base = f"{place.group}/layers" if place.group else "layers"
        for layer in model.layers.values():
            if layer.is_operation or (model.kind == "Sequential" and layer.kind == "InputLayer"):
                continue
            name = snake_case(layer.kind)
            number = numbers[name] = numbers.get(name, -1) + 1
            groups[layer.name] = self._groups.setdefault(
                id(layer), f"{base}/{name}_{number}" if number else f"{base}/{name}"
            )
        return groups

    def _module_paths(self, model: Model, order: Sequence[tuple[Layer, int]]) -> dict[str, str]:
        if id(model) not in self._paths:
            names = list(dict.fromkeys(layer.name for layer, _ in order))
            before = {
                layer.name: {one.layer for call in layer.calls for one in _references(call)} for layer, _ in order
            }
            automatic = {
                layer.name
                for layer, _ in order
                if layer.model is None
                and (layer.is_operation or is_automatic(layer.name, layer.kind))
                and not _may_hold(layer)
            }
            self._paths[id(model)] = module_paths(names, before, automatic)
        return self._paths[id(model)]

    # -- calls -------------------------------------------------------------------------------------

    def _called(
        self, layer: Layer, call: LayerCall, results: Mapping[tuple[str, int], list[Any]], place: _Place
    ) -> list[Any]:
        """Return the results of a call; None for those of a layer that cannot be translated."""
        try:
            args, kwargs = (self._filled(part, results) for part in (call.args, call.kwargs))
        except _UnknownError:
            return [_FAILED] * 64
        except RuleError as error:
            self.problems.layer(layer.name, str(error))
            return [_FAILED] * 64
        number = self._numbers[place.path]
        self._numbers[place.path] += 1
        scope = self._scope(place, layer, number)
        if layer.model is not None:
            return self._nested(layer, [args, kwargs], place._replace(scope=scope))
        return self._translated(layer, args, kwargs, place._replace(scope=scope))

    def _scope(self, place: _Place, layer: Layer, number: int) -> Scope:
        """Return the calls of modules around a layer, itself included."""
        base = place.scope[-1].path if place.scope else ""
        rest = place.path.removeprefix(f"{base}.") if base else place.path
        calls, path = list(place.scope), base
        outer = place.scope[-1].number if place.scope else 0
        for part in rest.split(".")[:-1]:
            path = f"{path}.{part}" if path else part
            calls.append(ModuleCall(path, outer))
        return (*calls, ModuleCall(place.path, number, layer.kind))

    def _nested(self, layer: Layer, arguments: Any, place: _Place) -> list[Any]:
        model = layer.model
        assert model is not None
        args, kwargs = arguments
        extra = [name for name, value in kwargs.items() if value not in (None, False) and name != "inputs"]
        inputs = list(_operands([args, kwargs.get("inputs")]))
        wanted = list(flat(model.inputs))
        if extra or len(inputs) != len(wanted):
            reason = (
                f"argument {clipped(extra[0])}" if extra else f"it takes {len(wanted)} inputs, and gets {len(inputs)}"
            )
            self.problems.layer(layer.name, reason)
            return [_FAILED] * 64
        return self._model(model, inputs, place)

    def _translated(self, layer: Layer, args: Any, kwargs: Any, place: _Place) -> list[Any]:
        """Return the results of a layer by its rule."""
        rule = _rule(layer)
        if rule is None:  # a problem of its class
            return [_FAILED] * 64
        self.build.scope = place.scope
        self.build.hint = identifier(layer.name, "value")
        start = len(self.build.graph.lines)
        try:
            if (problem := dtype_problem(layer.config)) is not None:
                raise RuleError(problem)
            self._mixed.add(place.path, layer.config)
            call = self._call(layer, args, kwargs, place)
            found = rule(call)
            call.require_read()
            self._require_shapes(start)
            return [_result(one) for one in (found if isinstance(found, (list, tuple)) else [found])]
        except RuleError as error:
            self.problems.layer(layer.name, str(error))
        except RecursionError:
            self.problems.layer(layer.name, "it is nested too deep")
        except _WRONG as error:
            self.problems.layer(layer.name, f"its settings are not those of the layer ({type(error).__name__})")
        self.build.undo(start)
        return [_FAILED] * 64

    def _call(self, layer: Layer, args: Any, kwargs: Any, place: _Place) -> Call:
        def inner(wrapped: Layer, where: str, operand: Operand, name: str = "") -> Any:
            rule = rule_of(wrapped.kind)
            if rule is None or not wrapped.is_own or wrapped.model is not None:
                raise RuleError(f"a layer {clipped(wrapped.kind)} inside of it is not known")
            if (problem := dtype_problem(wrapped.config)) is not None:
                raise RuleError(problem)
            group = "/".join(part for part in (place.group, where) if part)
            path = f"{place.path}.{name}" if name else place.path
            self._mixed.add(path, wrapped.config)
            trainable = place.trainable and wrapped.is_trainable
            own = self._call(wrapped, [operand], {}, _Place(place.scope, path, group, trainable))
            result = rule(own)
            own.require_read()
            return _result(result)

        around = Surroundings(self.build, self._layouts, self.weights, place.path, place.group, place.trainable, inner)
        return Call(layer, around, args, kwargs)

    def _filled(self, data: Any, results: Mapping[tuple[str, int], list[Any]]) -> Any:
        """Return arguments with operands for references; RuleError if a shape is not the one that the file records."""
        if isinstance(data, Reference):
            made = results.get((data.layer, data.call), [])
            if data.result >= len(made):
                raise RuleError(f"it takes result {data.result} of {clipped(data.layer)}, which has fewer")
            operand = made[data.result]
            if operand is _FAILED or operand is None:
                raise _UnknownError
            if not isinstance(operand, Operand):
                raise RuleError(f"it takes a result of {clipped(data.layer)} that is no tensor")
            _require_recorded(data, operand)
            return operand
        if isinstance(data, list):
            return [self._filled(item, results) for item in data]
        if isinstance(data, dict):
            return {name: self._filled(item, results) for name, item in data.items()}
        return data

    def _require_shapes(self, start: int) -> None:
        """Check that the weights of new lines have the shapes that their inputs ask for; RuleError if not."""
        graph = self.build.graph
        for line in graph.lines[start:]:
            if not line.parameters or "" in line.parameters:
                continue
            types = [None if value is None else value.type for value in line.inputs]
            for param in operation_named(line.operation)(**line.attributes).params(Context(), *types):
                stored = line.parameters.get(param.name)
                shape = None if stored is None else graph.tensors[stored.path].type.shape
                if shape is not None and shape != tuple(param.shape):
                    found, wanted = ("×".join(map(str, sizes)) for sizes in (shape, param.shape))
                    raise RuleError(f"{param.name} is {found}, and its input takes {wanted}")


def _rule(layer: Layer) -> Rule | None:
    """Return the rule of a layer or an operation of Keras itself; None for all others."""
    return rule_of(f"ops.{layer.kind}" if layer.is_operation else layer.kind) if layer.is_own else None


class _UnknownError(Exception):
    """An argument that a layer before could not give."""


#: Stands for a result of a layer that cannot be translated.
_FAILED = object()


def _result(result: Any) -> Any:
    return Operand(result) if isinstance(result, Value) else result


def _reference_key(model: Model, reference: Reference, *, of_model: bool = False) -> tuple[str, int]:
    """Return the call that a reference means; outputs of a model count calls of functional ones from 1 on."""
    layer = model.layers.get(reference.layer)
    counts_from_1 = of_model and layer is not None and layer.model is not None and layer.model.kind != "Sequential"
    return reference.layer, reference.call - 1 if counts_from_1 else reference.call


def _references(call: LayerCall) -> Iterator[Reference]:
    yield from flat(call.args)
    yield from flat(call.kwargs)


def _operands(data: Any) -> Iterator[Operand]:
    if isinstance(data, Operand):
        yield data
    elif isinstance(data, dict):
        for name in sorted(data):
            yield from _operands(data[name])
    elif isinstance(data, list):
        for item in data:
            yield from _operands(item)


def _may_hold(layer: Layer) -> bool:
    """Return True for a layer that may have weights: one whose settings name an initializer."""
    return any(name.endswith("_initializer") for name in layer.config) or "layer" in layer.config


def _require_recorded(reference: Reference, operand: Operand) -> None:
    """Check that a tensor has the shape that the file records of it; RuleError if not."""
    shape = operand.shape
    if reference.shape is None:
        return
    same = len(shape) == len(reference.shape) and all(
        recorded is None or isinstance(size, Poly) or size == recorded
        for size, recorded in zip(shape, reference.shape, strict=True)
    )
    if not same:
        recorded = "×".join("?" if size is None else str(size) for size in reference.shape)
        found = "×".join(map(str, shape))
        raise RuleError(f"the result of {clipped(reference.layer)} is {found}, and the file says {recorded}")

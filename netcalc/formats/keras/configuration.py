"""Configurations of Keras models: layers, and calls of them, as ``Model.get_config()`` gives them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.formats.keras.problems import Problems, clipped

#: Classes of models, which are themselves layers of other models.
MODELS = ("Functional", "Model", "Sequential")
#: Most layers of a model, those of nested models included, and deepest nesting of models.
MOST_LAYERS, DEEPEST = 50_000, 20


class Reference(NamedTuple):
    """A result of a call: the name of the layer, the number of the call and of its result, and the recorded shape."""

    layer: str
    call: int
    result: int
    shape: tuple[int | None, ...] | None = None


class Slice(NamedTuple):
    """A slice of Python, as an index has it."""

    start: Any
    stop: Any
    step: Any


class LayerCall(NamedTuple):
    """A call of a layer: arguments with references in place of tensors."""

    args: list[Any]
    kwargs: dict[str, Any]


@dataclass(eq=False, slots=True)
class Layer:
    """A layer, or an operation on tensors.

    Attributes:
        name: its name in the model.
        kind, module: its class, and the module of Python that has it.
        config: its settings.
        calls: its calls, in order.
        model: the model that it is, if it is one.
        is_operation: True for a function such as ``keras.ops.add``, which has no weights.
        is_own: True for a class of Keras itself.
        built: the shape of its input that the file records, if there is one.
    """

    name: str
    kind: str
    module: str
    config: Mapping[str, Any]
    calls: list[LayerCall] = field(default_factory=list)
    model: Model | None = None
    is_operation: bool = False
    is_own: bool = True
    built: Any = None

    @property
    def is_trainable(self) -> bool:
        """False if the layer is frozen."""
        return self.config.get("trainable", True) is not False


@dataclass(eq=False, slots=True)
class Model:
    """A model: layers by name in the order of the file, with references to its inputs and outputs in any structure."""

    name: str
    kind: str
    layers: dict[str, Layer]
    inputs: Any
    outputs: Any
    is_trainable: bool = True


class Reader:
    """Reader of configurations, which collects what is wrong with them."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self._count = 0

    def model(self, data: Any, depth: int = 0) -> Model:
        """Return the model that an object is; NetcalcError (E007) if it is none."""
        if depth > DEEPEST:
            raise self.problems.error(f"models nested more than {DEEPEST} deep")
        if not isinstance(data, dict) or not isinstance(data.get("config"), dict):
            raise self.problems.error("it has no 'config' of a model")
        kind, config = data.get("class_name"), data["config"]
        if kind == "Sequential":
            return self._sequential(config, depth)
        if not isinstance(config.get("layers"), list) or "input_layers" not in config or "output_layers" not in config:
            hint = "its layers are code that the file does not have" if isinstance(kind, str) else "it is no model"
            raise self.problems.error(f"class {clipped(kind)} is neither Functional nor Sequential: {hint}")
        return self._functional(str(kind), config, depth)

    def _functional(self, kind: str, config: Mapping[str, Any], depth: int) -> Model:
        layers: dict[str, Layer] = {}
        for place, data in enumerate(config["layers"]):
            layer = self.layer(data, f"layer {place} of {clipped(config.get('name'))}", depth)
            if layer.name in layers:
                raise self.problems.error(f"two layers have the name {clipped(layer.name)}")
            listed = data.get("inbound_nodes", [])
            if not isinstance(listed, list):
                raise self.problems.error(f"layer {clipped(layer.name)}: its calls are no list")
            layer.calls = [self._call(layer, node) for node in listed]
            layers[layer.name] = layer
        inputs, outputs = (self._references(config[key], key) for key in ("input_layers", "output_layers"))
        return Model(_name(config), kind, layers, inputs, outputs, config.get("trainable", True) is not False)

    def _sequential(self, config: Mapping[str, Any], depth: int) -> Model:
        """Return a model whose layers are called in turn, with an input layer before them if the file has its shape."""
        listed = config.get("layers")
        if not isinstance(listed, list) or not listed:
            raise self.problems.error(f"{clipped(config.get('name'))} has no layers")
        layers: dict[str, Layer] = {}
        read = [self.layer(data, f"layer {place}", depth) for place, data in enumerate(listed)]
        if read[0].kind != "InputLayer":
            shape = config.get("build_input_shape") or read[0].config.get("batch_input_shape") or read[0].built
            own = {"batch_shape": shape, "dtype": "float32"}
            read.insert(0, Layer(_unused("input", read), "InputLayer", "keras.layers", own))
        for before, layer in zip([None, *read], read, strict=False):
            if layer.name in layers:
                raise self.problems.error(f"two layers have the name {clipped(layer.name)}")
            layers[layer.name] = layer
            if before is not None:
                own_call = 1 if before.model is not None else 0
                layer.calls = [LayerCall([Reference(before.name, own_call, 0)], {})]
        last = read[-1]
        outputs = Reference(last.name, 1 if last.model is not None else 0, 0)
        is_trainable = config.get("trainable", True) is not False
        return Model(_name(config), "Sequential", layers, Reference(read[0].name, 0, 0), outputs, is_trainable)

    def layer(self, data: Any, what: str, depth: int) -> Layer:
        """Return the layer that an object is; NetcalcError (E007) if it is none."""
        self._count += 1
        if self._count > MOST_LAYERS:
            raise self.problems.error(f"more than {MOST_LAYERS:,} layers")
        if not isinstance(data, dict) or not isinstance(data.get("class_name"), str):
            raise self.problems.error(f"{what} has no class")
        config = data.get("config")
        if not isinstance(config, dict):
            raise self.problems.error(f"{what} has no 'config'")
        kind, module = data["class_name"], data.get("module")
        name = data.get("name", config.get("name"))
        if not isinstance(name, str) or not name:
            raise self.problems.error(f"{what} has no name")
        module = module if isinstance(module, str) else ""
        is_own = module == "keras" or module.startswith("keras.")
        built = data.get("build_config")
        layer = Layer(
            name,
            kind,
            module,
            config,
            is_operation=module.startswith(("keras.src.ops", "keras.ops", "keras.src.activations")),
            is_own=is_own,
            built=built.get("input_shape") if isinstance(built, dict) else None,
        )
        is_model = kind in MODELS or ("layers" in config and "output_layers" in config)
        if is_model and (is_own or "output_layers" in config):
            layer.model = self.model(data, depth + 1)
        return layer

    # -- calls -------------------------------------------------------------------------------------

    def _call(self, layer: Layer, node: Any) -> LayerCall:
        if not isinstance(node, dict) or not isinstance(node.get("args"), list):
            raise self.problems.error(f"layer {clipped(layer.name)}: its calls are not in the form of Keras 3")
        kwargs = node.get("kwargs", {})
        if not isinstance(kwargs, dict):
            raise self.problems.error(f"layer {clipped(layer.name)}: its arguments are no mapping")
        return LayerCall(
            [self._argument(value, layer) for value in node["args"]],
            {name: self._argument(value, layer) for name, value in kwargs.items()},
        )

    def _argument(self, value: Any, layer: Layer) -> Any:
        """Return an argument with references for tensors, and plain data for what Keras wraps."""
        if isinstance(value, list):
            return [self._argument(item, layer) for item in value]
        if not isinstance(value, dict):
            return value
        kind, config = value.get("class_name"), value.get("config")
        if kind == "__keras_tensor__" and isinstance(config, dict):
            return self._tensor(config, layer)
        if kind == "__slice__" and isinstance(config, dict):
            return Slice(config.get("start"), config.get("stop"), config.get("step"))
        if kind in ("__tuple__", "__numpy__", "__tensor__"):
            inner = config if kind == "__tuple__" else (config or {}).get("value") if isinstance(config, dict) else None
            return self._argument(value.get("items", inner), layer)
        if kind == "__ellipsis__":
            return ...
        return {key: self._argument(item, layer) for key, item in value.items()}

    def _tensor(self, config: Mapping[str, Any], layer: Layer) -> Reference:
        history, shape = config.get("keras_history"), config.get("shape")
        if not _is_history(history):
            raise self.problems.error(f"layer {clipped(layer.name)}: a tensor without a layer that makes it")
        recorded = None
        if isinstance(shape, list) and all(size is None or type(size) is int for size in shape):
            recorded = tuple(shape)
        return Reference(history[0], history[1], history[2], recorded)  # type: ignore[index]

    def _references(self, data: Any, what: str) -> Any:
        """Return references in the structure of lists and mappings that a model has them in."""
        if _is_history(data):
            return Reference(*data)
        if isinstance(data, list):
            return [self._references(item, what) for item in data]
        if isinstance(data, dict):
            return {str(name): self._references(item, what) for name, item in data.items()}
        raise self.problems.error(f"{clipped(data)} among {what} is no result of a layer")


def flat(structure: Any) -> Iterator[Reference]:
    """Yield the references in a structure, those of a mapping by its sorted keys, as Keras flattens them."""
    if isinstance(structure, Reference):
        yield structure
    elif isinstance(structure, dict):
        for name in sorted(structure):
            yield from flat(structure[name])
    elif isinstance(structure, (list, tuple)):
        for item in structure:
            yield from flat(item)


def _is_history(data: Any) -> bool:
    return (
        isinstance(data, list)
        and len(data) == 3
        and isinstance(data[0], str)
        and all(type(number) is int and number >= 0 for number in data[1:])
    )


def _name(config: Mapping[str, Any]) -> str:
    name = config.get("name")
    return name if isinstance(name, str) and name else "model"


def _unused(name: str, layers: list[Layer]) -> str:
    taken = {layer.name for layer in layers}
    while name in taken:
        name = f"{name}_"
    return name

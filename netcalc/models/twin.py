"""Models in pydantic: for values that are not plainly right, and for JSON Schemas."""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import RLock
from types import UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import pydantic

from netcalc.models.acceptance import resolved
from netcalc.models.errors import ValidationError
from netcalc.models.fields import REQUIRED, AfterValidator, BeforeValidator, FieldInfo, PlainSerializer, WithJsonSchema

Values: TypeAlias = tuple[dict[str, Any], Collection[str], dict[str, Any] | None]

_EXTRA = "__pydantic_extra__"
#: Twins of models, and models of twins.
_TWINS: dict[type, type[pydantic.BaseModel]] = {}
_OWNERS: dict[type, type[Any]] = {}
_LOCK = RLock()  # a twin needs the twins of its parts


def read_by_twin(owner: type[Any], data: Any) -> Values:
    """Return the values of a model, the names of those that are given, and the values beside its fields.

    Raises:
        ValidationError: the data do not fit the model.
    """
    try:
        validated = twin(owner).model_validate(data)
    except pydantic.ValidationError as error:
        raise ValidationError(error) from None
    return _values(validated)


def twin(owner: type[Any]) -> type[pydantic.BaseModel]:
    """Return the model in pydantic."""
    with _LOCK:
        if owner not in _TWINS:
            made = _make_twin(owner)
            _TWINS[owner], _OWNERS[made] = made, owner
        return _TWINS[owner]


def _make_twin(owner: type[Any]) -> type[pydantic.BaseModel]:
    annotations = {name: _translated_field(field, owner) for name, field in owner.model_fields.items()}
    if owner.model_config.get("extra") == "allow":
        annotations[_EXTRA] = _translated_type(owner.__annotations__[_EXTRA], owner)
    contents: dict[str, Any] = {name: _field(field) for name, field in owner.model_fields.items()}
    for method, (names, mode) in owner.field_validators.items():
        contents[f"validate{method}"] = _field_validator(owner, method, names, mode)
    for method in owner.model_validators:
        contents[f"validate{method}"] = _model_validator(owner, method)
    config: Any = owner.model_config
    contents |= {
        "__annotations__": annotations,
        "__doc__": owner.__doc__,
        "__module__": owner.__module__,
        "model_config": config,
    }
    metaclass: Any = type(pydantic.BaseModel)
    made: type[pydantic.BaseModel] = metaclass(owner.__name__, (pydantic.BaseModel,), contents)
    return made


def _translated_field(field: FieldInfo, owner: type[Any]) -> Any:
    annotation = _translated_type(field.annotation, owner)
    for mark in field.metadata:
        annotation = Annotated[annotation, _mark(mark)]
    return annotation


def _translated_type(annotation: Any, owner: type[Any]) -> Any:
    """Return a type with twins in place of models, and marks of pydantic."""
    annotation = resolved(annotation, owner)
    if isinstance(annotation, type) and hasattr(annotation, "field_validators"):
        return annotation.__name__ if annotation is owner else twin(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        made = _translated_type(arguments[0], owner)
        for mark in arguments[1:]:
            made = Annotated[made, _mark(mark)]
        return made
    if origin is None or origin is Literal:
        return annotation
    inner = tuple(argument if argument is ... else _translated_type(argument, owner) for argument in arguments)
    if origin in (Union, UnionType):
        return Union[inner]  # noqa: UP007 - of any number of types
    return origin[inner]


def _mark(mark: Any) -> Any:
    """Return a mark of a type as pydantic's."""
    if isinstance(mark, BeforeValidator):
        return pydantic.BeforeValidator(mark.func)
    if isinstance(mark, AfterValidator):
        return pydantic.AfterValidator(mark.func)
    if isinstance(mark, PlainSerializer):
        return pydantic.PlainSerializer(mark.func)
    if isinstance(mark, WithJsonSchema):
        return pydantic.WithJsonSchema(mark.json_schema)
    return _field(mark) if isinstance(mark, FieldInfo) else mark


def _field(field: FieldInfo) -> Any:
    settings: dict[str, Any] = dict(field.constraints)
    for name in ("alias", "description", "discriminator"):
        if (value := getattr(field, name)) is not None:
            settings[name] = value
    if field.validate_default:
        settings["validate_default"] = True
    if field.default_factory is not None:
        make = field.default_factory
        return pydantic.Field(default_factory=make, **settings)
    return pydantic.Field(field.default, **settings) if field.default is not REQUIRED else pydantic.Field(**settings)


def _field_validator(owner: type[Any], method: str, names: tuple[str, ...], mode: Any) -> Any:
    own: Callable[..., Any] = getattr(owner, method)
    if "*" in names:

        def prepare(_: Any, value: Any, info: pydantic.ValidationInfo) -> Any:
            return own(value, info.field_name)

        prepares: Any = pydantic.field_validator("*", mode=mode)
        return prepares(classmethod(prepare))

    def validate(_: Any, value: Any) -> Any:
        return own(value)

    validates: Any = pydantic.field_validator(*names, mode=mode)
    return validates(classmethod(validate))


def _model_validator(owner: type[Any], method: str) -> Any:
    def validate(self: pydantic.BaseModel) -> Any:
        getattr(owner.of(*_values(self)), method)()
        return self

    return pydantic.model_validator(mode="after")(validate)


def _values(validated: pydantic.BaseModel) -> Values:
    values = {name: _without_twins(getattr(validated, name)) for name in type(validated).model_fields}
    extra = validated.__pydantic_extra__
    own_extra = None if extra is None else {key: _without_twins(value) for key, value in extra.items()}
    return values, set(validated.model_fields_set), own_extra


def _without_twins(value: Any) -> Any:
    """Return a value with models in place of twins."""
    owner = _OWNERS.get(type(value))
    if owner is not None:
        return owner.of(*_values(value))
    if type(value) in (list, tuple):
        return type(value)(map(_without_twins, value))
    return {key: _without_twins(item) for key, item in value.items()} if type(value) is dict else value

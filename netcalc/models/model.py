"""The base class of models."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Annotated, Any, ClassVar, NamedTuple, Self, cast, get_args, get_origin

from netcalc.models.acceptance import Accept, Unaccepted, acceptor, apply_in_turn
from netcalc.models.fields import REQUIRED, FieldInfo, PlainSerializer

#: Annotation of the values that a model with ``extra="allow"`` takes beside its fields.
_EXTRA = "__pydantic_extra__"


class _Step(NamedTuple):
    """The way in which a field gets its value; ``fixed`` is the default if that never changes, REQUIRED otherwise."""

    name: str
    key: str
    accept: Accept
    field: FieldInfo
    fixed: Any


class Model:
    """A class whose annotated attributes are validated; ``model_config`` is as in pydantic."""

    __slots__ = ("__dict__", "model_extra", "model_fields_set")

    model_config: ClassVar[dict[str, Any]] = {}
    model_fields: ClassVar[dict[str, FieldInfo]] = {}
    #: Methods that validate fields, with the names of the fields and the mode; and those that validate the model.
    field_validators: ClassVar[dict[str, tuple[tuple[str, ...], str]]] = {}
    model_validators: ClassVar[tuple[str, ...]] = ()
    _plan: ClassVar[tuple[_Step, ...] | None] = None
    _values: ClassVar[Any] = staticmethod(lambda _: ())  # the values of the fields, from the dictionary of a model

    model_extra: dict[str, Any] | None
    model_fields_set: Collection[str]

    def __init_subclass__(cls, **keywords: Any) -> None:
        """Collect the fields and validators of the class and of its bases."""
        super().__init_subclass__(**keywords)
        cls.model_config = {**cls.__base__.model_config, **cls.model_config}  # type: ignore[union-attr]
        fields = {name: field for base in reversed(cls.__mro__[1:]) for name, field in _fields_of(base).items()}
        own = vars(cls)
        foreign = next((name for name, value in own.items() if type(value).__module__.startswith("pydantic")), None)
        if foreign is not None:
            raise TypeError(
                f"{cls.__name__}.{foreign}: declare it by netcalc.opdef.attr and netcalc.models, not by pydantic"
            )
        for name, annotation in list(cls.__annotations__.items()):
            if isinstance(annotation, str):
                annotation = eval(annotation, vars(sys.modules[cls.__module__]), dict(own))
            if annotation is ClassVar or get_origin(annotation) is cast("Any", ClassVar) or name == _EXTRA:
                continue
            default = own.get(name, REQUIRED)
            fields[name] = (default if isinstance(default, FieldInfo) else FieldInfo(default)).of(annotation)
            if name in own:
                delattr(cls, name)
        cls.model_fields = fields
        cls._values = itemgetter(*fields) if fields else staticmethod(lambda _: ())
        cls.field_validators = dict(cls.field_validators)
        for name, value in own.items():
            if hasattr(value, "validates_fields"):
                cls.field_validators[name] = value.validates_fields
        added = (name for name, value in own.items() if hasattr(value, "validates_model"))
        cls.model_validators = tuple(dict.fromkeys((*cls.model_validators, *added)))
        cls._plan = None

    def __init__(self, /, **data: Any) -> None:
        self._fill(data)

    @classmethod
    def model_validate(cls, data: Any) -> Self:
        """Return the model with these values by name; ValidationError if they do not fit it."""
        if isinstance(data, cls):
            return data
        return object.__new__(cls)._fill(data)

    @classmethod
    def accepted(cls, data: Any) -> Self:
        """Return the model if the values are plainly right, ValueError if pydantic has to read them."""
        if type(data) is cls:
            return data
        return object.__new__(cls)._accept(data)

    @classmethod
    def of(cls, values: dict[str, Any], fields_set: Collection[str], extra: dict[str, Any] | None = None) -> Self:
        """Return a model of values that are not validated."""
        return object.__new__(cls)._set(values, fields_set, extra)

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema, with aliases as names."""
        from netcalc.models.twin import twin

        return cls.described(twin(cls).model_json_schema(by_alias=True))

    @classmethod
    def described(cls, schema: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON Schema of the class, which subclasses may change."""
        return schema

    def model_dump(self, *, exclude: Collection[str] = (), exclude_defaults: bool = False) -> dict[str, Any]:
        """Return the values by name; nested models are dumped too."""
        dumped = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if name in exclude or (exclude_defaults and not field.is_required() and value == field.get_default()):
                continue
            writers = (mark.func for mark in field.metadata if isinstance(mark, PlainSerializer))
            dumped[name] = next((write(value) for write in writers), _dump_value(value))
        return dumped

    def model_copy(self, *, update: Mapping[str, Any] = {}) -> Self:
        """Return a copy with some values changed, which are not validated."""
        fields_set = {*self.model_fields_set, *update}
        return type(self).of({**self.__dict__, **update}, fields_set, self.model_extra)

    def __iter__(self) -> Iterator[tuple[str, Any]]:
        """Yield the values with their names."""
        return ((name, self.__dict__[name]) for name in type(self).model_fields)

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Model)
        # a dictionary may have cached properties too
        same = self.__dict__ == other.__dict__ or self._values(self.__dict__) == self._values(other.__dict__)
        return bool(same) and self.model_extra == other.model_extra

    def __hash__(self) -> int:
        if not self.model_config.get("frozen"):
            raise TypeError(f"a {type(self).__name__} can change, and has no hash")
        return hash((type(self), self._values(self.__dict__)))

    def __setattr__(self, name: str, value: Any) -> None:
        if self.model_config.get("frozen"):
            raise AttributeError(f"{name!r} of a {type(self).__name__} cannot change")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={self.__dict__[name]!r}' for name in self.model_fields)})"

    def __getstate__(self) -> tuple[Any, ...]:
        return self.__dict__, self.model_fields_set, self.model_extra

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._set(dict(state[0]), *state[1:])

    def _fill(self, data: Any) -> Self:
        """Set the values, validated; ValidationError if they do not fit."""
        try:
            return self._accept(data)
        except (ValueError, AssertionError):
            from netcalc.models.twin import read_by_twin

            return self._set(*read_by_twin(type(self), data))

    def _set(self, values: dict[str, Any], fields_set: Collection[str], extra: dict[str, Any] | None) -> Self:
        put = object.__setattr__
        put(self, "__dict__", values)
        put(self, "model_fields_set", fields_set)
        put(self, "model_extra", extra)
        return self

    def _accept(self, data: Any) -> Self:
        """Set values that are plainly right; ValueError for others."""
        if type(data) is not dict:
            raise Unaccepted
        cls = type(self)
        plan = cls._plan or cls._make_plan()
        values: dict[str, Any] = {}
        fields_set = set()
        for name, key, accept, field, fixed in plan:
            if key in data:
                values[name] = accept(data[key])
                fields_set.add(name)
            elif fixed is not REQUIRED:
                values[name] = fixed
            elif field.is_required():
                raise Unaccepted
            else:
                default = field.get_default()
                values[name] = accept(default) if field.validate_default else default
        extra = cls._accept_extra(data) if len(fields_set) < len(data) else {} if _takes_extra(cls) else None
        self._set(values, fields_set, extra)
        for method in cls.model_validators:
            getattr(self, method)()
        return self

    @classmethod
    def _accept_extra(cls, data: dict[str, Any]) -> dict[str, Any]:
        if not _takes_extra(cls):
            raise Unaccepted
        declared = {step.key for step in cls._plan or ()} | cls.model_fields.keys()
        _, item = get_args(cls.__annotations__[_EXTRA])
        accept = acceptor(item, {}, cls)
        extra = {key: accept(value) for key, value in data.items() if key not in declared and type(key) is str}
        if len(extra) + sum(key in data for key in declared) < len(data):
            raise Unaccepted
        return extra

    @classmethod
    def _make_plan(cls) -> tuple[_Step, ...]:
        """Return how each field gets its value, and keep it."""
        steps = []
        for name, field in cls.model_fields.items():
            accept = _field_acceptor(cls, name, field)
            fixed, default = REQUIRED, field.default
            if default is not REQUIRED and not isinstance(default, (list, dict)):
                fixed = accept(default) if field.validate_default else default
            steps.append(_Step(name, field.alias or name, accept, field, fixed))
        cls._plan = tuple(steps)
        return cls._plan


def _fields_of(base: type) -> dict[str, FieldInfo]:
    own: dict[str, FieldInfo] = vars(base).get("model_fields", {})
    return own


def _takes_extra(cls: type[Model]) -> bool:
    return cls.model_config.get("extra") == "allow"


def _field_acceptor(cls: type[Model], name: str, field: FieldInfo) -> Accept:
    """Return the function for the values of a field, with the validators of the class."""
    annotation = field.annotation
    for mark in field.metadata:
        annotation = Annotated[annotation, mark]
    accept = acceptor(annotation, field.constraints, cls)
    for method, (names, mode) in cls.field_validators.items():
        if "*" in names:
            accept = partial(_accept_prepared, getattr(cls, method), name, accept)
        elif name in names:
            own = getattr(cls, method)
            accept = partial(apply_in_turn, [own, accept] if mode == "before" else [accept, own])
    return accept


def _accept_prepared(prepare: Callable[[Any, str], Any], name: str, accept: Accept, value: Any) -> Any:
    return accept(prepare(value, name))


def _dump_value(value: Any) -> Any:
    if isinstance(value, Model):
        return value.model_dump()
    if type(value) in (list, tuple):
        return type(value)(map(_dump_value, value))
    return {key: _dump_value(item) for key, item in value.items()} if type(value) is dict else value

"""Fields of models, and the marks of their types and validators, by the names that pydantic gives them."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy, deepcopy
from typing import Any, TypeVar

#: Stands for the default of a field that has none.
REQUIRED: Any = ...

Function = TypeVar("Function")


def ConfigDict(**settings: Any) -> dict[str, Any]:  # noqa: N802 - the name in pydantic
    """Return the settings of a model: strict, frozen, extra."""
    return settings


class _Function:
    """A mark of a type with a function of its values."""

    def __init__(self, func: Callable[[Any], Any]) -> None:
        self.func = func


class BeforeValidator(_Function):
    """A function that values go through before they are validated; ValueError refuses one."""


class AfterValidator(_Function):
    """A function that values go through after they are validated."""


class PlainSerializer(_Function):
    """A function that gives a value as plain data."""


class WithJsonSchema:
    """The JSON Schema of a type in place of the derived one."""

    def __init__(self, json_schema: dict[str, Any]) -> None:
        self.json_schema = json_schema


class FieldInfo:
    """A field of a model; ``constraints`` are named as in pydantic, such as ``gt``."""

    def __init__(
        self,
        default: Any = REQUIRED,
        *,
        default_factory: Callable[[], Any] | None = None,
        alias: str | None = None,
        description: str | None = None,
        validate_default: bool = False,
        discriminator: str | None = None,
        **constraints: Any,
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.alias = alias
        self.description = description
        self.validate_default = validate_default
        self.discriminator = discriminator
        self.constraints = constraints
        self.annotation: Any = None  # without the marks, which are in ``metadata``
        self.metadata: tuple[Any, ...] = ()

    def of(self, annotation: Any) -> FieldInfo:
        """Return the field with its type."""
        field = copy(self)
        field.metadata = getattr(annotation, "__metadata__", ())
        field.annotation = annotation.__origin__ if field.metadata else annotation
        return field

    def is_required(self) -> bool:
        """Return True for a field without a default."""
        return self.default is REQUIRED and self.default_factory is None

    def get_default(self, *, call_default_factory: bool = True) -> Any:
        """Return the default, of its own if it can be changed; None for a field without one."""
        if self.default_factory is not None:
            return self.default_factory() if call_default_factory else None
        if self.default is REQUIRED:
            return None
        return deepcopy(self.default) if isinstance(self.default, (list, dict)) else self.default


def Field(default: Any = REQUIRED, **settings: Any) -> Any:  # noqa: N802 - the name in pydantic
    """Return a field with its settings."""
    return FieldInfo(default, **settings)


def field_validator(*names: str, mode: str = "after") -> Callable[[Function], Function]:
    """Mark a class method that validates values of some fields; for ``"*"``, all, it also takes the field's name."""

    def mark(method: Function) -> Function:
        method.validates_fields = (names, mode)  # type: ignore[attr-defined]
        return method

    return mark


def model_validator(*, mode: str) -> Callable[[Function], Function]:
    """Mark a method that validates the model as a whole, after its fields, and returns it."""
    assert mode == "after"

    def mark(method: Function) -> Function:
        method.validates_model = True  # type: ignore[attr-defined]
        return method

    return mark

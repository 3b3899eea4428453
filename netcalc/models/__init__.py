"""Models: classes whose annotated attributes are validated as in pydantic, without importing pydantic.

A model is declared as one of pydantic.  Values that are plainly right are accepted by the functions of
:mod:`netcalc.models.acceptance`.  For all others, and for JSON Schemas, :mod:`netcalc.models.twin` makes the same model
in pydantic, which reads what can be read, and says what is wrong; importing pydantic takes longer than most commands.
"""

from netcalc.models.errors import ValidationError
from netcalc.models.fields import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    FieldInfo,
    PlainSerializer,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from netcalc.models.model import Model

__all__ = [
    "AfterValidator",
    "BeforeValidator",
    "ConfigDict",
    "Field",
    "FieldInfo",
    "Model",
    "PlainSerializer",
    "ValidationError",
    "WithJsonSchema",
    "field_validator",
    "model_validator",
]

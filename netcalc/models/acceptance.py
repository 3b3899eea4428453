"""Functions that accept values which are plainly of a type.

They give what pydantic gives in strict mode, or raise ValueError for a value that pydantic has to read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, ForwardRef, Literal, TypeAlias, Union, get_args, get_origin

from netcalc.models.fields import AfterValidator, BeforeValidator, FieldInfo

Accept: TypeAlias = Callable[[Any], Any]
#: Whole numbers of at most this size are floats without rounding.
_EXACT = 2**53


class Unaccepted(ValueError):  # noqa: N818 - no error, but a value that is left to pydantic
    """Raised for a value that pydantic has to read."""


def acceptor(annotation: Any, constraints: Mapping[str, Any], owner: type) -> Accept:
    """Return the function that accepts values of a type, whose names are looked up in the module of ``owner``."""
    annotation = resolved(annotation, owner)
    accept: Accept
    if get_origin(annotation) is Annotated:
        accept = _acceptor_of_annotated(annotation, owner)
    elif get_origin(annotation) in (Union, UnionType):
        accept = _union(get_args(annotation), owner)
    else:
        accept = _acceptor_of_type(annotation, owner)
    return partial(_accept_within, accept, dict(constraints)) if constraints else accept


def resolved(annotation: Any, owner: type) -> Any:
    """Return a type that is given by its text, or as it is."""
    if isinstance(annotation, ForwardRef):
        annotation = annotation.__forward_arg__
    return eval(annotation, vars(sys.modules[owner.__module__])) if isinstance(annotation, str) else annotation


def _acceptor_of_annotated(annotation: Any, owner: type) -> Accept:
    constraints: dict[str, Any] = {}
    before: list[Accept] = []
    after: list[Accept] = []
    for mark in annotation.__metadata__:
        if isinstance(mark, BeforeValidator):
            before.insert(0, mark.func)
        elif isinstance(mark, AfterValidator):
            after.append(mark.func)
        elif isinstance(mark, FieldInfo):
            constraints |= mark.constraints
        elif type(mark).__module__.startswith(("pydantic", "annotated_types")):
            return _none  # only pydantic knows what it does
    accept = acceptor(annotation.__origin__, constraints, owner)
    functions = [*before, *([] if annotation.__origin__ is Any and not constraints else [accept]), *after]
    return functions[0] if len(functions) == 1 else partial(apply_in_turn, functions)


def apply_in_turn(functions: Sequence[Accept], value: Any) -> Any:
    """Return what the functions make of a value, each of what the one before returns."""
    for function in functions:
        value = function(value)
    return value


def _acceptor_of_type(annotation: Any, owner: type) -> Accept:
    simple = _SIMPLE.get(annotation) if isinstance(annotation, type) or annotation is Any else None
    if simple is not None:
        return simple
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return partial(_literal, {(type(value), value) for value in arguments})
    if origin is list:
        return partial(_list, acceptor(arguments[0], {}, owner))
    if origin is dict:
        return partial(_dict, acceptor(arguments[0], {}, owner), acceptor(arguments[1], {}, owner))
    if origin is tuple:
        if arguments[-1] is ...:
            return partial(_tuple, acceptor(arguments[0], {}, owner))
        return partial(_fixed_tuple, [acceptor(argument, {}, owner) for argument in arguments])
    if origin is None and isinstance(annotation, type):
        return getattr(annotation, "accepted", None) or partial(_instance, annotation)
    return _none


def _union(members: Sequence[Any], owner: type) -> Accept:
    nullable = NoneType in members
    kinds = [resolved(member, owner) for member in members if member is not NoneType]
    accepts = [acceptor(kind, {}, owner) for kind in kinds]
    if int in kinds and float in kinds:  # a whole number stays one
        accepts[kinds.index(float)] = partial(_exactly, float)
    if len(accepts) == 1:
        return partial(_optional, accepts[0]) if nullable else accepts[0]
    return partial(_first_accepted, accepts, nullable)


def _optional(accept: Accept, value: Any) -> Any:
    return None if value is None else accept(value)


def _first_accepted(accepts: Sequence[Accept], nullable: bool, value: Any) -> Any:
    if nullable and value is None:
        return None
    for accept in accepts:
        try:
            return accept(value)
        except ValueError:
            continue
    raise Unaccepted


def _exactly(type_: type, value: Any) -> Any:
    if type(value) is type_:
        return value
    raise Unaccepted


def _float(value: Any) -> Any:
    if type(value) is float:
        return value
    if type(value) is int and -_EXACT <= value <= _EXACT:
        return float(value)
    raise Unaccepted


def _str(value: Any) -> Any:
    if type(value) is str and (value.isascii() or value.encode()):  # half of a surrogate pair is a ValueError
        return value
    raise Unaccepted


def _any(value: Any) -> Any:
    return value


def _none(value: Any) -> Any:
    raise Unaccepted


_SIMPLE: dict[Any, Accept] = {
    bool: partial(_exactly, bool),
    int: partial(_exactly, int),
    float: _float,
    str: _str,
    Any: _any,
}


def _literal(accepted: set[tuple[type, Any]], value: Any) -> Any:
    if isinstance(value, (str, int)) and (type(value), value) in accepted:
        return value
    raise Unaccepted


def _instance(type_: type, value: Any) -> Any:
    if isinstance(value, type_):
        return value
    raise Unaccepted


def _list(accept: Accept, value: Any) -> Any:
    if type(value) is not list:
        raise Unaccepted
    return value.copy() if accept is _any else [accept(item) for item in value]


def _tuple(accept: Accept, value: Any) -> Any:
    if type(value) is not tuple:
        raise Unaccepted
    return value if accept is _any else tuple([accept(item) for item in value])


def _fixed_tuple(accepts: Sequence[Accept], value: Any) -> Any:
    if type(value) is not tuple or len(value) != len(accepts):
        raise Unaccepted
    return tuple([accept(item) for accept, item in zip(accepts, value, strict=True)])


def _dict(key: Accept, item: Accept, value: Any) -> Any:
    if type(value) is not dict:
        raise Unaccepted
    return {key(name): item(entry) for name, entry in value.items()}


def _accept_within(accept: Accept, constraints: Mapping[str, Any], value: Any) -> Any:
    value = accept(value)
    if value is not None and not all(_HOLDS[name](value, bound) for name, bound in constraints.items()):
        raise Unaccepted
    return value


def _matches(value: Any, pattern: str) -> bool:
    return re.search(pattern.replace("$", r"\Z"), value, re.ASCII) is not None


_HOLDS: dict[str, Callable[[Any, Any], bool]] = {
    "ge": lambda value, bound: bool(value >= bound),
    "gt": lambda value, bound: bool(value > bound),
    "le": lambda value, bound: bool(value <= bound),
    "lt": lambda value, bound: bool(value < bound),
    "min_length": lambda value, bound: len(value) >= bound,
    "max_length": lambda value, bound: len(value) <= bound,
    "pattern": _matches,
    "allow_inf_nan": lambda value, allowed: allowed or isfinite(value),
}

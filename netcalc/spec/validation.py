"""Validation of spec documents: pydantic's errors become diagnostics, each with its place."""

from __future__ import annotations

import re
import typing
from collections.abc import Callable, Collection, Mapping
from itertools import islice
from typing import Any, NamedTuple

from netcalc.characters import unnamed
from netcalc.diagnostics import Diagnostic, NetcalcError, Unlisted, written
from netcalc.limits import MAX_ERRORS
from netcalc.models import Model, ValidationError
from netcalc.spec.cursor import Cursor, Path
from netcalc.spec.document import Document
from netcalc.spec.foreign_files import foreign_data

if typing.TYPE_CHECKING:
    from netcalc.spec.foreign_names import Suggestion

#: Messages in place of pydantic's own, by the type of its error.
_MESSAGES = {
    "model_type": "should be a mapping",
    "dict_type": "should be a mapping",
    "list_type": "should be a list",
    "string_type": "should be a string",
    "string_pattern_mismatch": "is not in the expected format",
    "int_type": "should be a whole number",
    "int_parsing_size": "should be a smaller number",
    "bool_type": "should be true or false",
    "too_short": "has too few entries",
    "too_long": "has too many entries",
}


#: Characters of a value that a message shows.
_SHOWN = 60


def validate(cursor: Cursor) -> Document:
    """Return the document; NetcalcError with every error of its structure."""
    if not isinstance(cursor.data, dict):
        raise cursor.error("E104", "a spec should be a mapping that starts with `netcalc: 1`")
    foreign = foreign_data(cursor.data)
    if foreign is not None:
        raise NetcalcError(foreign._replace(span=cursor.span))
    if "netcalc" not in cursor.data:
        raise cursor.error("E105", "the key 'netcalc' is missing", "start the spec with `netcalc: 1`")
    try:
        return Document.model_validate(cursor.data)
    except ValidationError as error:
        raise NetcalcError(diagnose(error, cursor, Document)) from None


class Evaluated(NamedTuple):
    """Values of a model in which expressions are evaluated, the names that these saw, and where a var is written."""

    values: Mapping[str, Any]
    scope: Mapping[str, Any]
    place_of_var: Callable[[str], Cursor | None]

    def at(self, path: Path) -> Any:
        """Return the value at a path, or the part of it that there is."""
        value: Any = self.values
        for part in path:
            try:
                value = value[part]
            except (KeyError, IndexError, TypeError):
                break
        return value

    def explained(self, problem: Diagnostic, place: Cursor, model: type[Model], path: Path) -> Diagnostic:
        """Return the diagnostic of a value at a path that the model refuses, with what to write for a text."""

        if not path:
            return problem
        from netcalc.spec.value_hints import explained, read_again  # hints are needed for errors only

        name = str(path[0])

        def accepts(meant: Any) -> bool:
            whole = meant if len(path) == 1 else read_again(self.values[name], self.scope)
            try:
                model.model_validate({**self.values, name: whole})
            except ValidationError as error:
                return all(item["loc"][:1] != (name,) for item in error.errors())
            return True

        return explained(problem, self.at(path), place, self.scope, accepts, self.place_of_var)


def diagnose(
    error: ValidationError,
    cursor: Cursor,
    model: type[Model],
    noun: str = "key",
    evaluated: Evaluated | None = None,
) -> list[Diagnostic]:
    """Return pydantic's errors as diagnostics, at most one for each place.

    Args:
        error: the errors of validating ``cursor.data`` as a ``model``.
        cursor: the data with its place.
        model: the model.
        noun: the name of a field in the messages.
        evaluated: the data that are validated, if these are not as they are written.
    """
    diagnostics: dict[Path, Diagnostic] = {}
    unions: set[Path] = set()
    meant: set[Path] = set()  # the places of names that a misspelt one probably stands for
    for item in islice(error.errors(include_url=False, include_input=False, include_context=False), MAX_ERRORS):
        loc = _data_path(cursor, item)
        at = cursor.at(loc)
        place = (*at.path, loc[-1]) if item["type"] == "missing" else at.path
        # pydantic reports every member of a union: the first error at a place is enough
        if place not in diagnostics:
            beside = cursor.at(loc[:-1]).data
            present = beside if isinstance(beside, dict) else {}
            suggestion = _suggestion(item, model, noun, present)
            problem = _diagnostic(item, loc, at, noun, suggestion.hint, evaluated)
            is_key = item["loc"][-1:] == ("[key]",)
            if problem.code == "E104" and evaluated is not None:
                problem = evaluated.explained(problem, at, model, loc)
            elif problem.code == "E104":
                problem = problem._replace(hint=unnamed(str(loc[-1])) if is_key else _document_hint(at))
            if problem.code == "E104" and problem.hint is None and not is_key:
                problem = problem._replace(hint=_value_hint(item, at.data if evaluated is None else evaluated.at(loc)))
            diagnostics[place] = problem
            if suggestion.name is not None:
                meant.add((*at.path[:-1], suggestion.name))
            if len(loc) < len(item["loc"]):
                unions.add(place)
    containers = {place[:length] for place in diagnostics for length in range(len(place))}
    errors = [
        diagnostic
        for place, diagnostic in diagnostics.items()
        # if a member of a union got further, only its errors are of interest
        if not (place in unions and place in containers)
        # a misspelt key is not reported as missing too
        and not (diagnostic.code == "E105" and place in meant)
    ]
    if error.error_count() > MAX_ERRORS:
        errors.append(Unlisted.after(errors[-1]))
    return errors


def _data_path(cursor: Cursor, item: Any) -> Path:
    """Return the path of an error in the data, without the names that pydantic gives to members of unions."""
    loc: Path = item["loc"]
    absent = 1 if item["type"] == "missing" else 0  # the last part of the path is not in the data
    path: list[str | int] = []
    for part in loc[: len(loc) - absent]:
        data = cursor.at(tuple(path)).data
        if (isinstance(data, dict) and part in data) or (isinstance(data, list) and isinstance(part, int)):
            path.append(part)
    return (*path, *loc[len(loc) - absent :])


def _suggestion(item: Any, model: type[Model], noun: str, present: Collection[str]) -> Suggestion:
    """Return what to write for an unknown name; ``present`` are the keys that stand beside it."""
    from netcalc.spec.foreign_names import Suggestion, suggested_attribute, suggested_key

    if item["type"] != "extra_forbidden":
        return Suggestion(None, None)
    name, known = str(item["loc"][-1]), _fields_at(model, item["loc"][:-1])
    return suggested_attribute(name, known, present) if noun != "key" else suggested_key(name, known, present)


def _document_hint(at: Cursor) -> str | None:
    """Return what to write for a key of a spec with a value of another form."""
    from netcalc.spec.value_hints import OPEN_SIZE, shape_hint

    match at.path:
        case ("layers",) | ("loss", "layers") if isinstance(at.data, dict):
            return "start each line with a hyphen, as in `- relu` and `- linear: {out: 10}`"
        case ("layers",) | ("loss", "layers") if isinstance(at.data, str):
            return "write a space after each hyphen, as in `- relu`" if at.data[:1] == "-" else f"write `[{at.data}]`"
        case ("inputs",) | ("loss", "inputs"):
            return shape_hint(at.data, named=True) or "write each input with its shape, as in `inputs: {x: [1, 8]}`"
        case (*_, "inputs", _, int()) | (*_, "inputs", _, "shape", int()):
            return OPEN_SIZE
        case (*_, "inputs", _) | (*_, "inputs", _, "shape"):
            return shape_hint(at.data, named=False)
        case ("outputs",) if isinstance(at.data, str):
            return f"write `[{at.data}]`"
    return None


def _value_hint(item: Any, value: Any) -> str | None:
    """Return which of the values that a message lists is meant."""
    from netcalc.spec.foreign_names import suggested_value

    known = re.findall("'([^']*)'", item["msg"]) or item["msg"].partition("one of ")[2].split(", ")
    return suggested_value(value, known) if isinstance(value, str) else None


def _diagnostic(
    item: Any, loc: Path, at: Cursor, noun: str, hint: str | None, evaluated: Evaluated | None
) -> Diagnostic:
    """Return the diagnostic of pydantic's error at ``at``."""
    name = str(loc[-1]) if loc else ""
    if item["type"] == "extra_forbidden":
        return Diagnostic("E103" if noun != "key" else "E101", f"unknown {noun} {name!r}", at.key_span, hint=hint)
    if item["loc"][-1:] == ("[key]",):
        message = f"{name!r} should be a name of letters, digits and '_' that does not start with a digit"
        return Diagnostic("E104", message, at.key_span)
    if item["type"] == "missing":
        return Diagnostic("E105", f"the {noun} {name!r} is missing", at.key_span)
    message = _MESSAGES.get(item["type"]) or item["msg"].removeprefix("Value error, ").removeprefix("Input ")
    if message == "should be a mapping" and at.path[-2:-1] == ("inputs",):
        message = "should be a list of sizes, or a mapping"
    data = at.data if evaluated is None else evaluated.at(loc)
    shown = data if isinstance(data, (str, int, float, bool, list)) else None
    got = "" if shown is None or ", not " in message else f", not {written(shown, quoted=True, length=_SHOWN)}"
    owner = ".".join(map(str, loc)) or name
    subject = f"{noun} {owner!r}" if owner else noun.removesuffix(" attribute")  # a rule about several attributes
    return Diagnostic("E104", f"{subject}: {message}{got}", at.span)


def _fields_at(model: type[Model], loc: Path) -> list[str]:
    """Return the field names of the model that is nested at ``loc`` in ``model``."""
    for part in loc:
        field = next((f for n, f in model.model_fields.items() if part in (n, f.alias)), None)
        extra = model.__annotations__.get("__pydantic_extra__")
        if field is None and extra is None:
            continue
        pending = [extra if field is None else field.annotation]
        while pending:
            annotation = pending.pop()
            if isinstance(annotation, type) and issubclass(annotation, Model):
                model = annotation
                break
            pending += typing.get_args(annotation)
    return [f.alias or n for n, f in model.model_fields.items()]

"""Files of counting conventions: their form, and the conventions that they describe.

A file has these keys::

    about, source, version: text
    extends: CONVENTION        # a shipped one whose unit, kinds and rules count where this file has none
    unit: MAC | FLOP           # the tool's figure gives 1 or 2 for a multiply-add
    kinds: {KIND: NUMBER}      # FLOPs of the kinds of work that count, for operations without a rule
    complex: real | element    # work on complex numbers: real arithmetic, or one for each element
    let: {NAME: EXPRESSION}    # names for the rules
    forward: [RULE]
    backward: [RULE]           # left out if no backward pass is counted
    figures: {NAME: FIGURE}    # what the tool shows beside work: parameters, activations, sizes

A figure is ``{title: TEXT, unit: parameters | elements | bytes, rules: [RULE], when: CONDITION, bug: TEXT}`` with rules
``{of, when, count: EXPRESSION, bug}``, or has in place of rules a ``total``, an expression over figures before it.
``weights: true`` is for bytes of parameters and buffers, which count at the first call of a layer; ``greatest: module``
takes the greatest module of the reference in place of the sum.  ``NAME: null`` leaves out a figure of the convention
that is extended.

A rule is ``{of: OPERATION or [OPERATION] or all, when: CONDITION, macs: COUNT, others: COUNT, bug: TEXT}``.  A count is
an expression or several by name; ``macs`` are multiply-adds, ``others`` FLOPs beside them.  The first rule for an
operation whose condition holds counts.  :data:`~netcalc.analysis.conventions.scope.NAMES` are the names in expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from netcalc.analysis.conventions.convention import (
    ACTIVATIONS,
    ALL,
    Convention,
    CountRule,
    FigureUnit,
    OwnFigure,
    Pass,
    Rule,
)
from netcalc.analysis.conventions.scope import NAMES, OF_PLACE
from netcalc.diagnostics import NetcalcError, did_you_mean
from netcalc.expressions import Expression, ExpressionError, parse
from netcalc.expressions.tree import Attribute, Name, Node
from netcalc.models import ConfigDict, Field, Model, ValidationError
from netcalc.opdef import KINDS, Kind
from netcalc.spec.cursor import Cursor

_PER_MAC = {"MAC": 1, "FLOP": 2}
_Count: TypeAlias = int | str | dict[str, int | str] | None


class RuleTable(Model):
    """A rule as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    operations: str | list[str] = Field(alias="of")
    when: str | None = None
    macs: _Count = None
    others: _Count = None
    bug: str = ""


class CountTable(Model):
    """A rule of a figure as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    operations: str | list[str] = Field(alias="of")
    when: str | None = None
    count: int | str
    bug: str = ""


class FigureTable(Model):
    """A figure of a tool as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    title: Annotated[str, Field(min_length=1)]
    unit: FigureUnit
    when: str | None = None
    bug: str = ""
    weights: bool = False
    greatest: Literal["module"] | None = None
    rules: list[CountTable] = Field([])
    total: str | None = None


class ConventionTable(Model):
    """A file of a convention."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    about: Annotated[str, Field(min_length=1)]
    source: Annotated[str, Field(min_length=1)]
    version: str = ""
    extends: str | None = None
    unit: Literal["MAC", "FLOP"] | None = None
    kinds: dict[str, int] = Field({})
    complex: Literal["real", "element"] = "element"
    let: dict[str, int | str] = Field({})
    forward: list[RuleTable] = Field([])
    backward: list[RuleTable] | None = None
    figures: dict[str, FigureTable | None] = Field({})


def convention_of(
    name: str, cursor: Cursor, shipped: Callable[[str], Convention], *, trusted: bool = False
) -> Convention:
    """Return the convention that a document describes.

    Args:
        name: name of the convention.
        cursor: the document.
        shipped: function that returns a shipped convention by its name, for one that extends it.
        trusted: True for a shipped file, whose names the tests check.

    Raises:
        NetcalcError: E101, E104 or E105 for its form, E102 for an unknown operation or kind of work, E103 for an
            attribute that an operation does not have, E201 or E202 for its expressions, each with its place.
    """
    table = _validated(cursor)
    base = None
    if table.extends is not None:
        try:
            base = shipped(table.extends)
        except NetcalcError as error:
            found = error.diagnostics[0]
            raise cursor["extends"].error("E102", found.message, found.hint) from None
    elif table.unit is None:
        raise cursor.error(
            "E105", "the key 'unit' is missing", "write `unit: MAC` if a multiply-add is one, or `unit: FLOP`"
        )
    per_mac = _PER_MAC[table.unit] if table.unit else base.per_mac if base else 1
    kinds = _kinds(table, cursor, per_mac) or (base.forward.kinds if base else {})
    let: dict[str, Expression] = {}
    for key, value in table.let.items():
        let[key] = _expression(value, cursor["let"][key], let)
    reader = _Rules(let, trusted)
    forward = Pass(kinds, _with(reader.read(table.forward, cursor, "forward"), base and base.forward))
    backward = base.backward if base else None
    if "backward" in cursor.data:  # null is that of a tool that counts none
        backward = None
    if table.backward is not None:
        backward = Pass(kinds, _with(reader.read(table.backward, cursor, "backward"), backward))
    figures = _figures(table, cursor, let, trusted, base.figures if base else {})
    by_place = ACTIVATIONS in figures and figures[ACTIVATIONS].reads_place
    return Convention(
        name,
        table.about,
        table.source,
        per_mac,
        forward,
        backward,
        table.complex == "element",
        by_place or bool(reader.names & OF_PLACE) or (base is not None and base.by_place),
        "network" in reader.names or (base is not None and base.by_network),
        table.version or (base.version if base else ""),
        figures,
        "" if table.extends is None or {"kinds", "forward", "backward"} & cursor.data.keys() else table.extends,
    )


def _validated(cursor: Cursor) -> ConventionTable:
    try:
        if not isinstance(cursor.data, dict):
            raise cursor.error("E104", "a convention should be a mapping: about, source, unit, kinds, forward")
        return ConventionTable.model_validate(cursor.data)
    except ValidationError as error:
        from netcalc.spec.validation import diagnose

        raise NetcalcError(diagnose(error, cursor, ConventionTable)) from None


def _figures(
    table: ConventionTable,
    cursor: Cursor,
    let: Mapping[str, Expression],
    trusted: bool,
    base: Mapping[str, OwnFigure],
) -> Mapping[str, OwnFigure]:
    """Return figures by name; those of a convention that is extended have its rules behind their own."""
    figures: dict[str, OwnFigure] = dict(base)
    for name, figure in table.figures.items():
        if figure is None:
            figures.pop(name, None)
            continue
        place, reader = cursor["figures"][name], _Rules(let, trusted)
        others = base[name].rules if name in base else {}
        own = reader.counts(figure.rules, place)
        rules = {key: (*own.get(key, ()), *others.get(key, ())) for key in (*own, *(others.keys() - own.keys()))}
        if bool(rules) == (figure.total is not None):
            raise place.error("E104", "a figure has either rules or a total")
        known = (*figures, "network")
        figures[name] = OwnFigure(
            name,
            figure.title,
            figure.unit,
            rules,
            None if figure.total is None else _expression(figure.total, place["total"], {}, known),
            None if figure.when is None else _expression(figure.when, place["when"], {}, ("network",)),
            " ".join(figure.bug.split()),
            bool(reader.names & OF_PLACE) or (name in base and base[name].reads_place),
            figure.weights,
            figure.greatest is not None,
        )
    return figures


def _with(own: Mapping[str, tuple[Rule, ...]], base: Pass | None) -> Mapping[str, tuple[Rule, ...]]:
    """Return rules in front of those of a convention that is extended."""
    others = {} if base is None else base.rules
    return {name: (*own.get(name, ()), *others.get(name, ())) for name in (*own, *(others.keys() - own.keys()))}


def _kinds(table: ConventionTable, cursor: Cursor, per_mac: int) -> Mapping[Kind, int]:
    kinds: dict[Kind, int] = {}
    for name, flops in table.kinds.items():
        kind = next((kind for kind in KINDS if kind == name), None)
        place = cursor["kinds"][name]
        if kind is None:
            hint = did_you_mean(name, KINDS) or f"the kinds are {', '.join(KINDS)}"
            raise place.key_error("E102", f"there is no kind of work {name!r}", hint)
        if flops < 0:
            raise place.error("E104", "should be 0 or more FLOPs")
        if kind == "mac" and flops != per_mac:
            raise place.error("E104", f"a multiply-add is {flops} FLOPs here, and its unit says {per_mac}")
        kinds[kind] = flops
    return kinds


class _Rules:
    """Reader of rules; ``names`` are all that their expressions refer to."""

    def __init__(self, let: Mapping[str, Expression], trusted: bool) -> None:
        self._let = let
        self._trusted = trusted
        self.names: set[str] = set()

    def read(self, tables: list[RuleTable], cursor: Cursor, key: str) -> Mapping[str, tuple[Rule, ...]]:
        """Return the rules of a pass by operation."""
        rules: dict[str, tuple[Rule, ...]] = {}
        for index, table in enumerate(tables):
            place = cursor[key][index]
            rule = Rule(
                None if table.when is None else self._expression(table.when, place["when"]),
                self._count("multiply-adds", table.macs, place, "macs"),
                self._count("other work", table.others, place, "others"),
                " ".join(table.bug.split()),
            )
            names = [table.operations] if isinstance(table.operations, str) else table.operations
            for name in names:
                if not self._trusted:
                    expressions = [] if rule.when is None else [rule.when]
                    _check_operation(name, [*expressions, *rule.macs.values(), *rule.others.values()], place)
                rules[name] = (*rules.get(name, ()), rule)
        return rules

    def counts(self, tables: list[CountTable], figure: Cursor) -> dict[str, tuple[CountRule, ...]]:
        """Return the rules of a figure by operation."""
        rules: dict[str, tuple[CountRule, ...]] = {}
        for index, table in enumerate(tables):
            place = figure["rules"][index]
            when = None if table.when is None else self._expression(table.when, place["when"])
            rule = CountRule(when, self._expression(table.count, place["count"]), " ".join(table.bug.split()))
            for name in [table.operations] if isinstance(table.operations, str) else table.operations:
                if not self._trusted:
                    _check_operation(name, [rule.counted] if when is None else [when, rule.counted], place)
                rules[name] = (*rules.get(name, ()), rule)
        return rules

    def _count(self, title: str, count: _Count, rule: Cursor, key: str) -> Mapping[str, Expression]:
        if count is None:
            return {}
        if isinstance(count, dict):
            return {name: self._expression(part, rule[key][name]) for name, part in count.items()}
        expression = self._expression(count, rule[key])
        return {} if count == 0 else {title: expression}

    def _expression(self, text: int | str, place: Cursor) -> Expression:
        expression = _expression(text, place, self._let)
        self.names |= expression.names()
        return expression


def _expression(
    text: int | str, place: Cursor, let: Mapping[str, Expression], known: Collection[str] = NAMES
) -> Expression:
    """Return an expression of ``known`` names, with those of ``let`` replaced by what they stand for."""
    text = str(text)
    try:
        expression = parse(text)
        used = sorted(expression.names() & let.keys())
        if used:
            expression = parse(_with_names(text, {name: let[name].text for name in used}))
    except ExpressionError as error:
        raise place.error(error.code, error.message) from None
    for name in sorted(expression.names().difference(known)):
        hint = did_you_mean(name, known) or f"the names are {', '.join(known)}"
        raise place.error("E202", f"unknown name {name!r}", hint)
    return expression


def _with_names(text: str, meant: Mapping[str, str]) -> str:
    import re

    return re.sub(r"(?<![\w.'])([A-Za-z_]\w*)(?!['\w])", lambda m: f"({meant[m[1]]})" if m[1] in meant else m[1], text)


def _check_operation(name: str, expressions: Iterable[Expression], place: Cursor) -> None:
    """Raise NetcalcError for an operation that does not exist, or lacks an attribute that its rule reads."""
    from netcalc import ops

    if name == ALL:
        return
    operation = ops.find(name)
    if operation is None:
        hint = did_you_mean(name, (*ops.names(), ALL))
        raise place["of"].error("E102", f"there is no operation {name!r}", hint or "`netcalc ops` lists them")
    for expression in expressions:
        for attribute in _attributes(expression.root):
            if attribute not in operation.model_fields:
                known = operation.model_fields
                hint = did_you_mean(attribute, known) or f"there are {', '.join(known)}"
                raise place.error("E103", f"{name} has no attribute {attribute!r}", hint)


def _attributes(node: Node) -> Iterator[str]:
    """Yield the attributes of the operation that an expression reads, as ``op.groups``."""
    if isinstance(node, Attribute) and isinstance(node.value, Name) and node.value.name == "op":
        yield node.name
    for child in node.children:
        yield from _attributes(child)


def read_text(path: str | Path) -> str:
    """Return the text of a user's file; NetcalcError (E605) if it cannot be read."""
    from netcalc.characters import conversion
    from netcalc.confinement import require_readable
    from netcalc.diagnostics import Diagnostic

    require_readable(path)
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        hint = conversion(error.object, str(path))
        raise NetcalcError(Diagnostic("E605", f"--convention {path}: it is no text in UTF-8", hint=hint)) from None
    except OSError as error:
        raise NetcalcError(Diagnostic("E605", f"--convention {path}: {error.strerror or error}")) from None

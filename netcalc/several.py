"""Settings and schemes of several models: those for all of them, and with the label of one those for it alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.spec.library import Loaded
from netcalc.spec.settings import setting_names

M = TypeVar("M")

#: Characters of a value in a title.
_VALUE = 30


def own_settings(values: Mapping[str, Any], label: str) -> dict[str, Any]:
    """Return the settings that have the label of a model, without it."""
    return {name.partition(":")[2]: values[name] for name in values if name.startswith(f"{label}:")}


def settings_of_each(
    values: Mapping[str, Any], sources: Mapping[str, Loaded], labels: Sequence[str], kind: str
) -> dict[str, dict[str, Any]]:
    """Return the settings of each model: shared ones whose name it has, and with its label those for it alone.

    Args:
        values: the settings.
        sources: the models by label.
        labels: labels that there are, also of models that could not be loaded.
        kind: name of what a label stands for, in messages.

    Raises:
        NetcalcError: E501 for a shared setting that no model has, and for a label that does not exist.
    """
    used = {f"{label}:{name}" for label, source in sources.items() for name in source.used}
    own_names = {label: {*setting_names(source)} for label, source in sources.items()}
    settings: dict[str, dict[str, Any]] = {label: {} for label in labels}
    problems: list[Diagnostic] = []
    for name, value in values.items():
        if name in used:
            continue
        label, colon, single = name.rpartition(":")
        if not colon:
            targets = [label for label, names in own_names.items() if name in names]
            if not targets and len(sources) == len(labels):
                hint = did_you_mean(name, sorted(set().union(*own_names.values())))
                message = f"--set {name}: no {kind} has a dim or var of this name"
                problems.append(Diagnostic("E501", message, hint=hint))
            for target in targets:
                settings[target][name] = value
        elif label in settings:
            settings[label][single] = value
        else:
            hint = f"{labels[-1]}:{single}=… sets it in this {kind} only" if labels else None
            problems.append(Diagnostic("E501", f"--set {name}: there is no {kind} {label!r}", hint=hint))
    if problems:
        raise NetcalcError(problems)
    return settings


def assignments_of_each(assignments: Iterable[str], labels: Sequence[str], kind: str) -> dict[str, tuple[str, ...]]:
    """Return the assignments for each of several models: for all, and with its label for one alone.

    Raises:
        NetcalcError: E502 for a number that is no label.
    """
    assigned: dict[str, tuple[str, ...]] = dict.fromkeys(labels, ())
    for text in assignments:
        label, colon, single = text.partition(":")
        is_own = bool(colon) and (label in assigned or label.isdecimal()) and not single.isdecimal()  # 2:4 is a pattern
        if is_own and label not in assigned:
            raise NetcalcError(Diagnostic("E502", f"{text}: there is no {kind} {label}"))
        for target in [label] if is_own else labels:
            assigned[target] = (*assigned[target], single if is_own else text)
    return assigned


def repeated(models: Sequence[M], settings: Iterable[str], assignments: Iterable[str] = ()) -> tuple[M, ...]:
    """Return the models; a single one as often as settings and assignments with numbers of models need it.

    Args:
        models: the models.
        settings: names of settings.
        assignments: schemes and shares.
    """
    if len(models) != 1:
        return tuple(models)
    labels = {label for name in settings if (label := name.rpartition(":")[0]).isdecimal()}
    for text in assignments:
        label, colon, single = text.partition(":")
        if colon and label.isdecimal() and not single.isdecimal():  # 2:4 is a pattern
            labels.add(label)
    return tuple(models) * len({"1", *labels})


def titles_of(
    names: Sequence[str], settings: Sequence[Mapping[str, Any]], values: Sequence[Mapping[str, Any]]
) -> tuple[str, ...]:
    """Return the names of models; where several are equal, with the settings in which they differ, or with a number.

    Models of one spec have the settings alone.

    Args:
        names: names of the specs.
        settings: settings of each.
        values: dims and vars of each.
    """
    titles, is_one = [], len({*names}) == 1
    for name, own, known in zip(names, settings, values, strict=True):
        alike = [place for place, other in enumerate(names) if other == name]
        keys = dict.fromkeys(key for place in alike for key in settings[place])
        shown = {key: _text(own.get(key, known.get(key))) for key in keys}
        others = [{key: _text(settings[n].get(key, values[n].get(key))) for key in keys} for n in alike]
        differs = [f"{key}={shown[key]}" for key in keys if any(other[key] != shown[key] for other in others)]
        titles.append(", ".join(differs if is_one and differs else [name, *differs]))
    return numbered(titles)


def _text(value: Any) -> str:
    """Return the value of a dim or var as a spec writes it; an operation without attributes as its name."""
    if isinstance(value, Mapping) and len(value) == 1 and not (item := next(iter(value.items())))[1]:
        return str(item[0])
    return written(value, length=_VALUE)


def numbered(titles: Sequence[str]) -> tuple[str, ...]:
    """Return titles, those that are equal with their number."""
    return tuple(
        f"{title} ({titles[:place].count(title) + 1})" if titles.count(title) > 1 else title
        for place, title in enumerate(titles)
    )

"""Tables of rules that translate the operators of a format, each registered by the names of its operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, TypeVar

#: A rule of any format.
RuleT = TypeVar("RuleT", bound=Callable[..., Any])


class Rules:
    """The rules of a package by operator, whose modules are imported when the rules are asked for."""

    def __init__(self, package: str, path: Iterable[str]) -> None:
        self._package, self._path = package, path
        self._rules: dict[str, Callable[..., Any]] = {}
        self._read = False

    def operator(self, *names: str) -> Callable[[RuleT], RuleT]:
        """Return a decorator that registers a rule for operators; it raises ValueError if one of them has a rule."""

        def register(rule: RuleT) -> RuleT:
            for name in names:
                if name in self._rules:
                    raise ValueError(f"{name} has two rules")
                self._rules[name] = rule
            return rule

        return register

    def all(self) -> dict[str, Callable[..., Any]]:
        """Return the rules by operator; imports all modules of the package."""
        if not self._read:
            for module in iter_modules(self._path, f"{self._package}."):
                import_module(module.name)
            self._read = True
        return self._rules

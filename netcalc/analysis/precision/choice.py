"""The choice of a form for each parameter of a program, by assignments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from netcalc.analysis.precision.assignments import Assignment, first, parse_sparsity
from netcalc.analysis.precision.forms import form, matrices, unmet
from netcalc.analysis.precision.module_names import Names
from netcalc.analysis.precision.places import Kinds
from netcalc.analysis.precision.recipes import Recipe, file_names, is_file
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim, equal
from netcalc.dtypes import FLOATS, DType
from netcalc.ir import PatternWork, Program, dtype_of, size_of
from netcalc.ir.storage import OWN, Site
from netcalc.opdef import Sparsity, Storage
from netcalc.schemes.rules import StorageRule, first_rule
from netcalc.schemes.scheme import PLAIN, Scheme, is_scheme, scheme_named

#: Kinds of parameters that only a change of element type applies to.
_ADAPTER = "adapter"
_PLAIN = frozenset(("vector", _ADAPTER))
#: Kinds of parameters that pruning without a pattern removes elements of.
_PRUNED = frozenset(("linear", "expert", "convolution", "recurrent"))


class _Traits(NamedTuple):
    """Traits of a parameter: its kind, also in words, its shape and its element type."""

    kind: str
    described: str
    windowed: bool
    shape: tuple[Dim, ...]
    dtype: DType


class _Case(NamedTuple):
    """All that the form of a parameter depends on; parameters with equal cases have one form.

    ``own`` is the rule of the checkpoint, which counts if no assignment does.
    """

    rule: Assignment | None
    own: StorageRule | None
    typed: str | None  # by the recipe of a type of file
    prune: Assignment | None
    traits: _Traits


class Choice:
    """The forms of the parameters of a program.

    Attributes:
        names: the names of modules that the rules of the checkpoint are matched with, if they are.
        used: the assignments that counted for a parameter.
        used_own: the rules of the checkpoint that did.
        replaces_own: True if an assignment counted in place of a rule of the checkpoint.
    """

    def __init__(
        self,
        program: Program,
        quantized: Sequence[Assignment],
        pruned: Sequence[Assignment],
        own: Sequence[StorageRule] = (),
    ) -> None:
        self._program = program
        self._kinds = Kinds.of(program)
        self._quantized = quantized
        self._pruned = pruned
        self._own = own
        self.names = Names(program) if any(rule.modules is not None for rule in own) else None
        self._recipes = {rule: Recipe(program, self._kinds, rule.value) for rule in quantized if _is_recipe(rule)}
        self._schemes = {
            rule: scheme_named(rule.value, file_names())
            for rule in quantized
            if rule not in self._recipes and rule.value != PLAIN
        }
        self._sparsity = {rule: parse_sparsity(rule.value) for rule in pruned}
        self._known: dict[_Case, Storage] = {}
        self._traits: dict[tuple[int, str], _Traits | None] = {}  # by node and name, for nodes that repeats share
        self._work = PatternWork("--quantize and --prune")
        self._patterns = size_of(rule.pattern or "" for rule in (*quantized, *pruned))
        self._unfit: dict[StorageRule, list[tuple[str, str, Scheme]]] = {}
        self.used: set[Assignment] = set()
        self.used_own: set[StorageRule] = set()
        self.replaces_own = False

    @property
    def by_iteration(self) -> bool:
        """True if the choice may differ between the iterations of a repeat."""
        rules = (*self._quantized, *self._pruned)
        by_number = any(map(_tells_numbers_apart, rules)) or any(rule.tells_numbers_apart for rule in self._own)
        return by_number or any(recipe.by_layer for recipe in self._recipes.values())

    def numbers_count(self, tensor: str) -> bool:
        """Return True if the forms of a tensor of ggml may differ between layers by the recipe of a type of file."""
        return any(recipe.numbers_count(tensor) for recipe in self._recipes.values())

    def choose(self, site: Site) -> Storage | None:
        """Return the form of a parameter; None for a buffer, and for a parameter that holds no fractions."""
        key = id(site.node), site.param.name
        if key not in self._traits:
            self._traits[key] = self._traits_of(site)
        traits = self._traits[key]
        if traits is None:
            return None
        rule = prune = None
        if self._quantized or self._pruned:
            self._work.add(site.owner, self._patterns)
            rule, prune = first(self._quantized, site.owner), first(self._pruned, site.owner)
            self.used |= {assignment for assignment in (rule, prune) if assignment is not None}
        recipe = None if rule is None else self._recipes.get(rule)
        typed = None if recipe is None else recipe.type_of(site)
        if site.owner in self._program.added:
            traits = traits._replace(kind=_ADAPTER, described=self._kinds.described(_ADAPTER, site.node, site.param))
        own = self._own_rule(site.owner, traits.kind)
        if rule is not None:
            self.replaces_own |= own is not None
            own = None
        elif own is not None:
            self.used_own.add(own)
        case = _Case(rule, own, typed, prune, traits)
        if case not in self._known:
            self._known[case] = self._form(case)
        return self._known[case]

    def _traits_of(self, site: Site) -> _Traits | None:
        """Return the traits of a parameter, which every iteration shares; None if it holds no fractions."""
        dtype = dtype_of(site.param, site.node, self._program.dtype)
        if site.param.is_buffer or dtype not in FLOATS:
            return None
        kind = self._kinds.kind(site.node, site.param)
        described = self._kinds.described(kind, site.node, site.param)
        return _Traits(kind, described, site.node.op.windowed, site.param.shape, dtype)

    def _own_rule(self, owner: str, kind: str) -> StorageRule | None:
        """Return the rule of the checkpoint for a parameter."""
        if not self._own or kind in _PLAIN:
            return None
        names = [owner.rpartition(".")[0]] if self.names is None else self.names.of(owner)
        return first_rule(self._own, names, kind)

    def _form(self, case: _Case) -> Storage:
        scheme, reason = self._scheme(case)
        shape = matrices(case.traits.shape, case.traits.windowed, scheme)
        sparsity, dense = self._removed(case, shape[-1])
        if sparsity is not None and not scheme.sparse:
            message = f"--prune {sparsity}: {scheme.name} has no layout with elements removed"
            raise NetcalcError(Diagnostic("E502", message, hint="element types, int8 and int4-g128 have one"))
        texts = [f"{rule.option} {rule.text}" for rule in (case.rule, case.prune) if rule is not None]
        own = case.own is not None or (case.rule is not None and case.rule.option == OWN)
        names, kept = ", ".join(texts), reason or dense
        return form(scheme, shape, case.traits.dtype, sparsity=sparsity, assigned=names, kept=kept, is_own=own)

    def _scheme(self, case: _Case) -> tuple[Scheme, str]:
        """Return the scheme of a parameter, and the reason if it is not the one that was assigned."""
        rule, plain = case.rule, scheme_named(case.traits.dtype)
        if case.own is not None:
            return self._own_scheme(case, case.own), ""
        if rule is None:
            reason = case.traits.described if self._own and case.traits.kind == _ADAPTER else ""
            return plain, "no pattern matches" if self._quantized else reason
        if rule.value == PLAIN:
            return plain, ""
        if rule in self._recipes:
            if case.typed is None or case.traits.kind in _PLAIN:
                return scheme_named(self._recipes[rule].plain), case.traits.described
            scheme = scheme_named(case.typed)
        else:
            scheme = self._schemes[rule]
            told = rule.option == OWN and case.traits.kind != _ADAPTER  # the file says so of vectors, too
            unfit = rule.pattern is None and case.traits.kind not in scheme.quantizes
            left = not told and (case.traits.kind in _PLAIN or unfit)
            if left and not scheme.casts:
                return plain, case.traits.described
        missing = ""
        for tried in (scheme, *map(scheme_named, scheme.fallback)):
            problem = unmet(tried, matrices(case.traits.shape, case.traits.windowed, tried))
            if problem is None:
                return tried, missing
            missing = missing or f"for {tried.name}, {problem}"
        return plain, missing

    @property
    def problems(self) -> list[Diagnostic]:
        """Errors (E007) on the rules of the checkpoint whose schemes do not fit the sizes of parameters."""
        found = []
        for rule, cases in self._unfit.items():
            described, problem, scheme = cases[0]
            others = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
            message = f"{described}{others} cannot be stored as {scheme.name}: {problem}"
            found.append(
                Diagnostic(
                    "E007", message, rule.cause_place or rule.place, hint="exclude it, or correct the configuration"
                )
            )
        return found

    def _own_scheme(self, case: _Case, own: StorageRule) -> Scheme:
        """Return the scheme of a parameter in the checkpoint; one that its sizes do not fit is kept as a problem."""
        scheme = scheme_named(own.scheme, settings=own.settings)
        problem = unmet(scheme, matrices(case.traits.shape, case.traits.windowed, scheme))
        if problem is not None:
            shape = "×".join(map(str, case.traits.shape))
            self._unfit.setdefault(own, []).append((f"{case.traits.described} of {shape}", problem, scheme))
            return scheme_named(case.traits.dtype)
        return scheme

    def _removed(self, case: _Case, columns: Dim) -> tuple[Sparsity | None, str]:
        """Return the elements that are removed from a parameter, and the reason if none are."""
        prune = case.prune
        if prune is None:
            return None, "no pattern of --prune matches" if self._pruned else ""
        if prune.pattern is None and case.traits.kind not in _PRUNED:
            return None, f"not pruned: {case.traits.described}"
        sparsity = self._sparsity[prune]
        if sparsity.pattern is not None:
            _, of = sparsity.pattern
            if len(case.traits.shape) < len(sparsity.pattern) or not equal(columns % of, 0):
                return None, f"not pruned: {columns} mod {of} is not 0"
        return sparsity, ""


def _is_recipe(rule: Assignment) -> bool:
    """Return True for the name of a type of file; with a pattern, a name such as q6_k stands for a type of block."""
    return is_file(rule.value) and (rule.pattern is None or not is_scheme(rule.value))


def _tells_numbers_apart(rule: Assignment) -> bool:
    """Return True if a pattern may match one iteration of a repeat and not another."""
    return rule.pattern is not None and any(c.isdecimal() or c in "?[" for c in rule.pattern)

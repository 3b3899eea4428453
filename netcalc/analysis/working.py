"""Steps of working: terms of work, products and numbers as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from netcalc.analysis.conventions import Convention, Part
from netcalc.dims import Dim
from netcalc.dims.formulas import formula
from netcalc.opdef import KINDS, Kind, Term, WorkingLine
from netcalc.results import recorded

#: Names of the kinds of work, in the plural.
KIND_NAMES = {
    "mac": "multiply-adds",
    "add": "additions",
    "mul": "multiplications",
    "div": "divisions",
    "compare": "comparisons",
    "transcendental": "transcendental functions",
}


@recorded("title", "rule", "steps")
@dataclass(frozen=True, slots=True)
class Section:
    """The steps of one figure."""

    title: str
    steps: tuple[WorkingLine, ...]
    rule: str = ""
    """The rule that the steps follow."""


def term_steps(terms: Sequence[Term]) -> Iterator[WorkingLine]:
    """Yield a step for each term: its factors by name, in numbers, and their product."""
    for term in terms:
        factors = [(name, size) for name, size in term.factors if size != 1] or list(term.factors[:1])
        names = "·".join(factor_text(name) for name, _ in factors)
        yield WorkingLine(
            f"{term.role}: {KIND_NAMES[term.kind]}", names, product_text([s for _, s in factors]), term.count
        )


def counted_steps(
    convention: Convention, repeat: int, work: tuple[Dim, Dim], terms: Sequence[Term], parts: Sequence[Part] = ()
) -> Iterator[WorkingLine]:
    """Yield the steps from terms to the MACs and FLOPs of one instance, and to the FLOPs of all.

    ``parts`` are those that the convention counts; of a rule of its own the formula is a step.
    """
    macs, flops = work
    per_mac = convention.per_mac
    for part in parts:
        if part.formula is not None:
            yield WorkingLine(part.name, part.formula.pretty(), "", part.macs if part.macs != 0 else part.flops)
    yield WorkingLine("MACs", "", "", macs)
    others = {kind: count for kind, count in by_kind(terms).items() if kind != "mac" and count != 0}
    if convention.name == "netcalc" and others:
        formula = " + ".join([f"{per_mac}·MACs", *(KIND_NAMES[kind] for kind in others)])
        numbers = " + ".join([f"{per_mac}·{factor_number(macs)}", *map(number_text, others.values())])
        yield WorkingLine("FLOPs", formula, numbers, flops)
    elif flops == macs * per_mac:
        yield WorkingLine("FLOPs", f"{per_mac}·MACs", f"{per_mac}·{factor_number(macs)}", flops)
    else:
        yield WorkingLine("FLOPs", "", "", flops)
    if repeat > 1:
        yield WorkingLine(f"all {number_text(repeat)}", "", f"{repeat:,}·{factor_number(flops)}", flops * repeat)


def by_kind(terms: Sequence[Term]) -> dict[Kind, Dim]:
    """Return the counts of the terms by kind, in the order of ``KINDS``."""
    counts: dict[Kind, Dim] = dict.fromkeys(KINDS, 0)
    for term in terms:
        counts[term.kind] += term.count
    return counts


def product_text(sizes: Sequence[Dim]) -> str:
    """Return a product of sizes as text; sums are in parentheses."""
    return "·".join(map(factor_number, sizes)) or "1"


def factor_number(size: Dim) -> str:
    """Return a size as a factor: a number, a name, or a formula in parentheses.

    >>> from netcalc.dims import symbol
    >>> factor_number(1024), factor_number(symbol("n")), factor_number(4 * symbol("n"))
    ('1,024', 'n', '(4·n)')
    """
    text = number_text(size)
    return text if isinstance(size, int) or text.isidentifier() or text[0] in "(⌊" else f"({text})"


def shape_product(shape: Sequence[Dim]) -> str:
    """Return a shape as text: ``1×64×(2·n)``, and ``scalar`` for none."""
    return "×".join(str(size) if isinstance(size, int) else factor_number(size) for size in shape) or "scalar"


def factor_text(name: str) -> str:
    """Return a factor's name as text: ``keys_less_one`` is (keys − 1)."""
    text = name.removesuffix("_less_one").replace("_", " ")
    return f"({text} − 1)" if name.endswith("_less_one") else text


def number_text(size: Dim) -> str:
    """Return a size as text, a number with separators."""
    return formula(size)


def seconds_value(seconds: float) -> str:
    """Return seconds as the text of a value.

    >>> seconds_value(0.00463844)
    '0.00463844 s'
    """
    return f"{seconds:.8g} s"


def longest_text(names: Sequence[str], seconds: Sequence[float]) -> tuple[str, str]:
    """Return the formula and the substitution of the longest of some times.

    >>> longest_text(["compute", "memory"], [0.5, 0.25]), longest_text(["memory"], [0.25])
    (('max(compute, memory)', 'max(0.5, 0.25)'), ('memory', '0.25'))
    """
    numbers = [f"{one:.8g}" for one in seconds]
    if len(numbers) == 1:
        return names[0], numbers[0]
    return f"max({', '.join(names)})", f"max({', '.join(numbers)})"

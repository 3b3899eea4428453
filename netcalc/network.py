"""The Python API: a spec loaded, and what can be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.cost import Analysis, analyse
from netcalc.analysis.figures import Cost
from netcalc.analysis.summary import Summary, summarise
from netcalc.analysis.walk import instances
from netcalc.dims import Dim
from netcalc.ir import Program, Value
from netcalc.render.numbers import exact
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import Loaded, load_text

if TYPE_CHECKING:
    from netcalc.analysis.compare import Comparison
    from netcalc.analysis.explain import Explanation
    from netcalc.engine.compiled import Compiled
    from netcalc.engine.run import PlanName, RunResult
    from netcalc.verification.verify import VerifyReport

__all__ = ["LayerShapes", "Network", "compare", "load", "loads"]


class LayerShapes(NamedTuple):
    """The shapes that go into a layer and come out of it."""

    inputs: tuple[tuple[Dim, ...], ...]
    outputs: tuple[tuple[Dim, ...], ...]


def load(
    spec: str | Path,
    *,
    set: Mapping[str, Any] | None = None,
    symbolic: Collection[str] = (),
    training: bool = False,
) -> Network:
    """The network of a spec file, of a shipped name, or on standard input (``-``).

    Args:
        spec: ``"resnet34"``, ``"my/net.yaml"`` or ``"-"``.
        set: values of dims and vars by name, in place of the spec's own.
        symbolic: dims that stay symbols, so that shapes and counts are formulas.
        training: elaborate the training mode of each operation.

    Raises:
        NetcalcError: with everything that is wrong with the spec or the settings.
    """
    return _network(load_document(spec), set, symbolic, training)


def loads(
    text: str,
    *,
    set: Mapping[str, Any] | None = None,
    symbolic: Collection[str] = (),
    training: bool = False,
    folder: str | Path | None = None,
) -> Network:
    """The network of a spec in a string; ``folder`` is where its ``extends`` and ``import`` look."""
    loaded = load_text(text, folder=None if folder is None else Path(folder))
    return _network(loaded, set, symbolic, training)


def compare(
    first: Network | str | Path, second: Network | str | Path, *more: Network | str | Path, convention: str = "netcalc"
) -> Comparison:
    """Networks, or specs by name or file, side by side: totals, operations, and layers where their paths match.

    >>> import netcalc
    >>> [row.path for row in netcalc.compare("resnet34", "resnet18").rows()]
    ['layer1.2', 'layer2.2', 'layer3.2', 'layer4.2']
    """
    from netcalc.analysis.compare import compare as compare_analyses

    networks = [found if isinstance(found, Network) else load(found) for found in (first, second, *more)]
    return compare_analyses([network.analysis(convention) for network in networks])


def _network(loaded: Loaded, settings: Mapping[str, Any] | None, symbolic: Collection[str], training: bool) -> Network:
    return Network(elaborate(loaded, settings, symbolic=symbolic, training=training))


class Network:
    """An elaborated network.

    >>> import netcalc
    >>> net = netcalc.load("resnet34")
    >>> net.params
    21797672
    >>> net.shapes["conv1"].outputs
    ((1, 64, 112, 112),)
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._analyses: dict[str, Analysis] = {}

    @property
    def name(self) -> str:
        """The spec's name."""
        return self.program.name

    def analysis(self, convention: str = "netcalc") -> Analysis:
        """Costs by layer and by operation under a counting convention."""
        if convention not in self._analyses:
            self._analyses[convention] = analyse(self.program, convention)
        return self._analyses[convention]

    def cost(self, convention: str = "netcalc") -> Cost:
        """What the whole network costs."""
        return self.analysis(convention).total

    def summary(self, convention: str = "netcalc", *, depth: int | None = None, unroll: bool = False) -> Summary:
        """The typed form of ``netcalc summary``: totals, and layers with repeats folded unless unrolled."""
        return summarise(self.analysis(convention), depth=depth, unroll=unroll)

    @property
    def params(self) -> Dim:
        """Parameters, trainable and frozen; tied ones once."""
        return self.cost().params

    @property
    def macs(self) -> Dim:
        """Multiply-adds of one forward pass."""
        return self.cost().macs

    @property
    def flops(self) -> Dim:
        """Operations of one forward pass; a multiply-add is two."""
        return self.cost().flops

    @cached_property
    def shapes(self) -> Mapping[str, LayerShapes]:
        """The shapes of every operation by its full path, repeats unrolled."""
        return {i.path: LayerShapes(_shapes(i.node.inputs), _shapes(i.node.outputs)) for i in instances(self.program)}

    def explain(self, path: str | None = None, *, convention: str = "netcalc") -> Explanation:
        """The working of the layer at ``path``, or of the whole; ``print`` shows it."""
        from netcalc.analysis.explain import explain

        return explain(self.program, path, self.analysis(convention).convention)

    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        weights: str | Path | Mapping[str, Any] | None = None,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        trace: Sequence[str] = (),
        keep: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
        plan: PlanName = "fast",
        threads: int | None = None,
        processes: bool = False,
        profiled: bool = False,
    ) -> RunResult:
        """A forward pass in NumPy; see :func:`netcalc.engine.run.forward`."""
        from netcalc.engine.run import forward

        return forward(
            self.program,
            inputs,
            weights=weights,
            init=init,
            seed=seed,
            trace=trace,
            keep=keep,
            progress=progress,
            plan=plan,
            threads=threads,
            processes=processes,
            profiled=profiled,
        )

    def compile(
        self,
        weights: str | Path | Mapping[str, Any] | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        threads: int | None = None,
        processes: bool = False,
    ) -> Compiled:
        """The network planned and loaded, to be run again and again; see :class:`netcalc.engine.compiled.Compiled`.

        >>> import netcalc, numpy
        >>> session = netcalc.load("mlp").compile(seed=1)
        >>> session(x=numpy.zeros((1, 784), "float32"))["output"].shape
        (1, 10)
        """
        from netcalc.engine.compiled import Compiled

        return Compiled(self.program, weights, init=init, seed=seed, threads=threads, processes=processes)

    def verify(
        self,
        *,
        seed: int = 0,
        weights: str | Path | Mapping[str, Any] | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> VerifyReport:
        """Runs the network and holds shapes, types, parameters and work against the prediction."""
        from netcalc.verification.verify import verify

        return verify(self.program, seed=seed, weights=weights, progress=progress)

    def __repr__(self) -> str:
        return f"<Network {self.name!r}: {exact(self.params)} parameters>"

    def __str__(self) -> str:
        from netcalc.render.report import report

        return report(self.analysis(), "summary")

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks show."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        from netcalc.render.html import report_html

        return report_html(self.analysis())


def _shapes(values: Iterable[Value | None]) -> tuple[tuple[Dim, ...], ...]:
    return tuple(v.known_type.shape for v in values if v is not None)

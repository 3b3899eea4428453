"""Python API: load a network from a spec, and compute, explain, run or verify it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.cost import Analysis, analyse
from netcalc.analysis.counting import require_unrolled
from netcalc.analysis.figures import Cost
from netcalc.analysis.summary import Summary, summarise
from netcalc.analysis.walk import instances
from netcalc.api_arguments import checked, checked_argument, plain
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.formats import opened_weights
from netcalc.ir import Program, Value
from netcalc.render.numbers import exact

if TYPE_CHECKING:
    from netcalc.analysis.explain import Explanation
    from netcalc.analysis.receptive_field import Fields
    from netcalc.engine.compiled import Compiled
    from netcalc.engine.run import PlanName, RunResult
    from netcalc.numerics.checkpoint_files import Weights
    from netcalc.spec.standalone import SpecSource
    from netcalc.verification.agreement import Agreement
    from netcalc.verification.report import VerifyReport

__all__ = ["LayerShapes", "Network"]


class LayerShapes(NamedTuple):
    """Shapes of the inputs and outputs of an operation."""

    inputs: tuple[tuple[Dim, ...], ...]
    outputs: tuple[tuple[Dim, ...], ...]


class Network:
    """A network with all shapes computed, created by :func:`netcalc.load` and its siblings.

    ``program`` is its intermediate representation, see :mod:`netcalc.ir`.

    >>> import netcalc
    >>> net = netcalc.load("resnet34")
    >>> net.params
    21797672
    >>> net.shapes["conv1"].outputs
    ((1, 64, 112, 112),)
    """

    def __init__(self, program: Program, source: SpecSource | None = None) -> None:
        self.program = program
        self._source = source
        self._analyses: dict[str, Analysis] = {}

    @property
    def name(self) -> str:
        """Name of the spec."""
        return self.program.name

    def to_yaml(self) -> str:
        """Return the text of the spec, complete in itself: with its settings, and with what it extends and imports.

        Raises:
            NetcalcError: E502 for a network that was not loaded from a spec.

        >>> import netcalc
        >>> text = netcalc.load("resnet34", set={"classes": 10}).to_yaml()
        >>> netcalc.loads(text).params
        21289802
        """
        if self._source is None:
            raise NetcalcError(Diagnostic("E502", "a network that was not loaded from a spec has no text"))
        from netcalc.formats.spec_text import spec_text

        return spec_text(self._source.document())

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        """Warnings about the spec and its settings, which commands print on standard error."""
        return self.program.warnings

    @checked
    def analysis(self, convention: str = "netcalc") -> Analysis:
        """Return the costs by layer and by operation under a counting convention.

        Raises:
            NetcalcError: E701 if the convention is unknown; E502 if an argument is of a wrong type, as in all methods.
        """
        if convention not in self._analyses:
            self._analyses[convention] = analyse(self.program, convention)
        return self._analyses[convention]

    def cost(self, convention: str = "netcalc") -> Cost:
        """Return the total cost: parameters, bytes, MACs and FLOPs."""
        return self.analysis(convention).total

    @checked
    def summary(self, convention: str = "netcalc", *, depth: int | None = None, unroll: bool = False) -> Summary:
        """Return the totals and layers that ``netcalc summary`` prints.

        Args:
            convention: counting convention of MACs and FLOPs.
            depth: number of path parts; layers with longer paths are summed up. None for single operations.
            unroll: True to list every instance of a repeated layer.
        """
        return summarise(self.analysis(convention), depth=depth, unroll=unroll)

    @property
    def params(self) -> Dim:
        """Number of parameters, trainable and frozen; a tied parameter counts once."""
        return self.cost().params

    @property
    def macs(self) -> Dim:
        """Number of multiply-adds of a forward pass."""
        return self.cost().macs

    @property
    def flops(self) -> Dim:
        """Number of arithmetic operations of a forward pass; a multiply-add counts as two."""
        return self.cost().flops

    @cached_property
    def shapes(self) -> Mapping[str, LayerShapes]:
        """Shapes of every operation by its full path, repeats unrolled; NetcalcError (E502) if there are too many."""
        require_unrolled(self.program)
        return {
            instance.path: LayerShapes(_shapes(instance.node.inputs), _shapes(instance.node.outputs))
            for instance in instances(self.program)
        }

    def receptive_fields(self) -> Mapping[str, Fields]:
        """Return the receptive field of every operation by its full path, repeats unrolled.

        A field has an item for each spatial axis of the input (N, C, L…): size, stride and offset in elements of the
        input; it is empty if the layer does not depend on the input.

        Raises:
            NetcalcError: E502 if no input is floating point with spatial axes.

        >>> import netcalc
        >>> height, width = netcalc.load("resnet18").receptive_fields()["layer4.1.conv2"]
        >>> height.size, height.stride == 32
        (435, True)
        """
        from netcalc.analysis.receptive_field import receptive_fields

        return receptive_fields(self.program)

    def specialise(self, **sizes: int) -> Network:
        """Return the network with symbolic dims replaced by sizes; see :func:`netcalc.ir.specialise.specialise`.

        >>> import netcalc
        >>> net = netcalc.load("resnet34", symbolic=["batch"])
        >>> net.specialise(batch=8).macs == 8 * netcalc.load("resnet34").macs
        True
        """
        from netcalc.ir.specialise import specialise

        values = {name: plain(size) for name, size in sizes.items()}
        return Network(specialise(self.program, values), self._source and self._source.with_sizes(values))

    @checked
    def explain(self, path: str | None = None, *, convention: str = "netcalc") -> Explanation:
        """Return the formulas and numbers behind the layer at ``path``, or behind the whole network.

        Raises:
            NetcalcError: E503 if there is no such path.
        """
        from netcalc.analysis.explain import explain

        return explain(self.program, path, self.analysis(convention).convention)

    @checked
    def run(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        weights: Weights | None = None,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        trace: Sequence[str] = (),
        keep: bool = False,
        progress: Callable[[int, int, str], None] | None = None,
        plan: PlanName = "fast",
        threads: int | None = None,
        processes: bool = False,
        profiled: bool = False,
        cast: bool = False,
        max_work: float | None = None,
    ) -> RunResult:
        """Run a forward pass in NumPy.

        Args:
            inputs: arrays by name; other inputs are drawn at random, or take their default.
            weights: a ``.safetensors``, ``.npz`` or ``.gguf`` file, a folder or ``.index.json`` of shards, a list of
                these, or arrays by name; None to initialise parameters by ``init``.
            init: one initialiser or several, such as ``"*.bias=zeros"``; as ``--init`` of the command line.
            seed: seed of all random numbers.
            trace: patterns of paths; statistics of the outputs of these layers are recorded.
            keep: True to record the traced arrays as well.
            progress: function that is called with the number of steps done, the number of all steps, and a path.
            plan: ``"fast"`` for a planned run, ``"reference"`` to run operation by operation.
            threads: number of workers of a fast run; None for the number of available cores.
            processes: True for worker processes instead of threads, on Linux.
            profiled: True to time five further passes.
            cast: True to convert weights of another floating-point type to that of the network.
            max_work: most FLOPs and elements of results; a run that takes more is refused.

        Raises:
            NetcalcError: E404 for symbolic sizes, E502 for bad arguments, E503 if a pattern of ``trace`` matches no
                path, E601 if weights and E602 if inputs do not match the spec, E603 if memory is insufficient, E605 if
                a file cannot be read.
        """
        from netcalc.engine.run import forward

        return forward(
            self.program,
            inputs,
            weights=opened_weights(weights),
            init=init,
            seed=seed,
            trace=trace,
            keep=keep,
            progress=progress,
            plan=plan,
            threads=threads,
            processes=processes,
            profiled=profiled,
            cast=cast,
            max_work=max_work,
        )

    @checked
    def compile(
        self,
        weights: Weights | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        threads: int | None = None,
        processes: bool = False,
        cast: bool = False,
        max_work: float | None = None,
    ) -> Compiled:
        """Plan the network and load its weights once, for repeated passes; arguments as for :meth:`run`.

        Raises:
            NetcalcError: as :meth:`run` does; also E502 in training mode or for too many operations.

        >>> import netcalc, numpy
        >>> session = netcalc.load("mlp").compile(seed=1)
        >>> session(x=numpy.zeros((1, 784), "float32"))["output"].shape
        (1, 10)
        """
        from netcalc.engine.compiled import Compiled

        return Compiled(
            self.program,
            opened_weights(weights),
            init=init,
            seed=seed,
            threads=threads,
            processes=processes,
            cast=cast,
            max_work=max_work,
        )

    @checked
    def verify(
        self,
        *,
        seed: int = 0,
        weights: Weights | None = None,
        progress: Callable[[int, int, str], None] | None = None,
        cast: bool = False,
        receptive_field: bool = False,
        values: bool = False,
        max_work: float | None = None,
    ) -> VerifyReport:
        """Run the network and compare shapes, types, parameters and work with the predictions, and a plan with kernels.

        Raises:
            NetcalcError: as :meth:`run` does; failures of kernels are reported as checks.
        """
        from netcalc.verification.verify import verify

        return verify(
            self.program,
            seed=seed,
            weights=opened_weights(weights),
            progress=progress,
            cast=cast,
            receptive_field=receptive_field,
            values=values,
            max_work=max_work,
        )

    def verify_against(self, module: Any, *args: Any, seed: int = 0, **kwargs: Any) -> Agreement:
        """Compare the network with the PyTorch module that it was made of, on the same random weights.

        The outputs of both plans are compared with those of the module, FLOPs by operator with those that PyTorch's
        ``FlopCounterMode`` counts, and the parameters by name with the state dict.  The module is not changed.

        Args:
            module: the ``torch.nn.Module`` or the exported program.
            args, kwargs: arguments of its ``forward``.  Floating-point tensors are drawn in their place, and integers
                for which the spec has a range.
            seed: seed of all random numbers.

        Raises:
            NetcalcError: E009 if PyTorch is not installed, the module fails, or has buffers without values; as
                :meth:`run` does.
        """
        from netcalc.formats.torch.agreement import compare_module

        return compare_module(self.program, module, args, kwargs, checked_argument("seed", seed))

    def __repr__(self) -> str:
        return f"<Network {self.name!r}: {exact(self.params)} parameters>"

    def __str__(self) -> str:
        from netcalc.render.page import page_text
        from netcalc.render.report import tree_page

        return "\n".join(page_text(tree_page(self.analysis(), "summary")))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """Return the summary as text and HTML, for notebooks."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        from netcalc.render.page import page_html
        from netcalc.render.report import tree_page

        return page_html(tree_page(self.analysis(), "summary"))


def _shapes(values: Iterable[Value | None]) -> tuple[tuple[Dim, ...], ...]:
    return tuple(v.known_type.shape for v in values if v is not None)

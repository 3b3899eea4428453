"""Python API: load a network from a spec, and compute, explain, run or verify it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.analysis.cost import Analysis, analyse
from netcalc.analysis.counting import require_unrolled
from netcalc.analysis.figures import Cost
from netcalc.analysis.summary import Summary, summarise
from netcalc.analysis.walk import instances
from netcalc.api_arguments import checked, plain
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Dim
from netcalc.executable import Executable
from netcalc.ir import Program, Value
from netcalc.plannable import Plannable
from netcalc.render.numbers import exact

if TYPE_CHECKING:
    from netcalc.analysis.explain import Explanation
    from netcalc.analysis.precision.report import StorageReport
    from netcalc.analysis.receptive_field import Fields
    from netcalc.spec.standalone import SpecSource

__all__ = ["LayerShapes", "Network"]


class LayerShapes(NamedTuple):
    """Shapes of the inputs and outputs of an operation."""

    inputs: tuple[tuple[Dim, ...], ...]
    outputs: tuple[tuple[Dim, ...], ...]


class Network(Plannable, Executable):
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
        super().__init__(program)
        self._source = source
        self._analyses: dict[tuple[str, bool, str | None, tuple[str, ...], str | None], Analysis] = {}

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
    def analysis(
        self,
        convention: str = "netcalc",
        *,
        backward: bool = False,
        optimizer: str | None = None,
        input_gradients: Collection[str] = (),
        loss: str | None = None,
    ) -> Analysis:
        """Return the costs by layer and by operation under a counting convention.

        Args:
            convention: counting convention of MACs and FLOPs.
            backward: True to count a backward pass too.
            optimizer: name of one, to count a backward pass and an update too: ``"sgd"``, ``"momentum"``,
                ``"nesterov"``, ``"adam"`` or ``"adamw"``.
            input_gradients: names of inputs whose gradients the backward pass computes.
            loss: ``"loss"`` for the loss of the spec, ``"sum"`` for the sum of all floating-point outputs, or the name
                of one. None for the sum, or with an optimizer for the loss of the spec if it has one.

        Raises:
            NetcalcError: E701 if the convention is unknown, or counts no backward pass; E502 if an argument is of a
                wrong type, as in all methods, or names no optimizer, input or output.

        >>> import netcalc
        >>> total = netcalc.load("resnet18").analysis("torch", backward=True, input_gradients=["image"]).total
        >>> total.flops, total.flops_backward, total.flops_total
        (3628146688, 7256293376, 10884440064)
        """
        names = tuple(input_gradients)
        key = convention, backward, optimizer, names, loss
        if key not in self._analyses:
            self._analyses[key] = analyse(
                self.program, convention, backward=backward, optimizer=optimizer, inputs=names, loss=loss
            )
        return self._analyses[key]

    def cost(self, convention: str = "netcalc", *, backward: bool = False, optimizer: str | None = None) -> Cost:
        """Return the total cost: parameters, bytes, MACs and FLOPs; arguments as for :meth:`analysis`."""
        return self.analysis(convention, backward=backward, optimizer=optimizer).total

    @checked
    def summary(
        self,
        convention: str = "netcalc",
        *,
        depth: int | None = None,
        unroll: bool = False,
        backward: bool = False,
        optimizer: str | None = None,
    ) -> Summary:
        """Return the totals and layers that ``netcalc summary`` prints.

        Args:
            convention: counting convention of MACs and FLOPs.
            backward: True to count a backward pass too, as for :meth:`analysis`.
            optimizer: to count a backward pass and an update too.
            depth: number of path parts; layers with longer paths are summed up. None for single operations.
            unroll: True to list every instance of a repeated layer.
        """
        analysis = self.analysis(convention, backward=backward, optimizer=optimizer)
        return summarise(analysis, depth=depth, unroll=unroll)

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

    @checked
    def at_step(self, past: int, new: int) -> Network:
        """Return the network at a step of decoding, with its caches as outputs, and as inputs if there is a past.

        Args:
            past: number of positions that earlier steps have seen.
            new: number of positions of this step.

        Raises:
            NetcalcError: E502 for a network whose spec has no caches.

        >>> import netcalc
        >>> step = netcalc.load("gpt2").at_step(past=1023, new=1)
        >>> len(step.program.caches.entries), step.program.inputs[1].name
        (24, 'past_key_values.0.key')
        """
        from netcalc.ir.decoding import program_at_step

        declared, source = self.program.caches, self._source
        program = program_at_step(self.program, past, new)
        if program is None:
            hint = "a spec with caches has a dim `past` that precedes another dim, and a var use_cache"
            raise NetcalcError(Diagnostic("E502", f"{self.name!r} does not decode step by step", hint=hint))
        sizes = {name: program.dims[name] for name in (declared.past, declared.new) if name is not None}
        return Network(program, source and source.with_settings({**sizes, "use_cache": True}))

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
        return Network(specialise(self.program, values), self._source and self._source.with_settings(values))

    def storage(self) -> StorageReport:
        """Return how the parameters are stored: bytes and bits by scheme, and what stays in full precision and why.

        >>> import netcalc
        >>> report = netcalc.load("llama-3.1-8b", dtype="bfloat16").quantized("int4-g128").storage()
        >>> [(group.scheme, group.bits, group.reason) for group in report.groups][:2]
        [('int4-g128', 4.125, ''), ('bfloat16', 16.0, 'an embedding')]
        """
        from netcalc.analysis.precision.report import storage_report

        return storage_report(self.program)

    @checked
    def quantized(self, assignments: str | Collection[str], /) -> Network:
        """Return the network with its parameters stored by schemes too; shapes and work are the same.

        Args:
            assignments: ``[PATTERN=]SCHEME``, of which the first that matches the path of a parameter counts.

        Raises:
            NetcalcError: E502 for a scheme that does not exist, E503 for a pattern that matches no parameter.

        >>> import netcalc
        >>> net = netcalc.load("llama-3.1-8b")
        >>> net.quantized("q4_k_m").cost().weight_bytes
        4912898048
        >>> net.quantized(["*.mlp.*=int4-g128", "bfloat16"]).cost().weight_bytes
        7692886016
        """
        from netcalc.analysis.precision import stored

        return Network(stored(self.program, quantize=assignments), self._source)

    @checked
    def pruned(self, assignments: str | Collection[str], /) -> Network:
        """Return the network with elements of its parameters removed too; shapes and work are the same.

        Args:
            assignments: ``[PATTERN=]SHARE``: ``"0.5"``, ``"0.5-csr"`` or ``"2:4"``; the first that matches counts.

        Raises:
            NetcalcError: E502 for a share that is none, or for a scheme without a layout for it; E503 for a pattern
                that matches no parameter.

        >>> import netcalc
        >>> net = netcalc.load("resnet34", dtype="float16")
        >>> net.cost().weight_bytes, net.pruned("2:4").cost().weight_bytes
        (43595344, 24994384)
        """
        from netcalc.analysis.precision import stored

        return Network(stored(self.program, prune=assignments), self._source)

    @checked
    def explain(
        self,
        path: str | None = None,
        *,
        convention: str = "netcalc",
        backward: bool = False,
        optimizer: str | None = None,
        memory: bool = False,
    ) -> Explanation:
        """Return the formulas and numbers behind the layer at ``path``, or behind the whole network.

        Args:
            path: path of the layer, or None.
            convention: counting convention.
            backward: True to explain a backward pass too, as for :meth:`analysis`.
            optimizer: to explain a backward pass and an update too.
            memory: True to explain the figures of :meth:`memory` of the whole network instead.

        Raises:
            NetcalcError: E502 for ``memory`` with another argument; E503 if there is no such path.
        """
        from netcalc.analysis.explain import explain
        from netcalc.analysis.explain_memory import explain_memory

        if memory:
            if path or backward or optimizer:
                raise NetcalcError(Diagnostic("E502", "memory=True explains the memory of a whole forward pass"))
            return explain_memory(self.program, self.memory())
        analysis = self.analysis(convention, backward=backward, optimizer=optimizer)
        return explain(self.program, path, analysis.convention, analysis.backward)

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

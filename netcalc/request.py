"""Requests: a source with everything that was asked of it, from which its program and all derived programs are made."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import integer
from netcalc.ir import Loss, Program
from netcalc.options import LogitsOf, LoraArgument, Mode
from netcalc.spec import elaborate
from netcalc.spec.library import Loaded

#: The var by which a spec with caches returns them.
_USE_CACHE = "use_cache"
#: The var by which a causal language model computes the logits of all positions or of the last one.
_LOGITS = "logits"


@dataclass(frozen=True, eq=False)
class Request:
    """A source and what is asked of it.

    Each derived program is the program of a changed request, so that it has all other settings too.

    Attributes:
        source: the spec.
        settings: values of dims and vars by name, in place of the spec's values.
        symbolic: names of dims that stay symbols.
        mode: mode of the operations; None for ``"eval"``, unless a step of training is counted.
        dtype: element type of floating-point tensors; None for the type of the published checkpoint, or else of the
            spec, and in :attr:`executed` for the type of the spec.
        lora: low-rank adapters, see :func:`~netcalc.adapters.with_adapters`.
        quantize: ``[PATTERN=]SCHEME``, see :func:`~netcalc.analysis.precision.stored`.
        prune: ``[PATTERN=]SHARE``.
        sizes: sizes of symbolic dims, put into the symbolic program, whose assumptions must hold there.
        model: name or path that the source was loaded by, if there is one.
        open_storage: True where bytes of parameters do not count, or headers give them: it is no error then that a
            configuration leaves them open.
        constants: values of buffers that are too long for the spec, by path.
    """

    source: Loaded
    settings: Mapping[str, Any] = field(default_factory=dict)
    symbolic: Collection[str] = ()
    mode: Mode | None = None
    dtype: str | None = None
    lora: LoraArgument | None = None
    quantize: tuple[str, ...] = ()
    prune: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    model: str | Path | None = None
    open_storage: bool = False
    constants: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def program(self) -> Program:
        """The program.

        Raises:
            NetcalcError: with every error in the spec, the settings and the assignments.
        """
        program = self._unsized._elaborated
        unsettled = () if self.open_storage else self.source.storage.unsettled
        if unsettled and self.dtype is None and not any("=" not in text for text in self.quantize):
            raise NetcalcError(unsettled)
        if self.sizes:
            from netcalc.ir.specialize import specialize

            program = specialize(program, self.sizes)
        if self.quantize or self.prune or program.assigned:  # by the checkpoint of the model
            from netcalc.analysis.precision import stored

            program = stored(program, self.quantize, self.prune)
        return program

    @cached_property
    def _elaborated(self) -> Program:
        training, dtype = self.mode == "train", self.dtype or self.source.document.checkpoint.dtype
        program = elaborate(self.adapted, self.settings, symbolic=self.symbolic, training=training, dtype=dtype)
        return replace(program, constants=self.constants) if self.constants else program

    @cached_property
    def executed(self) -> Self:
        """The request as it is executed: in the element type of the spec, unless one was asked for."""
        document = self.source.document
        dtype = self.dtype if document.checkpoint.dtype is None else self.dtype or document.dtype
        return self.with_open_storage() if dtype == self.dtype else replace(self.with_open_storage(), dtype=dtype)

    @cached_property
    def adapted(self) -> Loaded:
        """The spec with its adapters."""
        if self.lora is None:
            return self.source
        from netcalc.adapters import with_adapters

        return with_adapters(self.source, self.lora, self.settings)

    @cached_property
    def loss(self) -> Loss | None:
        """The loss of the spec; None if it has none at these settings.

        Raises:
            NetcalcError: with every error in the loss.
        """
        if self.source.document.loss is None:
            return None
        from netcalc.ir.specialize import specialized_loss

        loss = self._unsized._elaborated_loss
        return specialized_loss(loss, self.sizes) if loss is not None and self.sizes else loss

    @cached_property
    def _unsized(self) -> Self:
        """The request that this one has sizes for: its programs do not depend on them."""
        return self

    @cached_property
    def _elaborated_loss(self) -> Loss | None:
        from netcalc.spec.loss import elaborated_loss

        return elaborated_loss(self.adapted, self.settings, self.symbolic, self._elaborated)

    @cached_property
    def program_with_loss(self) -> Program:
        """The program with the loss of the spec behind its layers.

        Raises:
            NetcalcError: E502 if the spec has no loss; with every error in the loss.
        """
        from netcalc.ir.loss import with_loss

        return with_loss(self.program, self.loss)

    def with_sizes(self, sizes: Mapping[str, int]) -> Self:
        """Return the request with sizes for symbolic dims.

        Raises:
            NetcalcError: E405 if a size contradicts an assumption by which parameters are stored.
        """
        if self.quantize or self.prune:
            from netcalc.ir.specialize import specialize

            specialize(self.program, sizes)
        structural = {name: size for name, size in sizes.items() if name in self.source.document.vars}
        if structural:  # their values decide on texts and numbers that are no sizes
            return self.with_settings(structural).with_sizes(
                {name: size for name, size in sizes.items() if name not in structural}
            )
        sized = replace(self, sizes={**self.sizes, **sizes})
        sized.__dict__["_unsized"] = self._unsized
        return sized

    def with_symbols(self, names: Collection[str]) -> Self:
        """Return the request with some dims as symbols, in place of their settings."""
        settings = {name: value for name, value in self.settings.items() if name not in names}
        return replace(self, settings=settings, symbolic=(*self.symbolic, *names))

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return the request with further settings, in place of symbols and of earlier values."""
        return replace(
            self,
            settings={**self.settings, **settings},
            symbolic=tuple(name for name in self.symbolic if name not in settings),
            sizes={name: size for name, size in self.sizes.items() if name not in settings},
        )

    def with_open_storage(self) -> Self:
        """Return the request whose parameters are in full precision where a configuration leaves their form open."""
        return replace(self, open_storage=True) if self.source.storage.unsettled else self

    def counted(self, training: str | None) -> Request:
        """Return the request whose work is counted: in the mode of training for a step of it, unless another is set."""
        return self.with_mode("train") if training is not None and self.mode is None else self

    def with_mode(self, mode: Mode | None) -> Self:
        """Return the request in a mode; the same for None."""
        return self if mode in (None, self.mode) else self._variant(mode, self.dtype)

    def with_dtype(self, dtype: str) -> Self:
        """Return the request in an element type."""
        document = self.source.document
        own = self.dtype or document.checkpoint.dtype or document.dtype
        return self if dtype == own and not self.source.storage.text else self._variant(self.mode, dtype)

    def _variant(self, mode: Mode | None, dtype: str | None) -> Self:
        """Return the request in a mode and element type, one for all requests that differ in sizes."""
        variants = self._unsized._variants
        if (mode, dtype) not in variants:
            variants[mode, dtype] = replace(self._unsized, mode=mode, dtype=dtype)
        return variants[mode, dtype].with_sizes(self.sizes) if self.sizes else variants[mode, dtype]

    @cached_property
    def _variants(self) -> dict[tuple[Mode | None, str | None], Self]:
        return {}

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """Results that are kept with the request."""
        return {}

    @property
    def normalizing(self) -> Self:
        """The request in training mode if batch norms normalize nothing without; the same if a batch is too small."""
        from netcalc.analysis.walk import instances

        if not any(instance.node.op.name == "batch_norm" for instance in instances(self.program)):
            return self
        trained = self.with_mode("train")
        try:
            return trained if trained.program else self
        except NetcalcError:
            return self

    def stored(self, quantize: Iterable[str] = (), prune: Iterable[str] = ()) -> Self:
        """Return the request with further assignments of storage, behind those that it has."""
        return replace(self, quantize=(*self.quantize, *quantize), prune=(*self.prune, *prune))

    def with_caches(self) -> Self:
        """Return the request with the caches of the spec, unless settings say otherwise or their number is symbolic."""
        if _USE_CACHE in self.settings or _USE_CACHE not in self.source.document.vars:
            return self
        cached = replace(self, settings={**self.settings, _USE_CACHE: True})
        if any(name in self.source.document.vars for name in self.symbolic):
            try:
                cached._elaborated  # noqa: B018 - for its errors
            except NetcalcError as error:
                if all(found.code == "E404" for found in error.diagnostics):
                    return self
        return cached

    @property
    def decodes(self) -> bool:
        """True if the spec can be run step by step with caches."""
        caches = self.program.caches
        return caches.past is not None and caches.new is not None

    def at_step(self, past: int, new: int) -> Self:
        """Return the request for a step of decoding, with caches as outputs, and as inputs if there is a past.

        Args:
            past: number of positions that earlier steps have seen.
            new: number of positions of this step.

        Raises:
            NetcalcError: E502 for a spec that does not decode.
        """
        caches = self.program.caches
        if caches.past is None or caches.new is None:
            hint = "a spec with caches has a dim `past` that precedes another dim, and a var use_cache"
            raise NetcalcError(Diagnostic("E502", f"{self.program.name!r} does not decode step by step", hint=hint))
        return self.with_settings({caches.past: past, caches.new: new, _USE_CACHE: True})

    def at_phase(self, phase: Literal["prefill", "decode"], positions: int | None = None) -> Self:
        """Return the request for all positions at once, or for the step of the last one, which the others precede.

        Args:
            phase: prefill or decode.
            positions: number of positions; by default those that the sizes ask for.

        Raises:
            NetcalcError: E502 for a spec that does not decode, and E404 if the number of positions is symbolic.
        """
        caches, dims = self.program.caches, self.program.dims
        if positions is None and caches.past is not None and caches.new is not None:
            for name in (caches.past, caches.new):
                if not isinstance(dims[name], int):
                    raise self.symbol_error(f"--phase {phase}", name)
            positions = integer(dims[caches.past] + dims[caches.new])
        seen = 1 if positions is None else positions
        return self.at_step(0, seen) if phase == "prefill" else self.at_step(seen - 1, 1)

    def symbol_error(self, what: str, name: str) -> NetcalcError:
        """Return the error (E404) of what needs numbers where a dim or var is a symbol, at its declaration."""
        cursor = self.source.cursor
        places = (cursor[key][name].key_span for key in ("dims", "vars") if name in (cursor.data.get(key) or {}))
        hint = f"leave out --symbolic {name}, or --set {name}=NUMBER"
        return NetcalcError(
            Diagnostic("E404", f"{what} needs numbers, and {name} is a symbol", next(places, None), hint=hint)
        )

    def require_numbers(self, what: str) -> None:
        """Raise NetcalcError (E404) if a dim or var is a symbol, where ``what`` needs numbers."""
        dims = (name for name, size in self.program.dims.items() if not isinstance(size, int))
        name = next(iter((*self.symbolic, *dims)), None)
        if name is not None:
            raise self.symbol_error(what, name)

    def with_logits(self, of: LogitsOf) -> Self:
        """Return the request with the logits of these positions, unless the settings or the spec leave no choice."""
        if _LOGITS in self.settings or not self.has_logits_of(of):
            return self
        return replace(self, settings={**self.settings, _LOGITS: of})

    def has_logits_of(self, of: LogitsOf) -> bool:
        """Return True for a spec that lets one choose the positions whose logits are computed."""
        declared = self.source.document.vars.get(_LOGITS)
        return isinstance(declared, Mapping) and of in (declared.get("choices") or ())

    @property
    def first_step(self) -> Program | None:
        """The program of a first step, which has parameters that a later one may lack: an encoder's.

        None unless this is a later step.
        """
        past = self.program.caches.past
        if past is None or self.program.dims.get(past) == 0 or not self.decodes:
            return None
        return self.at_step(0, 1).program

    def document(self) -> dict[str, Any]:
        """Return the spec with its settings as a document that is complete in itself.

        Raises:
            NetcalcError: E502 if two of the files that it imports have different blocks of one name.
        """
        from netcalc.spec.standalone import standalone_document

        return standalone_document(self.adapted, {**self.settings, **self.sizes}, self.dtype)

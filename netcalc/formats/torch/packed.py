"""Packed sequences of constant lengths: every sequence runs through a recurrent layer at its own length.

``torch.export`` has no shapes for packed sequences, since the lengths are the elements of a tensor.  Where these are
known, a context replaces the operators of packed sequences: sequences of equal length become a padded batch of that
length, which the layer takes as any other, so that no work is done on padding, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.torch.known_values import KnownValues
from netcalc.formats.torch.library import torch_library

_LAYERS = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_HINT = (
    "give them as a list, an argument of the call (netcalc.from_torch(module, x, [5, 3, 2])), or in a buffer of the "
    "module; rnn, lstm and gru of a spec take lengths that an input holds"
)


class Packed(NamedTuple):
    """Sequences of lengths that do not increase: padded, (steps, batch, …), or in groups of equal length."""

    lengths: tuple[int, ...]
    padded: Any = None
    groups: tuple[Any, ...] = ()

    @property
    def spans(self) -> list[tuple[int, int, int]]:
        """Each length, with the range of the sequences that have it."""
        spans, start = [], 0
        for length, same in groupby(self.lengths):
            stop = start + len(list(same))
            spans.append((length, start, stop))
            start = stop
        return spans

    def in_groups(self) -> Sequence[Any]:
        """Return the sequences of each length, (length, number, …)."""
        return self.groups or [self.padded[:length, start:stop] for length, start, stop in self.spans]

    def filled(self, value: float, steps: int) -> Any:
        """Return all sequences padded with a value to a number of steps, (steps, batch, …)."""
        torch = torch_library()
        parts = []
        for group in self.in_groups():
            missing = steps - group.shape[0]
            spread = (0, 0) * (group.dim() - 1) + (0, missing)
            parts.append(torch.nn.functional.pad(group, spread, value=value) if missing else group)
        return parts[0] if len(parts) == 1 else torch.cat(parts, 1)

    def rows(self) -> Any:
        """Return the elements as PyTorch packs them: step by step those sequences that go on."""
        torch = torch_library()
        padded = self.filled(0.0, self.lengths[0]) if self.padded is None else self.padded
        bounds = [0, *(length for length, _, _ in reversed(self.spans))]
        going_on = [stop for _, _, stop in reversed(self.spans)]
        parts = [
            padded[start:stop, :count].flatten(0, 1)
            for start, stop, count in zip(bounds, bounds[1:], going_on, strict=False)
        ]
        return parts[0] if len(parts) == 1 else torch.cat(parts)

    @classmethod
    def of_rows(cls, rows: Any, lengths: tuple[int, ...]) -> Packed:
        """Return sequences of the elements as PyTorch packs them."""
        torch = torch_library()
        spans, first, begin, parts = Packed(lengths).spans, 0, 0, []
        for length, _, count in reversed(spans):
            steps = length - begin
            part = rows[first : first + steps * count].unflatten(0, (steps, count))
            missing = len(lengths) - count
            parts.append(torch.nn.functional.pad(part, (0, 0) * (part.dim() - 2) + (0, missing)) if missing else part)
            first, begin = first + steps * count, length
        return cls(lengths, parts[0] if len(parts) == 1 else torch.cat(parts))


class _Packing:
    """The operators of packed sequences, and recurrent layers that take such, during the export of a module."""

    def __init__(self, module: Any) -> None:
        self._torch = torch_library()
        self._values = KnownValues(module)
        self._sequences = self._torch.utils.weak.WeakIdKeyDictionary()  # by the tensor of their elements
        self._sizes = self._torch.utils.weak.WeakIdKeyDictionary()  # how many sequences go on, by step
        self._zeros = self._torch.utils.weak.WeakIdKeyDictionary()

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return the result of a function of PyTorch."""
        name = str(getattr(function, "__name__", ""))
        if name == "_pack_padded_sequence":
            return self._pack(*args, **kwargs)
        if name == "_pad_packed_sequence":
            return self._pad(*args, **kwargs)
        if name in _LAYERS and isinstance(args[1], self._torch.Tensor) and isinstance(args[3], (list, tuple)):
            return self._layer(function, *args)
        if name == "__getitem__" and args[0] in self._sizes and isinstance(args[1], int):
            return self._sizes[args[0]][args[1]]
        result = function(*args, **kwargs)
        if name == "zeros":
            self._zeros[result] = True
        self._values.follow(function, args, kwargs, result)
        return result

    def _pack(self, input: Any, lengths: Any, batch_first: bool) -> tuple[Any, Any]:
        known = self._known(lengths, "lengths")
        padded = input.transpose(0, 1) if batch_first else input
        steps, batch = padded.shape[:2]
        fits = len(known) == batch and all(0 < length <= steps for length in known)
        if not fits or known != sorted(known, reverse=True):
            message = f"pack_padded_sequence: lengths {known} for {batch} sequences of {steps} steps"
            hint = "lengths are from 1 to the number of steps, and do not increase unless enforce_sorted is False"
            raise NetcalcError(Diagnostic("E009", message, hint=hint))
        return self._packed(Packed(tuple(known), padded))

    def _known(self, tensor: Any, what: str) -> list[int]:
        found: list[int] | None = self._values.elements(tensor)
        if found is None:
            message = f"the {what} of packed sequences are computed, or an input: torch.export has no shapes for them"
            raise NetcalcError(Diagnostic("E009", message, hint=_HINT))
        return found

    def _packed(self, sequences: Packed) -> tuple[Any, Any]:
        """Return the elements of sequences, and how many of them go on at each step."""
        rows = sequences.rows()
        numbers = [sum(length > step for length in sequences.lengths) for step in range(sequences.lengths[0])]
        sizes = self._torch.tensor(numbers)
        self._sequences[rows], self._sizes[sizes] = sequences, numbers
        return rows, sizes

    def _unpacked(self, rows: Any, sizes: Any) -> Packed:
        if rows in self._sequences:
            found: Packed = self._sequences[rows]
            return found
        numbers = self._sizes.get(sizes) or self._known(sizes, "batch sizes")
        return Packed.of_rows(rows, tuple(sum(n > place for n in numbers) for place in range(numbers[0])))

    def _pad(self, rows: Any, sizes: Any, batch_first: bool, value: float, total: int) -> tuple[Any, Any]:
        sequences = self._unpacked(rows, sizes)
        padded = sequences.filled(value, max(total, sequences.lengths[0]))
        return padded.transpose(0, 1) if batch_first else padded, self._torch.tensor(sequences.lengths)

    def _layer(self, function: Any, rows: Any, sizes: Any, hx: Any, *settings: Any) -> tuple[Any, ...]:
        """Run a layer on the sequences of each length, with their part of the states."""
        sequences = self._unpacked(rows, sizes)
        outputs, ends = [], []
        for group, (_, start, stop) in zip(sequences.in_groups(), sequences.spans, strict=True):
            states = [self._part(state, start, stop) for state in (hx if isinstance(hx, (list, tuple)) else [hx])]
            output, *end = _layer_operator()(function.__name__, group, states, *settings)
            outputs.append(output)
            ends.append(end)
        result, _ = self._packed(Packed(sequences.lengths, groups=tuple(outputs)))
        return result, *(
            parts[0] if len(parts) == 1 else self._torch.cat(parts, 1) for parts in zip(*ends, strict=True)
        )

    def _part(self, state: Any, start: int, stop: int) -> Any:
        """Return the states of some sequences; zeros stay such, which layers need not be given."""
        if state in self._zeros:
            layers, _, size = state.shape
            return self._torch.zeros(layers, stop - start, size, dtype=state.dtype, device=state.device)
        return state[:, start:stop]


@cache
def _layer_operator() -> Any:
    """Return an operator of PyTorch that stands for a recurrent layer on a batch, and only has shapes.

    Those of PyTorch are traced step by step to find theirs, which takes seconds for each.
    """
    torch = torch_library()
    library = torch.library.Library("netcalc", "FRAGMENT")
    library.define(
        "recurrent(str name, Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, "
        "float dropout, bool train, bool bidirectional) -> Tensor[]"
    )

    def shapes(name: str, input: Any, hx: list[Any], *settings: Any) -> list[Any]:
        directions = 2 if settings[-1] else 1
        output = input.new_empty(*input.shape[:2], directions * hx[0].shape[-1])
        return [output, *(torch.empty_like(state) for state in hx)]

    torch.library.register_fake("netcalc::recurrent", shapes, lib=library)
    _LIBRARIES.append(library)
    return torch.ops.netcalc.recurrent.default


#: Definitions of operators, which end with the object.
_LIBRARIES: list[Any] = []


def packing(module: Any) -> AbstractContextManager[Any]:
    """Return a context of an export in which packed sequences of known lengths have shapes.

    Modules without recurrent layers need none.  Within it NetcalcError (E009) is raised for lengths that are not known,
    or that do not fit the sequences.
    """
    torch: Any = torch_library()
    if not any(isinstance(part, torch.nn.RNNBase) for part in module.modules()):
        return nullcontext()
    packing = _Packing(module)

    class Mode(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return packing.call(function, args, kwargs or {})

    return Mode()

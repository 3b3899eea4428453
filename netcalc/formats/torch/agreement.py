"""Comparison of a network with the PyTorch module that it was imported from, on the same random weights."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import starmap
from typing import Any, Literal

from netcalc.analysis.cost import analyze
from netcalc.analysis.walk import instances
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dims import Poly
from netcalc.formats.torch.arrays import array_of, tensor_of
from netcalc.formats.torch.buffers import has_data, rebuilt_buffers
from netcalc.formats.torch.capture import argument_names, in_mode, is_exported
from netcalc.formats.torch.constants import unchanged, untrained
from netcalc.formats.torch.conversion import converted
from netcalc.formats.torch.diagnosis import refused
from netcalc.formats.torch.draws import drawing
from netcalc.formats.torch.flops import counted
from netcalc.formats.torch.holding import holding
from netcalc.formats.torch.library import torch_library
from netcalc.formats.torch.structures import taken_apart
from netcalc.ir import Program
from netcalc.ir.seeds import with_draws
from netcalc.verification.agreement import (
    Agreement,
    DrawnNumbers,
    OutputAgreement,
    difference,
    flops_agreement,
    tolerance_of,
)

_PLANS: tuple[Literal["reference", "fast"], ...] = ("reference", "fast")


def compare_module(
    program: Program,
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    seed: int = 0,
    dtype: str | None = None,
) -> Agreement:
    """Return the agreement of a program with a module.

    Both run with copies of the same random parameters and inputs; the module itself is not changed.  Floating-point
    inputs are drawn, and integers for which the spec has a range; other inputs are those that are given.  Random
    numbers of a call are drawn by the same operations, from the same seed, on both sides.

    Args:
        program: the program; symbolic sizes become the sizes of the arguments.
        module: the ``torch.nn.Module`` or the exported program.
        args, kwargs: arguments of a call; an exported program has its own if there are none.
        seed: seed of everything drawn.
        dtype: element type of the module's floating-point parameters and buffers; None for their own.

    Raises:
        NetcalcError: E009 if the module has buffers without values, or its code fails; E602 if the arguments are not
            the inputs of the program.
    """
    from netcalc.numerics.parameters import check_weights

    torch = torch_library()
    mode: AbstractContextManager[None] = nullcontext()
    if is_exported(module):
        args, kwargs = (args, kwargs) if args or kwargs else (module.example_inputs or ((), {}))
        module = module.module()
    else:
        mode = in_mode(module, program.training)
    drawn: dict[str, int] = {}
    apart = taken_apart(module, args, dict(kwargs))
    with unchanged(module), mode, converted(module, dtype), apart as (args, kwargs):
        tensors = _tensors(torch, module, seed)
        leaves, structure = torch.utils._pytree.tree_flatten((args, kwargs))
        names = argument_names(module, structure, len(leaves))
        passed = {name: leaf for name, leaf in zip(names, leaves, strict=True) if isinstance(leaf, torch.Tensor)}
        program = with_draws(_sized(program, passed), seed)
        inputs = _inputs(torch, program, passed, seed)
        leaves = [inputs.get(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
        args, kwargs = torch.utils._pytree.tree_unflatten(leaves, structure)
        with drawing(torch, seed, drawn):
            expected, counts = _run(torch, module, tensors, args, kwargs)
    state = {name: array_of(tensors.get(name, value)) for name, value in _state(module, tensors).items()}
    arrays = {spec.name: array_of(inputs[spec.name]) for spec in program.inputs}
    report = check_weights(program, state)
    outputs = _compared(program, arrays, state, expected, seed) if report.ok else ()
    by_operation = analyze(program, "torch").by_operation
    ours = {name: int(cost.flops) for name, (_, cost) in by_operation.items()}
    return Agreement(
        program.name, outputs, flops_agreement(ours, counts), report, tuple(starmap(DrawnNumbers, drawn.items()))
    )


def _compared(
    program: Program, inputs: Mapping[str, Any], state: Mapping[str, Any], expected: list[Any], seed: int
) -> tuple[OutputAgreement, ...]:
    """Return the agreement of the outputs of a run with the expected ones, by each plan; in training there is one."""
    from netcalc.engine.run import forward
    from netcalc.numerics.same_draws import SameDraws

    outputs: list[OutputAgreement] = []
    for plan in _PLANS[: 1 if program.training else None]:
        computed = forward(program, inputs, weights=state, plan=plan, rng=SameDraws(seed)).outputs
        outputs += _outputs(program, computed, expected, plan)
    return tuple(outputs)


def _sized(program: Program, passed: Mapping[str, Any]) -> Program:
    """Return a program with the sizes of the given tensors in place of its symbols."""
    sizes: dict[str, int] = {}
    for spec in program.inputs:
        shape = passed[spec.name].shape if spec.name in passed else ()
        for size, number in zip(spec.type.shape, shape, strict=False):
            if isinstance(size, Poly) and str(size) in size.names():
                sizes[str(size)] = int(number)
    if not sizes:
        return program
    from netcalc.ir.specialize import specialize

    return specialize(program, sizes)


def _inputs(torch: Any, program: Program, passed: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """Return the tensors of a call by name: those that can be drawn, and the given ones."""
    from netcalc.numerics.inputs import run_inputs

    integers = {
        name: tensor if has_data(tensor) else torch.ones(tensor.shape, dtype=tensor.dtype)
        for name, tensor in passed.items()
    }
    fixed = {
        spec.name: array_of(integers[spec.name])
        for spec in program.inputs
        if not spec.type.is_inexact and spec.low is None and spec.name in integers
    }
    drawn = run_inputs(program, fixed, seed)
    return {**integers, **{spec.name: tensor_of(array) for spec, array in zip(program.inputs, drawn, strict=True)}}


def _tensors(torch: Any, module: Any, seed: int) -> dict[str, Any]:
    """Return parameters drawn at random, and the buffers, by path; running statistics are drawn as well."""
    generator = torch.Generator().manual_seed(seed)
    rebuilt = rebuilt_buffers(module)
    tensors: dict[str, Any] = {}
    for name, tensor in module.named_parameters():
        tensors[name] = _drawn(torch, name, tensor, generator)
    for name, tensor in module.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            tensors[name] = _drawn(torch, name, tensor, generator)
        elif has_data(tensor):
            tensors[name] = tensor.detach().cpu()
        elif name in rebuilt:
            tensors[name] = rebuilt[name]
        elif name.endswith("num_batches_tracked"):
            tensors[name] = torch.zeros((), dtype=tensor.dtype)
        else:
            hint = "make the module on the device cpu"
            raise NetcalcError(Diagnostic("E009", f"the buffer {name!r} has no values on the meta device", hint=hint))
    return tensors


def _drawn(torch: Any, name: str, tensor: Any, generator: Any) -> Any:
    """Return random values for a parameter, of a size that keeps the layers' values near 1."""
    shape = tuple(tensor.shape)
    if len(shape) < 2 and name.endswith(("weight", "var")):
        values = torch.rand(shape, generator=generator) + 0.5
    else:
        inputs = max(tensor.numel() // shape[0], 1) if len(shape) > 1 else 100
        dtype = tensor.dtype if tensor.is_complex() else torch.float32
        values = torch.randn(shape, generator=generator, dtype=dtype) / inputs**0.5
    return values.to(tensor.dtype)


def _state(module: Any, tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return the state dict with the drawn tensors, those that are tied under all their names."""
    names = {id(tensor): name for name, tensor in (*module.named_parameters(), *module.named_buffers())}
    state = module.state_dict(keep_vars=True)
    return {name: tensors[names[id(tensor)]] for name, tensor in state.items() if id(tensor) in names}


def _run(
    torch: Any, module: Any, tensors: Mapping[str, Any], args: Any, kwargs: Any
) -> tuple[list[Any], dict[str, int]]:
    """Return the results of a call of the module with copies of the tensors, which it may change, and its FLOPs."""
    named = (*module.named_parameters(), *module.named_buffers())
    copies = {id(tensor): tensors[name].clone() for name, tensor in named if name in tensors}
    args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, torch.clone, (args, kwargs))
    counts: dict[str, int] = {}
    held = holding(module, lambda tensor: copies.get(id(tensor), tensor))
    try:
        with torch.no_grad(), untrained(module), _unfused(torch), held, counted(counts):
            result = module(*args, **kwargs)
    except Exception as error:  # of the user's code
        raise refused("the module cannot be run", error) from error
    leaves = torch.utils._pytree.tree_leaves(result)
    return [array_of(leaf) for leaf in leaves if isinstance(leaf, torch.Tensor)], counts


@contextmanager
def _unfused(torch: Any) -> Iterator[None]:
    """Leave out fused implementations that the counter has no formula for."""
    fast, fused = torch.backends.mha.get_fastpath_enabled(), torch.backends.mkldnn.enabled
    torch.backends.mha.set_fastpath_enabled(False)
    torch.backends.mkldnn.enabled = False
    try:
        with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
            yield
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
        torch.backends.mkldnn.enabled = fused


def _outputs(program: Program, result: Mapping[str, Any], expected: list[Any], plan: str) -> Iterator[OutputAgreement]:
    """Yield the comparison of each output; one that only the program or only the module has differs."""
    types = {type_.dtype for instance in instances(program) for type_ in instance.node.output_types}
    for number, name in enumerate(program.output_names):
        array = result[name]
        far = difference(array, expected[number]) if number < len(expected) else float("inf")
        yield OutputAgreement(name, plan, far, tolerance_of(str(array.dtype), types))
    for number in range(len(program.output_names), len(expected)):
        yield OutputAgreement(f"output {number} of the module", plan, float("inf"), 0.0)

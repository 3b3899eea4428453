"""Counting tools as they are run by default: figures of a module in evaluation mode on the CPU.

``python -m tests.oracle.counting_tools TOOL NETWORK`` prints the figure, or ``error`` and the reason.  With
``--record`` and names of tools, or none for all, the figures are written into ``tests/truth/counting_tools.json``,
which ``tests/test_tools_page.py`` compares with the conventions.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

RECORD = Path(__file__).parent.parent / "truth" / "counting_tools.json"


class Tool(NamedTuple):
    """A tool: the call that gives the figure, and the function that makes it for a module and its inputs by name.

    ``operators`` gives the parts of the figure by the tool's own names of operators, for a tool of graphs.
    """

    package: str
    call: str
    figure: Callable[[Any, Mapping[str, Any]], int]
    operators: Callable[[Any, Mapping[str, Any]], Mapping[str, int]] | None = None


def _torch_cpu(module: Any, inputs: Mapping[str, Any]) -> int:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        module(**inputs)
    return int(counter.get_total_flops())


def _torch_decomposed(module: Any, inputs: Mapping[str, Any]) -> int:
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    torch.backends.mha.set_fastpath_enabled(False)
    whole = torch.backends.mkldnn.flags(enabled=False, allow_tf32=None)
    with torch.no_grad(), whole, sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        module(**inputs)
    return int(counter.get_total_flops())


def _tensors(outputs: Any) -> Iterator[Any]:
    """Yield the tensors of outputs, all of which tracers keep."""
    if hasattr(outputs, "dtype"):
        yield outputs
        return
    for output in outputs.values() if hasattr(outputs, "values") else outputs or ():
        yield from _tensors(output)


class Called:
    """Maker of a module that takes its inputs in order, as tracers want it."""

    def __new__(cls, module: Any, names: Any) -> Any:
        """Return the module."""
        from torch import nn

        class Positional(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.module = module

            def forward(self, *tensors: Any) -> Any:
                if len(tensors) == 1:
                    outputs = self.module(*tensors)
                else:
                    outputs = self.module(**dict(zip(names, tensors, strict=True)))
                return tuple(_tensors(outputs))

        return Positional()


def _fvcore(module: Any, inputs: Mapping[str, Any]) -> int:
    import torch
    from fvcore.nn import FlopCountAnalysis

    with torch.no_grad():
        counted = FlopCountAnalysis(Called(module, list(inputs)), tuple(inputs.values()))
        counted.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
        return int(counted.total())


def _fvcore_gradients(module: Any, inputs: Mapping[str, Any]) -> int:
    from fvcore.nn import FlopCountAnalysis

    counted = FlopCountAnalysis(Called(module, list(inputs)), tuple(inputs.values()))
    counted.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
    return int(counted.total())


def _fvcore_activations(module: Any, inputs: Mapping[str, Any]) -> int:
    import torch
    from fvcore.nn import ActivationCountAnalysis

    with torch.no_grad():
        counted = ActivationCountAnalysis(Called(module, list(inputs)), tuple(inputs.values()))
        counted.unsupported_ops_warnings(False).uncalled_modules_warnings(False).tracer_warnings("none")
        return int(counted.total())


def _ptflops(backend: str) -> Callable[[Any, Mapping[str, Any]], int]:
    def figure(module: Any, inputs: Mapping[str, Any]) -> int:
        import torch
        from ptflops import get_model_complexity_info

        single = len(inputs) == 1 and next(iter(inputs.values())).is_floating_point()
        module = Called(module, list(inputs)) if single else module
        with torch.no_grad():
            macs, _ = get_model_complexity_info(
                module,
                tuple(next(iter(inputs.values())).shape[1:]),
                as_strings=False,
                backend=backend,
                print_per_layer_stat=False,
                input_constructor=None if single else lambda _: dict(inputs),
            )
        return int(macs)

    return figure


def _thop(module: Any, inputs: Mapping[str, Any]) -> int:
    from thop import profile

    macs, _ = profile(Called(module, list(inputs)), tuple(inputs.values()), verbose=False)
    return int(macs)


def _thop_params(module: Any, inputs: Mapping[str, Any]) -> int:
    from thop import profile

    _, params = profile(Called(module, list(inputs)), tuple(inputs.values()), verbose=False)
    return int(params)


def _torchinfo(module: Any, inputs: Mapping[str, Any]) -> int:
    import torchinfo

    return int(torchinfo.summary(module, input_data=dict(inputs), verbose=0, device="cpu").total_mult_adds)


def _torchinfo_params(module: Any, inputs: Mapping[str, Any]) -> int:
    import torchinfo

    return int(torchinfo.summary(module, input_data=dict(inputs), verbose=0, device="cpu").total_params)


def _calflops(which: int) -> Callable[[Any, Mapping[str, Any]], int]:
    def figure(module: Any, inputs: Mapping[str, Any]) -> int:
        from calflops import calculate_flops

        results = calculate_flops(
            module,
            args=list(inputs.values()) if len(inputs) == 1 else [],
            kwargs={} if len(inputs) == 1 else dict(inputs),
            print_results=False,
            print_detailed=False,
            output_as_string=False,
        )
        return int(results[which])

    return figure


def _deepspeed(which: int) -> Callable[[Any, Mapping[str, Any]], int]:
    def figure(module: Any, inputs: Mapping[str, Any]) -> int:
        from deepspeed.profiling.flops_profiler import get_model_profile

        results = get_model_profile(
            Called(module, list(inputs)),
            args=list(inputs.values()),
            print_profile=False,
            detailed=False,
            as_string=False,
        )
        return int(results[which])

    return figure


def _onnx_operators(module: Any, inputs: Mapping[str, Any]) -> Mapping[str, int]:
    """Return what onnx-tool counts of each operator.

    Parameters are drawn, since the exporter removes biases of zeros.  Attention and experts of transformers are
    exported in operations, as the tool or the exporter knows no fused ones with masks.
    """
    import onnx_tool
    import torch

    if hasattr(module, "set_attn_implementation"):
        module.set_attn_implementation("eager")
    if hasattr(module, "set_experts_implementation"):
        module.set_experts_implementation("batched_mm")
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.normal_(0, 0.1)
        called = Called(module, list(inputs))
        program = torch.onnx.export(
            called, tuple(inputs.values()), dynamo=True, verbose=False, input_names=list(inputs)
        )
    graph = onnx_tool.Model(program.model_proto).graph
    graph.shape_infer({name: tensor.numpy() for name, tensor in inputs.items()})
    graph.profile()
    operators: dict[str, int] = {}
    for node in graph.nodemap.values():
        operators[node.op_type] = operators.get(node.op_type, 0) + int(node.macs[0])
    assert sum(operators.values()) == int(graph.macs[0])
    return {name: figure for name, figure in operators.items() if figure}


_BY_DEFAULT = "on the CPU in evaluation mode, under torch.no_grad()"
TOOLS: Mapping[str, Tool] = {
    "torch": Tool(
        "torch", "FlopCounterMode with fused attention, the fast path of its module and oneDNN off", _torch_decomposed
    ),
    "torch-cpu": Tool("torch", f"FlopCounterMode {_BY_DEFAULT}", _torch_cpu),
    "fvcore": Tool("fvcore", "FlopCountAnalysis(module, inputs).total() in evaluation mode", _fvcore_gradients),
    "fvcore-no-grad": Tool("fvcore", f"FlopCountAnalysis(module, inputs).total() {_BY_DEFAULT}", _fvcore),
    "activations": Tool("fvcore", "ActivationCountAnalysis(module, inputs).total()", _fvcore_activations),
    "ptflops": Tool("ptflops", "get_model_complexity_info(…, backend='pytorch')", _ptflops("pytorch")),
    "ptflops-aten": Tool("ptflops", "get_model_complexity_info(…, backend='aten')", _ptflops("aten")),
    "thop": Tool("thop", "profile(module, inputs)[0]", _thop),
    "thop-params": Tool("thop", "profile(module, inputs)[1]", _thop_params),
    "torchinfo": Tool("torchinfo", "summary(module, input_data=…).total_mult_adds", _torchinfo),
    "torchinfo-params": Tool("torchinfo", "summary(module, input_data=…).total_params", _torchinfo_params),
    "calflops": Tool("calflops", "calculate_flops(module, kwargs=…)[0]", _calflops(0)),
    "calflops-macs": Tool("calflops", "calculate_flops(module, kwargs=…)[1]", _calflops(1)),
    "deepspeed": Tool("deepspeed", "get_model_profile(module, args=…)[0]", _deepspeed(0)),
    "deepspeed-macs": Tool("deepspeed", "get_model_profile(module, args=…)[1]", _deepspeed(1)),
    "onnx-tool": Tool(
        "onnx-tool",
        "Model(torch.onnx.export(module, inputs, dynamo=True).model_proto).graph.macs[0], parameters drawn, attention "
        "eager and experts batched_mm",
        lambda module, inputs: sum(_onnx_operators(module, inputs).values()),
        _onnx_operators,
    ),
}


def figure_of(tool: str, network: str) -> int:
    """Return the figure of a tool for a network."""
    return int(_applied(TOOLS[tool].figure, network))


def operators_of(tool: str, network: str) -> Mapping[str, int]:
    """Return the parts of that figure by operator, none where a tool does not tell them."""
    operators = TOOLS[tool].operators
    return {} if operators is None else _applied(operators, network)


def _applied(function: Callable[[Any, Mapping[str, Any]], Any], network: str) -> Any:
    """Return what a function gives for a network and its inputs, without what the tool prints."""
    from netcalc.formats.libraries.torchvision_import import import_torchvision

    import_torchvision()
    from tests.oracle.tool_networks import NETWORKS

    reference = NETWORKS[network]
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        return function(reference.module().eval(), reference.inputs())


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _main(tool: str, network: str) -> None:
    operators: Mapping[str, int] = {}
    try:
        operators = operators_of(tool, network)
        found: Any = sum(operators.values()) if operators else figure_of(tool, network)
    except Exception as error:
        found = f"error: {type(error).__name__}: {error}"
    made = {"tool": tool, "network": network, "figure": found, "operators": operators}
    sys.stdout.write(json.dumps(made) + "\n")


def _record(tools: Sequence[str]) -> None:
    """Write the figures of tools that are installed, each made in a process of its own, into the record."""
    from tests.oracle.tool_networks import NETWORKS

    entries = json.loads(RECORD.read_text(encoding="utf-8")) if RECORD.exists() else {}
    for name in tools or TOOLS:
        tool = TOOLS[name]
        if not _version(tool.package):
            continue
        figures, operators = {}, {}
        for network in NETWORKS:
            command = [sys.executable, "-m", "tests.oracle.counting_tools", name, network]
            ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
            lines = [line for line in ended.stdout.splitlines() if line.startswith("{")]
            made = json.loads(lines[-1]) if lines else {"figure": "error: no figure", "operators": {}}
            figures[network] = made["figure"]
            operators[network] = made["operators"]
        entries[name] = {"version": f"{tool.package} {_version(tool.package)}", "call": tool.call, "figures": figures}
        if tool.operators is not None:
            entries[name]["operators"] = operators
        write_record(entries)


def write_record(entries: Mapping[str, Any]) -> None:
    """Write the record, a line for each tool."""
    lines = (f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}" for name, entry in entries.items())
    RECORD.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--record":
        _record(sys.argv[2:])
    else:
        _main(sys.argv[1], sys.argv[2])

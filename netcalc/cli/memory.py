"""Weights as they are stored, caches and states of decoding after the step, and the peak of the activations: where it
is reached, and which tensors are live. --set past=4096 --set length=1 is a step of decoding, --set length=4096 a
prefill.

Caches take as much memory as a tool reserves for them: --cache ideal, vllm, vllm-hybrid or llama.cpp, by default all
side by side. --cache-dtype gives their element type, such as fp8 or q8_0. --tokens-in 24GiB gives the number of tokens
whose caches fit beside weights and activations. --phase prefill and decode speak of a server: it computes the logits of
the last position alone. --tokens-in without a phase takes the one that the sizes speak of.

--training adamw counts a step of training: gradients, states of the optimizer, and what a framework keeps for the
backward pass. Activations are counted for an ideal execution and an eager framework, with the kernel of --attention;
--engine adds what NumPy's engine holds.

--gpu-layers N puts the output and the last layers on a device, as llama.cpp does, and --experts-on cpu keeps routed
experts in the memory of the host: the page has the bytes of both. --companion mmproj.gguf and --draft MODEL add models
that are loaded beside.

--over length=2048,8192 --over batch=1,8 prints the table of totals at these sizes, of other sizes and vars alike;
length=log:1k:128k:8 has equal ratios, and 2k is 2,048. --phase, --cache and --training count as for one point.

--symbolic NAME keeps dims and vars as symbols: weights, caches and the peak of the activations are formulas then, the
peak with the operations at which it may be reached. --formula text, latex, python or sympy writes these alone.

A chart shows the activations by layer on weights and caches, with the peak; -o FILE.svg writes it, or .png with the
extra 'plot'. --depth draws deeper layers, and lists them as --sort, --top and --filter do, with their live bytes.
"""

from __future__ import annotations

from netcalc.cli.options import ROW_OPTIONS
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.notation_options import NotationOptions
from netcalc.options import MemoryOptions
from netcalc.serving_options import OverOptions


@verb(MemoryOptions, NotationOptions, OverOptions, *ROW_OPTIONS, writes=(*REPORTS, *PICTURES))
def command(call: Call) -> None:
    """Report the memory of weights, caches and activations."""
    if call["over"] and call["formula"]:
        raise NetcalcError(Diagnostic("E502", "--over has numbers, and --formula has symbols: give one of them"))
    if call["over"]:
        call.write(call.network().memory_over(call["over"], **call.of(MemoryOptions)))
    elif call["formula"]:
        call.write(call.network().memory_formulas(**call.of(MemoryOptions, NotationOptions)))
    else:
        call.write(call.network().memory(**call.of(MemoryOptions)))

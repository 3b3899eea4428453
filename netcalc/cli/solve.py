"""The sizes of a network that meet conditions: `netcalc solve gpt2 --for d_model --under 'params <= 125M'` names the
widest GPT-2 with at most 125 million parameters. Dims and vars may be unknown, several at once; the others are as in
every command, and may follow from the unknowns: --set 'heads=${d_model // 64}'. Requirements of the spec always hold.

A condition compares params, macs, flops, macts, weights, cache, activations, memory, time (with --device), or a dim or
var, with an amount: 125M parameters, 4.1G, 8GiB, 20ms. The best network has the most of --maximize, the least of
--minimize, or is nearest to the amount of --near.

The answer is exact: one step further in each unknown is shown with the condition that it breaks. It says if it is
proved to be the best one, or the best of those that were tried; figures without a closed form are counted one by one.
The exit code is 1 if no network meets the conditions; then the answer says which condition excludes what.

--law chinchilla --compute 5.76e23 asks a scaling law for parameters and tokens, and with MODEL and --for for the
network of that family with the nearest size.
"""

from __future__ import annotations

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import ROW_OPTIONS
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.solve_options import SolveOptions

_MODEL = Declared(
    "model",
    str | None,
    None,
    Argument(metavar="MODEL", help="A spec or model, as in every command; may be left out with --law."),
)


@verb(SolveOptions, *ROW_OPTIONS, arguments=(_MODEL,), without=("symbolic",), writes=(*REPORTS, *PICTURES))
def command(call: Call) -> int:
    """Find the sizes of a network that meet conditions."""
    from netcalc.cli import EXIT_CHECK

    if call["model"] is None:
        _law_alone(call)
        return 0
    solution = call.network().solve(**call.of(SolveOptions))
    call.write(solution)
    return 0 if solution.found else EXIT_CHECK


def _law_alone(call: Call) -> None:
    """Write what scaling laws take to be best; NetcalcError (E502) without a law."""
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.laws import compute_optimal

    if not call["law"]:
        hint = "for example netcalc solve gpt2 --for d_model --under 'params <= 125M'"
        raise NetcalcError(Diagnostic("E502", "there is no MODEL; only --law needs none", hint=hint))
    call.write(compute_optimal(call["compute"], tokens=call["tokens"], law=call["law"]))

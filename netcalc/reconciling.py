"""Reconciliation of two models, as a function of the Python API."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from netcalc.arguments import accepts
from netcalc.loading import networks_of, several_models
from netcalc.network import Network
from netcalc.reconcile_options import NetworkReconciliationOptions

if TYPE_CHECKING:
    from netcalc.analysis.differences import NetworkReconciliation


@accepts
def reconcile_networks(
    first: Network | str | Path, second: Network | str | Path, **options: Unpack[NetworkReconciliationOptions]
) -> NetworkReconciliation:
    """Return the layers of two models, matched by path, whose parameters and work make the difference of the totals.

    Settings apply as in :func:`netcalc.compare`.

    Args:
        first: network, or a spec by name or path.
        second: the other one.

    Raises:
        NetcalcError: if a spec cannot be loaded; E701 for an unknown convention.

    >>> import netcalc
    >>> found = netcalc.reconcile_networks("resnet34", "resnet18")
    >>> found.params.difference, found.differing[0].path, found.differing[0].params.difference
    (-10108160, 'layer3.2–5', -4722688)
    """
    from netcalc.analysis.compare import compare
    from netcalc.analysis.differences import reconcile_networks as reconciled

    networks = networks_of(several_models([first, second], options), options)
    analyses = [network.analysis(options["convention"] or "netcalc") for network in networks]
    return reconciled(compare(analyses, depth=options["depth"]))

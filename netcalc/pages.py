"""The page of one network, or of two side by side: the function of the Python API behind ``netcalc report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from netcalc.arguments import accepts, options_of
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.loading import networks_of, several_models
from netcalc.network import Network
from netcalc.page_options import ReportOptions, ReportsOptions
from netcalc.several import titles_of

if TYPE_CHECKING:
    from netcalc.analysis.page import ReportPage


@accepts
def report(*models: Network | str | Path, **options: Unpack[ReportsOptions]) -> ReportPage:
    """Return the page of a network, or of two side by side with their comparison.

    Settings apply as in :func:`netcalc.compare`: ``{"2:layers": 3}`` sets that of the second one only.

    Args:
        models: one or two networks, or specs by name or path.

    Raises:
        NetcalcError: if a spec cannot be loaded; E502 for more than two; as :meth:`Network.report` does.

    >>> import netcalc
    >>> page = netcalc.report("resnet18", "resnet34")
    >>> [network.title for network in page.networks], page.comparison.totals[1].params
    (['resnet18', 'resnet34'], 21797672)
    """
    from netcalc.analysis.page import ReportPage
    from netcalc.planning.page import compared_pages, network_page

    models = several_models(models, options)
    if not 1 <= len(models) <= 2:
        raise NetcalcError(Diagnostic("E502", "a page has one network, or two side by side"))
    networks = networks_of(models, options)
    values: dict[str, Any] = {**options}
    own: Any = {name: values[name] for name in options_of(ReportOptions)}
    titles = titles_of(
        [network.name for network in networks],
        [network.request.settings for network in networks],
        [{**network.dims, **network.vars} for network in networks],
    )
    pages = tuple(network_page(network, title, own) for network, title in zip(networks, titles, strict=True))
    comparison = None
    if len(networks) == 2:
        from netcalc.analysis.compare import compare

        comparison = compare([page.summary.analysis for page in pages])
        pages = compared_pages(networks, pages, comparison, own)
    return ReportPage(pages, comparison)

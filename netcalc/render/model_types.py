"""The list of model types and architectures that can be imported."""

from __future__ import annotations

from typing import Any

from netcalc.reference.model_types import ModelTypes
from netcalc.render.page import Page
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table


class _ModelTypes(Presentation[ModelTypes]):
    selected_list = ""
    listed = "model_types"

    def page(self, result: ModelTypes, rows: Selected[Any], view: View) -> Page:
        yield self.data(result, rows, view)

    def data(self, result: ModelTypes, rows: Selected[Any], view: View) -> Table:
        columns = [Column("model type", "name"), Column("family"), Column("architectures", "prose")]
        listed = [Row([name, family, ", ".join(models)]) for name, family, models in result.model_types]
        return Table(columns, [*listed, *(Row([name, family, "(GGUF)"]) for name, family in result.gguf)])


PRESENTATIONS = {"ModelTypes": _ModelTypes()}

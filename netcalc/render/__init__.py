"""Results as text: numbers, tables, pages, diagnostics.

Results are put into typed tables (:mod:`~netcalc.render.table`) and pages (:mod:`~netcalc.render.page`), which are
written as text, Markdown, CSV or HTML.  The code works on plain strings: a listing of a hundred thousand rows takes a
moment, and no layout library has to be imported.
"""

"""Results as text: numbers, tables, pages, diagnostics.

Results are put into typed tables (:mod:`~netcalc.render.table`) and pages (:mod:`~netcalc.render.page`), which are
written as text, Markdown, CSV or HTML.  The writers work on plain strings, without a layout library, so that imports
and tables of a hundred thousand rows are fast.
"""

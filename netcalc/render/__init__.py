"""Results as text: numbers, tables, trees, diagnostics.

Everything here is plain Python over strings, so that a listing of a hundred thousand rows is printed at once, complete,
and without the time that it takes to import a layout library.
"""

"""PyTorch code of a network: a readable module with the names of its checkpoint.

:mod:`~netcalc.formats.export.torch.export` makes the text of a request.  A program becomes units (``units``), which are
grouped by the paths of their lines (``grouping``); units with the same code are one class (``classes``), whose
arguments are the values in which they differ.  ``forward`` names values and writes statements, ``layout`` breaks long
lines, and each family of operations has its rules in ``families``.
"""

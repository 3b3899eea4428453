"""The spec language: documents are loaded, validated and elaborated to a :class:`~netcalc.ir.Program`.

Each group of modules imports only the groups above it:

- ``cursor``, ``yaml_document``, ``plain_data``, ``evaluate``: data with the place of every value, and its expressions;
- ``document``, ``validation``, ``line_syntax``, ``library``: the structure of a document, what it extends and imports;
- ``declarations``, ``settings``: values of dims and vars;
- ``scope``, ``reporter``, ``elaboration``: the visible names, the errors, the state of one elaboration;
- ``modifiers``, ``targets``, ``line_inputs``, ``arguments``, ``ties``, ``iterations``: the parts of a line, evaluated;
- ``operations``, ``sequences``, ``block_calls``, ``repeats``: the nodes of a line of each kind;
- ``lines``, ``program_io``, ``elaborate``: lists of lines, inputs and outputs, the whole program.
"""

from netcalc.spec.elaborate import elaborate
from netcalc.spec.library import load_document

__all__ = ["elaborate", "load_document"]

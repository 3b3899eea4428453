"""The server of ``netcalc lsp``: a client of :mod:`netcalc.language` that speaks the Language Server Protocol.

The libraries pygls and lsprotocol are imported here alone.
"""

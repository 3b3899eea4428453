"""The server of ``netcalc mcp``: verbs as tools of the Model Context Protocol, for assistants.

:mod:`~netcalc.cli.assistants.tools` makes tools of the commands' declarations, :mod:`~netcalc.cli.assistants.server`
speaks the protocol, and :mod:`~netcalc.cli.assistants.worker` computes answers, in child processes that
:mod:`~netcalc.cli.assistants.pool` starts, and ends where a call is cancelled or takes too long.
"""

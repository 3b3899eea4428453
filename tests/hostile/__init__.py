"""Hostile inputs to the installed command: each ends with a diagnostic and its code, in bounded time and memory."""

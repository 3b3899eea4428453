"""Execution of plans: the session and its worker pools."""

"""Executing a plan: the session and its pools of workers."""
